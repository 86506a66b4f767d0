import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The general way of a record through a clone: for values that depend on the object's parent, and links that have to be
/// looked at one by one.
extension Session {
  /// Clones one record, with everything that belongs to it; the length of the clone's.
  mutating func cloneRecord(_ bytes: RawSpan, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream) throws
    -> Int
  {
    let context = state.context
    let view = try schema.view(of: bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    guard let plan = context.book.plan(entity.code) else { throw schema.corrupted(id, .wrongLayout) }
    try Self.load(&scratch, view, entity, id)
    for operation in plan.operations { try apply(operation, plan, view, id, newID, context) }
    for step in plan.relationships {
      if step.relationship.isToMany {
        try cloneList(step, id, newID, &state)
      } else {
        try cloneToOne(step, id, newID, &state)
      }
    }
    for code in entity.referrerCodes { try cloneReferrers(code, id, newID, &state) }
    try cloneBlobs(&state)
    copyTransients(plan, id, newID, context)
    state.tally.bytesWritten += try addIndexEntries(newID, entity)
    try append(newID, entity)
    noteClone(newID, of: id, plan, state)
    return scratch.byteCount
  }

  private mutating func apply(
    _ operation: CloneRuleBook.AttributeOperation, _ plan: CloneRuleBook.EntityPlan, _ view: borrowing RecordView,
    _ id: ObjectID, _ newID: ObjectID, _ context: CloneContext
  ) throws {
    switch operation {
    case .uuid(let field, let code): scratch.setUUID(field, context.key.uuid(object: newID.rawValue, attribute: code))
    case .now(let field): scratch.setDate(field, context.now)
    case .set(let field, let value): try setScratch(field, value, id)
    case .compute(let index):
      guard let field = plan.entity.attributes[index].field else { return }
      try setScratch(field, try context.value(of: index, plan, view, id, self), id)
    }
  }

  private mutating func setScratch(_ field: Int, _ value: AttributeValue?, _ id: ObjectID) throws(StoreError) {
    do throws(RecordError) {
      try scratch.set(field, value)
    } catch {
      throw schema.unstorable(id, error)
    }
  }

  private mutating func cloneToOne(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    let field = step.relationship.field
    guard let target = scratch.view.toOne(field) else { return }
    switch try linkTarget(step, id, target, state.context) {
    case .clone(let clone): scratch.setToOne(field, clone)
    case .original: state.noteOutside(step.relationship, target, clone: newID)
    case .none: scratch.setToOne(field, nil)
    }
  }

  private mutating func cloneList(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    let relationship = step.relationship
    let head = scratch.view.head(relationship.field)
    if head.count == 0 { return }
    let members =
      head.isChunked
      ? try storage.members(address(id, relationship.code), count: head.count) : inlineMembers(relationship.field)
    var originals: [ObjectID] = []
    var clones: [ObjectID] = []
    // An ordered list keeps its positions; in an unordered one clones come last, because their ids are the highest.
    // With R10 a source's list gains clones, maybe before it is its turn: they are no links of the source.
    for member in members where !state.context.isClone(member) {
      switch try linkTarget(step, id, member, state.context) {
      case .clone(let clone): clones.append(clone)
      case .original:
        if relationship.isOrdered { clones.append(member) } else { originals.append(member) }
        state.noteOutside(relationship, member, clone: newID)
      case .none: break
      }
    }
    try writeClonedList(relationship, newID, originals + clones, &state)
  }

  private mutating func writeClonedList(
    _ relationship: CompiledRelationship, _ newID: ObjectID, _ ids: [ObjectID], _ state: inout CloneStream
  ) throws(StoreError) {
    try writeList(address(newID, relationship.code), ids, relationship, relationship.field)
    if ids.count > FormatLimits.inlineIDLimit { state.tally.bytesWritten += CloneTally.listBytes(ids.count) }
  }

  /// The hidden list of those who refer to a clone.
  mutating func cloneReferrers(
    _ code: UInt16, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    let clones = try clonedReferrers(code, id, state.context)
    if clones.isEmpty { return }
    try storage.writeUnordered(address(newID, code), clones)
    state.tally.bytesWritten += CloneTally.listBytes(clones.count)
  }

  /// Large binary values: one more referrer each, or bytes of their own.
  private mutating func cloneBlobs(_ state: inout CloneStream) throws {
    for field in scratch.layout.variableFields where scratch.view.isBlob(field) {
      guard let blob = scratch.view.blobReference(field) else { continue }
      switch state.context.book.options.blobs {
      case .share:
        state.blobs.append(blob.id)
        state.tally.share(byteCount: blob.byteCount)
      case .copy:
        let serial = try nextBlobSerial()
        let source = StorageTransaction(lookingInto: storage)
        let info = try storage.copyBlob(
          blobTables, to: serial, references: 1, from: blob.id, of: source, blobTables
        ) { try state.context.cancellation.check() }
        try setScratch(
          field,
          .blob(BlobReference(id: serial, byteCount: info.byteCount, isTransformable: blob.isTransformable)),
          ObjectID(rawValue: 0))
        state.tally.bytesCopied = state.tally.bytesCopied.saturatingAdd(info.byteCount)
      }
    }
  }

  /// A live source hands the values of its transient attributes on (R20), but for excluded and rebuilt ones (R15, R16).
  private mutating func copyTransients(
    _ plan: CloneRuleBook.EntityPlan, _ id: ObjectID, _ newID: ObjectID, _ context: CloneContext
  ) {
    if changes.transients.isEmpty { return }
    for (index, attribute) in plan.entity.attributes.enumerated() where attribute.field == nil {
      if let value = changes.transients[.init(object: id, attribute: attribute.path)] {
        let rule = plan.rules[index]
        var copy: AttributeValue? = value
        if rule.isExcluded {
          copy = attribute.description.defaultValue
        } else if rule.rebuild == .uuid {
          // Transient attributes have no code; what is told apart from theirs are the codes of stored ones.
          copy = .uuid(context.key.uuid(object: newID.rawValue, attribute: ~UInt16(truncatingIfNeeded: index)))
        } else if rule.rebuild == .now {
          copy = .date(context.now)
        }
        changes.transients[.init(object: newID, attribute: attribute.path)] = copy
      }
    }
  }
}

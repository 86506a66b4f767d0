import KVCloneModel
import KVCloneRecords

/// What a stream counts as it goes.
struct CloneTally {
  var objects = 0
  /// By entity code.
  var counts: [Int]
  var blobsShared = 0
  var bytesShared: UInt64 = 0
  var bytesCopied: UInt64 = 0
  var bytesWritten: UInt64 = 0
  /// Objects outside the clones that gained links.
  var touched = ObjectSet()

  init(entityCount: Int) {
    counts = Array(repeating: 0, count: entityCount + 1)
  }

  mutating func share(_ blob: BlobReference) {
    blobsShared += 1
    bytesShared = bytesShared.saturatingAdd(blob.byteCount)
  }
}

extension UInt64 {
  /// The sum, or the greatest number there is: lengths that a file tells may be anything.
  func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

/// The second half of a clone: walk the marked objects in ascending order, copy each record, patch it, append it.
///
/// A root entity's objects are one table in serial order, and clones get the highest serials in the order of their
/// sources, so every write of a record is an append.
extension Session {
  mutating func stream(_ context: CloneContext) throws -> CloneTally {
    var state = CloneStream(context: context)
    var batch = CloneBatch()
    for rootCode in schema.rootCodes {
      guard let set = context.mark.set.set(rootCode: rootCode), set.count > 0 else { continue }
      let before = state.tally.objects
      var next = set.next(from: 0)
      while let serial = next {
        next = try fillBatch(&batch, rootCode: rootCode, set, from: serial)
        for index in 0..<batch.ids.count { try cloneRecord(batch, index, &state) }
        try context.cancellation.check()
        if state.outside.count >= CloneStream.outsideLimit { try publishOutside(&state) }
        if state.blobs.count >= CloneStream.blobLimit { try publishBlobs(&state) }
      }
      guard state.tally.objects - before == set.count else {
        throw StoreError(
          .damaged,
          "\(set.count - state.tally.objects + before) objects of "
            + "\(schema.entity(code: rootCode)?.name ?? "") that others link to are missing; run `check`")
      }
    }
    try publishOutside(&state)
    try publishOrderedOutside(&state)
    try publishBlobs(&state)
    return state.tally
  }

  /// Copies marked records from `serial` on until the batch is full; the serial to go on from.
  private borrowing func fillBatch(
    _ batch: inout CloneBatch, rootCode: UInt16, _ set: SerialSet, from serial: UInt64
  ) throws(StoreError) -> UInt64? {
    batch.removeAll()
    guard let table = schema.objectTable(rootCode: rootCode) else { return nil }
    var wanted: UInt64? = serial
    var skipped = 0
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: serial))
    try storage.scan(table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      guard let next = wanted else { return false }
      if id.serial < next {
        // A stretch that nobody marked is cheaper to seek over than to walk.
        skipped += 1
        return skipped < 64
      }
      if id.serial > next { throw schema.notFound(ObjectID(rootCode: rootCode, serial: next)) }
      skipped = 0
      batch.append(id, value)
      wanted = set.next(from: next + 1)
      return !batch.isFull
    }
    if batch.ids.isEmpty { throw schema.notFound(ObjectID(rootCode: rootCode, serial: serial)) }
    return wanted
  }

  /// Copies one record of the batch, with everything that belongs to it.
  private mutating func cloneRecord(_ batch: borrowing CloneBatch, _ index: Int, _ state: inout CloneStream) throws {
    let context = state.context
    let id = batch.ids[index]
    guard let newID = context.cloneID(of: id) else { throw schema.notFound(id) }
    let bytes = batch.bytes(at: index)
    let view = try schema.view(of: bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    guard let plan = context.book.plan(entity.code) else { throw schema.damaged(id, .wrongLayout) }
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
    copyTransients(plan, id, newID)
    if !entity.constraints.isEmpty { try addIndexEntries(newID, entity) }
    try append(newID, entity)
    // A source of this very transaction has not been checked yet, and may be put right before the commit checks it.
    if plan.needsValidation || changes.inserted.contains(id) || changes.updated.contains(id) {
      _ = changes.inserted.insert(newID)
    }
    state.tally.objects += 1
    state.tally.counts[Int(entity.code)] += 1
    state.tally.bytesWritten += UInt64(scratch.byteCount + 8)
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
      throw schema.damaged(id, error)
    }
  }

  private mutating func cloneToOne(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    let field = step.relationship.field
    guard let target = scratch.view.toOne(field) else { return }
    switch try linkTarget(step, id, target, state.context) {
    case .clone(let clone): scratch.setToOne(field, clone)
    case .original: state.noteOutside(step.relationship, target, source: id, clone: newID, schema)
    case .none: scratch.setToOne(field, nil)
    }
  }

  private mutating func cloneList(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    let relationship = step.relationship
    let head = scratch.view.head(relationship.field)
    if head.count == 0 { return }
    if !head.isChunked, try remapInline(step, id, newID, head.count, &state) { return }
    let members =
      head.isChunked
      ? try storage.members(address(id, relationship.code)) : inlineMembers(relationship.field)
    guard members.count == head.count else { throw address(id, relationship.code).damaged("Its count is wrong.") }
    var originals: [ObjectID] = []
    var clones: [ObjectID] = []
    // An ordered list keeps its positions; in an unordered one clones come last, because their ids are the highest.
    // With R10 a source's list gains clones, maybe before it is its turn: they are no links of the source.
    for member in members where !state.context.isClone(member) {
      switch try linkTarget(step, id, member, state.context) {
      case .clone(let clone): clones.append(clone)
      case .original:
        if relationship.isOrdered { clones.append(member) } else { originals.append(member) }
        state.noteOutside(relationship, member, source: id, clone: newID, schema)
      case .none: break
      }
    }
    try writeClonedList(relationship, newID, originals + clones, &state)
  }

  /// Maps an inline list where it stands, when every member has a clone or every member stays; whether that was so.
  private mutating func remapInline(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ newID: ObjectID, _ count: Int, _ state: inout CloneStream
  ) throws(StoreError) -> Bool {
    let field = step.relationship.field
    guard step.mode == .follow || step.mode == .stop,
      let areCloned = Self.areCloned(scratch, field, state.context)
    else { return false }
    for index in 0..<count {
      let target = scratch.view.inlineIDs(field)[index]
      if areCloned, let clone = state.context.cloneID(of: target) {
        scratch.setInlineID(field, at: index, clone)
      } else {
        guard step.mode == .stop else { throw schema.notFound(target) }
        state.noteOutside(step.relationship, target, source: id, clone: newID, schema)
      }
    }
    return true
  }

  /// Whether all members of an inline list are cloned, or none; nil where some are.
  private static func areCloned(_ record: borrowing RecordBuffer, _ field: Int, _ context: CloneContext) -> Bool? {
    let ids = record.view.inlineIDs(field)
    let first = context.cloneID(of: ids[0]) != nil
    for index in 1..<ids.count where (context.cloneID(of: ids[index]) != nil) != first { return nil }
    return first
  }

  private mutating func writeClonedList(
    _ relationship: CompiledRelationship, _ newID: ObjectID, _ ids: [ObjectID], _ state: inout CloneStream
  ) throws(StoreError) {
    try writeList(address(newID, relationship.code), ids, relationship, relationship.field)
    if ids.count > FormatLimits.inlineIDLimit { state.tally.bytesWritten += UInt64(ids.count) * 8 }
  }

  /// Where one link of the clone goes.
  private borrowing func linkTarget(
    _ step: CloneRuleBook.RelationshipPlan, _ id: ObjectID, _ target: ObjectID, _ context: CloneContext
  ) throws(StoreError) -> CloneLinkTarget {
    var mode = step.mode
    if mode == .dynamic { mode = try context.mode(step, id, target, self) }
    switch mode {
    case .drop: return .none
    case .keep: return .original
    case .follow, .stop, .dynamic:
      if let clone = context.cloneID(of: target) { return .clone(clone) }
      guard mode != .follow else { throw schema.notFound(target) }
      return .original
    }
  }

  /// The hidden list of those who refer to a clone: clones of those who refer to its source.
  private mutating func cloneReferrers(
    _ code: UInt16, _ id: ObjectID, _ newID: ObjectID, _ state: inout CloneStream
  ) throws(StoreError) {
    var clones: [ObjectID] = []
    for referrer in try referrers(id, code) {
      guard let clone = state.context.cloneID(of: referrer) else { continue }
      let entity = try entity(of: referrer)
      guard let plan = state.context.book.plan(entity.code),
        let step = plan.relationships.first(where: {
          !$0.relationship.hasInverse && $0.relationship.inverseCode == code
        })
      else { throw schema.damaged(referrer, .wrongLayout) }
      if case .clone = try linkTarget(step, referrer, id, state.context) { clones.append(clone) }
    }
    if clones.isEmpty { return }
    try storage.writeUnordered(address(newID, code), clones)
    state.tally.bytesWritten += UInt64(clones.count) * 8
  }

  /// Large binary values: one more referrer each, or bytes of their own.
  private mutating func cloneBlobs(_ state: inout CloneStream) throws(StoreError) {
    for field in scratch.layout.variableFields where scratch.view.isBlob(field) {
      guard let blob = scratch.view.blobReference(field) else { continue }
      switch state.context.book.options.blobs {
      case .share:
        state.blobs.append(blob.id)
        state.tally.share(blob)
      case .copy:
        let serial = try nextBlobSerial()
        let info = try storage.copyBlob(blobTables, from: blob.id, to: serial)
        try setScratch(
          field,
          .blob(BlobReference(id: serial, byteCount: info.byteCount, isTransformable: blob.isTransformable)),
          ObjectID(rawValue: 0))
        state.tally.bytesCopied = state.tally.bytesCopied.saturatingAdd(info.byteCount)
      }
    }
  }

  /// A live source hands the values of its transient attributes on (R20), except excluded ones (R15).
  private mutating func copyTransients(_ plan: CloneRuleBook.EntityPlan, _ id: ObjectID, _ newID: ObjectID) {
    if changes.transients.isEmpty { return }
    for (index, attribute) in plan.entity.attributes.enumerated() where attribute.field == nil {
      if let value = changes.transients[.init(object: id, attribute: attribute.path)] {
        changes.transients[.init(object: newID, attribute: attribute.path)] =
          plan.rules[index].isExcluded ? attribute.description.defaultValue : value
      }
    }
  }
}

/// Where one link of a clone goes.
enum CloneLinkTarget {
  case clone(ObjectID)
  case original
  case none
}

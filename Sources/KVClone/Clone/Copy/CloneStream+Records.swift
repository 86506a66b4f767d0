import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The general path of a record through a clone: for values that depend on the object's parent, links that have to be
/// processed one by one, and another model.
extension CloneStream {
  /// Clones one record, with everything that belongs to it; returns the length of the clone's.
  mutating func cloneRecord(_ bytes: RawSpan, _ id: ObjectID, _ newID: ObjectID) throws -> Int {
    let schema = context.schema
    let view = try schema.view(of: bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    guard let plan = context.book.plan(entity.code) else { throw schema.corrupted(id, .wrongLayout) }
    let mapping = context.mapping(of: entity)
    if let error = mapping.errors.first { throw error }
    try load(view, entity, mapping, id)
    for operation in plan.operations { try apply(operation, plan, mapping, view, id, newID) }
    for fill in mapping.bridge?.defaults ?? [] { try apply(fill, id) }
    for (index, step) in plan.relationships.enumerated() {
      try cloneLinks(
        ClonedRelationship(step: step, relationship: mapping.relationship(index, step), id: id, newID: newID), view,
        entity)
    }
    for code in entity.referrerCodes {
      if let other = mapping.referrers(code) { try cloneReferrers(code, to: other, id, newID) }
    }
    try cloneBlobs(id)
    if context.bridge == nil { copyTransients(plan, id, newID) }
    tally.bytesWritten += try IndexEntries.add(newID, mapping.entity, in: &session)
    try session.append(newID, mapping.entity)
    noteInsert(newID, mapping.entity, of: id, plan)
    return session.scratch.byteCount
  }

  /// Loads the source's record into the session's buffer, in the layout of the clone.
  private func load(_ view: borrowing RecordView, _ entity: CompiledEntity, _ mapping: CloneMapping, _ id: ObjectID)
    throws(StoreError)
  {
    guard let bridge = mapping.bridge else { return try Session.load(&session.scratch, view, entity, id) }
    do throws(RecordError) {
      try bridge.load(view, into: &session.scratch)
    } catch {
      throw context.schema.corrupted(id, error)
    }
  }

  private func apply(
    _ operation: CloneRuleBook.AttributeOperation, _ plan: CloneRuleBook.EntityPlan, _ mapping: CloneMapping,
    _ view: borrowing RecordView, _ id: ObjectID, _ newID: ObjectID
  ) throws {
    switch operation {
    case .uuid(let field, let code):
      guard let field = mapping.field(field) else { return }
      session.scratch.setUUID(field, context.key.uuid(object: newID.rawValue, attribute: code))
    case .now(let field):
      if let field = mapping.field(field) { session.scratch.setDate(field, context.now) }
    case .set(let field, let value):
      if let field = mapping.field(field) { try set(field, value, id) }
    case .compute(let index):
      guard let preset = plan.entity.attributes[index].field, let field = mapping.field(preset) else { return }
      try set(field, try context.value(of: index, plan, view, id, source), id)
    }
  }

  /// Sets the default of an attribute that only the destination has.
  private func apply(_ fill: EntityBridge.Default, _ id: ObjectID) throws(StoreError) {
    var isNull = !fill.composite.isEmpty
    for field in fill.composite where !session.scratch.view.isNull(field) { isNull = false }
    if !isNull { try set(fill.field, fill.value, id) }
  }

  private func set(_ field: Int, _ value: AttributeValue?, _ id: ObjectID) throws(StoreError) {
    do throws(RecordError) {
      try session.scratch.set(field, value)
    } catch {
      throw session.schema.unstorable(id, error)
    }
  }

  /// Copies the values of a live source's transient attributes (R20), except for excluded and rebuilt ones (R15, R16).
  private func copyTransients(_ plan: CloneRuleBook.EntityPlan, _ id: ObjectID, _ newID: ObjectID) {
    if session.changes.transients.isEmpty { return }
    for (index, attribute) in plan.entity.attributes.enumerated() where attribute.field == nil {
      if let value = session.changes.transients[.init(object: id, attribute: attribute.path)] {
        let rule = plan.rules[index]
        var copy: AttributeValue? = value
        if rule.isExcluded {
          copy = attribute.description.defaultValue
        } else if rule.rebuild == .uuid {
          // Transient attributes have no code; this number differs from the codes of stored ones.
          copy = .uuid(context.key.uuid(object: newID.rawValue, attribute: ~UInt16(truncatingIfNeeded: index)))
        } else if rule.rebuild == .now {
          copy = .date(context.now)
        }
        session.changes.transients[.init(object: newID, attribute: attribute.path)] = copy
      }
    }
  }

  // MARK: Blobs

  /// Adds a reference for each blob of the record in the session's buffer, or copies its bytes.
  private mutating func cloneBlobs(_ id: ObjectID) throws {
    for field in session.scratch.layout.variableFields where session.scratch.view.isBlob(field) {
      guard let blob = session.scratch.view.blobReference(field) else { continue }
      var serial = blob.id
      switch context.book.options.blobs {
      case .share:
        if let sharedBlobs {
          guard let known = sharedBlobs.serial(of: blob.id) else { throw source.blobTables.missing(blob.id) }
          serial = known
        }
        blobs.append(serial)
        tally.share(byteCount: blob.byteCount)
      case .copy:
        serial = try session.nextBlobSerial()
        let byteCount = try copyBlob(blob.id, to: serial, references: 1)
        tally.bytesCopied = tally.bytesCopied.saturatingAdd(byteCount)
      }
      if serial == blob.id { continue }
      let reference = BlobReference(id: serial, byteCount: blob.byteCount, isTransformable: blob.isTransformable)
      try set(field, .blob(reference), id)
    }
  }
}

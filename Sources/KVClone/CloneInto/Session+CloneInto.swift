import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The second half of a clone into another store: walk the marked objects of the source in ascending order, and append
/// a record for each to the destination, which is this session. Memory stays flat: ids are computed, not remembered.
extension Session {
  /// Takes the ids that the plan gave out, and writes all clones.
  mutating func stream(_ source: borrowing Session, _ context: CloneIntoContext) throws -> CloneTally {
    try makeRoom(for: context.byteCount)
    for (code, range) in context.serials {
      guard try reserveSerials(rootCode: code, count: range.count) == range.first else {
        throw StoreError(.busy, "another transaction allocated ids while the clone was planned; retry the clone")
      }
      changes.history?.noteInserts(from: ObjectID(rootCode: code, serial: range.first), count: range.count)
    }
    changes.isEmpty = false
    let (firstBlob, blobBytes) = try writeBlobs(source, context)
    var state = CloneIntoStream(context: context, firstBlob: firstBlob)
    for copy in 0..<context.copies {
      let attributes = try context.attributes(source)
      state.attributes = attributes
      for rootCode in source.schema.rootCodes {
        guard let set = context.mark.set.set(rootCode: rootCode) else { continue }
        var next = set.next(from: 0)
        while let serial = next {
          try takeOver(ObjectID(rootCode: rootCode, serial: serial), copy, attributes, source, &state)
          if state.tally.objects & 1023 == 0 {
            try context.cancellation.check(.copy, state.tally.objects, of: context.objectCount)
            if state.outside.isFull { try publishOutside(&state) }
            if state.blobs.count >= CloneStream.blobLimit { try publishBlobs(source, &state) }
          }
          next = set.next(from: serial + 1)
        }
      }
      // As within one store: a clone that has its parent's `now()` has the one of the commit.
      if attributes.futures.tellTheTime, changes.now == nil { changes.now = attributes.now }
    }
    try context.cancellation.check(.publish, 0, of: nil)
    try publishOutside(&state)
    try publishOrdered(source, &state)
    try publishBlobs(source, &state)
    if context.book.options.blobs == .share, !context.bridge.isWithinStore {
      // The first clone that refers to a value is the one that it was written for.
      state.tally.bytesCopied = blobBytes
      state.tally.blobsShared -= min(context.blobs.count, state.tally.blobsShared)
      state.tally.bytesShared -= min(blobBytes, state.tally.bytesShared)
    }
    return state.tally
  }

  /// Makes the clone of one object, with everything that belongs to it.
  private mutating func takeOver(
    _ id: ObjectID, _ copy: Int, _ attributes: CloneContext, _ source: borrowing Session,
    _ state: inout CloneIntoStream
  ) throws {
    let context = state.context
    let view = try source.existingRecord(id)
    let entity = try source.schema.entity(of: view, id: id)
    guard let plan = context.book.plan(entity.code), let newID = context.cloneID(of: id, copy: copy) else {
      throw source.schema.corrupted(id, .wrongLayout)
    }
    let bridge = context.bridge.entity(entity)
    if let error = bridge.errors.first { throw error }
    do throws(RecordError) {
      try Self.take(view, bridge, into: &scratch)
    } catch {
      throw source.schema.corrupted(id, error)
    }
    for operation in plan.operations { try apply(operation, bridge, plan, view, id, attributes, source) }
    for fill in bridge.defaults { try apply(fill, id) }
    for (index, step) in plan.relationships.enumerated() {
      let link = LinkToClone(
        step: step, relationship: bridge.relationships[index], id: id, newID: newID, copy: copy, attributes: attributes)
      try takeOver(link, view, entity, source, &state)
    }
    for code in entity.referrerCodes {
      if let other = bridge.referrers[code] {
        try takeOverReferrers(code, other, id, newID, copy, attributes, source, &state)
      }
    }
    try takeOverBlobs(id, source, &state)
    state.tally.bytesWritten += try addIndexEntries(newID, bridge.destination)
    try append(newID, bridge.destination)
    // The destination's model may ask for more than the source's: the commit checks every clone.
    changes.noteInsert(newID)
    noteDerivedInsert(newID, bridge.destination)
    state.tally.objects += 1
    state.tally.counts[Int(entity.code)] += 1
    state.tally.bytesWritten += UInt64(scratch.byteCount + 8)
  }

  /// Puts what both models store of an object's attributes into `buffer`. Links are the source's, or empty.
  private static func take(
    _ view: borrowing RecordView, _ bridge: EntityBridge, into buffer: inout RecordBuffer
  ) throws(RecordError) {
    let layout = bridge.layout(view.layout)
    guard !layout.isSame else { return buffer.load(view, as: bridge.destination.layout) }
    try buffer.load(view, as: bridge.destination.layout, fields: layout.fields)
    for (field, value) in layout.missing { try buffer.set(field, value) }
  }

  private mutating func apply(
    _ operation: CloneRuleBook.AttributeOperation, _ bridge: EntityBridge, _ plan: CloneRuleBook.EntityPlan,
    _ view: borrowing RecordView, _ id: ObjectID, _ attributes: CloneContext, _ source: borrowing Session
  ) throws {
    switch operation {
    case .set(let field, let value):
      if let field = bridge.fields[field] { try put(value, field, id) }
    case .uuid(let field, let code):
      guard let field = bridge.fields[field], let clone = attributes.cloneID(of: id) else { return }
      scratch.setUUID(field, attributes.key.uuid(object: clone.rawValue, attribute: code))
    case .now(let field):
      if let field = bridge.fields[field] { scratch.setDate(field, attributes.now) }
    case .compute(let index):
      guard let preset = plan.entity.attributes[index].field, let field = bridge.fields[preset] else { return }
      try put(try attributes.value(of: index, plan, view, id, source), field, id)
    }
  }

  private mutating func apply(_ fill: EntityBridge.Default, _ id: ObjectID) throws(StoreError) {
    if !fill.composite.isEmpty, Self.areNull(fill.composite, scratch) { return }
    try put(fill.value, fill.field, id)
  }

  private static func areNull(_ fields: [Int], _ record: borrowing RecordBuffer) -> Bool {
    for field in fields where !record.view.isNull(field) { return false }
    return true
  }

  private mutating func put(_ value: AttributeValue?, _ field: Int, _ id: ObjectID) throws(StoreError) {
    do throws(RecordError) {
      try scratch.set(field, value)
    } catch {
      throw schema.unstorable(id, error)
    }
  }
}

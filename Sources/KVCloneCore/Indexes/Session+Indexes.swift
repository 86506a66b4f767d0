package import KVCloneModel
package import KVCloneRecords

/// Index entries, which change with their objects: one for each fetch index, and one for each uniqueness constraint all of whose
/// values are there. Entries of constraints may be equal for a while inside a transaction; a commit is what refuses them.
extension Session {
  /// Adds the entries of the object whose record is in `scratch`; their bytes, keys included.
  @discardableResult
  package mutating func addIndexEntries(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) -> UInt64 {
    guard entity.hasIndexes else { return 0 }
    return try addIndexEntries(try entity.indexKeys(id, scratch.view, schema))
  }

  /// Adds the entries of an object whose record is `patch`; their bytes, keys included.
  package mutating func addIndexEntries(_ id: ObjectID, _ entity: CompiledEntity, _ patch: RecordPatch)
    throws(StoreError)
    -> UInt64
  {
    try addIndexEntries(try entity.indexKeys(id, patch.view(entity.layout), schema))
  }

  private mutating func addIndexEntries(_ keys: [[UInt8]]) throws(StoreError) -> UInt64 {
    var byteCount: UInt64 = 0
    for key in keys { byteCount += try putIndexEntry(key) }
    return byteCount
  }

  @discardableResult
  package mutating func putIndexEntry(_ key: [UInt8]) throws(StoreError) -> UInt64 { try putIndexEntry(key.span.bytes) }

  /// Adds the entry with a key; its bytes.
  @discardableResult
  mutating func putIndexEntry(_ key: RawSpan) throws(StoreError) -> UInt64 {
    let value: [1 of UInt64] = [ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .indexes, key: key))]
    try storage.put(schema.tables.indexes, key, value.span.bytes)
    return UInt64(key.byteCount + 8)
  }

  /// Notes the entries of the new object whose record is in `scratch`.
  mutating func noteIndexEntries(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    guard entity.hasIndexes else { return }
    let waiting = waitingInserts()
    for key in try entity.indexKeys(id, scratch.view, schema) { waiting.keys.append(key) }
  }

  /// Removes the entries of the object whose record is in `scratch`.
  mutating func removeIndexEntries(_ id: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    guard entity.hasIndexes else { return }
    for key in try entity.indexKeys(id, scratch.view, schema) {
      try storage.delete(schema.tables.indexes, key.span.bytes)
    }
  }

  /// The keys of the entries, with these properties in them, of the object whose record is in `scratch`.
  borrowing func indexKeys(_ id: ObjectID, _ entity: CompiledEntity, of codes: Set<UInt16>) throws(StoreError)
    -> [[UInt8]]
  {
    codes.isEmpty ? [] : try entity.indexKeys(id, scratch.view, schema, of: codes)
  }

  /// Puts the entries of the object whose record is in `scratch` in the place of those that it had before these properties
  /// changed.
  mutating func replaceIndexEntries(
    _ oldKeys: [[UInt8]], _ id: ObjectID, _ entity: CompiledEntity, of codes: Set<UInt16>
  ) throws(StoreError) {
    let newKeys = try indexKeys(id, entity, of: codes)
    for key in oldKeys where !newKeys.contains(key) { try storage.delete(schema.tables.indexes, key.span.bytes) }
    for key in newKeys where !oldKeys.contains(key) { try putIndexEntry(key) }
  }

  /// Another object with the same values under a constraint.
  package borrowing func conflict(
    _ constraint: CompiledConstraint, _ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID
  ) throws(StoreError) -> ObjectID? {
    guard let builder = try constraint.entry(entity, view, id, schema) else { return nil }
    let values = try constraint.values(entity, view, id, schema)
    return try holder(of: constraint, builder, values: values, otherThan: id)
  }

  /// An object other than `id` whose entry has the builder's values. Long texts are cut in keys, so the values
  /// themselves decide.
  package borrowing func holder(
    of constraint: CompiledConstraint, _ builder: IndexKeyBuilder, values: [AttributeValue?], otherThan id: ObjectID?
  ) throws(StoreError) -> ObjectID? {
    let prefix = builder.bytes
    var found: ObjectID?
    try storage.scan(schema.tables.indexes, within: prefix.span.bytes) { (key, _) throws(StoreError) in
      let other: ObjectID
      do throws(RecordError) {
        guard try IndexKey.values(of: copy key).isEqual(to: prefix) else { return false }
        other = try IndexKey.objectID(of: copy key)
      } catch {
        throw StoreError(.corrupted, "an index has a malformed key; run `check` to see the extent")
      }
      guard other != id else { return true }
      if builder.isTruncated {
        let view = try existingRecord(other)
        let entity = try schema.entity(of: view, id: other)
        guard try constraint.values(entity, view, other, schema) == values else { return true }
      }
      found = other
      return false
    }
    return found
  }

  /// Whether the value of an index entry is intact.
  package static func isIntact(_ key: borrowing RawSpan, _ value: borrowing RawSpan) -> Bool {
    let seed = ValueEnvelope.seed(tableCode: .indexes, key: copy key)
    return value.byteCount == 8
      && value.unsafeLoadUnaligned(as: UInt64.self) == ValueEnvelope.emptyValue(seed: seed)
  }
}

package import KVCloneModel
package import KVCloneRecords

/// Maintains index entries when objects change: one per fetch index, and one per uniqueness constraint if all of its
/// values are set. Inside a transaction, constraints may temporarily have equal entries; the commit rejects them.
package enum IndexEntries {
  /// Adds the entries of the object with the record in `scratch`; returns their size in bytes, including keys.
  @discardableResult
  package static func add(_ id: ObjectID, _ entity: CompiledEntity, in session: inout Session) throws(StoreError)
    -> UInt64
  {
    guard entity.hasIndexes else { return 0 }
    return try add(try entity.indexKeys(id, session.scratch.view, session.schema), in: &session)
  }

  /// Adds the entries of an object with the record `patch`; returns their size in bytes, including keys.
  package static func add(_ id: ObjectID, _ entity: CompiledEntity, _ patch: RecordPatch, in session: inout Session)
    throws(StoreError)
    -> UInt64
  {
    try add(try entity.indexKeys(id, patch.view(entity.layout), session.schema), in: &session)
  }

  private static func add(_ keys: [[UInt8]], in session: inout Session) throws(StoreError) -> UInt64 {
    var byteCount: UInt64 = 0
    for key in keys { byteCount += try put(key, in: &session) }
    return byteCount
  }

  @discardableResult
  package static func put(_ key: [UInt8], in session: inout Session) throws(StoreError) -> UInt64 {
    try put(key.span.bytes, in: &session)
  }

  /// Adds the entry with a key; returns its size in bytes.
  @discardableResult
  static func put(_ key: RawSpan, in session: inout Session) throws(StoreError) -> UInt64 {
    let value: [1 of UInt64] = [ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .indexes, key: key))]
    try session.storage.put(session.schema.tables.indexes, key, value.span.bytes)
    return UInt64(key.byteCount + 8)
  }

  /// Defers the entries of the new object with the record in `scratch`.
  static func note(_ id: ObjectID, _ entity: CompiledEntity, in session: inout Session) throws(StoreError) {
    guard entity.hasIndexes else { return }
    let waiting = session.deferredInserts()
    for key in try entity.indexKeys(id, session.scratch.view, session.schema) { waiting.keys.append(key) }
  }

  /// Removes the entries of the object with the record in `scratch`.
  static func remove(_ id: ObjectID, _ entity: CompiledEntity, in session: inout Session) throws(StoreError) {
    guard entity.hasIndexes else { return }
    for key in try entity.indexKeys(id, session.scratch.view, session.schema) {
      try session.storage.delete(session.schema.tables.indexes, key.span.bytes)
    }
  }

  /// Returns the keys of the entries that contain these properties, for the object with the record in `scratch`.
  static func keys(_ id: ObjectID, _ entity: CompiledEntity, of codes: Set<UInt16>, in session: borrowing Session)
    throws(StoreError)
    -> [[UInt8]]
  {
    codes.isEmpty ? [] : try entity.indexKeys(id, session.scratch.view, session.schema, of: codes)
  }

  /// Replaces the entries that the object had before these properties changed with those of its record in `scratch`.
  static func replace(
    _ oldKeys: [[UInt8]], _ id: ObjectID, _ entity: CompiledEntity, of codes: Set<UInt16>, in session: inout Session
  ) throws(StoreError) {
    let newKeys = try keys(id, entity, of: codes, in: session)
    for key in oldKeys where !newKeys.contains(key) {
      try session.storage.delete(session.schema.tables.indexes, key.span.bytes)
    }
    for key in newKeys where !oldKeys.contains(key) { try put(key, in: &session) }
  }

  /// Returns another object with the same values under a constraint.
  package static func conflict(
    _ constraint: CompiledConstraint, _ entity: CompiledEntity, _ view: borrowing RecordView, _ id: ObjectID,
    in session: borrowing Session
  ) throws(StoreError) -> ObjectID? {
    guard let builder = try constraint.entry(entity, view, id, session.schema) else { return nil }
    let values = try constraint.values(entity, view, id, session.schema)
    return try holder(of: constraint, builder, values: values, otherThan: id, in: session)
  }

  /// Returns an object other than `id` with an entry of the builder's values. Long texts are truncated in keys, so the
  /// values themselves are compared.
  package static func holder(
    of constraint: CompiledConstraint, _ builder: IndexKeyBuilder, values: [AttributeValue?], otherThan id: ObjectID?,
    in session: borrowing Session
  ) throws(StoreError) -> ObjectID? {
    let prefix = builder.bytes
    var found: ObjectID?
    try session.storage.scan(session.schema.tables.indexes, within: prefix.span.bytes) { (key, _) throws(StoreError) in
      let other: ObjectID
      do throws(RecordError) {
        guard try IndexKey.values(of: copy key).isEqual(to: prefix) else { return false }
        other = try IndexKey.objectID(of: copy key)
      } catch {
        throw StoreError(.corrupted, "an index has a malformed key; run `check` to see the extent")
      }
      guard other != id else { return true }
      if builder.isTruncated {
        let isSame = try session.readScope { () throws(StoreError) in
          let view = try session.existingRecord(other)
          let entity = try session.schema.entity(of: view, id: other)
          return try constraint.values(entity, view, other, session.schema) == values
        }
        if !isSame { return true }
      }
      found = other
      return false
    }
    return found
  }

  /// Returns whether the value of an index entry is intact.
  package static func isIntact(_ key: borrowing RawSpan, _ value: borrowing RawSpan) -> Bool {
    let seed = ValueEnvelope.seed(tableCode: .indexes, key: copy key)
    return value.byteCount == 8
      && value.unsafeLoadUnaligned(as: UInt64.self) == ValueEnvelope.emptyValue(seed: seed)
  }
}

import KVCloneModel
import KVCloneRecords

extension Session {
  /// How many objects each concrete entity of a root's table has, by entity code. Reads headers only.
  package borrowing func counts(rootCode: UInt16) throws(StoreError) -> [UInt16: Int] {
    guard let table = schema.objectTable(rootCode: rootCode) else { return [:] }
    var counts: [UInt16: Int] = [:]
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: 0))
    let schema = schema
    // Neighbours are of one entity, as a rule.
    var last: (names: UInt32, code: UInt16, count: Int) = (0, 0, 0)
    try storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let names: UInt32
      do throws(RecordError) { names = try RecordView.layoutAndEntity(of: copy value) } catch {
        throw schema.corrupted(try schema.objectID(key), error)
      }
      if names != last.names || last.count == 0 {
        if last.count > 0 { counts[last.code, default: 0] += last.count }
        last = (names, try schema.entityCode(names, of: copy value, try schema.objectID(key)), 0)
      }
      last.count += 1
      return true
    }
    if last.count > 0 { counts[last.code, default: 0] += last.count }
    return counts
  }

  /// Calls `body` with each entry of a table, also those with malformed keys, until it returns false.
  package borrowing func forEachEntry(
    _ table: StorageTable, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The least key that a table can have.
    let first: [UInt8] = [0]
    try storage.scanToEnd(of: table, from: first.span.bytes, body)
  }

  /// Returns whether a table has an entry.
  package borrowing func has(_ table: StorageTable, _ key: [UInt8]) throws(StoreError) -> Bool {
    try storage.get(table, key.span.bytes) != nil
  }

  /// How many objects an entity has.
  package borrowing func count(of entity: CompiledEntity, includesSubentities: Bool) throws(StoreError) -> Int {
    let wanted = includesSubentities ? entity.concreteCodes : [entity.code]
    return try counts(rootCode: entity.rootCode).reduce(0) { $0 + (wanted.contains($1.key) ? $1.value : 0) }
  }
}

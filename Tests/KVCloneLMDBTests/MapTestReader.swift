import Testing

@testable import KVCloneLMDB

struct MapTestEntry: Equatable {
  let key: [UInt8]
  let value: [UInt8]
}

/// A read transaction that is read through the map, and through LMDB.
final class MapTestReader {
  let transaction: LMDBReadTransaction
  /// The result code at the end of the last scan.
  private(set) var lastCode: Int32 = 0

  init(_ environment: LMDBEnvironment) throws(LMDBError) {
    transaction = try environment.beginRead()
  }

  func depth(_ table: LMDBTable) -> Int32? { transaction.map.tree(table.dbi, isScan: true)?.depth }

  // MARK: By the map

  func entries(_ table: LMDBTable, from start: [UInt8] = [], limit: Int = .max) -> [MapTestEntry] {
    var found: [MapTestEntry] = []
    start.withUnsafeBytes { start in
      var scan = transaction.map.scan(table.dbi, from: start)
      while found.count < limit, scan.next() { found.append(MapTestEntry(scan.entry)) }
      lastCode = scan.code
    }
    return found
  }

  func get(_ table: LMDBTable, _ key: [UInt8]) -> (code: Int32, value: [UInt8]) {
    let found = key.withUnsafeBytes { transaction.map.value(table.dbi, $0) }
    return (found.code, found.code == 0 ? Array(found.bytes) : [])
  }

  func seek(_ table: LMDBTable, _ key: [UInt8], _ position: StorageSeek) -> (code: Int32, entry: MapTestEntry?) {
    var entry = StorageEntryPointers()
    let code = key.withUnsafeBytes { transaction.map.seek(table.dbi, $0, position, &entry) }
    return (code, code == 0 ? MapTestEntry(entry) : nil)
  }

  // MARK: By LMDB

  func entriesOfLMDB(_ table: LMDBTable, from start: [UInt8] = [], limit: Int = .max) throws -> [MapTestEntry] {
    var found: [MapTestEntry] = []
    try transaction.scan(table, from: start.span.bytes) { key, value in
      found.append(MapTestEntry(key: key.withUnsafeBytes { Array($0) }, value: value.withUnsafeBytes { Array($0) }))
      return found.count < limit
    }
    return found
  }

  // MARK: Both

  /// Compares gets, seeks and scans for keys of the table, for keys next to them, and for others. The map serves all of
  /// them itself.
  func compare(
    _ table: LMDBTable, _ entries: [MapTestEntry], _ generator: inout SeededGenerator, _ comment: Comment
  ) throws {
    #expect(self.entries(table) == entries && lastCode == LMDBPointerReader.notFound, comment)
    var keys: [[UInt8]] = [[0], [255], [UInt8](repeating: 255, count: 511), [UInt8](repeating: 0, count: 8)]
    for _ in 0..<60 {
      let near = entries.isEmpty ? [7, 7] : entries[Int(generator.next() % UInt64(entries.count))].key
      keys.append(near)
      if near.count < 511 { keys.append(near + [0]) }
      if near.count > 1 { keys.append(near.dropLast()) }
      if let last = near.last { keys.append(near.dropLast() + [last &+ 1]) }
      keys.append(SpillTests.key(generator.next()))
    }
    if let first = entries.first, let last = entries.last { keys += [first.key, last.key] }
    for key in keys {
      let found = get(table, key)
      let expected = try transaction.bytes(table, key)
      #expect(found.code == (expected == nil ? LMDBPointerReader.notFound : 0), comment)
      #expect(found.value == expected ?? [], comment)
      for position in [StorageSeek.atOrAfter, .atOrBefore] {
        let found = seek(table, key, position)
        let expected = try transaction.pointers.entry(table, key, position).map(MapTestEntry.init)
        #expect(found.code == (expected == nil ? LMDBPointerReader.notFound : 0) && found.entry == expected, comment)
      }
      let limit = Int(generator.next() % 60)
      let scanned = self.entries(table, from: key, limit: limit)
      #expect(try limit == 0 || scanned == entriesOfLMDB(table, from: key, limit: limit), comment)
    }
  }
}

extension MapTestEntry {
  init(_ entry: StorageEntryPointers) {
    self.init(key: Array(entry.key), value: Array(entry.value))
  }
}

extension LMDBValuePointer {
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
}

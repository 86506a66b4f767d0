import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// Keys that cannot be looked up, because a corrupted page is on the path. Nothing is known of their values.
struct LostKeys {
  private var ranges: [UInt16: [LostRange]] = [:]

  /// Nothing is lost.
  init() {}

  /// - Parameter expected: The required tables: one that is missing from a corrupted list of tables is lost completely.
  init(_ map: PageMap, expected: [TableCode]) {
    for (name, lost) in map.lost {
      guard let code = TableCode(name: name) else { continue }
      ranges[code.rawValue] = lost
    }
    guard map.isTableListDamaged else { return }
    for code in expected where map.table(code.name ?? "") == nil {
      ranges[code.rawValue] = [LostRange(low: [], high: nil, page: 0)]
    }
  }

  var isEmpty: Bool { ranges.isEmpty }

  /// Whether any key of a table is lost.
  func any(_ table: StorageTable) -> Bool { ranges[table.code.rawValue] != nil }

  /// Whether a key of any table of objects is lost.
  var anyObject: Bool { ranges.keys.contains { $0 > 0x8000 } }

  func contains(_ table: StorageTable, _ key: [UInt8]) -> Bool {
    guard let lost = ranges[table.code.rawValue] else { return false }
    return lost.contains { !key.lexicographicallyPrecedes($0.low) && isBelow(key, $0.high) }
  }

  /// Whether any key with `prefix` is lost.
  func intersects(_ table: StorageTable, prefix: [UInt8]) -> Bool {
    guard let lost = ranges[table.code.rawValue] else { return false }
    let end = KeyRange.end(ofPrefix: prefix)
    return lost.contains { isBelow(prefix, $0.high) && isBelow($0.low, end) }
  }

  private func isBelow(_ key: [UInt8], _ end: [UInt8]?) -> Bool {
    guard let end else { return true }
    return key.lexicographicallyPrecedes(end)
  }
}

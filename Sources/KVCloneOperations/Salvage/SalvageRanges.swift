import KVCloneLMDB
import KVCloneRecords

/// Keys of a damaged file's tables that cannot be looked up, because a page on the path is lost: by table, ascending. A
/// damaged file may have many, so lookups use binary search.
struct SalvageRanges {
  private var ranges: [TableCode: [LostRange]] = [:]

  /// - Parameter expected: the tables of every store with this model: those that the list lacks are lost completely.
  init(_ map: PageMap, expected: [TableCode]) {
    for (name, lost) in map.lost {
      guard let code = TableCode(name: name) else { continue }
      ranges[code] = lost
    }
    for code in expected where map.table(code.name ?? "") == nil {
      ranges[code] = [LostRange(low: [], high: nil, page: 0)]
    }
  }

  /// The lost ranges of a table.
  subscript(code: TableCode) -> [LostRange] { ranges[code] ?? [] }

  /// Tables with lost ranges.
  var codes: Set<TableCode> { Set(ranges.keys) }

  func contains(_ code: TableCode, _ key: UnsafeRawBufferPointer) -> Bool {
    guard let lost = ranges[code] else { return false }
    var low = 0
    var high = lost.count
    while low < high {
      let middle = (low + high) / 2
      if key.lexicographicallyPrecedes(lost[middle].low) { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return false }
    guard let end = lost[low - 1].high else { return true }
    return key.lexicographicallyPrecedes(end)
  }
}

extension LostRange {
  /// Whether it is a single key, of a value that has lost its overflow pages.
  var isOneKey: Bool { high == low + [0] }
}

import KVCloneCore

/// Results in the order of an index.
struct OrderedScan: Sendable {
  let scan: IndexScan
  /// Whether the index is read backwards.
  let isReversed: Bool
  /// The number of the request's sort keys that the index covers; equal results are sorted by the others.
  let sortedCount: Int

  /// Nil if the index has another order.
  init?(_ scan: IndexScan, _ order: [CompiledRequest.Order]) {
    let columns = scan.index.columns
    var place = scan.fixedCount
    var sortedCount = 0
    var isReversed: Bool?
    for sort in order {
      guard let key = ColumnKey(sort.term, sort.options) else { break }
      if columns[..<scan.fixedCount].contains(where: { $0.isSorted(by: key) }) {
        sortedCount += 1
        continue
      }
      guard place < columns.count, columns[place].isSortable, columns[place].isSorted(by: key) else { break }
      // A long text is truncated in a key, and later columns then separate entries before their whole texts are
      // compared.
      if columns[place].isText, place + 1 < columns.count { break }
      let isOpposite = sort.ascending != columns[place].isAscending
      guard isReversed ?? isOpposite == isOpposite else { break }
      isReversed = isOpposite
      place += 1
      sortedCount += 1
    }
    guard sortedCount > 0, place == columns.count else { return nil }
    self.scan = scan
    self.isReversed = isReversed ?? false
    self.sortedCount = sortedCount
  }
}

import KVCloneCore
import KVCloneRecords

/// The entries of an index that a condition leaves to look at.
struct IndexScan: Sendable {
  /// Keys from `start` to before `end`.
  struct Interval: Sendable {
    let start: [UInt8]
    let end: [UInt8]
  }

  let index: RequestIndex
  /// Ascending, and apart from each other.
  let intervals: [Interval]
  /// How many columns, from the first, have one value only.
  let fixedCount: Int
  /// How many columns, from the first, are limited at all.
  let limitedCount: Int
  /// Whether the condition holds for all entries' objects, as far as they are of the request's entity.
  let isExact: Bool

  /// So many single values, of IN and in combination, are looked up at most.
  private static let maximumIntervalCount = 1000

  /// - Parameter tests: what each part of the condition says of one value; nil for a part that says something else.
  /// - Returns: nil where the index does not narrow anything down.
  init?(_ index: RequestIndex, _ tests: [ColumnTest?]) {
    // Most indexes are of something else.
    let first = index.columns.first?.code
    guard tests.contains(where: { $0?.key.code == first }) else { return nil }
    guard let scan = Self.scan(index, tests), scan.limitedCount > 0,
      !index.isConstraint || scan.limitedCount == index.columns.count && scan.isOfWholeValues
    else { return nil }
    self = scan.value
  }

  /// All entries that the condition leaves, in the order of the index; perhaps all there are.
  static func ordered(_ index: RequestIndex, _ tests: [ColumnTest?]) -> IndexScan? {
    index.isConstraint ? nil : scan(index, tests)?.value
  }

  /// Whether the objects come by ascending id: all values are the same.
  var isInOrderOfIDs: Bool { intervals.count <= 1 && fixedCount == index.columns.count }

  private init(
    index: RequestIndex, intervals: [Interval], fixedCount: Int, limitedCount: Int, isExact: Bool
  ) {
    self.index = index
    self.intervals = intervals
    self.fixedCount = fixedCount
    self.limitedCount = limitedCount
    self.isExact = isExact
  }

  private struct Scan {
    var value: IndexScan
    /// Whether no column is limited by a range, or to nil.
    var isOfWholeValues: Bool
    var limitedCount: Int { value.limitedCount }
  }

  private static func scan(_ index: RequestIndex, _ tests: [ColumnTest?]) -> Scan? {
    var prefixes = [index.builder.bytes]
    var (fixedCount, limitedCount) = (0, 0)
    var isUsed = Array(repeating: false, count: tests.count)
    var isExact = true
    var isOfWholeValues = true
    var range: (parts: [ColumnBounds], column: Int)?
    for (place, column) in index.columns.enumerated() {
      var points: (values: [[UInt8]], part: Int, isExact: Bool)?
      var ranges: [(bounds: ColumnBounds, part: Int)] = []
      for (part, test) in tests.enumerated() {
        guard let test, let bounds = index.bounds(column, test) else { continue }
        switch bounds.shape {
        case .points(let values):
          let isFewer = values.count < points?.values.count ?? .max
          if isFewer, prefixes.count * values.count <= maximumIntervalCount { points = (values, part, bounds.isExact) }
        case .range: ranges.append((bounds, part))
        }
      }
      if let points {
        var sorted = points.values
        if sorted.count > 1 { sorted.sort { $0.lexicographicallyPrecedes($1) } }
        // A text that is cut does not say what the value is.
        if fixedCount == place, sorted.count <= 1, points.isExact || !column.isText { fixedCount += 1 }
        isOfWholeValues = isOfWholeValues && !sorted.contains { $0.first == 0 }
        if prefixes.count == 1, sorted.count == 1 {
          prefixes[0] += sorted[0]
        } else {
          prefixes = prefixes.flatMap { prefix in sorted.map { prefix + $0 } }
        }
        isUsed[points.part] = true
        isExact = isExact && points.isExact
        limitedCount += 1
        continue
      }
      if !ranges.isEmpty {
        range = (ranges.map(\.bounds), place)
        for range in ranges { isUsed[range.part] = true }
        isExact = isExact && ranges.allSatisfy(\.bounds.isExact)
        isOfWholeValues = false
        limitedCount += 1
      }
      break
    }
    let intervals = prefixes.compactMap { interval($0, range?.parts ?? []) }
    let scan = IndexScan(
      index: index, intervals: intervals, fixedCount: fixedCount, limitedCount: limitedCount,
      isExact: isExact && isUsed.allSatisfy { $0 })
    return Scan(value: scan, isOfWholeValues: isOfWholeValues)
  }

  /// The keys that begin with `prefix` and go on within all the bounds; nil where there are none.
  private static func interval(_ prefix: [UInt8], _ bounds: [ColumnBounds]) -> Interval? {
    var (start, end) = (prefix, end(of: prefix))
    if bounds.isEmpty { return Interval(start: start, end: end) }
    for bound in bounds {
      guard case .range(let lower, let upper) = bound.shape else { continue }
      let low = lower.isInclusive ? prefix + lower.bytes : Self.end(of: prefix + lower.bytes)
      let high = upper.isInclusive ? Self.end(of: prefix + upper.bytes) : prefix + upper.bytes
      if start.lexicographicallyPrecedes(low) { start = low }
      if high.lexicographicallyPrecedes(end) { end = high }
    }
    return start.lexicographicallyPrecedes(end) ? Interval(start: start, end: end) : nil
  }

  /// The first key after all that begin with `prefix`.
  static func end(of prefix: [UInt8]) -> [UInt8] {
    KeyRange.end(ofPrefix: prefix) ?? Array(repeating: 0xFF, count: FormatLimits.maximumKeyLength)
  }
}

/// Results in the order of an index.
struct OrderedScan: Sendable {
  let scan: IndexScan
  /// Whether the index is read from its end.
  let isReversed: Bool
  /// How many of the request's sort keys the index tells; what they do not tell apart is sorted by the others.
  let sortedCount: Int

  /// nil where the index is in another order.
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
      // A long text is cut in a key, and what comes behind it then parts entries whose whole texts are yet to be compared.
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

extension RequestIndex.Column {
  /// Whether the column's values are in the order of a sort key.
  fileprivate func isSorted(by key: ColumnKey) -> Bool {
    guard code == key.code, isSortable else { return false }
    if !isText { return key.form != .canonical }
    return key.form != .other && isFolded == (key.form != .plain)
  }
}

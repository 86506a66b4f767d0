import KVCloneCore
import KVCloneRecords

/// The index entries that remain to be examined for a condition.
struct IndexScan: Sendable {
  /// Keys from `start` to before `end`.
  struct Interval: Sendable {
    let start: [UInt8]
    let end: [UInt8]
  }

  let index: RequestIndex
  /// Ascending and disjoint.
  let intervals: [Interval]
  /// The number of leading columns with a single value.
  let fixedCount: Int
  /// The beginning of all keys: the id of the index, and the values of the columns with a single value.
  let fixedBytes: [UInt8]
  /// The number of leading columns with any bounds.
  let limitedCount: Int
  /// Whether the condition holds for the objects of all entries, as far as they belong to the request's entity.
  let isExact: Bool

  /// The maximum number of single values, of IN and in combination, that are looked up.
  private static let maximumIntervalCount = 1000

  /// - Parameter tests: the condition of each part on one value; nil for other parts.
  /// - Returns: nil if the index does not narrow the search.
  init?(_ index: RequestIndex, _ tests: [ColumnTest?]) {
    // Most indexes cover other properties.
    let first = index.columns.first?.code
    guard tests.contains(where: { $0?.key.code == first }) else { return nil }
    guard let scan = Self.scan(index, tests), scan.limitedCount > 0,
      !index.isConstraint || scan.limitedCount == index.columns.count && scan.isOfWholeValues
    else { return nil }
    self = scan.value
  }

  /// All entries that the condition allows, in index order; possibly all of the index.
  static func ordered(_ index: RequestIndex, _ tests: [ColumnTest?]) -> IndexScan? {
    index.isConstraint ? nil : scan(index, tests)?.value
  }

  /// Whether the objects are found by ascending id: all values are equal.
  var isInOrderOfIDs: Bool { intervals.count <= 1 && fixedCount == index.columns.count }

  private init(
    index: RequestIndex, intervals: [Interval], fixedCount: Int, fixedBytes: [UInt8], limitedCount: Int, isExact: Bool
  ) {
    self.index = index
    self.intervals = intervals
    self.fixedCount = fixedCount
    self.fixedBytes = fixedBytes
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
    var fixedBytes = index.builder.bytes
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
        // A truncated text does not identify the value.
        if fixedCount == place, sorted.count <= 1, points.isExact || !column.isText {
          fixedCount += 1
          fixedBytes += sorted.first ?? []
        }
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
      index: index, intervals: intervals, fixedCount: fixedCount, fixedBytes: fixedBytes, limitedCount: limitedCount,
      isExact: isExact && isUsed.allSatisfy { $0 })
    return Scan(value: scan, isOfWholeValues: isOfWholeValues)
  }

  /// The keys that start with `prefix` and continue within all the bounds; nil if there are none.
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

extension RequestIndex.Column {
  /// Whether the column's values are in the order of a sort key.
  func isSorted(by key: ColumnKey) -> Bool {
    guard code == key.code, isSortable else { return false }
    if !isText { return key.form != .canonical }
    return key.form != .other && isFolded == (key.form != .plain)
  }
}

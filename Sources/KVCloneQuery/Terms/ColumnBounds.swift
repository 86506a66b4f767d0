import Foundation
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The bounds of a column's values for which a test may hold; they include others if they are not exact.
struct ColumnBounds {
  enum Shape {
    /// Whole values.
    case points([[UInt8]])
    case range(lower: Edge, upper: Edge)
  }

  /// An end of a range: whether values with this prefix belong to it.
  struct Edge {
    var bytes: [UInt8]
    var isInclusive: Bool
  }

  let shape: Shape
  let isExact: Bool

  /// Nothing.
  static var nothing: ColumnBounds { ColumnBounds(shape: .points([]), isExact: true) }

  /// The same for a descending column.
  var complemented: ColumnBounds {
    func complement(_ bytes: [UInt8]) -> [UInt8] { bytes.map { ~$0 } }
    switch shape {
    case .points(let points): return ColumnBounds(shape: .points(points.map(complement)), isExact: isExact)
    case .range(var lower, var upper):
      lower.bytes = complement(lower.bytes)
      upper.bytes = complement(upper.bytes)
      return ColumnBounds(shape: .range(lower: upper, upper: lower), isExact: isExact)
    }
  }
}

extension RequestIndex {
  /// The bounds of the objects for which a test holds; nil if the column cannot decide it.
  func bounds(_ column: Column, _ test: ColumnTest) -> ColumnBounds? {
    guard test.concerns(column) else { return nil }
    let finder = BoundsFinder(column: column, builder: builder, isWiderTest: column.isFolded && test.key.form == .plain)
    guard let bounds = finder.bounds(test.operator, test.value) else { return nil }
    return column.isAscending ? bounds : bounds.complemented
  }
}

/// Converts a comparison to bounds of one ascending column.
private struct BoundsFinder {
  let column: RequestIndex.Column
  let builder: IndexKeyBuilder
  /// Whether the column folds texts and the test does not.
  let isWiderTest: Bool

  func bounds(_ operator: QueryComparison.Operator, _ value: QueryValue) -> ColumnBounds? {
    switch `operator` {
    case .equal: return points(CollectionOfOne(value))
    case .in:
      guard case .list(let values) = value else { return nil }
      return points(values)
    case .lessThan, .lessThanOrEqual: return range(nil, (value, `operator` == .lessThanOrEqual))
    case .greaterThan, .greaterThanOrEqual: return range((value, `operator` == .greaterThanOrEqual), nil)
    case .between:
      guard case .list(let values) = value, values.count == 2 else { return nil }
      return range((values[0], true), (values[1], true))
    case .beginsWith:
      guard column.isText, case .string(let text) = value else { return nil }
      let (bytes, isTruncated) = builder.column(beginningWith: text)
      let edge = ColumnBounds.Edge(bytes: bytes, isInclusive: true)
      return ColumnBounds(shape: .range(lower: edge, upper: edge), isExact: !isTruncated)
    default: return nil
    }
  }

  // MARK: Equality

  private func points(_ values: some Collection<QueryValue>) -> ColumnBounds? {
    var points: [[UInt8]] = []
    var isExact = !isWiderTest
    for value in values {
      switch StoredMatch.equal(to: value, column.type) {
      case .unusable: return nil
      case .nothing: continue
      case .value(var stored, let isSame):
        if isWiderTest, case .string(let text)? = stored { stored = .string(QueryText.folded(text, .foldedIndex)) }
        guard let (bytes, isTruncated) = try? builder.column(stored) else { return nil }
        points.append(bytes)
        // For a blob, only its bytes decide equality.
        if column.type == .binary, stored != nil { points.append([IndexKeyBuilder.withheld]) }
        isExact = isExact && isSame && !isTruncated
      }
    }
    return ColumnBounds(shape: .points(points.count > 1 ? Array(Set(points)) : points), isExact: isExact)
  }

  // MARK: Ranges

  private typealias Limit = (value: QueryValue, isInclusive: Bool)

  private func range(_ lower: Limit?, _ upper: Limit?) -> ColumnBounds? {
    // The booleans within the range are listed.
    if column.type == .boolean { return truthValues(lower, upper) }
    guard column.isSortable, var least = least else { return nil }
    var greatest = ColumnBounds.Edge(bytes: [1], isInclusive: true)
    var isExact = true
    for (limit, isLower) in [(lower, true), (upper, false)] {
      guard let limit else { continue }
      switch StoredMatch.limit(limit.value, isLower: isLower, column.type) {
      case .unusable: return nil
      case .nothing: return ColumnBounds.nothing
      case .value(nil, _): isExact = false
      case .value(let stored?, let isSame):
        guard let (bytes, isTruncated) = try? builder.column(stored) else { return nil }
        let isSharp = isSame && !isTruncated
        let edge = ColumnBounds.Edge(bytes: bytes, isInclusive: limit.isInclusive || !isSharp)
        if isLower { least = edge } else { greatest = edge }
        isExact = isExact && isSharp
      }
    }
    return ColumnBounds(shape: .range(lower: least, upper: greatest), isExact: isExact)
  }

  /// The lower end of all comparable values: above nil and NaN.
  private var least: ColumnBounds.Edge? {
    let nan: AttributeValue
    switch column.type {
    case .double: nan = .double(.nan)
    case .float: nan = .float(.nan)
    case .decimal: nan = .decimal(.nan)
    case .date: nan = .date(Date(timeIntervalSinceReferenceDate: .nan))
    default: return ColumnBounds.Edge(bytes: [1], isInclusive: true)
    }
    return (try? builder.column(nan)).map { ColumnBounds.Edge(bytes: $0.bytes, isInclusive: false) }
  }

  private func truthValues(_ lower: Limit?, _ upper: Limit?) -> ColumnBounds? {
    var points: [[UInt8]] = []
    for flag in [false, true] {
      func isWithin(_ limit: Limit?, _ outside: QueryOrder) -> Bool {
        guard let limit else { return true }
        guard let order = QueryValue.boolean(flag).order(against: limit.value) else { return false }
        return order == .same ? limit.isInclusive : order != outside
      }
      guard isWithin(lower, .less), isWithin(upper, .greater) else { continue }
      guard let (bytes, _) = try? builder.column(.boolean(flag)) else { return nil }
      points.append(bytes)
    }
    return ColumnBounds(shape: .points(points), isExact: true)
  }
}

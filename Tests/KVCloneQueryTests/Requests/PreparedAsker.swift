import Foundation
import KVClone
import KVCloneTestSupport

@testable import KVCloneCore
@testable import KVCloneQuery

/// A predicate with variables in the places of some of its constants.
struct OpenedPredicate {
  private(set) var predicate = QueryPredicate.constant(true)
  private(set) var values: [String: QueryArgument] = [:]
  private var random: SeededGenerator

  init(_ predicate: QueryPredicate, _ random: inout SeededGenerator) {
    self.random = random
    self.predicate = opened(predicate)
    random = self.random
  }

  private mutating func opened(_ predicate: QueryPredicate) -> QueryPredicate {
    switch predicate {
    case .constant: return predicate
    case .not(let inner): return .not(opened(inner))
    case .and(let parts): return .and(parts.map { opened($0) })
    case .or(let parts): return .or(parts.map { opened($0) })
    case .comparison(var comparison):
      comparison.left = opened(comparison.left)
      comparison.right = opened(comparison.right)
      return .comparison(comparison)
    }
  }

  private mutating func opened(_ expression: QueryExpression) -> QueryExpression {
    switch expression {
    case .self, .variable: return expression
    case .constant(let constant):
      if random.chance(in: 3) { return expression }
      let name = "v\(values.count)"
      values[name] = Self.argument(constant)
      return .variable(name)
    case .aggregate(let parts): return .aggregate(parts.map { opened($0) })
    case .keyPath(let base, let names): return .keyPath(opened(base), names)
    case .collection(let base, let function, let names): return .collection(opened(base), function, names)
    case .function(let function, let parts): return .function(function, parts.map { opened($0) })
    case .conditional(let predicate, let yes, let no): return .conditional(opened(predicate), opened(yes), opened(no))
    case .cast(let base, let type): return .cast(opened(base), type)
    case .subquery(let base, let variable, let predicate):
      return .subquery(opened(base), variable: variable, opened(predicate))
    case .setOperation(let left, let operation, let right): return .setOperation(opened(left), operation, opened(right))
    case .index(let base, .expression(let place)): return .index(opened(base), .expression(opened(place)))
    case .index(let base, let index): return .index(opened(base), index)
    }
  }

  private static func argument(_ constant: QueryConstant) -> QueryArgument {
    switch constant {
    case .null: .null
    case .value(let value): .value(value)
    case .object(let id): .object(id)
    case .list(let constants): .list(constants.map(argument))
    }
  }

  /// Returns values of which some are replaced by others of any type, and nil.
  mutating func others() -> [String: QueryArgument] {
    var others = values
    for name in values.keys.sorted() where !random.chance(in: 3) {
      // Prefers a value of the same predicate, which is likely to have a suitable type.
      let kept = values.keys.sorted().randomElement(using: &random).flatMap { values[$0] }
      others[name] = random.chance(in: 3) ? kept : Self.pool.randomElement(using: &random)
    }
    return others
  }

  private static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  private static let pool: [QueryArgument] = [
    .null, .null, 0, 1, 2, 3, .integer(Int64.max), .integer(Int64.min), 2.5, .double(.nan), .double(-0.0),
    .double(.infinity), .double(1e300), true, false, "", "a", "b", "A", "é", "*", "a?", "Item/3", "Tag/2",
    .string(String(repeating: "a", count: 600)), .string(uuid.uuidString), .string("2001-01-02T00:00:00Z"),
    .date(Date(timeIntervalSinceReferenceDate: 86_400)), .date(Date(timeIntervalSinceReferenceDate: .nan)),
    .uuid(uuid), .value(.binary(Data([1]))), .value(.transformable(Data([1]))), .value(.decimal(Decimal(1) / 3)),
    .value(.float(1.5)), .value(.uri("a")), .value(.composite([:])), .object(ObjectID(rawValue: 1 << 48 | 3)),
    .object(ObjectID(rawValue: 2 << 48 | 2)), [], [1, 2], [nil, "a"], ["a", "b"], [1, "a"], [2.5, 1], [[1], 2],
    .list([.object(ObjectID(rawValue: 1 << 48 | 1)), nil]), .expression(.keyPath(.`self`, ["name"])),
    .expression(.keyPath(.`self`, ["nothing"])), .expression(.variable("free")), .predicate(.constant(true)),
  ]
}

/// Runs requests with constants and prepared ones with variables, which must have the same results.
struct PreparedAsker {
  struct Difference: Error {
    let predicate: String
    let values: [String: QueryArgument]
    /// The use of indexes; nil for the default.
    let use: RequestPlanner.IndexUse?
    let prepared: Answer
    let expected: Answer
  }

  enum Answer: Equatable {
    case found([ObjectID], count: Int)
    case refused
  }

  private var random: SeededGenerator

  /// The variations depend only on the request, so that a failure can be shrunk.
  init(for request: FetchRequest) {
    let text = request.predicate?.predicateFormat ?? ""
    random = SeededGenerator(seed: text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
  }

  /// - Throws: `Difference`.
  mutating func ask(_ request: FetchRequest, in tx: borrowing some ObjectReading & ~Copyable) throws {
    guard let predicate = request.predicate else { return }
    var opened = OpenedPredicate(predicate, &random)
    var open = request
    open.predicate = opened.predicate
    let prepared = try tx._withSession { (session) throws(StoreError) in
      try PreparedRequest(open, session.schema, storeUUID: session.storeUUID)
    }
    for round in 0..<4 {
      // The predicate's own values are used again after other values.
      let values = round % 3 == 0 ? opened.values : opened.others()
      let expected = try answer { () throws in
        var filled = open
        filled.predicate = try opened.predicate.substituting(values)
        return .found(try tx.ids(filled, .never), count: try tx.count(filled, .never))
      }
      let quick = try answer { () throws in
        .found(try tx.fetchIDs(prepared, QueryVariables(values)), count: try tx.count(prepared, QueryVariables(values)))
      }
      if quick != expected { throw difference(opened, values, nil, quick, expected) }
      for use in RequestPlanner.IndexUse.all {
        let found = try answer { () throws in
          .found(
            try tx.ids(prepared, QueryVariables(values), use),
            count: try tx.count(prepared, QueryVariables(values), use))
        }
        if found != expected { throw difference(opened, values, use, found, expected) }
      }
    }
  }

  private func difference(
    _ opened: OpenedPredicate, _ values: [String: QueryArgument], _ use: RequestPlanner.IndexUse?, _ prepared: Answer,
    _ expected: Answer
  ) -> Difference {
    Difference(
      predicate: opened.predicate.predicateFormat, values: values, use: use, prepared: prepared, expected: expected)
  }

  private func answer(_ body: () throws -> Answer) throws -> Answer {
    do {
      return try body()
    } catch is QueryFormatError {
      return .refused
    } catch let error as StoreError {
      guard [.invalidPredicate, .wrongType, .unknownProperty].contains(error.kind) else { throw error }
      return .refused
    }
  }
}

extension ObjectReading where Self: ~Copyable {
  borrowing func ids(
    _ request: PreparedRequest, _ values: QueryVariables, _ use: RequestPlanner.IndexUse
  ) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      var ids: [ObjectID] = []
      try FetchExecutor.forEachResult(try FetchExecutor.compile(request, values, use: use, in: session), in: session) {
        (id, _) throws(StoreError) in
        ids.append(id)
        return true
      }
      return ids
    }
  }

  borrowing func count(
    _ request: PreparedRequest, _ values: QueryVariables, _ use: RequestPlanner.IndexUse
  ) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.count(
        try FetchExecutor.compile(request, values, isCount: true, use: use, in: session), in: session)
    }
  }
}

import Foundation
import KVClone
import KVCloneTestSupport

/// A value in the rules of predicates: numbers have three kinds, URIs are strings.
enum OracleValue {
  case null
  case integer(Int64)
  case double(Double)
  case decimal(Decimal)
  case text(String)
  case date(Double)
  case uuid(UUID)
  case bytes(Data)
  case composite([String: OracleValue])
  case object(ObjectID)
  case list([OracleValue])

  init(_ value: AttributeValue?) {
    self =
      switch value {
      case nil, .blob: .null
      case .integer(let number): .integer(number)
      case .decimal(let number): .decimal(number)
      case .double(let number): .double(number)
      case .float(let number): .double(Double(number))
      case .boolean(let flag): .integer(flag ? 1 : 0)
      case .string(let text), .uri(let text): .text(text)
      case .date(let date): .date(date.timeIntervalSinceReferenceDate)
      case .uuid(let uuid): .uuid(uuid)
      case .binary(let data), .transformable(let data): .bytes(data)
      case .composite(let elements): Self.composite(of: elements)
      }
  }

  /// A composite without values is nil, in a store as well.
  private static func composite(of elements: [String: AttributeValue]) -> OracleValue {
    let values = elements.mapValues { OracleValue($0) }.filter { !$0.value.isNull }
    return values.isEmpty ? .null : .composite(values)
  }

  init(_ id: ObjectID?) { self = id.map { .object($0) } ?? .null }

  var isNull: Bool { if case .null = self { true } else { false } }
}

/// A term on either side of a comparison.
indirect enum OracleTerm {
  case constant(AttributeValue?)
  case object(ObjectID)
  /// A key path that starts at a variable, or at the object of the request.
  case path(String?, [String])
  case aggregate([OracleTerm])
  /// `+`, `-`, `*`, `/`, `**`.
  case arithmetic(String, OracleTerm, OracleTerm)
  case function(String, [OracleTerm])
  /// `term.@operator.key`.
  case collection(OracleTerm, String, [String])
  case conditional(OraclePredicate, OracleTerm, OracleTerm)
  case subquery(OracleTerm, String, OraclePredicate)
  case sets(OracleTerm, String, OracleTerm)
  /// `FIRST`, `LAST`, `SIZE` or a number.
  case index(OracleTerm, String)
}

/// A predicate as a tree.
indirect enum OraclePredicate {
  case constant(Bool)
  /// `ANY`, `ALL`, `NONE` or an empty string; the left side; the operator; letters of options; the right side.
  case comparison(String, OracleTerm, String, String, OracleTerm)
  case and([OraclePredicate])
  case or([OraclePredicate])
  case not(OraclePredicate)
}

// MARK: Shrinking

extension OraclePredicate {
  /// Predicates with one part less; a failing test continues with those that fail, too.
  var simpler: [OraclePredicate] {
    switch self {
    case .constant: []
    case .not(let inner): [inner] + inner.simpler.map { .not($0) }
    case .and(let parts): parts + Self.simpler(parts).map { .and($0) }
    case .or(let parts): parts + Self.simpler(parts).map { .or($0) }
    case .comparison(let modifier, let left, let operation, let options, let right):
      left.simpler.map { .comparison(modifier, $0, operation, options, right) }
        + right.simpler.map { .comparison(modifier, left, operation, options, $0) }
        + (options.isEmpty ? [] : [.comparison(modifier, left, operation, "", right)])
    }
  }

  private static func simpler(_ parts: [OraclePredicate]) -> [[OraclePredicate]] {
    parts.indices.flatMap { index in
      parts[index].simpler.map { part in
        var parts = parts
        parts[index] = part
        return parts
      }
    }
  }
}

extension OracleTerm {
  /// Terms with one part less. Some have another type, and so fail with another error.
  var simpler: [OracleTerm] {
    switch self {
    case .constant, .object, .path: []
    case .aggregate(let parts): Self.simpler(parts).map { .aggregate($0) }
    case .arithmetic(let sign, let left, let right):
      [left, right] + left.simpler.map { .arithmetic(sign, $0, right) }
        + right.simpler.map { .arithmetic(sign, left, $0) }
    case .function(let name, let parts): parts + Self.simpler(parts).map { .function(name, $0) }
    case .collection(let base, let name, let key): base.simpler.map { .collection($0, name, key) }
    case .conditional(let predicate, let one, let other):
      [one, other] + predicate.simpler.map { .conditional($0, one, other) }
        + one.simpler.map { .conditional(predicate, $0, other) }
        + other.simpler.map { .conditional(predicate, one, $0) }
    case .subquery(let base, let name, let predicate):
      [base, .subquery(base, name, .constant(true))] + predicate.simpler.map { .subquery(base, name, $0) }
    case .sets(let left, let name, let right):
      [left, right] + left.simpler.map { .sets($0, name, right) } + right.simpler.map { .sets(left, name, $0) }
    case .index(let base, let index): base.simpler.map { .index($0, index) }
    }
  }

  private static func simpler(_ parts: [OracleTerm]) -> [[OracleTerm]] {
    parts.indices.flatMap { index in
      parts[index].simpler.map { part in
        var parts = parts
        parts[index] = part
        return parts
      }
    }
  }
}

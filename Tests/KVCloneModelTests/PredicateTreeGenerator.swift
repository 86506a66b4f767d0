import Foundation
import KVCloneModel
import KVCloneTestSupport

/// Generates random trees of predicates of every kind that a format can express.
struct PredicateTreeGenerator {
  var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let words = [
    "a", "name", "in", "SELF", "Size", "any", "two words", "grün", "1st", "a.b", "@count", "#", "", "sum", "\"", "x_1",
    "e\u{301}", "\u{301}", "nil", "cast",
  ]
  private static let texts = [
    "", "a", "it's", "\"", "\\d+\n", "%@", "\u{0}\u{7f}\u{1b}", "é", "e\u{301}", "👩‍👩‍👧", "\u{301}",
  ]
  private static let decimals: [Decimal] = [.nan, -3, 0.125, Decimal(sign: .plus, exponent: 30, significand: 7)]

  private mutating func pick<Item>(_ items: [Item]) -> Item { items[random.below(items.count)] }

  mutating func predicate(_ depth: Int) -> QueryPredicate {
    switch depth > 0 ? random.below(8) : 7 {
    case 0: return .and((0..<(2 + random.below(3))).map { _ in predicate(depth - 1) })
    case 1: return .or((0..<(2 + random.below(3))).map { _ in predicate(depth - 1) })
    case 2: return .not(predicate(depth - 1))
    case 3: return .constant(random.chance(in: 2))
    default: return .comparison(comparison(depth))
    }
  }

  private mutating func comparison(_ depth: Int) -> QueryComparison {
    let sign = pick(QueryComparison.Operator.allCases)
    let right: QueryExpression =
      switch sign {
      case .between: .aggregate([expression(depth - 1), expression(depth - 1)])
      case .in: random.chance(in: 2) ? .aggregate([expression(depth - 1)]) : .keyPath(.self, names())
      default: expression(depth - 1)
      }
    return QueryComparison(
      expression(depth - 1), sign, right, modifier: pick(QueryComparison.Modifier.allCases),
      options: .init(rawValue: UInt8(random.below(16))))
  }

  mutating func expression(_ depth: Int) -> QueryExpression {
    if depth <= 0 {
      switch random.below(4) {
      case 0: return .constant(constant(2))
      case 1: return .self
      case 2: return .variable(pick(["x", "in", "ä1"]))
      default: return .keyPath(.self, names())
      }
    }
    switch random.below(14) {
    case 0: return .constant(constant(3))
    case 1: return .aggregate((0..<random.below(4)).map { _ in expression(depth - 1) })
    case 2: return .keyPath(expression(depth - 1), names())
    case 3:
      let collectionOperator = pick(QueryCollectionOperator.allCases)
      let isWhole = collectionOperator == .count || random.chance(in: 3)
      return .collection(expression(depth - 1), collectionOperator, isWhole ? [] : names())
    case 4: return .conditional(predicate(depth - 1), expression(depth - 1), expression(depth - 1))
    case 5:
      let (base, type) = (expression(depth - 1), pick(AttributeType.allCases))
      // A constant that cannot be cast to the type is an error of the format.
      if case .constant(.value(let value)) = base, (try? type.cast(value)) == nil { return base }
      return .cast(base, type)
    case 6: return .subquery(expression(depth - 1), variable: "x", predicate(depth - 1))
    case 7: return .setOperation(expression(depth - 1), pick(QuerySetOperator.allCases), expression(depth - 1))
    case 8: return .index(expression(depth - 1), pick([.first, .last, .size]))
    case 9: return .index(expression(depth - 1), .expression(expression(depth - 1)))
    default:
      let signs: [QueryFunction] = [.add, .subtract, .multiply, .divide, .raise, .negate]
      let function = pick(random.chance(in: 3) ? QueryFunction.allCases : signs)
      return .function(function, (0..<function.argumentCount).map { _ in expression(depth - 1) })
    }
  }

  private mutating func names() -> [String] { (0...random.below(3)).map { _ in pick(Self.words) } }

  private mutating func constant(_ depth: Int) -> QueryConstant {
    switch random.below(depth > 0 ? 6 : 5) {
    case 0: return .null
    case 1:
      return .object(ObjectID(rootCode: .random(in: 0 ... .max, using: &random), serial: random.next() >> 16))
    case 5: return .list((0..<random.below(4)).map { _ in constant(depth - 1) })
    default: return .value(value())
    }
  }

  private mutating func uuid() -> UUID {
    let digits = String(random.next() >> 16 | 1 << 47, radix: 16)
    return UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-\(digits)") ?? UUID()
  }

  private mutating func value() -> AttributeValue {
    let number = Double(bitPattern: random.next())
    switch random.below(14) {
    case 0: return .integer(pick([0, 1, -1, 42, .max, .min]))
    case 1: return .decimal(pick(Self.decimals))
    case 2: return .double(pick([0, -0.0, 0.1, 1e300, -.infinity, .nan, number]))
    case 3: return .float(pick([0.1, -.infinity, Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))]))
    case 4, 5: return .string(pick(Self.texts) + pick(Self.texts))
    case 6: return .boolean(random.chance(in: 2))
    case 7: return .date(Date(timeIntervalSinceReferenceDate: pick([654_210_600.25, -0.0, .infinity, number])))
    case 8: return .binary(Data(pick(Self.texts).utf8))
    case 9: return .uuid(uuid())
    case 10: return .uri(pick(Self.texts))
    case 11: return .transformable(Data(pick(Self.texts).utf8))
    case 12:
      let date = Date(timeIntervalSinceReferenceDate: 1)
      return .composite(["a": .string(pick(Self.texts)), "b": ["c": .float(.nan), "d": .date(date)]])
    default: return .blob(BlobReference(id: random.next(), byteCount: 5, isTransformable: random.chance(in: 2)))
    }
  }
}

import Foundation
import KVCloneModel

/// Values, predicates and expressions in archived models.
extension ModelArchiveWriter {
  /// Returns a default value: numbers and flags are stored in their object, all other values are separate objects.
  mutating func value(_ value: AttributeValue) -> TestValue {
    switch value {
    case .integer(let number): .integer(number)
    case .boolean(let flag): .boolean(flag)
    case .double(let number): .real(number)
    case .float(let number): .real(Double(number))
    case .string(let text), .uri(let text): self.text(text)
    case .binary(let data), .transformable(let data): add(.data([UInt8](data)))
    case .date(let date): object("NSDate", [("NS.time", .real(date.timeIntervalSinceReferenceDate))])
    case .uuid(let uuid):
      object("NSUUID", [("NS.uuidbytes", .data(withUnsafeBytes(of: uuid.uuid) { [UInt8]($0) }))])
    case .decimal(let number): decimal(number)
    case .composite, .blob: .reference(0)
    }
  }

  private mutating func decimal(_ number: Decimal) -> TestValue {
    var digits = number.significand
    var parts: [UInt16] = []
    while digits != 0 {
      var quotient = digits / 65_536
      var rounded = Decimal()
      NSDecimalRound(&rounded, &quotient, 0, .down)
      parts.append(NSDecimalNumber(decimal: digits - rounded * 65_536).uint16Value)
      digits = rounded
    }
    let padded = parts + [UInt16](repeating: 0, count: 8 - parts.count)
    return object(
      "NSDecimalNumber",
      [
        ("NS.mantissa", .data(padded.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })),
        ("NS.length", .integer(Int64(parts.count))), ("NS.exponent", .integer(Int64(number.exponent))),
        ("NS.negative", .boolean(number.sign == .minus)), ("NS.mantissa.bo", .integer(1)),
      ])
  }

  mutating func bounds(of attribute: AttributeDescription) -> [TestValue] {
    let isLength = attribute.boundType != attribute.type
    let left = isLength ? keyPath("length") : evaluated()
    var result: [TestValue] = []
    if let least = attribute.minValue {
      result.append(comparison(left, 3, constant(value(least))))
    }
    if let most = attribute.maxValue {
      result.append(comparison(left, 1, constant(value(most))))
    }
    if let pattern = attribute.regularExpression {
      result.append(comparison(evaluated(), 6, constant(text(pattern))))
    }
    return result
  }

  // MARK: Predicates

  /// Returns a predicate of comparisons and compounds of them.
  mutating func predicate(_ format: String) -> TestValue {
    guard let predicate = try? QueryPredicate(format: format) else { preconditionFailure("\(format) is no predicate") }
    return self.predicate(predicate)
  }

  private mutating func predicate(_ predicate: QueryPredicate) -> TestValue {
    switch predicate {
    case .constant(let flag): object(flag ? "NSTruePredicate" : "NSFalsePredicate", [])
    case .and(let parts): compound(1, parts)
    case .or(let parts): compound(2, parts)
    case .not(let part): compound(0, [part])
    case .comparison(let given):
      comparison(
        expression(given.left), Self.number(given.operator), expression(given.right),
        modifier: [.direct: 0, .all: 1, .any: 2][given.modifier] ?? 0, options: Int64(given.options.rawValue))
    }
  }

  private mutating func compound(_ type: Int64, _ parts: [QueryPredicate]) -> TestValue {
    let parts = parts.map { predicate($0) }
    return object(
      "NSCompoundPredicate", [("NSCompoundPredicateType", .integer(type)), ("NSSubpredicates", list(parts, "NSArray"))])
  }

  private static func number(_ sign: QueryComparison.Operator) -> Int64 {
    switch sign {
    case .lessThan: 0
    case .lessThanOrEqual: 1
    case .greaterThan: 2
    case .greaterThanOrEqual: 3
    case .equal: 4
    case .notEqual: 5
    case .matches: 6
    case .like: 7
    case .beginsWith: 8
    case .endsWith: 9
    case .in: 10
    case .contains: 99
    case .between: 100
    }
  }

  private mutating func comparison(
    _ left: TestValue, _ number: Int64, _ right: TestValue, modifier: Int64 = 0, options: Int64 = 0
  ) -> TestValue {
    let sign = object(
      "NSComparisonPredicateOperator",
      [
        ("NSOperatorType", .integer(number)), ("NSModifier", .integer(modifier)), ("NSNegate", .boolean(false)),
        ("NSOptions", .integer(options)),
      ])
    return object(
      "NSComparisonPredicate",
      [("NSLeftExpression", left), ("NSRightExpression", right), ("NSPredicateOperator", sign)])
  }

  // MARK: Expressions

  private mutating func expression(_ expression: QueryExpression) -> TestValue {
    switch expression {
    case .self: return evaluated()
    case .variable(let name):
      return object("NSVariableExpression", [("NSExpressionType", .integer(2)), ("NSVariable", text(name))])
    case .keyPath(.self, let names): return keyPath(names.joined(separator: "."))
    case .constant(.null): return constant(.reference(0))
    case .constant(.value(let given)): return constant(value(given))
    default: preconditionFailure("\(expression) is not written here")
    }
  }

  private mutating func evaluated() -> TestValue { object("NSSelfExpression", [("NSExpressionType", .integer(1))]) }

  private mutating func constant(_ value: TestValue) -> TestValue {
    object("NSConstantValueExpression", [("NSExpressionType", .integer(0)), ("NSConstantValue", value)])
  }

  private mutating func keyPath(_ path: String) -> TestValue {
    let specifier = object(
      "NSKeyPathSpecifierExpression", [("NSExpressionType", .integer(10)), ("NSKeyPath", text(path))])
    return function(
      evaluated(), path.contains(".") ? "valueForKeyPath:" : "valueForKey:", [specifier], name: "NSKeyPathExpression",
      type: 3)
  }

  private mutating func function(
    _ operand: TestValue, _ selector: String, _ arguments: [TestValue], name: String = "NSFunctionExpression",
    type: Int64 = 4
  ) -> TestValue {
    let list = list(arguments)
    return object(
      name,
      [
        ("NSExpressionType", .integer(type)), ("NSOperand", operand), ("NSSelectorName", text(selector)),
        ("NSArguments", list),
      ])
  }

  /// Returns the expression of `now()`, `canonical:(name)`, `items.@count` or `items.price.@sum`.
  mutating func derivation(_ given: String) -> TestValue {
    let utilities = object(
      "NSConstantValueExpression",
      [("NSExpressionType", .integer(0)), ("NSConstantValueClassName", text("_NSPredicateUtilities"))])
    if given == "now()" { return function(utilities, "now", []) }
    if let mark = given.firstRange(of: ".@") {
      let names = ["count": "count:", "sum": "sum:", "avg": "average:", "min": "min:", "max": "max:"]
      guard let selector = names[String(given[mark.upperBound...])] else {
        preconditionFailure("\(given) is not written here")
      }
      let path = keyPath(String(given[..<mark.lowerBound]))
      return function(utilities, selector, [path])
    }
    if let mark = given.firstRange(of: ":(") {
      let path = keyPath(String(given[mark.upperBound...].dropLast()))
      return function(utilities, given[..<mark.lowerBound] + ":", [path])
    }
    return keyPath(given)
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of a placeholder such as `%@` or `%K`, or of a variable.
public enum QueryArgument: Hashable, Sendable {
  /// No value (nil).
  case null
  /// An attribute value.
  case value(AttributeValue)
  /// An object of a store.
  case object(ObjectID)
  /// A list of arguments. A list of constants is a constant; a list that contains expressions is an aggregate.
  case list([QueryArgument])
  /// An expression.
  case expression(QueryExpression)
  /// A predicate, for a placeholder in the position of a predicate.
  case predicate(QueryPredicate)

  /// Creates a text argument; for `%K`, a key path.
  public static func string(_ text: String) -> QueryArgument { .value(.string(text)) }
  /// Creates an integer argument. Integers beyond 64 bits become decimals; above 38 digits, the nearest double is used.
  public static func integer(_ number: some BinaryInteger) -> QueryArgument {
    if let integer = Int64(exactly: number) { return .value(.integer(integer)) }
    return .value(DecimalText("\(number)")?.value.map { .decimal($0) } ?? .double(Double(number)))
  }
  /// Creates a floating-point argument.
  public static func double(_ number: Double) -> QueryArgument { .value(.double(number)) }
  /// Creates a Boolean argument.
  public static func boolean(_ flag: Bool) -> QueryArgument { .value(.boolean(flag)) }
  /// Creates a date argument.
  public static func date(_ date: Date) -> QueryArgument { .value(.date(date)) }
  /// Creates a UUID argument.
  public static func uuid(_ uuid: UUID) -> QueryArgument { .value(.uuid(uuid)) }

  /// The argument as a constant: a value, or a list of values; nil for other cases.
  package var constant: QueryConstant? {
    guard case .list(let arguments) = self else { return single }
    let constants = arguments.compactMap(\.single)
    return constants.count == arguments.count ? .list(constants) : nil
  }

  private var single: QueryConstant? {
    switch self {
    case .null: .null
    case .value(let value): .value(value)
    case .object(let id): .object(id)
    case .list, .expression, .predicate: nil
    }
  }

  /// Why an argument cannot be used as a value.
  enum Problem: Error {
    /// It is, or contains, a predicate.
    case predicate
    /// Its lists are nested too deeply.
    case depth
  }

  /// The argument as an expression.
  func expression(level: Int = 1) -> Result<QueryExpression, Problem> {
    switch self {
    case .null: return .success(.constant(.null))
    case .value(let value): return .success(.constant(.value(value)))
    case .object(let id): return .success(.constant(.object(id)))
    case .expression(let expression): return .success(expression)
    case .predicate: return .failure(.predicate)
    case .list(let arguments):
      guard level < QueryTree.maximumHeight else { return .failure(.depth) }
      var items: [QueryExpression] = []
      var constants: [QueryConstant] = []
      for argument in arguments {
        switch argument.expression(level: level + 1) {
        case .failure(let problem): return .failure(problem)
        case .success(let item):
          items.append(item)
          if case .constant(let constant) = item { constants.append(constant) }
        }
      }
      return .success(constants.count == items.count ? .constant(.list(constants)) : .aggregate(items))
    }
  }
}

extension QueryArgument: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral
{
  /// A text; for `%K`, a key path.
  public init(stringLiteral value: String) { self = .value(.string(value)) }
  /// An integer.
  public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .value(.double(value)) }
  /// A Boolean value.
  public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  /// No value (nil).
  public init(nilLiteral: ()) { self = .null }
  /// A list of arguments.
  public init(arrayLiteral elements: QueryArgument...) { self = .list(elements) }
}

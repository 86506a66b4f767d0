public import KVCloneModel

/// The values of a prepared request's variables, by name without the `$`, written as a dictionary literal: `["code": 5,
/// "name": nil]`.
///
/// Names are compared one by one without hashing, which is fast for the usual few variables.
public struct QueryVariables: Sendable, ExpressibleByDictionaryLiteral {
  private let pairs: [(String, QueryArgument)]

  /// Creates an empty set of values.
  public init() { pairs = [] }

  /// Creates values from a dictionary literal. If a name occurs twice, the first value is used.
  public init(dictionaryLiteral elements: (String, QueryArgument)...) { pairs = elements }

  /// Creates values from a dictionary.
  public init(_ values: [String: QueryArgument]) { pairs = values.map { ($0.key, $0.value) } }

  /// The value of a variable, or nil if it has none.
  public subscript(name: String) -> QueryArgument? {
    for pair in pairs where pair.0 == name { return pair.1 }
    return nil
  }

  /// The variables as a dictionary.
  var dictionary: [String: QueryArgument] { Dictionary(pairs, uniquingKeysWith: { first, _ in first }) }
}

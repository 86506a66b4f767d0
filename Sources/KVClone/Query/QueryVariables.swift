public import KVCloneModel

/// The values of a prepared request's variables, by their names without the `$`, written as a dictionary:
/// `["code": 5, "name": nil]`.
///
/// There are few of them as a rule, so that they are compared one by one, and not hashed.
public struct QueryVariables: Sendable, ExpressibleByDictionaryLiteral {
  private let pairs: [(String, QueryArgument)]

  /// No variables.
  public init() { pairs = [] }

  /// The values of a literal. Of equal names the first counts.
  public init(dictionaryLiteral elements: (String, QueryArgument)...) { pairs = elements }

  /// The values of a dictionary.
  public init(_ values: [String: QueryArgument]) { pairs = values.map { ($0.key, $0.value) } }

  /// The value of a variable; nil where it has none.
  public subscript(name: String) -> QueryArgument? {
    for pair in pairs where pair.0 == name { return pair.1 }
    return nil
  }

  /// The same as a dictionary.
  var dictionary: [String: QueryArgument] { Dictionary(pairs, uniquingKeysWith: { first, _ in first }) }
}

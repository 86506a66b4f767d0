/// A named value of a dictionary fetch, as in Core Data: a property, a key path, or an expression such as `max:(price)
/// - min:(price)`.
public struct ExpressionDescription: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The value's name in the results.
  public var name: String
  /// The expression that computes the value.
  public var expression: QueryExpression

  /// Creates a named value from an expression.
  public init(_ name: String, _ expression: QueryExpression) {
    self.name = name
    self.expression = expression
  }

  /// Creates a named value from an expression in the format language, such as `sum:(price)` or `album.title`.
  ///
  /// - Throws: `QueryFormatError` with the column of the error.
  public init(_ name: String, format: String) throws(QueryFormatError) {
    self.init(name, try QueryExpression(format: format))
  }

  /// Creates a value from a key path of to-one relationships, named after the path.
  public init(keyPath: String) {
    name = keyPath
    expression = .keyPath(.`self`, keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }

  /// Creates a value from a key path, see ``init(keyPath:)``.
  public init(stringLiteral keyPath: String) { self.init(keyPath: keyPath) }
}

/// The result type of a fetch request, as in Core Data.
public enum FetchRequestResultType: Int, Sendable, Hashable, CaseIterable {
  /// Objects.
  case managedObject = 0
  /// Object ids.
  case managedObjectID = 1
  /// Dictionaries of values by name, see ``FetchRequest/propertiesToFetch``.
  case dictionary = 2
  /// Only the number of objects.
  case count = 4
}

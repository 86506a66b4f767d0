/// A named value that a fetch for dictionaries computes, Core Data's expression description: a property, a key path, or
/// an expression such as `max:(price) - min:(price)`.
public struct ExpressionDescription: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The name that the value has in the results.
  public var name: String
  /// What is computed.
  public var expression: QueryExpression

  /// Describes a value by an expression.
  public init(_ name: String, _ expression: QueryExpression) {
    self.name = name
    self.expression = expression
  }

  /// Describes a value by an expression in the format language, such as `sum:(price)` or `album.title`.
  ///
  /// - Throws: `QueryFormatError` with the column of what cannot be read.
  public init(_ name: String, format: String) throws(QueryFormatError) {
    self.init(name, try QueryExpression(format: format))
  }

  /// The value at a key path of to-one relationships, under the path's own name.
  public init(keyPath: String) {
    name = keyPath
    expression = .keyPath(.`self`, keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
  }

  /// The value at a key path, see ``init(keyPath:)``.
  public init(stringLiteral keyPath: String) { self.init(keyPath: keyPath) }
}

/// What the results of a fetch request are, as Core Data has it.
public enum FetchRequestResultType: Int, Sendable, Hashable, CaseIterable {
  /// Objects.
  case managedObject = 0
  /// The ids of objects.
  case managedObjectID = 1
  /// Values by name, see ``FetchRequest/propertiesToFetch``.
  case dictionary = 2
  /// Only how many there are.
  case count = 4
}

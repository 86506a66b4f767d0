extension QueryPredicate {
  /// Parses a predicate in Core Data's format language, such as `"name LIKE[cd] %@ AND items.@count > 3"`.
  ///
  /// Formats may have up to 200 levels of nesting.
  ///
  /// - Parameters:
  ///   - format: The predicate. Placeholders such as `%@`, `%K` and `%d` outside of quotation marks are replaced.
  ///   - arguments: One argument per placeholder, in order.
  public init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    var parser = try QueryParser(format: format, arguments: arguments)
    self = try parser.wholePredicate()
  }

  /// Parses a predicate in Core Data's format language; see ``init(format:arguments:)``.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// A format without placeholders that parses to an equal predicate.
  ///
  /// Constants without a literal are written as a CAST: `CAST("3/17", "NSManagedObjectID")`. A compound with fewer than
  /// two members is written in its simplified form.
  public var predicateFormat: String {
    var printer = QueryPrinter()
    printer.write(self)
    return printer.text
  }
}

extension QueryExpression {
  /// Parses an expression in Core Data's format language, such as `"price * %d"`.
  ///
  /// - Parameters:
  ///   - format: The expression. Placeholders such as `%@`, `%K` and `%d` outside of quotation marks are replaced.
  ///   - arguments: One argument per placeholder, in order.
  public init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    var parser = try QueryParser(format: format, arguments: arguments)
    self = try parser.wholeExpression()
  }

  /// Parses an expression in Core Data's format language; see ``init(format:arguments:)``.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// A format without placeholders that parses to an equal expression.
  public var expressionFormat: String {
    var printer = QueryPrinter()
    printer.write(self)
    return printer.text
  }
}

extension QueryPredicate: CustomStringConvertible {
  /// The predicate's format.
  public var description: String { predicateFormat }
}

extension QueryExpression: CustomStringConvertible {
  /// The expression's format.
  public var description: String { expressionFormat }
}

extension QueryPredicate {
  /// Reads a predicate in the language of Core Data's predicates, such as `"name LIKE[cd] %@ AND items.@count > 3"`.
  ///
  /// Formats may have 200 levels of nesting.
  ///
  /// - Parameters:
  ///   - format: The predicate. Places such as `%@`, `%K` and `%d` outside of quotation marks are filled in.
  ///   - arguments: One for each place, in their order.
  public init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    var parser = try QueryParser(format: format, arguments: arguments)
    self = try parser.wholePredicate()
  }

  /// Reads a predicate in the language of Core Data's predicates; see ``init(format:arguments:)``.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// A format without places that gives an equal predicate.
  ///
  /// Constants that formats have no literal for are written as a CAST of one: `CAST("3/17", "NSManagedObjectID")`. A
  /// compound of less than two is written as what it means.
  public var predicateFormat: String {
    var printer = QueryPrinter()
    printer.write(self)
    return printer.text
  }
}

extension QueryExpression {
  /// Reads an expression, such as `"price * %d"`, in the language of Core Data's predicates.
  ///
  /// - Parameters:
  ///   - format: The expression. Places such as `%@`, `%K` and `%d` outside of quotation marks are filled in.
  ///   - arguments: One for each place, in their order.
  public init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    var parser = try QueryParser(format: format, arguments: arguments)
    self = try parser.wholeExpression()
  }

  /// Reads an expression in the language of Core Data's predicates; see ``init(format:arguments:)``.
  public init(format: String, _ arguments: QueryArgument...) throws(QueryFormatError) {
    try self.init(format: format, arguments: arguments)
  }

  /// A format without places that gives an equal expression.
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

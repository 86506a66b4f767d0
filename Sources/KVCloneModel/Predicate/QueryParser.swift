/// Parses a format into a tree, by recursive descent with operator precedence.
///
/// Parentheses may contain a predicate or an expression, and only the end of the content shows which; one grammar
/// therefore parses both, and every use checks the kind of its node. Nesting is counted, and every node records its
/// height: neither can exceed ``QueryTree/maximumHeight``. Few functions are recursive (``binary(_:)``, `unary`,
/// ``postfix()``, ``list(_:)``); others, which are never inlined, assemble their results, so that 200 levels fit on a
/// stack of 512 KiB.
struct QueryParser {
  var tokenizer: QueryTokenizer
  /// The current token, and the index of its first scalar.
  private(set) var token = QueryToken.end
  private(set) var start = 0
  private var nesting = 0

  init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    tokenizer = QueryTokenizer(format: format, arguments: arguments)
    try advance()
    if token == .end { throw error(.emptyFormat, "the format is empty; write a predicate such as name == 'a'", at: 0) }
  }

  /// Parses the whole format as a predicate.
  mutating func wholePredicate() throws(QueryFormatError) -> QueryPredicate {
    let node = try binary(.or)
    let predicate = try self.predicate(node)
    try finish("an operator")
    return predicate
  }

  /// Parses the whole format as an expression.
  mutating func wholeExpression() throws(QueryFormatError) -> QueryExpression {
    let node = try binary(.or)
    let expression = try self.expression(node)
    try finish("an operator")
    return expression
  }

  private mutating func finish(_ expected: String) throws(QueryFormatError) {
    if token != .end { throw unexpected(expected) }
    if tokenizer.hasArguments {
      throw error(.tooManyArguments, "there are more arguments than placeholders; remove some, or add %@", at: start)
    }
  }

  // MARK: Tokens

  @inline(never)
  mutating func advance() throws(QueryFormatError) { (token, start) = try tokenizer.next() }

  func error(_ kind: QueryFormatError.Kind, _ message: String, at offset: Int) -> QueryFormatError {
    tokenizer.error(kind, message, at: offset)
  }

  /// The error for an unexpected token.
  @inline(never)
  func unexpected(_ expected: String) -> QueryFormatError {
    switch token {
    case .end: error(.unexpectedEnd, "expected \(expected), but the format ends", at: start)
    case .symbol(.assign):
      error(.unsupported, "':=' assigns to a variable, which is not supported; substitute variables instead", at: start)
    default: error(.unexpectedToken, "expected \(expected), but found \(token.shown)", at: start)
    }
  }

  mutating func expect(_ symbol: QuerySymbol) throws(QueryFormatError) {
    guard token == .symbol(symbol) else { throw unexpected("'\(symbol.rawValue)'") }
    try advance()
  }

  /// Enters a nested form at its opening token; ``close(_:openedAt:)`` leaves it.
  @inline(never)
  mutating func open() throws(QueryFormatError) -> Int {
    let offset = start
    try enter()
    try advance()
    return offset
  }

  /// Leaves a form that ``open()`` entered.
  @inline(never)
  mutating func close(_ symbol: QuerySymbol, openedAt offset: Int) throws(QueryFormatError) {
    if token == .end {
      throw error(
        .unclosedParenthesis, "the bracket that opens here is not closed; add '\(symbol.rawValue)'", at: offset)
    }
    try expect(symbol)
    leave()
  }

  /// Leaves a form that ``open()`` entered and that has no closing token.
  mutating func leave() { nesting -= 1 }

  private mutating func enter() throws(QueryFormatError) {
    nesting += 1
    if nesting > QueryTree.maximumHeight { throw error(.nestingTooDeep, QueryTree.tooHigh, at: start) }
  }

  // MARK: Nodes

  func node(_ content: QueryNode.Content, above height: Int, at offset: Int) throws(QueryFormatError) -> QueryNode {
    guard height < QueryTree.maximumHeight else { throw error(.nestingTooDeep, QueryTree.tooHigh, at: offset) }
    return QueryNode(content: content, height: height + 1, start: offset)
  }

  /// The node as a predicate; for an expression, reports the missing operator.
  func predicate(_ node: QueryNode) throws(QueryFormatError) -> QueryPredicate {
    guard case .predicate(let predicate) = node.content else { throw unexpected("an operator such as ==") }
    return predicate
  }

  /// The node as an expression.
  func expression(_ node: QueryNode) throws(QueryFormatError) -> QueryExpression {
    guard case .expression(let expression) = node.content else {
      let message = "expected a value, but found a predicate; write TERNARY(p, a, b)"
      throw error(.unexpectedToken, message, at: node.start)
    }
    return expression
  }

  func literal(_ constant: QueryConstant, at offset: Int) throws(QueryFormatError) -> QueryNode {
    // A constant without a literal is printed as a cast of one.
    let height = constant.isLiteral ? 0 : QueryTree.height(of: .expression(.constant(constant))) - 1
    let node = try self.node(.expression(.constant(constant)), above: height, at: offset)
    node.isLiteral = true
    return node
  }
}

/// The parsed form of a part of a format. Each node has one owner.
///
/// A class, because every recursive function has several: as values, they would fill a small stack.
final class QueryNode {
  enum Content {
    case predicate(QueryPredicate)
    case expression(QueryExpression)
    /// FIRST, LAST or SIZE in the place of an index.
    case index(QueryIndex)
  }

  var content: Content
  /// The number of levels of the tree; 0 for other nodes.
  var height: Int
  /// The index of its first scalar.
  var start: Int
  /// Whether it is a constant without parentheses, which CAST converts.
  var isLiteral = false
  /// Whether it is an unsigned number literal, which a preceding minus sign belongs to.
  var isNumberToken = false
  /// The modifier, such as ANY, if it is the left side of a comparison.
  var modifier = QueryComparison.Modifier.direct
  /// Whether it was passed as an argument, so that names after it continue a key path.
  var isArgument = false

  init(content: Content, height: Int, start: Int) {
    self.content = content
    self.height = height
    self.start = start
  }

  func starting(at offset: Int) -> QueryNode {
    start = offset
    return self
  }
}

/// Makes a tree of a format, by recursive descent with operator precedence.
///
/// A parenthesis may hold a predicate or an expression, and which one is known only at its end; so one grammar parses
/// both, and every place asks what it got. What nests is counted, and every node knows its height: neither can exceed
/// ``QueryTree/maximumHeight``. Few functions call themselves in the end (``binary(_:)``, `unary`, ``postfix()``,
/// ``list(_:)``); what they got is put together by others, which are never inlined, so that 200 levels fit on a stack of
/// 512 KiB.
struct QueryParser {
  var tokenizer: QueryTokenizer
  /// The token that is looked at, and the index of its first scalar.
  private(set) var token = QueryToken.end
  private(set) var start = 0
  private var nesting = 0

  init(format: String, arguments: [QueryArgument]) throws(QueryFormatError) {
    tokenizer = QueryTokenizer(format: format, arguments: arguments)
    try advance()
    if token == .end { throw error(.emptyFormat, "the format is empty; write a predicate such as name == 'a'", at: 0) }
  }

  /// The whole format as a predicate.
  mutating func wholePredicate() throws(QueryFormatError) -> QueryPredicate {
    let node = try binary(.or)
    let predicate = try self.predicate(node)
    try finish("an operator")
    return predicate
  }

  /// The whole format as an expression.
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

  /// The error that the token cannot stand where it does.
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

  /// Begins something that nests, with the sign at which it does; ``close(_:openedAt:)`` ends it.
  @inline(never)
  mutating func open() throws(QueryFormatError) -> Int {
    let offset = start
    try enter()
    try advance()
    return offset
  }

  /// Ends what ``open()`` began.
  @inline(never)
  mutating func close(_ symbol: QuerySymbol, openedAt offset: Int) throws(QueryFormatError) {
    if token == .end {
      throw error(
        .unclosedParenthesis, "the bracket that opens here is not closed; add '\(symbol.rawValue)'", at: offset)
    }
    try expect(symbol)
    leave()
  }

  /// Ends what ``open()`` began where no sign does.
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

  /// The node as a predicate; where it is an expression, what is missing is an operator behind it.
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
    // What has no literal of its own is printed as a cast of one.
    let height = constant.isLiteral ? 0 : QueryTree.height(of: .expression(.constant(constant))) - 1
    let node = try self.node(.expression(.constant(constant)), above: height, at: offset)
    node.isLiteral = true
    return node
  }
}

/// What a part of a format has become. One place at a time holds a node.
///
/// It is a class because everything that recurses has several: as values, they would fill a small stack.
final class QueryNode {
  enum Content {
    case predicate(QueryPredicate)
    case expression(QueryExpression)
    /// FIRST, LAST or SIZE where an index is needed.
    case index(QueryIndex)
  }

  var content: Content
  /// How many levels the tree has; 0 for what is none.
  var height: Int
  /// The index of its first scalar.
  var start: Int
  /// Whether it is a constant without parentheses, which CAST makes one of another type.
  var isLiteral = false
  /// Whether it is a number as the format writes it, without a sign, which a minus sign before it belongs to.
  var isNumberToken = false
  /// What ANY and the like say of it, as the left side of a comparison.
  var modifier = QueryComparison.Modifier.direct
  /// Whether it was given as an argument, so that names behind it continue a key path.
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

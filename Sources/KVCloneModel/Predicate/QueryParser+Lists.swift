/// A form with items between parentheses, braces or brackets.
struct QueryListForm {
  /// The kind of form.
  enum Kind: Equatable {
    case parenthesis, aggregate, index, ternary, subquery, cast, castByName, indexByName, functionByName
    case function(QueryFunction)
  }

  /// The kind of an item.
  enum Item {
    case value, predicate, variable, text, index, valueOrPredicate
  }

  var kind: Kind
  /// The index of the first scalar, for a call that of the function's name.
  var start: Int

  init(_ kind: Kind, start: Int) {
    self.kind = kind
    self.start = start
  }

  var closing: QuerySymbol {
    switch kind {
    case .aggregate: .rightBrace
    case .index: .rightBracket
    default: .rightParenthesis
    }
  }

  /// The kinds of the items; nil for any number of values.
  var items: [Item]? {
    switch kind {
    case .parenthesis: [.valueOrPredicate]
    case .index: [.index]
    case .ternary: [.predicate, .value, .value]
    case .subquery: [.value, .variable, .predicate]
    case .cast, .castByName: [.value, .text]
    case .indexByName: [.value, .index]
    case .aggregate, .function, .functionByName: nil
    }
  }

  func item(at index: Int) -> Item {
    if kind == .functionByName, index == 1 { return .text }
    return items?[index] ?? .value
  }

  /// The required number of items; nil if it is open, or depends on the items.
  var count: Int? { items?.count }
}

extension QueryParser {
  /// Parses the items of a list and the closing token; the current token is the opening one.
  mutating func list(_ form: QueryListForm) throws(QueryFormatError) -> [QueryNode] {
    let opened = try open()
    var nodes: [QueryNode] = []
    while try hasItem(form, nodes.count) {
      if let plain = try plainItem(form.item(at: nodes.count)) {
        nodes.append(plain)
      } else {
        let node = try binary(.or)
        try check(node, form.item(at: nodes.count))
        nodes.append(node)
      }
    }
    try close(form.closing, openedAt: opened)
    return nodes
  }

  /// Whether another item follows; consumes the comma before it.
  @inline(never)
  private mutating func hasItem(_ form: QueryListForm, _ count: Int) throws(QueryFormatError) -> Bool {
    if let wanted = form.count {
      if count == wanted { return false }
      if count > 0 { try expect(.comma) }
      return true
    }
    if count == 0 { return token != .symbol(form.closing) }
    guard token == .symbol(.comma) else { return false }
    try advance()
    return true
  }

  /// Parses an item that is one token; nil if the token is another one.
  @inline(never)
  private mutating func plainItem(_ item: QueryListForm.Item) throws(QueryFormatError) -> QueryNode? {
    let node: QueryNode
    switch (item, token) {
    case (.index, .word(_, .first)): node = QueryNode(content: .index(.first), height: 0, start: start)
    case (.index, .word(_, .last)): node = QueryNode(content: .index(.last), height: 0, start: start)
    case (.index, .word(_, .size)): node = QueryNode(content: .index(.size), height: 0, start: start)
    case (.variable, .variable(let name)): node = try self.node(.expression(.variable(name)), above: 0, at: start)
    case (.variable, _): throw unexpected("a variable such as $x")
    case (.text, .text(let text)), (.text, .argument(.value(.string(let text)))):
      node = try literal(.value(.string(text)), at: start)
    case (.text, _): throw unexpected("the name of a type or function in quotes")
    default: return nil
    }
    try advance()
    return node
  }

  @inline(never)
  private func check(_ node: QueryNode, _ item: QueryListForm.Item) throws(QueryFormatError) {
    switch item {
    case .valueOrPredicate: break
    case .predicate: _ = try predicate(node)
    default: _ = try expression(node)
    }
  }

  /// Builds the node of a list; the token is the one after it.
  @inline(never)
  func made(_ form: QueryListForm, _ nodes: [QueryNode]) throws(QueryFormatError) -> QueryNode {
    switch form.kind {
    case .parenthesis:
      guard let inner = nodes.first else { throw unexpected("a value") }
      return QueryNode(content: inner.content, height: inner.height, start: form.start)
    case .aggregate:
      let node = try self.node(.expression(.aggregate(expressions(nodes))), above: height(nodes), at: form.start)
      node.isLiteral = true
      return node
    case .function(let function): return try called(function, nodes, at: form.start)
    case .functionByName: return try calledByName(nodes, at: form.start)
    case .cast, .castByName: return try cast(nodes, isFinal: form.kind == .castByName, at: form.start)
    case .ternary, .subquery, .index, .indexByName: break
    }
    // The number of arguments was checked before.
    guard let first = nodes.first, let last = nodes.last, nodes.count > 1 else { throw unexpected("a value") }
    switch form.kind {
    case .ternary:
      let whole = QueryExpression.conditional(try predicate(first), try expression(nodes[1]), try expression(last))
      return try node(.expression(whole), above: height(nodes), at: form.start)
    case .subquery:
      guard case .variable(let variable) = try expression(nodes[1]) else { throw unexpected("a variable") }
      let whole = QueryExpression.subquery(try expression(first), variable: variable, try predicate(last))
      return try node(.expression(whole), above: height(nodes), at: form.start)
    default: return try indexed(first, nodes, at: form.start).starting(at: form.start)
    }
  }

  func expressions(_ nodes: [QueryNode]) throws(QueryFormatError) -> [QueryExpression] {
    var result: [QueryExpression] = []
    for node in nodes { result.append(try expression(node)) }
    return result
  }

  func height(_ nodes: [QueryNode]) -> Int { nodes.reduce(0) { max($0, $1.height) } }
}

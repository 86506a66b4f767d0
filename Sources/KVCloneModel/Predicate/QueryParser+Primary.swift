#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension QueryParser {
  /// Parses a value, and the names and brackets after it.
  mutating func postfix() throws(QueryFormatError) -> QueryNode {
    var node: QueryNode
    switch try head() {
    case .node(let whole): node = whole
    case .list(let form):
      let items = try list(form)
      node = try made(form, items)
    }
    while true {
      switch token {
      case .symbol(.dot): node = try followed(node)
      case .symbol(.leftBracket):
        let form = try indexForm(behind: node)
        let items = try list(form)
        node = try indexed(node, items, at: form.start)
      default: return node
      }
    }
  }

  /// The beginning of a value: all of it, or the head of a list in parentheses or braces.
  private enum Head {
    case node(QueryNode)
    case list(QueryListForm)
  }

  @inline(never)
  private mutating func head() throws(QueryFormatError) -> Head {
    switch token {
    case .symbol(.leftParenthesis): return .list(QueryListForm(.parenthesis, start: start))
    case .symbol(.leftBrace): return .list(QueryListForm(.aggregate, start: start))
    case .word(_, let keyword) where keyword?.isNameAlone != false: return try nameOrCall()
    case .word, .argument: return .node(try given())
    case .name, .path, .collectionOperator: return .node(try path())
    default: return .node(try literal())
    }
  }

  private mutating func nameOrCall() throws(QueryFormatError) -> Head {
    let offset = start
    guard case .word(let word, let keyword) = token else { throw unexpected("a value") }
    try advance()
    if token == .symbol(.leftParenthesis) || token == .symbol(.colon) {
      return .list(try callForm(word, keyword, at: offset))
    }
    return .node(try path([QueryPathComponent(kind: .name(word), start: offset)], at: offset))
  }

  /// Parses a key path that starts with neither a word nor a value.
  private mutating func path() throws(QueryFormatError) -> QueryNode {
    let offset = start
    let components: [QueryPathComponent]
    switch token {
    case .name(let name): components = [QueryPathComponent(kind: .name(name), start: offset)]
    case .path(let text): components = try self.components(of: text)
    case .collectionOperator(let name): components = [try collectionOperator(name, at: offset)]
    default: throw unexpected("a value")
    }
    try advance()
    return try path(components, at: offset)
  }

  private mutating func literal() throws(QueryFormatError) -> QueryNode {
    let node: QueryNode
    switch token {
    case .text(let text): node = try literal(.value(.string(text)), at: start)
    case .integer(let magnitude):
      let number = Int64(exactly: magnitude).map { AttributeValue.integer($0) } ?? .decimal(Decimal(magnitude))
      node = try literal(.value(number), at: start)
      node.isNumberToken = true
    case .real(let number):
      node = try literal(.value(.double(number)), at: start)
      node.isNumberToken = true
    case .decimal(let number):
      node = try literal(.value(.decimal(number)), at: start)
      node.isNumberToken = true
    case .variable(let name): node = try self.node(.expression(.variable(name)), above: 0, at: start)
    default: throw unexpected("a value")
    }
    try advance()
    return node
  }

  /// Parses a keyword that is a value or a predicate, or the argument of a placeholder.
  private mutating func given() throws(QueryFormatError) -> QueryNode {
    let node: QueryNode
    switch token {
    case .word(_, let keyword?): node = try fixed(keyword)
    case .argument(let argument): node = try self.argument(argument)
    default: throw unexpected("a value")
    }
    try advance()
    return node
  }

  private func fixed(_ keyword: QueryKeyword) throws(QueryFormatError) -> QueryNode {
    switch keyword {
    case .truePredicate: return try node(.predicate(.constant(true)), above: 0, at: start)
    case .falsePredicate: return try node(.predicate(.constant(false)), above: 0, at: start)
    case .true, .yes: return try literal(.value(.boolean(true)), at: start)
    case .false, .no: return try literal(.value(.boolean(false)), at: start)
    case .null, .nil: return try literal(.null, at: start)
    case .self: return try node(.expression(.self), above: 0, at: start)
    case .anyKey:
      throw error(.unsupported, "ANYKEY is not supported; name the properties, or write #anykey for a name", at: start)
    default: throw unexpected("a value")
    }
  }

  private func argument(_ argument: QueryArgument) throws(QueryFormatError) -> QueryNode {
    let node: QueryNode
    if case .predicate(let predicate) = argument {
      let height = QueryTree.height(of: .predicate(predicate))
      node = try self.node(.predicate(predicate), above: height - 1, at: start)
    } else {
      switch argument.expression() {
      case .failure(.predicate):
        throw error(.wrongArgumentType, "a list contains a predicate; pass only values", at: start)
      case .failure(.depth): throw error(.nestingTooDeep, QueryTree.tooHigh, at: start)
      case .success(let expression):
        let height = QueryTree.height(of: .expression(expression))
        node = try self.node(.expression(expression), above: height - 1, at: start)
        if case .constant = expression { node.isLiteral = true }
      }
    }
    node.isArgument = true
    return node
  }

  // MARK: Postfix

  /// Parses the names after a value; the token is a dot.
  @inline(never)
  private mutating func followed(_ node: QueryNode) throws(QueryFormatError) -> QueryNode {
    guard case .expression(let base) = node.content else { throw unexpected("AND, OR, or the end") }
    let components = try dotted()
    // A path argument and the names after it are one path.
    if node.isArgument, case .keyPath(let inner, let names) = base {
      let given = names.map { QueryPathComponent(kind: .name($0), start: node.start) }
      return try path(from: inner, height: node.height - 1, given + components, at: node.start)
    }
    return try path(from: base, height: node.height, components, at: node.start)
  }

  @inline(never)
  private func indexForm(behind node: QueryNode) throws(QueryFormatError) -> QueryListForm {
    guard case .expression = node.content else { throw unexpected("AND, OR, or the end") }
    return QueryListForm(.index, start: start)
  }

  @inline(never)
  func indexed(_ base: QueryNode, _ items: [QueryNode], at offset: Int) throws(QueryFormatError) -> QueryNode {
    let list = try expression(base)
    guard let item = items.last else { throw unexpected("an index") }
    let index: QueryIndex = if case .index(let word) = item.content { word } else { .expression(try expression(item)) }
    return try node(.expression(.index(list, index)), above: max(base.height, item.height), at: offset)
      .starting(at: base.start)
  }
}

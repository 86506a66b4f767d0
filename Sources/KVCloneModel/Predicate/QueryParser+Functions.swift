extension QueryParser {
  /// Parses a call by name; the token is the one after its first word, a colon or a parenthesis.
  mutating func callForm(
    _ word: String, _ keyword: QueryKeyword?, at offset: Int
  ) throws(QueryFormatError) -> QueryListForm {
    if token == .symbol(.leftParenthesis) {
      switch keyword {
      case .subquery: return QueryListForm(.subquery, start: offset)
      case .cast: return QueryListForm(.cast, start: offset)
      case .ternary: return QueryListForm(.ternary, start: offset)
      case .function: return QueryListForm(.functionByName, start: offset)
      case .fetch: throw unsupported("FETCH", "run the fetch first, and pass its result as an argument", at: offset)
      case .block, .blockPredicate:
        throw unsupported("BLOCK", "express the block as a predicate", at: offset)
      default: break
      }
    }
    let name = try functionName(word)
    switch QueryFunction.plain(name) {
    case "castobject:totype": return QueryListForm(.castByName, start: offset)
    case "objectfrom:withindex": return QueryListForm(.indexByName, start: offset)
    case let plain where QueryFunction.unsupported.contains(plain):
      throw unsupported(name, "compute the value first, and pass it as an argument", at: offset)
    default: break
    }
    guard let function = QueryFunction(name: name) else {
      throw error(.unknownFunction, "function \(name)() does not exist; correct the name", at: offset)
    }
    return QueryListForm(.function(function), start: offset)
  }

  /// Parses the rest of a name such as `add:to:`.
  private mutating func functionName(_ word: String) throws(QueryFormatError) -> String {
    var name = word
    while token == .symbol(.colon) {
      try advance()
      name += ":"
      guard case .word(let part, _) = token else { break }
      name += part
      try advance()
    }
    guard token == .symbol(.leftParenthesis) else { throw unexpected("'('") }
    return name
  }

  private func unsupported(_ name: String, _ advice: String, at offset: Int) -> QueryFormatError {
    error(.unsupported, "\(name) is not supported; \(advice)", at: offset)
  }

  func called(
    _ function: QueryFunction, _ arguments: [QueryNode], at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    guard arguments.count == function.argumentCount else {
      let message =
        "\(function.rawValue) requires \(function.argumentCount) arguments, but \(arguments.count) are given"
      throw error(.wrongArgumentCount, message + "; correct them", at: offset)
    }
    return try node(.expression(.function(function, expressions(arguments))), above: height(arguments), at: offset)
  }

  /// Builds the node of `FUNCTION(value, 'selector:', …)`: the value is the first argument of a known function.
  func calledByName(_ nodes: [QueryNode], at offset: Int) throws(QueryFormatError) -> QueryNode {
    guard nodes.count > 1, case .constant(.value(.string(let name))) = try expression(nodes[1]) else {
      let message = "FUNCTION requires a value and the selector of a function; write both, followed by the arguments"
      throw error(.wrongArgumentCount, message, at: offset)
    }
    guard let function = QueryFunction(name: name) else {
      // A message shows a selector only if it looks like one: the quotation marks may contain anything.
      let parts = name.split(separator: ":")
      let isSelector = name.utf8.count <= 64 && parts.allSatisfy { QueryCharacters.isName(String($0)) }
      let shown = isSelector ? "the selector \(name) of FUNCTION" : "a selector of FUNCTION"
      throw unsupported(shown, "call a function of the predicate language", at: nodes[1].start)
    }
    return try called(function, [nodes[0]] + nodes.dropFirst(2), at: offset)
  }

  /// Builds the node of `CAST(value, 'type')`, a constant for a literal if possible. A constant that the type cannot
  /// represent is an error here, because only a format has columns.
  ///
  /// - Parameter isFinal: Whether the node always stays a cast, as in `castObject:toType:`.
  func cast(_ nodes: [QueryNode], isFinal: Bool, at offset: Int) throws(QueryFormatError) -> QueryNode {
    guard let base = nodes.first, let type = nodes.last else { throw unexpected("a value") }
    guard case .constant(.value(.string(let name))) = try expression(type) else { throw unexpected("a type") }
    let value = try expression(base)
    if !isFinal, base.isLiteral, let constant = QueryConstant(value, as: name) {
      let whole = QueryExpression.constant(constant)
      let node = try self.node(
        .expression(whole), above: QueryTree.height(of: .expression(whole)) - 1, at: offset)
      node.isLiteral = true
      return node
    }
    guard let target = QueryTypeNames.type(named: name) else {
      let message = "the type is unknown; write 'NSDate', 'NSNumber', 'NSString' or another attribute type"
      throw error(.invalidCast, message, at: type.start)
    }
    if case .constant(.value(let constant)) = value {
      do throws(CastProblem) {
        _ = try target.cast(constant)
      } catch {
        let message = "the value cannot be cast to \(QueryTypeNames.name(of: target)): \(error.reason); correct it"
        throw self.error(.invalidValue, message, at: base.start)
      }
    }
    return try node(.expression(.cast(value, target)), above: base.height, at: offset)
  }
}

/// A component of a key path: a name or an operator.
struct QueryPathComponent {
  enum Kind {
    case name(String)
    /// `self` within a path: the value of the path so far.
    case same
    case collectionOperator(QueryCollectionOperator)
  }

  var kind: Kind
  /// The index of its first scalar.
  var start: Int
}

extension QueryParser {
  /// Parses a key path; its first components are known.
  mutating func path(_ first: [QueryPathComponent], at offset: Int) throws(QueryFormatError) -> QueryNode {
    var components = first
    if token == .symbol(.dot) { components += try dotted() }
    return try path(from: .self, height: 1, components, at: offset)
  }

  /// Parses components separated by dots; the token is the first dot.
  mutating func dotted() throws(QueryFormatError) -> [QueryPathComponent] {
    var components: [QueryPathComponent] = []
    while token == .symbol(.dot) {
      try advance()
      switch token {
      case .word(_, .self): components.append(QueryPathComponent(kind: .same, start: start))
      // Only a name can follow a dot.
      case .word(let name, _), .name(let name): components.append(QueryPathComponent(kind: .name(name), start: start))
      case .path(let text): components += try self.components(of: text)
      case .collectionOperator(let name): components.append(try collectionOperator(name, at: start))
      default: throw unexpected("the name of a property")
      }
      try advance()
    }
    return components
  }

  /// The components of a key path that was passed for `%K`, which is the token.
  func components(of text: String) throws(QueryFormatError) -> [QueryPathComponent] {
    var components: [QueryPathComponent] = []
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      if part.isEmpty {
        throw error(.invalidKeyPath, "the key path for %K has an empty name; separate names by single dots", at: start)
      }
      if part.first == "@" {
        components.append(try collectionOperator(String(part.dropFirst()), at: start))
      } else {
        let isSame = QueryKeyword(word: String(part)) == .self
        components.append(QueryPathComponent(kind: isSame ? .same : .name(String(part)), start: start))
      }
    }
    return components
  }

  func collectionOperator(_ name: String, at offset: Int) throws(QueryFormatError) -> QueryPathComponent {
    guard let found = QueryCollectionOperator(anyCase: name) else {
      let names = QueryCollectionOperator.allCases.map { "@\($0.rawValue)" }.joined(separator: ", ")
      let message = "the collection operator does not exist; use one of \(names)"
      throw error(.unknownCollectionOperator, message, at: offset)
    }
    return QueryPathComponent(kind: .collectionOperator(found), start: offset)
  }

  /// Builds a tree from a base and the components after it.
  func path(
    from base: QueryExpression, height: Int, _ components: [QueryPathComponent], at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    var result = QueryNode(content: .expression(base), height: height, start: offset)
    var names: [String] = []
    var pending: (found: QueryCollectionOperator, start: Int)?
    for component in components {
      switch component.kind {
      case .same: break
      case .name(let name):
        if pending?.found == .count {
          let message = "the path continues after @count, which is a number; end the path there"
          throw error(.unexpectedToken, message, at: component.start)
        }
        names.append(name)
      case .collectionOperator(let found):
        result = try joined(result, pending, names, at: component.start)
        pending = (found, component.start)
        names = []
      }
    }
    return try joined(result, pending, names, at: pending?.start ?? offset).starting(at: offset)
  }

  private func joined(
    _ base: QueryNode, _ pending: (found: QueryCollectionOperator, start: Int)?, _ names: [String], at offset: Int
  ) throws(QueryFormatError) -> QueryNode {
    let inner = try expression(base)
    if let pending {
      let whole = QueryExpression.collection(inner, pending.found, names)
      return try node(.expression(whole), above: base.height + names.count, at: offset)
    }
    if names.isEmpty { return base }
    return try node(.expression(.keyPath(inner, names)), above: base.height + names.count - 1, at: offset)
  }
}

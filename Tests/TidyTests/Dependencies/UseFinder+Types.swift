/// Reads types, and finds out the types of declarations.
extension UseFinder {
  /// Reads the type at a position, and moves behind it.
  func type(at start: Int) -> SwiftType {
    index = tokens.endOfPrefix(at: start)
    guard index < tokens.count else { return .unknown }
    var found: SwiftType
    if tokens.isSymbol(index, Symbol.parenthesis) {
      found = tupleType()
    } else if tokens.isSymbol(index, Symbol.bracket) {
      found = collectionType()
    } else if tokens.isName(index) {
      found = namedType()
    } else {
      return .unknown
    }
    found = suffixes(of: found)
    if tokens.isSymbol(index, Symbol.and) {
      let other = type(at: index + 1)
      if case .external = found { found = other }
    }
    mention(found)
    return found
  }

  private func suffixes(of type: SwiftType) -> SwiftType {
    var found = type
    while index < tokens.count {
      if !tokens[index].isSpaced, tokens.isSymbol(index, Symbol.question) || tokens.isSymbol(index, Symbol.exclamation)
      {
        found = .optional(found)
        index += 1
      } else if tokens.isSymbol(index, Symbol.dot), tokens.isWord(index + 1, .Type) {
        found = .meta(found)
        index += 2
      } else if tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1), !tokens.isWord(index + 1, .`self`) {
        found = memberType(tokens[index + 1].code, of: found, at: index + 1) ?? .unknown
        index += 2
        found = withArguments(found)
      } else if isFunctionArrow {
        while !tokens.isSymbol(index, Symbol.arrow) {
          guard tokens.isSymbol(index, Symbol.parenthesis) else {
            index += 1
            continue
          }
          let close = tokens.partner(index)
          _ = self.type(at: index + 1)
          index = close + 1
        }
        let result = self.type(at: index + 1)
        if case .tuple(let elements) = found { return .function(elements.map(\.type), result) }
        return .function([found], result)
      } else {
        break
      }
    }
    return found
  }

  private var isFunctionArrow: Bool {
    var next = index
    while tokens.isWord(next, .async) || tokens.isWord(next, .throws) || tokens.isWord(next, .rethrows) {
      next += 1
      if tokens.isSymbol(next, Symbol.parenthesis) { next = tokens.partner(next) + 1 }
    }
    return tokens.isSymbol(next, Symbol.arrow)
  }

  private func tupleType() -> SwiftType {
    let close = tokens.partner(index)
    var elements: [(label: Int32, type: SwiftType)] = []
    index += 1
    while index < close {
      var label = Word.wildcard.rawValue
      if tokens.isName(index), tokens.isSymbol(index + 1, Symbol.colon) {
        label = tokens[index].code
        index += 2
      } else if tokens.isName(index), tokens.isName(index + 1), tokens.isSymbol(index + 2, Symbol.colon) {
        index += 3
      }
      elements.append((label, type(at: index)))
      while index < close, !tokens.isSymbol(index, Symbol.comma) { index += 1 }
      index += 1
    }
    index = close + 1
    let isGroup = elements.count == 1 && !isFunctionArrow
    return isGroup ? elements[0].type : .tuple(elements)
  }

  private func collectionType() -> SwiftType {
    let close = tokens.partner(index)
    let first = type(at: index + 1)
    var found = array(of: first)
    if tokens.isSymbol(index, Symbol.colon) {
      found = .nominal(program.external(Word.Dictionary.rawValue), [first, type(at: index + 1)])
    }
    index = close + 1
    return found
  }

  private func namedType() -> SwiftType {
    let name = tokens[index].code
    let place = index
    index += 1
    if let module = program.moduleNamed(name), tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1),
      let found = program.topLevelTypeDeclaration(tokens[index + 1].code, in: module, from: file)
    {
      index += 2
      record(found, at: index - 1)
      return withArguments(typeDeclared(by: found))
    }
    return withArguments(typeNamed(name, at: place))
  }

  /// Adds generic arguments to a type.
  func withArguments(_ type: SwiftType) -> SwiftType {
    guard tokens.isSymbol(index, Symbol.less), !tokens[index].isSpaced else { return type }
    let end = tokens.endOfAngles(at: index)
    var arguments: [SwiftType] = []
    index += 1
    while index < end - 1 {
      arguments.append(self.type(at: index))
      while index < end - 1, !tokens.isSymbol(index, Symbol.comma) { index += 1 }
      index += 1
    }
    index = end
    guard case .nominal(let number, _) = type else { return type }
    if program.types[number].name == Word.Optional.rawValue, arguments.count == 1 { return .optional(arguments[0]) }
    return .nominal(number, arguments)
  }

  /// Resolves a name in a type position.
  func typeNamed(_ name: Int32, at place: Int) -> SwiftType {
    if let found = knownType(name, at: place) { return found }
    if locals.contains(where: { $0.name == name }) { return .unknown }
    return .nominal(program.external(name), [])
  }

  /// The type of that name, or nil if none is declared here.
  func knownType(_ name: Int32, at place: Int) -> SwiftType? {
    if name == Word.Self.rawValue { return selfType }
    if let generic = generics.last(where: { $0.name == name }) { return .parameter(name, generic.bound) }
    var next = owner
    while next >= 0 {
      if program.types[next].name == name, program.types[next].declaration >= 0 {
        record(program.types[next].declaration, at: place)
        return .nominal(next, ownArguments(next))
      }
      if let found = memberType(name, of: .nominal(next, []), at: place) { return found }
      next = program.types[next].parent
    }
    guard let found = program.topLevelTypeDeclaration(name, from: file) else { return nil }
    record(found, at: place)
    return typeDeclared(by: found)
  }

  var selfType: SwiftType {
    owner < 0 ? .unknown : .parameter(Word.Self.rawValue, .nominal(owner, ownArguments(owner)))
  }

  private func ownArguments(_ type: Int) -> [SwiftType] {
    program.types[type].generics.map { name in
      .parameter(name, generics.last { $0.name == name }?.bound ?? .unknown)
    }
  }

  /// A type that is declared in another one.
  func memberType(_ name: Int32, of type: SwiftType, at place: Int) -> SwiftType? {
    guard let number = nominal(type) else { return nil }
    for next in [number] + supertypes(of: number) {
      if let nested = program.nestedType(name, in: next, from: file) {
        let declaration = program.types[nested].declaration
        record(declaration, at: place)
        return .nominal(nested, [])
      }
      guard let members = program.types[next].members[name] else { continue }
      for member in members {
        let kind = program.declarations[member].kind
        guard kind == .alias || kind == .associatedType else { continue }
        if kind == .alias { record(member, at: place) }
        return typeDeclared(by: member)
      }
    }
    return nil
  }

  /// The index of the type of a value's members.
  func nominal(_ type: SwiftType) -> Int? {
    switch type {
    case .nominal(let index, _): index
    case .parameter(_, let bound): nominal(bound)
    default: nil
    }
  }

  // MARK: Types of declarations

  /// The type that a declaration has or declares.
  func typeDeclared(by number: Int) -> SwiftType {
    if let known = program.declaredTypes[number] { return known }
    guard depth < 24 else { return .unknown }
    program.declaredTypes[number] = .unknown
    let found = elsewhere(number) { findType(of: number) }
    program.declaredTypes[number] = found
    return found
  }

  /// Runs `body` in the scope of a declaration, without recording.
  private func elsewhere<Result>(_ number: Int, _ body: () -> Result) -> Result {
    let saved = (file, tokens, index, isRecording, locals, generics, owner, result, returned, subjects)
    let flags = (isBraceOfStatement, isCondition, thrown, caught)
    depth += 1
    file = program.declarations[number].file
    tokens = program.files[file].tokens
    isRecording = false
    enter(number)
    defer {
      (file, tokens, index, isRecording, locals, generics, owner, result, returned, subjects) = saved
      (isBraceOfStatement, isCondition, thrown, caught) = flags
      depth -= 1
    }
    return body()
  }

  private func findType(of number: Int) -> SwiftType {
    let declaration = program.declarations[number]
    switch declaration.kind {
    case .type: return .nominal(declaration.declaredType, [])
    case .extension: return .unknown
    case .associatedType:
      return .parameter(declaration.name, declaration.type >= 0 ? type(at: declaration.type) : .unknown)
    case .alias: return declaration.type >= 0 ? type(at: declaration.type) : .unknown
    case .variable:
      if declaration.type >= 0 { return type(at: declaration.type) }
      guard declaration.value >= 0 else { return .unknown }
      index = declaration.value
      return expression(expected: .unknown)
    case .function, .subscript, .initializer, .enumCase:
      let parameters = (declaration.parameters ?? []).map { parameter in
        let found = type(at: parameter.type)
        return parameter.isVariadic ? array(of: found) : found
      }
      if declaration.kind == .initializer || declaration.kind == .enumCase {
        let isFailable = declaration.kind == .initializer && isFailable(declaration)
        let made = isFailable ? SwiftType.optional(selfType) : selfType
        return declaration.parameters == nil ? made : .function(parameters, made)
      }
      let void = SwiftType.tuple([])
      return .function(parameters, declaration.type >= 0 ? type(at: declaration.type) : void)
    }
  }

  private func isFailable(_ declaration: SourceDeclaration) -> Bool {
    var next = declaration.start
    while next < declaration.end, !tokens.isWord(next, .`init`) { next += 1 }
    return tokens.isSymbol(next + 1, Symbol.question)
  }

  /// All supertypes, nearest first.
  func supertypes(of number: Int) -> [Int] {
    if let known = program.types[number].supertypes { return known }
    program.types[number].supertypes = []
    var found: [Int] = []
    for clause in program.types[number].clauses {
      let declaration = program.declarations[clause]
      guard declaration.type >= 0 else { continue }
      let direct: [Int] = elsewhere(clause) {
        var direct: [Int] = []
        index = declaration.type
        while index < declaration.body {
          if let next = nominal(type(at: index)) { direct.append(next) }
          if tokens.isSymbol(index, Symbol.and) { continue }
          guard tokens.isSymbol(index, Symbol.comma) else { break }
          index += 1
        }
        return direct
      }
      for next in direct {
        found.append(next)
        found += supertypes(of: next)
      }
    }
    var seen: Set<Int> = [number]
    found.removeAll { !seen.insert($0).inserted }
    program.types[number].supertypes = found
    return found
  }

  /// The element type of a collection.
  func element(of type: SwiftType) -> SwiftType {
    switch type {
    case .nominal(let number, let arguments) where program.types[number].declaration < 0:
      if program.types[number].name == Word.Dictionary.rawValue, arguments.count == 2 {
        return .tuple([(Word.key.rawValue, arguments[0]), (Word.value.rawValue, arguments[1])])
      }
      return arguments.count == 1 ? arguments[0] : .external
    case .nominal, .parameter:
      guard let number = nominal(type) else { return .unknown }
      if let iterator = resultOfMember(Word.makeIterator.rawValue, of: type), nominal(iterator) != number {
        return resultOfMember(Word.next.rawValue, of: iterator)?.unwrapped ?? .unknown
      }
      if let found = resultOfMember(Word.next.rawValue, of: type) { return found.unwrapped }
      if case .some(.nominal(let nested, _)) = memberType(Word.Element.rawValue, of: type, at: index) {
        return .nominal(nested, [])
      }
      return resultOfMember(Word.subscript.rawValue, of: type) ?? .unknown
    case .external: return .external
    default: return .unknown
    }
  }

  private func resultOfMember(_ name: Int32, of type: SwiftType) -> SwiftType? {
    guard let number = nominal(type) else { return nil }
    for next in [number] + supertypes(of: number) {
      guard let member = program.types[next].members[name]?.first else { continue }
      if case .function(_, let result) = typeDeclared(by: member) { return result.replacing(values(of: type)) }
    }
    return nil
  }

  /// The arguments for generic parameters and `Self` in members of a value of this type.
  func values(of type: SwiftType) -> [(name: Int32, type: SwiftType)] {
    var found: [(name: Int32, type: SwiftType)] = [(Word.Self.rawValue, type)]
    var inner = type
    while case .parameter(_, let bound) = inner { inner = bound }
    if case .nominal(let number, let arguments) = inner {
      for (name, argument) in zip(program.types[number].generics, arguments) { found.append((name, argument)) }
    }
    return found
  }
}

/// Reads statements and patterns.
extension UseFinder {
  func statements(to end: Int) {
    while index < end {
      let before = index
      statement()
      if index == before { index += 1 }
    }
  }

  /// Reads a block in braces; what it declares ends with it.
  func block() {
    let close = tokens.partner(index)
    let count = locals.count
    let saved = (isBraceOfStatement, isCondition)
    (isBraceOfStatement, isCondition) = (false, false)
    index += 1
    statements(to: close)
    index = close + 1
    (isBraceOfStatement, isCondition) = saved
    locals.removeLast(locals.count - count)
  }

  func statement() {
    if tokens.isSymbol(index, Symbol.brace) { return block() }
    if tokens.isSymbol(index, Symbol.at) {
      index = tokens.endOfAttribute(at: index)
      return
    }
    guard let word = tokens.word(index) else {
      _ = expression(expected: .unknown)
      return
    }
    switch word {
    case .let, .var:
      index += 1
      binding()
    case .if, .guard, .while: conditions()
    case .for: loop()
    case .switch: switchStatement()
    case .case: caseItems(subjects.last ?? .unknown)
    case .func: localFunction()
    case .return, .throw: returnStatement(word)
    case .catch: catchClause()
    case .do: doStatement()
    case .defer, .repeat, .else:
      index += 1
      if tokens.isSymbol(index, Symbol.brace) { block() }
    case .struct, .enum, .class, .actor, .typealias: localType()
    case .in, .where, .default, .break, .continue, .fallthrough, .static, .final, .private, .fileprivate, .lazy, .weak,
      .unowned, .nonisolated, .mutating, .import, .indirect:
      index += 1
    case .`init` where owner < 0 || tokens.isSymbol(index + 1, Symbol.parenthesis):
      localInitializer()
    default: _ = expression(expected: .unknown)
    }
  }

  private func returnStatement(_ word: Word) {
    index += 1
    guard index < tokens.count, !tokens[index].isFirstOnLine, !tokens.isSymbol(index, Symbol.braceEnd) else { return }
    let found = expression(expected: word == .return ? result : thrown)
    if word == .return, returned.isUnknown { returned = found }
  }

  private func doStatement() {
    index += 1
    let saved = thrown
    var own: SwiftType = .external
    if tokens.isWord(index, .throws), tokens.isSymbol(index + 1, Symbol.parenthesis) {
      let close = tokens.partner(index + 1)
      own = type(at: index + 2)
      thrown = own
      index = close + 1
    }
    if tokens.isSymbol(index, Symbol.brace) { block() }
    thrown = saved
    caught = own
  }

  /// The conditions of `if`, `guard` or `while`, up to the block.
  func conditions() {
    index += 1
    let saved = (isBraceOfStatement, isCondition)
    (isBraceOfStatement, isCondition) = (true, true)
    while index < tokens.count, !tokens.isSymbol(index, Symbol.brace), !tokens.isWord(index, .else) {
      let before = index
      if tokens.isWord(index, .case) {
        caseCondition()
      } else if tokens.isWord(index, .let) || tokens.isWord(index, .var) {
        index += 1
        binding()
      } else {
        _ = expression(expected: .unknown)
      }
      if index == before { index += 1 }
    }
    (isBraceOfStatement, isCondition) = saved
  }

  private func caseCondition() {
    index += 1
    let start = index
    while index < tokens.count, !tokens.isSymbol(index, Symbol.assignment) {
      index = tokens[index].partner > index ? Int(tokens[index].partner) + 1 : index + 1
    }
    index += 1
    let subject = expression(expected: .unknown)
    let end = index
    index = start
    pattern(subject, isBinding: false)
    index = end
  }

  /// Reads a binding after `let` or `var`.
  func binding() {
    if tokens.isSymbol(index, Symbol.parenthesis) {
      let start = index
      index = tokens.partner(index) + 1
      if tokens.isSymbol(index, Symbol.colon) { _ = type(at: index + 1) }
      guard tokens.isSymbol(index, Symbol.assignment) else { return }
      index += 1
      let value = expression(expected: .unknown)
      let end = index
      index = start
      pattern(isCondition ? value.unwrapped : value, isBinding: true)
      index = end
      return
    }
    guard tokens.isName(index) else { return }
    let name = tokens[index].code
    let place = index
    var found: SwiftType = .unknown
    index += 1
    let isDeclared = tokens.isSymbol(index, Symbol.colon)
    if isDeclared { found = type(at: index + 1) }
    if tokens.isSymbol(index, Symbol.assignment) {
      index += 1
      let value = expression(expected: found)
      if !isDeclared { found = isCondition ? value.unwrapped : value }
    } else if isCondition, !isDeclared {
      index = place
      found = identifier().unwrapped
      index = place + 1
    }
    locals.append(Local(name: name, type: found))
    // A computed local, or observers.
    if tokens.isSymbol(index, Symbol.brace), isDeclared, !isBraceOfStatement { block() }
    if tokens.isSymbol(index, Symbol.comma), tokens.isName(index + 1), !isCondition,
      tokens.isSymbol(index + 2, Symbol.assignment) || tokens.isSymbol(index + 2, Symbol.colon)
    {
      index += 1
      binding()
    }
  }

  private func loop() {
    index += 1
    while tokens.isWord(index, .case) || tokens.isWord(index, .try) || tokens.isWord(index, .await) { index += 1 }
    let start = index
    while index < tokens.count, !tokens.isWord(index, .in) { index += 1 }
    index += 1
    let saved = isBraceOfStatement
    isBraceOfStatement = true
    let sequence = expression(expected: .unknown)
    let end = index
    index = start
    pattern(element(of: sequence), isBinding: true)
    if tokens.isSymbol(index, Symbol.colon) { _ = type(at: index + 1) }
    index = end
    if tokens.isWord(index, .where) {
      index += 1
      _ = expression(expected: .unknown)
    }
    isBraceOfStatement = saved
  }

  func switchStatement() {
    index += 1
    let saved = isBraceOfStatement
    isBraceOfStatement = true
    let subject = expression(expected: .unknown)
    isBraceOfStatement = saved
    guard tokens.isSymbol(index, Symbol.brace) else { return }
    subjects.append(subject)
    block()
    subjects.removeLast()
  }

  private func caseItems(_ subject: SwiftType) {
    index += 1
    while index < tokens.count, !tokens.isSymbol(index, Symbol.colon) {
      let before = index
      if tokens.isWord(index, .where) {
        index += 1
        _ = expression(expected: .unknown)
      } else {
        pattern(subject, isBinding: false)
      }
      if index == before || tokens.isSymbol(index, Symbol.comma) { index += 1 }
    }
    index += 1
  }

  private func catchClause() {
    index += 1
    locals.append(Local(name: Word.error.rawValue, type: caught))
    while index < tokens.count, !tokens.isSymbol(index, Symbol.brace) {
      let before = index
      isBraceOfStatement = true
      if tokens.isWord(index, .where) {
        index += 1
        _ = expression(expected: .unknown)
      } else {
        pattern(caught, isBinding: false)
      }
      if index == before || tokens.isSymbol(index, Symbol.comma) { index += 1 }
    }
    isBraceOfStatement = false
  }

  // MARK: Patterns

  /// Reads a pattern for a value, and brings its names into scope.
  func pattern(_ subject: SwiftType, isBinding: Bool) {
    var isBinding = isBinding
    while tokens.isWord(index, .let) || tokens.isWord(index, .var) {
      isBinding = true
      index += 1
    }
    if tokens.isWord(index, .is) {
      _ = type(at: index + 1)
    } else if tokens.isSymbol(index, Symbol.parenthesis) {
      tuplePattern(subject, isBinding)
    } else if tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1) {
      casePattern(subject.unwrapped, isBinding)
    } else if isBinding, tokens.isName(index), !tokens.isSymbol(index + 1, Symbol.dot) {
      bindName(subject)
    } else if tokens.isWord(index, .wildcard) {
      index += 1
      if tokens.isWord(index, .as) { _ = type(at: index + 1) }
    } else if tokens.isName(index), tokens.isSymbol(index + 1, Symbol.dot), let type = typeOfPattern() {
      casePattern(type, isBinding)
    } else {
      _ = expression(expected: subject.unwrapped)
    }
  }

  private func bindName(_ subject: SwiftType) {
    let name = tokens[index].code
    index += 1
    var found = subject
    if tokens.isSymbol(index, Symbol.question) {
      found = subject.unwrapped
      index += 1
    }
    if tokens.isWord(index, .as) {
      index += 1
      if tokens.isSymbol(index, Symbol.question) { index += 1 }
      found = type(at: index)
    }
    if name != Word.wildcard.rawValue { locals.append(Local(name: name, type: found)) }
  }

  private func tuplePattern(_ subject: SwiftType, _ isBinding: Bool) {
    var elements: [SwiftType] = []
    if case .tuple(let parts) = subject { elements = parts.map(\.type) }
    patterns(elements.isEmpty ? nil : elements, isBinding)
  }

  private func patterns(_ types: [SwiftType]?, _ isBinding: Bool) {
    let close = tokens.partner(index)
    var number = 0
    index += 1
    while index < close {
      if tokens.isName(index), tokens.isSymbol(index + 1, Symbol.colon) { index += 2 }
      let before = index
      let type = types.flatMap { number < $0.count ? $0[number] : nil } ?? .unknown
      pattern(type, isBinding: isBinding)
      if index == before { index += 1 }
      if tokens.isSymbol(index, Symbol.comma) {
        index += 1
        number += 1
      }
    }
    index = close + 1
  }

  /// A type in front of the dot of an enum case.
  private func typeOfPattern() -> SwiftType? {
    let start = index
    let name = tokens[index].code
    guard !locals.contains(where: { $0.name == name }), var found = knownType(name, at: index) else { return nil }
    index += 1
    while tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1),
      let inner = memberType(tokens[index + 1].code, of: found, at: index + 1)
    {
      found = inner
      index += 2
    }
    if tokens.isSymbol(index, Symbol.dot) { return found }
    index = start
    return nil
  }

  private func casePattern(_ subject: SwiftType, _ isBinding: Bool) {
    let place = index + 1
    let name = tokens[place].code
    index += 2
    let isCalled = tokens.isSymbol(index, Symbol.parenthesis)
    var types: [SwiftType]?
    let found = member(name, of: .meta(subject), arguments: nil, at: place)
    if case .function(let parameters, _) = found { types = parameters }
    if isCalled { patterns(types, isBinding) }
    if tokens.isSymbol(index, Symbol.question) { index += 1 }
  }

  // MARK: Local declarations

  private func localFunction() {
    guard tokens.isName(index + 1) else {
      index += 1
      return
    }
    let name = tokens[index + 1].code
    index += 2
    let generics = self.generics
    if tokens.isSymbol(index, Symbol.less) {
      let end = tokens.endOfAngles(at: index)
      for place in index..<end where tokens.isName(place) { self.generics.append((tokens[place].code, .unknown)) }
      index = end
    }
    localCallable(name)
    self.generics = generics
  }

  private func localInitializer() {
    index += 1
    localCallable(Word.`init`.rawValue)
  }

  private func localCallable(_ name: Int32) {
    guard tokens.isSymbol(index, Symbol.parenthesis) else { return }
    let parameters = tokens.parameters(in: index, labelsByName: true)
    let close = tokens.partner(index)
    let count = locals.count
    for parameter in parameters { self.parameter(parameter) }
    let types = locals.suffix(locals.count - count).map(\.type)
    index = close + 1
    let saved = (result, returned)
    result = .tuple([])
    let outer = thrown
    while index < tokens.count, !tokens.isSymbol(index, Symbol.brace) {
      if tokens.isWord(index, .throws), tokens.isSymbol(index + 1, Symbol.parenthesis) {
        let close = tokens.partner(index + 1)
        thrown = type(at: index + 2)
        index = close + 1
      } else if tokens.isSymbol(index, Symbol.arrow) {
        result = type(at: index + 1)
      } else {
        index += 1
      }
    }
    // The function is in scope in its own body.
    let function = Local(name: name, type: .function(types, result))
    locals.insert(function, at: count)
    if tokens.isSymbol(index, Symbol.brace) { block() }
    (result, returned) = saved
    thrown = outer
    locals.removeLast(locals.count - count - 1)
  }

  private func localType() {
    index += 1
    if tokens.isName(index) { locals.append(Local(name: tokens[index].code, type: .unknown)) }
    index += 1
    while index < tokens.count, !tokens.isSymbol(index, Symbol.brace), !tokens[index].isFirstOnLine { index += 1 }
  }
}

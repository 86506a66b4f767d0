/// Reads expressions and finds out their types.
extension UseFinder {
  /// Reads an expression with its operators.
  func expression(expected: SwiftType) -> SwiftType {
    var found = operand(expected)
    while index < tokens.count, let next = operation(after: found, expected) { found = next }
    return found
  }

  /// Reads a binary operator with what follows; nil if none follows.
  private func operation(after left: SwiftType, _ expected: SwiftType) -> SwiftType? {
    if tokens.isWord(index, .as) || tokens.isWord(index, .is) {
      let isTest = tokens.isWord(index, .is)
      index += 1
      let isOptional = tokens.isSymbol(index, Symbol.question)
      if isOptional || tokens.isSymbol(index, Symbol.exclamation) { index += 1 }
      let found = type(at: index)
      return isTest ? .external : isOptional ? .optional(found) : found
    }
    guard tokens[index].kind == .symbol else { return nil }
    let code = tokens[index].code
    switch code {
    case Symbol.question:
      index += 1
      let found = expression(expected: expected)
      guard tokens.isSymbol(index, Symbol.colon) else { return found }
      index += 1
      let other = expression(expected: expected.isUnknown ? found : expected)
      return found.isUnknown ? other : found
    case Symbol.nilCoalescing:
      index += 1
      let right = operand(left.unwrapped)
      return left.isUnknown ? right : left.unwrapped
    case Symbol.assignment:
      index += 1
      _ = expression(expected: left.unwrapped)
      return .tuple([])
    case Symbol.range:
      index += 1
      if isOperand(index) { _ = operand(left) }
      return .external
    default:
      guard isBinary(code) else { return nil }
      if tokens[index].isFirstOnLine, index + 1 < tokens.count, !tokens[index + 1].isSpaced { return nil }
      while index < tokens.count, tokens[index].kind == .symbol, isBinary(tokens[index].code) { index += 1 }
      let right = operand(left.unwrapped)
      return isComparison(code) ? .external : left.isUnknown ? right : left
    }
  }

  private func isBinary(_ code: Int32) -> Bool {
    if code > 255 { return code != Symbol.arrow && code != Symbol.range }
    switch UInt8(code) {
    case 43, 45, 42, 47, 37, 60, 62, 38, 124, 94: return true  // + - * / % < > & | ^
    default: return false
    }
  }

  private func isComparison(_ code: Int32) -> Bool {
    if code < 256 { return code == Symbol.less || code == Symbol.greater }
    switch code {
    case Symbol.equal, Symbol.notEqual, Symbol.lessOrEqual, Symbol.greaterOrEqual, Symbol.conjunction,
      Symbol.disjunction:
      return true
    default: return false
    }
  }

  private func isOperand(_ place: Int) -> Bool {
    guard place < tokens.count else { return false }
    if tokens[place].kind != .symbol { return !tokens[place].isFirstOnLine }
    return [Symbol.parenthesis, Symbol.dot, Symbol.minus].contains(tokens[place].code)
  }

  /// Reads prefixes, a primary expression and what follows it without a space.
  private func operand(_ expected: SwiftType) -> SwiftType {
    var isTry = false
    while index < tokens.count {
      if let word = tokens.word(index), isPrefix(word) {
        index += 1
        if word == .try, tokens.isSymbol(index, Symbol.question) {
          isTry = true
          index += 1
        } else if tokens.isSymbol(index, Symbol.exclamation) {
          index += 1
        }
      } else if tokens[index].kind == .symbol, isPrefix(tokens[index].code) {
        index += 1
      } else {
        break
      }
    }
    let found = postfix(primary(expected))
    return isTry ? .optional(found.unwrapped) : found
  }

  /// Whether a word that could be a name is a prefix here: an operand follows on the line.
  private func isPrefix(_ word: Word) -> Bool {
    switch word {
    case .try, .await: return true
    case .unsafe, .consume, .copy, .any, .some, .each: break
    default: return false
    }
    let next = index + 1
    guard next < tokens.count, tokens[next].isSpaced, !tokens[next].isFirstOnLine else { return false }
    return tokens[next].kind != .symbol || tokens.isSymbol(next, Symbol.parenthesis)
  }

  private func isPrefix(_ symbol: Int32) -> Bool {
    switch symbol {
    case Symbol.exclamation, Symbol.minus, Symbol.plus, Symbol.and, Symbol.tilde, Symbol.range: true
    default: false
    }
  }

  private func primary(_ expected: SwiftType) -> SwiftType {
    guard index < tokens.count else { return .unknown }
    let token = tokens[index]
    switch token.kind {
    case .number:
      index += 1
      return .external
    case .string:
      index += 1
      while index < tokens.count, tokens[index].kind == .interpolation { _ = arguments(nil) }
      return .nominal(program.external(Word.String.rawValue), [])
    case .name, .escapedName: return word(expected)
    case .interpolation: return arguments(nil).first?.type ?? .unknown
    case .symbol: return symbol(token.code, expected)
    }
  }

  private func symbol(_ code: Int32, _ expected: SwiftType) -> SwiftType {
    switch code {
    case Symbol.parenthesis:
      let elements = arguments(tupleTypes(expected))
      return elements.count == 1 && elements[0].label == Word.wildcard.rawValue
        ? elements[0].type : .tuple(elements.map { ($0.label, $0.type) })
    case Symbol.bracket: return collection(expected)
    case Symbol.brace:
      if isBraceOfStatement { return .unknown }
      return closure(expected)
    case Symbol.dot:
      guard tokens.isName(index + 1) else { break }
      let place = index + 1
      index += 2
      return memberOrCall(tokens[place].code, of: .meta(expected.unwrapped), at: place)
    case Symbol.backslash: return keyPath(expected)
    case Symbol.hash:
      index += 2
      if tokens.isSymbol(index, Symbol.parenthesis) { index = tokens.partner(index) + 1 }
      return .external
    case Symbol.dollar:
      let number = index + 1
      index += 2
      return lookUp(-2 - tokens[number].code) ?? .unknown
    default: break
    }
    // A closing bracket or separator belongs to the caller.
    return .unknown
  }

  private func tupleTypes(_ expected: SwiftType) -> [SwiftType]? {
    if case .tuple(let elements) = expected { return elements.map(\.type) }
    return [expected]
  }

  private func word(_ expected: SwiftType) -> SwiftType {
    guard let word = tokens.word(index) else { return identifier() }
    switch word {
    case .`self`:
      index += 1
      return lookUp(Word.`self`.rawValue) ?? selfType
    case .super:
      index += 1
      return owner >= 0 ? supertypes(of: owner).first.map { .nominal($0, []) } ?? .unknown : .unknown
    case .nil, .true, .false, .wildcard:
      index += 1
      return .external
    case .if, .switch:
      let isSwitch = word == .switch
      if isSwitch {
        switchStatement()
      } else {
        conditions()
        if tokens.isSymbol(index, Symbol.brace) { block() }
      }
      return expected
    case .let, .var, .case, .in, .else, .where, .return, .throw, .guard, .for, .while, .default:
      return .unknown
    default: return identifier()
    }
  }

  private func collection(_ expected: SwiftType) -> SwiftType {
    var wanted = element(of: expected.unwrapped)
    var values: SwiftType = .unknown
    if case .nominal(_, let arguments) = expected.unwrapped, arguments.count == 2 {
      (wanted, values) = (arguments[0], arguments[1])
    }
    let close = tokens.partner(index)
    let saved = (isBraceOfStatement, isCondition)
    (isBraceOfStatement, isCondition) = (false, false)
    defer { (isBraceOfStatement, isCondition) = saved }
    index += 1
    var first: SwiftType?
    var value: SwiftType?
    while index < close {
      let before = index
      let found = expression(expected: wanted)
      if first == nil { first = found }
      if tokens.isSymbol(index, Symbol.colon) {
        index += 1
        let found = expression(expected: values)
        if value == nil { value = found }
      }
      if index == before || tokens.isSymbol(index, Symbol.comma) { index += 1 }
    }
    index = close + 1
    guard let first else { return expected }
    let dictionary = program.external(Word.Dictionary.rawValue)
    if case .meta(let type) = first {
      guard let value else { return .meta(array(of: type)) }
      if case .meta(let other) = value { return .meta(.nominal(dictionary, [type, other])) }
    }
    if let value { return .nominal(dictionary, [first, value]) }
    return array(of: first)
  }

  private func keyPath(_ expected: SwiftType) -> SwiftType {
    index += 1
    var found: SwiftType = .unknown
    if tokens.isName(index), let root = knownType(tokens[index].code, at: index) {
      found = root
      index += 1
      found = withArguments(found)
    } else if case .function(let parameters, _) = expected, let first = parameters.first {
      found = first
    } else if case .nominal(_, let arguments) = expected, let first = arguments.first {
      found = first
    }
    while tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1) {
      let place = index + 1
      index += 2
      found = tokens.isWord(place, .`self`) ? found : member(tokens[place].code, of: found, arguments: nil, at: place)
    }
    return .function([], found)
  }

  // MARK: Closures

  /// Reads a closure; answers what it takes and returns.
  func closure(_ expected: SwiftType) -> SwiftType {
    let close = tokens.partner(index)
    let count = locals.count
    let saved = (isBraceOfStatement, isCondition, result, returned, subjects, thrown)
    (isBraceOfStatement, isCondition, subjects) = (false, false, [])
    returned = .unknown
    var parameters: [SwiftType] = []
    result = .unknown
    if case .function(let wanted, let returns) = expected.unwrapped {
      parameters = wanted
      result = returns
    }
    index += 1
    captures()
    header(&parameters, upTo: close)
    for (number, type) in parameters.enumerated() {
      locals.append(Local(name: -2 - Int32(number), type: type))
    }
    if parameters.count == 1, case .tuple(let elements) = parameters[0] {
      for (number, element) in elements.enumerated() where number > 0 {
        locals.append(Local(name: -2 - Int32(number), type: element.type))
      }
    } else if parameters.isEmpty {
      locals.append(Local(name: -2, type: .unknown))
    }
    let start = index
    statement(in: start, upTo: close)
    let found = returned
    index = close + 1
    (isBraceOfStatement, isCondition, result, returned, subjects, thrown) = saved
    locals.removeLast(locals.count - count)
    return .function(parameters, found)
  }

  /// Reads the body of a closure. A single expression is what it returns.
  private func statement(in start: Int, upTo close: Int) {
    let isExpression =
      tokens.word(index).map { word in
        switch word {
        case .let, .var, .if, .guard, .while, .for, .switch, .return, .throw, .do, .defer, .func, .repeat: false
        default: true
        }
      } ?? true
    if isExpression, index < close {
      let found = expression(expected: result)
      if index == close { returned = found }
    }
    statements(to: close)
  }

  private func captures() {
    guard tokens.isSymbol(index, Symbol.bracket) else { return }
    let close = tokens.partner(index)
    // An array that is an expression is no list of captures.
    let next = close + 1
    guard next < tokens.count, !tokens[next].isFirstOnLine, tokens[next].isSpaced,
      tokens.isName(next) || tokens.isSymbol(next, Symbol.parenthesis)
    else { return }
    index += 1
    while index < close {
      while tokens.isWord(index, .weak) || tokens.isWord(index, .unowned) { index += 1 }
      guard tokens.isName(index) else {
        index += 1
        continue
      }
      let name = tokens[index].code
      if tokens.isSymbol(index + 1, Symbol.assignment) {
        index += 2
        locals.append(Local(name: name, type: expression(expected: .unknown)))
      } else {
        let type = tokens.isWord(index, .`self`) ? selfType : identifier()
        locals.append(Local(name: name, type: type))
        if name == Word.`self`.rawValue { index += 1 }
      }
    }
    index = close + 1
    if tokens.isWord(index, .in) { index += 1 }
  }

  /// Reads `(a: A, b) throws -> C in` or `a, b in`.
  private func header(_ parameters: inout [SwiftType], upTo close: Int) {
    let start = index
    while tokens.isSymbol(index, Symbol.at) { index = tokens.endOfAttribute(at: index) }
    if tokens.isSymbol(index, Symbol.parenthesis), isHeader(tokens.partner(index) + 1, close) {
      typedHeader(&parameters)
      return
    }
    var names: [Int32] = []
    while tokens.isName(index), tokens.word(index) != .in {
      names.append(tokens[index].code)
      index += 1
      guard tokens.isSymbol(index, Symbol.comma) else { break }
      index += 1
    }
    guard !names.isEmpty, isHeader(index, close) else {
      index = start
      return
    }
    effects()
    index += 1
    bind(names, &parameters)
  }

  private func bind(_ names: [Int32], _ parameters: inout [SwiftType]) {
    if names.count > 1, parameters.count == 1, case .tuple(let elements) = parameters[0] {
      parameters = elements.map(\.type)
    }
    for (number, name) in names.enumerated() {
      locals.append(Local(name: name, type: number < parameters.count ? parameters[number] : .unknown))
    }
  }

  private func typedHeader(_ parameters: inout [SwiftType]) {
    let close = tokens.partner(index)
    var names: [Int32] = []
    index += 1
    while index < close {
      while tokens.isWord(index, .inout) || tokens.isWord(index, .borrowing) { index += 1 }
      guard tokens.isName(index) else {
        index = tokens[index].partner > index ? Int(tokens[index].partner) + 1 : index + 1
        continue
      }
      names.append(tokens[index].code)
      index += 1
      if tokens.isSymbol(index, Symbol.colon) {
        let found = type(at: index + 1)
        while parameters.count < names.count { parameters.append(.unknown) }
        parameters[names.count - 1] = found
      }
    }
    index = close + 1
    effects()
    index += 1
    bind(names, &parameters)
  }

  /// Reads `throws(E) -> R` of a closure.
  private func effects() {
    while index < tokens.count, !tokens.isWord(index, .in) {
      if tokens.isSymbol(index, Symbol.arrow) {
        result = type(at: index + 1)
      } else if tokens.isWord(index, .throws), tokens.isSymbol(index + 1, Symbol.parenthesis) {
        let close = tokens.partner(index + 1)
        thrown = type(at: index + 2)
        index = close + 1
      } else {
        index += 1
      }
    }
  }

  /// Whether `in` follows, after effects and a result at most.
  private func isHeader(_ place: Int, _ close: Int) -> Bool {
    var next = place
    while next < close {
      if tokens.isWord(next, .in) { return true }
      if tokens.isWord(next, .async) || tokens.isWord(next, .throws) {
        next += 1
        if tokens.isSymbol(next, Symbol.parenthesis) { next = tokens.partner(next) + 1 }
      } else if tokens.isSymbol(next, Symbol.arrow) {
        next = tokens.endOfType(at: next + 1)
      } else {
        return false
      }
    }
    return false
  }
}

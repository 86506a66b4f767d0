/// Reads calls, subscripts and what else follows an expression.
extension UseFinder {
  /// A call as it is written: labels, and the number of closures behind the parentheses.
  struct Call {
    var labels: [Int32]
    var trailing: Int
  }

  /// The labels of a call with parentheses or a closure that start at `place`; nil if nothing is called there.
  func call(at place: Int) -> Call? {
    var next = place
    var call = Call(labels: [], trailing: 0)
    let isCalled = tokens.isSymbol(next, Symbol.parenthesis) && !tokens[next].isSpaced
    if isCalled {
      let close = tokens.partner(next)
      next += 1
      while next < close {
        let isLabel = tokens.isName(next) && tokens.isSymbol(next + 1, Symbol.colon)
        call.labels.append(isLabel ? tokens[next].code : Word.wildcard.rawValue)
        while next < close, !tokens.isSymbol(next, Symbol.comma) {
          next = tokens[next].partner > next ? Int(tokens[next].partner) + 1 : next + 1
        }
        next += 1
      }
      next = close + 1
    }
    guard tokens.isSymbol(next, Symbol.brace), !isBraceOfStatement, !tokens[next].isFirstOnLine else {
      return isCalled ? call : nil
    }
    call.trailing = 1
    next = tokens.partner(next) + 1
    while tokens.isName(next), tokens.isSymbol(next + 1, Symbol.colon), tokens.isSymbol(next + 2, Symbol.brace) {
      call.trailing += 1
      next = tokens.partner(next + 2) + 1
    }
    return call
  }

  func memberOrCall(_ name: Int32, of receiver: SwiftType, at place: Int) -> SwiftType {
    let call = call(at: index)
    return member(name, of: receiver, arguments: call, at: place)
  }

  /// Reads what follows a primary expression: members, calls, subscripts, `?` and `!`.
  func postfix(_ start: SwiftType) -> SwiftType {
    var found = start
    while index < tokens.count {
      let token = tokens[index]
      guard token.kind == .symbol else { break }
      if token.code == Symbol.dot {
        guard let next = dotted(found) else { break }
        found = next
      } else if token.code == Symbol.parenthesis, !token.isSpaced, !token.isFirstOnLine {
        found = called(found)
      } else if token.code == Symbol.bracket, !token.isSpaced, !token.isFirstOnLine {
        found = subscripted(found)
      } else if token.code == Symbol.question || token.code == Symbol.exclamation, !token.isSpaced {
        index += 1
        found = found.unwrapped
      } else if token.code == Symbol.less, !token.isSpaced, case .meta(let type) = found {
        found = .meta(withArguments(type))
      } else if token.code == Symbol.brace, !isBraceOfStatement, !token.isFirstOnLine, isCallable(found) {
        found = called(found)
      } else {
        break
      }
    }
    return found
  }

  private func isCallable(_ type: SwiftType) -> Bool {
    switch type {
    case .function, .unknown, .external, .meta: true
    default: false
    }
  }

  private func dotted(_ receiver: SwiftType) -> SwiftType? {
    let place = index + 1
    guard place < tokens.count else { return nil }
    if tokens[place].kind == .number {
      index += 2
      guard case .tuple(let elements) = receiver else { return .unknown }
      let number = Int(tokens[place].code)
      return number < elements.count ? elements[number].type : .unknown
    }
    guard tokens.isName(place) else {
      index += 1
      return receiver
    }
    index += 2
    if tokens.isWord(place, .`self`) { return receiver }
    return memberOrCall(tokens[place].code, of: receiver, at: place)
  }

  private func subscripted(_ receiver: SwiftType) -> SwiftType {
    let place = index
    let unwrapped = receiver.unwrapped
    var found: SwiftType = .unknown
    if case .meta = receiver {
      _ = arguments(nil)
      return .external
    }
    if let number = nominal(unwrapped) {
      let labels = Call(labels: labels(in: index), trailing: 0)
      if let member = declared(Word.subscript.rawValue, in: number, labels, isStatic: nil) {
        if case .function(_, let result) = use(member, of: unwrapped, at: place) { found = result }
      } else if case .nominal(let number, let arguments) = unwrapped, program.types[number].declaration < 0 {
        let isDictionary = arguments.count == 2
        let isSlice = isRange(in: index)
        found = isDictionary ? .optional(arguments[1]) : isSlice ? unwrapped : arguments.first ?? .external
        if isDictionary, labels.labels.count > 1 { found = arguments[1] }
      }
    } else if case .external = unwrapped {
      found = .external
    }
    _ = arguments(nil)
    return found
  }

  private func isRange(in open: Int) -> Bool {
    (open..<tokens.partner(open)).contains { tokens.isSymbol($0, Symbol.range) }
  }

  private func labels(in open: Int) -> [Int32] {
    var found: [Int32] = []
    let close = tokens.partner(open)
    var next = open + 1
    while next < close {
      let isLabel = tokens.isName(next) && tokens.isSymbol(next + 1, Symbol.colon)
      found.append(isLabel ? tokens[next].code : Word.wildcard.rawValue)
      while next < close, !tokens.isSymbol(next, Symbol.comma) {
        next = tokens[next].partner > next ? Int(tokens[next].partner) + 1 : next + 1
      }
      next += 1
    }
    return found
  }

  /// Reads the arguments of a call and its closures; answers what it returns.
  private func called(_ callee: SwiftType) -> SwiftType {
    var parameters: [SwiftType] = []
    var result: SwiftType = .unknown
    var names: [Int32]?
    switch callee {
    case .function(let types, let returned): (parameters, result) = (types, returned)
    case .meta(let type):
      result = type
      if let number = nominal(type) {
        let call = call(at: index)
        let name = Word.`init`.rawValue
        if !isForeignInitializer(name, number, call), let member = declared(name, in: number, call, isStatic: nil) {
          if case .function(let types, let made) = use(member, of: type, at: index - 1) {
            parameters = types
            if case .optional = made { result = .optional(type) }
          }
          names = program.declarations[member].parameters?.map(\.label)
        } else {
          (parameters, names) = memberwise(number)
        }
      }
    case .external:
      result = .external
      // Another package takes none of our types by a name alone.
      parameters = Array(repeating: .external, count: call(at: index)?.labels.count ?? 0)
    default: break
    }
    let values = callArguments(parameters, names)
    return result.replacing(values)
  }

  /// Parameters of a memberwise initializer.
  private func memberwise(_ type: Int) -> ([SwiftType], [Int32]?) {
    let declaration = program.types[type].declaration
    guard declaration >= 0 else { return ([], nil) }
    var types: [SwiftType] = []
    var names: [Int32] = []
    for index in program.files[program.declarations[declaration].file].declarations {
      let member = program.declarations[index]
      guard member.parent == declaration, member.kind == .variable, !member.isStatic, member.body < 0 else { continue }
      names.append(member.name)
      types.append(member.type >= 0 ? typeDeclared(by: index) : .unknown)
    }
    return (types, names)
  }

  /// Reads arguments and closures; answers what generic parameters stand for.
  private func callArguments(_ parameters: [SwiftType], _ names: [Int32]?) -> [(name: Int32, type: SwiftType)] {
    var values: [(name: Int32, type: SwiftType)] = []
    var number = 0
    if tokens.isSymbol(index, Symbol.parenthesis), !tokens[index].isSpaced {
      let found = arguments(parameters, labels: names)
      for (place, argument) in found.enumerated() where place < parameters.count {
        parameters[min(argument.parameter, parameters.count - 1)].match(argument.type, &values)
      }
      number = found.count
    }
    guard tokens.isSymbol(index, Symbol.brace), !isBraceOfStatement, !tokens[index].isFirstOnLine else { return values }
    let functions = parameters.indices.filter { place in
      if case .function = parameters[place].unwrapped { return place >= min(number, parameters.count - 1) }
      return false
    }
    var next = functions.first
    while true {
      let expected = next.map { parameters[$0].replacing(values) } ?? .unknown
      let found = closure(expected)
      if let place = next { parameters[place].unwrapped.match(found, &values) }
      next = next.flatMap { place in functions.first { $0 > place } }
      guard tokens.isName(index), tokens.isSymbol(index + 1, Symbol.colon), tokens.isSymbol(index + 2, Symbol.brace)
      else { break }
      index += 2
    }
    return values
  }

  struct Argument {
    var label: Int32
    var type: SwiftType
    var parameter: Int
  }

  /// Reads a list in parentheses or brackets.
  func arguments(_ parameters: [SwiftType]?, labels: [Int32]? = nil) -> [Argument] {
    let close = tokens.partner(index)
    let saved = (isBraceOfStatement, isCondition)
    (isBraceOfStatement, isCondition) = (false, false)
    defer { (isBraceOfStatement, isCondition) = saved }
    var found: [Argument] = []
    index += 1
    while index < close {
      let before = index
      var label = Word.wildcard.rawValue
      if tokens.isName(index), tokens.isSymbol(index + 1, Symbol.colon) {
        label = tokens[index].code
        index += 2
      }
      var place = found.count
      if let labels, label != Word.wildcard.rawValue, let known = labels.firstIndex(of: label) { place = known }
      let expected = parameters.flatMap { place < $0.count ? $0[place] : nil } ?? .unknown
      found.append(Argument(label: label, type: expression(expected: expected), parameter: place))
      while index < close, !tokens.isSymbol(index, Symbol.comma) {
        let before = index
        _ = expression(expected: .unknown)
        if index == before { index += 1 }
      }
      index += 1
      if index == before { index += 1 }
    }
    index = close + 1
    return found
  }
}

/// One declaration at file or type level, by the positions of its parts in the tokens of its file.
struct SourceDeclaration {
  enum Kind: UInt8 {
    case type, `extension`, function, initializer, `subscript`, variable, enumCase, alias, associatedType
  }

  struct Parameter {
    /// The argument label, or `_`.
    var label: Int32
    var name: Int32
    /// The start of the type.
    var type: Int
    /// Whether a call can omit the argument.
    var isOptional: Bool
    var isVariadic: Bool
    /// Whether the type is written as a function: a closure can stand behind the call.
    var takesClosure: Bool
  }

  struct Generic {
    var name: Int32
    /// The start of the bound, or -1.
    var bound: Int
  }

  var kind: Kind
  var name: Int32
  var file: Int
  var line: Int32
  /// The index of the enclosing type or extension, or -1.
  var parent: Int
  var start: Int
  var end: Int = 0
  /// Whether only its own file can use it.
  var isPrivate = false
  var isStatic = false
  var isProtocol = false
  /// The arguments of a function, initializer, subscript or enum case; nil if it is not called.
  var parameters: [Parameter]?
  var generics: [Generic] = []
  /// The start of the declared type or the inheritance clause, or -1.
  var type = -1
  /// The start of the type of the error, or -1.
  var thrown = -1
  /// The start of the initial value, or -1.
  var value = -1
  /// The start of the body of a function or accessor, or of the members of a type, or -1.
  var body = -1
  /// The index of the type in ``SourceProgram/types`` that a type declares or an extension extends, or -1.
  var declaredType = -1
}

/// Finds the declarations of one file. Bodies of functions are skipped.
struct DeclarationParser {
  private let tokens: [SourceTokens.Token]
  private let file: Int
  private let base: Int
  private(set) var declarations: [SourceDeclaration] = []
  /// The names of imported modules, and whether importers of this module see them as well.
  private(set) var imports: [(name: Int32, isExported: Bool)] = []

  private struct Modifiers {
    var start = -1
    var isPrivate = false
    var isStatic = false
  }

  /// The number of declarations of earlier files is added to indexes of this file.
  init(_ tokens: [SourceTokens.Token], file: Int, base: Int) {
    self.tokens = tokens
    self.file = file
    self.base = base
  }

  mutating func parse() {
    members(from: 0, to: tokens.count, parent: -1, isProtocol: false)
  }

  private mutating func members(from start: Int, to end: Int, parent: Int, isProtocol: Bool) {
    var index = start
    var modifiers = Modifiers()
    var current = -1
    while index < end {
      let token = tokens[index]
      let isStart = token.isFirstOnLine || modifiers.start >= 0 || index == start || tokens.isSemicolon(index - 1)
      if tokens.isSymbol(index, Symbol.at), isStart {
        if modifiers.start < 0 { modifiers.start = index }
        index = tokens.endOfAttribute(at: index)
        continue
      }
      guard isStart, let word = tokens.word(index) else {
        index = afterOther(index, current, parent)
        continue
      }
      if isModifier(word, index, &modifiers) {
        if modifiers.start < 0 { modifiers.start = index }
        index += 1
        if tokens.isSymbol(index, Symbol.parenthesis) { index = tokens.partner(index) + 1 }
        continue
      }
      guard isDeclaration(word, index) else {
        modifiers = Modifiers()
        index += 1
        continue
      }
      let first = modifiers.start >= 0 ? modifiers.start : index
      if current >= 0 { finish(current, at: first) }
      let count = declarations.count
      index = declaration(word, at: index, first, modifiers, parent: parent, isProtocol: isProtocol)
      current = declarations.count > count ? count : -1
      modifiers = Modifiers()
    }
    if current >= 0 { finish(current, at: end) }
  }

  private mutating func finish(_ first: Int, at end: Int) {
    var index = first
    while index < declarations.count {
      if declarations[index].end == 0 { declarations[index].end = end }
      index += 1
    }
  }

  /// Continues behind a token of an initial value; finds the second variable of `var a = 1, b = 2`.
  private mutating func afterOther(_ index: Int, _ current: Int, _ parent: Int) -> Int {
    if tokens[index].partner > index { return Int(tokens[index].partner) + 1 }
    if current >= 0, declarations[current].kind == .variable, tokens.isSymbol(index, Symbol.comma),
      index + 2 < tokens.count, tokens[index + 1].kind == .name,
      tokens.isSymbol(index + 2, Symbol.colon) || tokens.isSymbol(index + 2, Symbol.assignment)
    {
      var next = declarations[current]
      next.name = tokens[index + 1].code
      next.line = tokens[index + 1].line
      next.type = -1
      next.value = -1
      next.body = -1
      return variableType(index + 2, &next)
    }
    return index + 1
  }

  private func isModifier(_ word: Word, _ index: Int, _ modifiers: inout Modifiers) -> Bool {
    switch word {
    case .private, .fileprivate:
      let isOfSetter = tokens.isSymbol(index + 1, Symbol.parenthesis)
      if !isOfSetter { modifiers.isPrivate = true }
    case .static: modifiers.isStatic = true
    case .class:
      guard let next = tokens.word(index + 1), [.func, .var, .let, .subscript].contains(next) else { return false }
      modifiers.isStatic = true
    case .internal, .package, .public, .open, .final, .lazy, .weak, .unowned, .indirect, .mutating, .nonmutating,
      .consuming, .borrowing, .nonisolated, .isolated, .convenience, .required, .override, .dynamic, .unsafe, .infix,
      .prefix, .postfix:
      break
    default: return false
    }
    return true
  }

  private func isDeclaration(_ word: Word, _ index: Int) -> Bool {
    switch word {
    case .struct, .class, .enum, .actor, .protocol, .extension, .func, .var, .let, .case, .typealias, .associatedtype,
      .`init`, .deinit, .subscript, .import, .operator, .precedencegroup:
      return !tokens.isSymbol(index - 1, Symbol.dot)
    default: return false
    }
  }

  private mutating func declaration(
    _ word: Word, at index: Int, _ start: Int, _ modifiers: Modifiers, parent: Int, isProtocol: Bool
  ) -> Int {
    var made = SourceDeclaration(
      kind: .type, name: index + 1 < tokens.count ? tokens[index + 1].code : 0, file: file, line: tokens[index].line,
      parent: parent, start: start)
    made.isPrivate = modifiers.isPrivate
    made.isStatic = modifiers.isStatic
    switch word {
    case .struct, .class, .enum, .actor, .protocol, .extension:
      return type(word, at: index, made)
    case .func, .`init`, .subscript, .deinit:
      return function(word, at: index, made)
    case .var, .let: return variable(at: index + 1, made)
    case .case: return cases(at: index + 1, made)
    case .typealias, .associatedtype:
      made.kind = word == .typealias ? .alias : .associatedType
      var next = index + 2
      made.generics = generics(&next)
      if tokens.isSymbol(next, Symbol.colon) || tokens.isSymbol(next, Symbol.assignment) { made.type = next + 1 }
      declarations.append(made)
      return next
    case .import:
      let isExported = (start..<index).contains { tokens.isWord($0, .public) } && tokens.isSymbol(start, Symbol.at)
      let kinds: Set<Word?> = [.struct, .class, .enum, .protocol, .func, .var, .let, .typealias]
      let name = kinds.contains(tokens.word(index + 1)) ? index + 2 : index + 1
      if tokens.isName(name) { imports.append((tokens[name].code, isExported)) }
      return name + 1
    default:
      return index + 1
    }
  }

  private mutating func type(_ word: Word, at index: Int, _ type: SourceDeclaration) -> Int {
    var type = type
    type.kind = word == .extension ? .extension : .type
    type.isProtocol = word == .protocol
    var next = index + 2
    if word == .extension {
      type.value = index + 1
      next = tokens.endOfType(at: index + 1)
    } else {
      type.generics = generics(&next)
    }
    if tokens.isSymbol(next, Symbol.colon) { type.type = next + 1 }
    while next < tokens.count, !tokens.isSymbol(next, Symbol.brace) { next += 1 }
    guard next < tokens.count else { return next }
    let end = tokens.partner(next)
    type.body = next
    type.end = end + 1
    declarations.append(type)
    let parent = base + declarations.count - 1
    members(from: next + 1, to: end, parent: parent, isProtocol: type.isProtocol)
    return end + 1
  }

  private mutating func function(_ word: Word, at index: Int, _ function: SourceDeclaration) -> Int {
    var function = function
    var next = index + 1
    switch word {
    case .`init`:
      function.kind = .initializer
      function.name = Word.`init`.rawValue
      function.isStatic = true
      if tokens.isSymbol(next, Symbol.question) || tokens.isSymbol(next, Symbol.exclamation) { next += 1 }
    case .subscript:
      function.kind = .subscript
      function.name = Word.subscript.rawValue
    case .deinit:
      function.kind = .initializer
      function.name = -1
    default:
      function.kind = .function
      next += 1
      if tokens[index + 1].kind == .symbol {
        function.name = -1
        // The symbol of an operator ends where its parameters, or those in angle brackets, begin.
        while next < tokens.count, !tokens.isSymbol(next, Symbol.parenthesis) {
          if tokens.isSymbol(next, Symbol.less), tokens.isName(next + 1) { break }
          next += 1
        }
      }
    }
    function.generics = generics(&next)
    if tokens.isSymbol(next, Symbol.parenthesis) {
      function.parameters = parameters(in: next, isSubscript: word == .subscript)
      next = tokens.partner(next) + 1
    }
    while next < tokens.count {
      if tokens.isWord(next, .throws), tokens.isSymbol(next + 1, Symbol.parenthesis), function.thrown < 0 {
        function.thrown = next + 2
        next = tokens.partner(next + 1) + 1
      } else if tokens.isSymbol(next, Symbol.arrow) {
        function.type = next + 1
        next = tokens.endOfType(at: next + 1)
      } else if tokens.isSymbol(next, Symbol.brace) {
        function.body = next
        next = tokens.partner(next) + 1
        break
      } else if tokens.isSymbol(next, Symbol.braceEnd) || tokens[next].isFirstOnLine && !continuesHeader(next) {
        break
      } else {
        next += 1
      }
    }
    function.end = next
    declarations.append(function)
    return next
  }

  private func continuesHeader(_ index: Int) -> Bool {
    let word = tokens.word(index)
    return word == .where || word == .throws || word == .async || tokens.isSymbol(index - 1, Symbol.comma)
  }

  private mutating func variable(at index: Int, _ variable: SourceDeclaration) -> Int {
    var variable = variable
    variable.kind = .variable
    guard index < tokens.count else { return index }
    if tokens.isSymbol(index, Symbol.parenthesis) {
      for inner in index..<tokens.partner(index) where tokens[inner].kind == .name {
        variable.name = tokens[inner].code
        declarations.append(variable)
      }
      return tokens.partner(index) + 1
    }
    variable.name = tokens[index].code
    return variableType(index + 1, &variable)
  }

  /// Reads the type and the start of the value or accessors, and adds the variable.
  private mutating func variableType(_ index: Int, _ variable: inout SourceDeclaration) -> Int {
    var next = index
    if tokens.isSymbol(next, Symbol.colon) {
      variable.type = next + 1
      next = tokens.endOfType(at: next + 1)
    }
    if tokens.isSymbol(next, Symbol.assignment) {
      variable.value = next + 1
      next += 1
    } else if tokens.isSymbol(next, Symbol.brace) {
      variable.body = next
    }
    declarations.append(variable)
    return next
  }

  private mutating func cases(at index: Int, _ first: SourceDeclaration) -> Int {
    var next = index
    while next < tokens.count, tokens[next].kind == .name || tokens[next].kind == .escapedName {
      var made = first
      made.kind = .enumCase
      made.isStatic = true
      made.name = tokens[next].code
      made.line = tokens[next].line
      next += 1
      if tokens.isSymbol(next, Symbol.parenthesis) {
        made.parameters = parameters(in: next, isSubscript: false)
        next = tokens.partner(next) + 1
      }
      if tokens.isSymbol(next, Symbol.assignment) { next += tokens.isSymbol(next + 1, Symbol.minus) ? 3 : 2 }
      declarations.append(made)
      guard tokens.isSymbol(next, Symbol.comma) else { break }
      next += 1
    }
    return next
  }

  private func generics(_ index: inout Int) -> [SourceDeclaration.Generic] {
    guard tokens.isSymbol(index, Symbol.less) else { return [] }
    var found: [SourceDeclaration.Generic] = []
    index += 1
    while index < tokens.count, !tokens.isSymbol(index, Symbol.greater) {
      if tokens[index].kind == .name, tokens.word(index) != .each {
        var generic = SourceDeclaration.Generic(name: tokens[index].code, bound: -1)
        index += 1
        if tokens.isSymbol(index, Symbol.colon) {
          generic.bound = index + 1
          index = tokens.endOfType(at: index + 1)
        }
        found.append(generic)
      } else {
        index += 1
      }
    }
    index += 1
    return found
  }

  private func parameters(in open: Int, isSubscript: Bool) -> [SourceDeclaration.Parameter] {
    tokens.parameters(in: open, labelsByName: !isSubscript)
  }
}

extension [SourceTokens.Token] {
  /// The parameters in parentheses of a function, closure or enum case.
  func parameters(in open: Int, labelsByName: Bool) -> [SourceDeclaration.Parameter] {
    var found: [SourceDeclaration.Parameter] = []
    let end = partner(open)
    var index = open + 1
    while index < end {
      while isSymbol(index, Symbol.at) { index = endOfAttribute(at: index) }
      var label = Word.wildcard.rawValue
      var name = Word.wildcard.rawValue
      if isName(index), isSymbol(index + 1, Symbol.colon) {
        name = self[index].code
        label = labelsByName ? name : label
        index += 2
      } else if isName(index), isName(index + 1), isSymbol(index + 2, Symbol.colon) {
        label = self[index].code
        name = self[index + 1].code
        index += 3
      }
      var parameter = SourceDeclaration.Parameter(
        label: label, name: name, type: index, isOptional: false, isVariadic: false,
        takesClosure: isSymbol(endOfPrefix(at: index), Symbol.parenthesis))
      index = endOfType(at: index)
      if isSymbol(index, Symbol.range) {
        parameter.isVariadic = true
        parameter.isOptional = true
        index += 1
      }
      if isSymbol(index, Symbol.assignment) { parameter.isOptional = true }
      while index < end, !isSymbol(index, Symbol.comma) {
        index = self[index].partner > index ? Int(self[index].partner) + 1 : index + 1
      }
      index += 1
      found.append(parameter)
    }
    return found
  }
}

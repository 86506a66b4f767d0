/// One use of a declaration in another place.
struct SourceUse {
  var file: Int
  var line: Int32
  /// The index of the declaration that is used.
  var declaration: Int
}

/// Finds the declarations that the code of each file uses.
///
/// The resolver follows types of expressions through declared types, arguments and results. It finds a member in the
/// right type even if other types have members of the same name. A member of an unknown type counts only if one folder
/// declares the name, on a type that the file mentions.
final class UseFinder {
  let program: SourceProgram
  private(set) var uses: [SourceUse] = []

  var file = 0
  var tokens: [SourceTokens.Token] = []
  /// The position in the tokens.
  var index = 0
  /// Whether uses are recorded. Types of other declarations are read without recording.
  var isRecording = true

  struct Local {
    var name: Int32
    var type: SwiftType
  }

  /// Local names in scope, innermost last.
  var locals: [Local] = []
  var generics: [(name: Int32, bound: SwiftType)] = []
  /// The type of the member that is read, or -1.
  var owner = -1
  /// The result type of the surrounding function or closure.
  var result: SwiftType = .unknown
  /// The error type of the surrounding function or `do`.
  var thrown: SwiftType = .unknown
  /// The error type of the last `do`, for its `catch`.
  var caught: SwiftType = .external
  /// The type that the innermost closure returned so far.
  var returned: SwiftType = .unknown
  /// The values that enclosing `switch` statements look at.
  var subjects: [SwiftType] = []
  /// Whether a brace belongs to a statement and not to a call.
  var isBraceOfStatement = false
  /// Whether `let x = y` unwraps.
  var isCondition = false
  /// Whether overloads of several folders fit the name that was read last.
  var isAmbiguous = false
  /// The nesting depth of type inference across declarations.
  var depth = 0

  struct Guess {
    var line: Int32
    var declaration: Int
    /// Whether it counts even if the file does not mention the type.
    var isMentioned: Bool
  }

  /// Members of unknown types in this file, and in all files.
  var guesses: [Guess] = []
  private var plausible: [SourceUse] = []
  /// Names of members that types of other packages have. These names are no evidence without a receiver type.
  var foreign: Set<Int32> = Set([Word.key, .value, .offset, .element].map(\.rawValue))
  /// The types that the file mentions.
  var mentioned: Set<Int> = []

  init(_ program: SourceProgram) { self.program = program }

  func findAll() {
    for file in program.files.indices { find(in: file) }
    uses += plausible.filter { !foreign.contains(program.declarations[$0.declaration].name) }
  }

  private func find(in file: Int) {
    self.file = file
    tokens = program.files[file].tokens
    guesses = []
    mentioned = []
    for declaration in program.files[file].declarations { walk(declaration) }
    for guess in guesses where guess.isMentioned || mentioned.contains(program.owner(of: guess.declaration)) {
      plausible.append(SourceUse(file: file, line: guess.line, declaration: guess.declaration))
    }
  }

  func record(_ declaration: Int, at token: Int) {
    guard isRecording else { return }
    let found = program.declarations[declaration]
    if found.declaredType >= 0, found.kind == .type { mentioned.insert(found.declaredType) }
    let owner = program.owner(of: declaration)
    if owner >= 0 { mentioned.insert(owner) }
    guard found.file != file else { return }
    uses.append(SourceUse(file: file, line: tokens[token].line, declaration: declaration))
  }

  func mention(_ type: SwiftType) {
    guard isRecording else { return }
    switch type {
    case .nominal(let index, let arguments):
      mentioned.insert(index)
      for argument in arguments { mention(argument) }
    case .meta(let inner), .optional(let inner), .parameter(_, let inner): mention(inner)
    case .tuple(let elements): for element in elements { mention(element.type) }
    case .function(let parameters, let result):
      for parameter in parameters { mention(parameter) }
      mention(result)
    case .unknown, .external: return
    }
  }

  // MARK: Declarations

  /// Reads a declaration with its body. Members of a type are declarations themselves.
  private func walk(_ number: Int) {
    let declaration = program.declarations[number]
    enter(number)
    switch declaration.kind {
    case .type, .extension: header(declaration)
    case .alias, .associatedType:
      attributes(declaration)
      if declaration.type >= 0 { types(from: declaration.type, to: declaration.end) }
    case .variable: variable(number, declaration)
    case .function, .initializer, .subscript: function(declaration)
    case .enumCase: for parameter in declaration.parameters ?? [] { _ = type(at: parameter.type) }
    }
  }

  /// Sets the scope of a declaration.
  func enter(_ number: Int) {
    let declaration = program.declarations[number]
    locals = []
    generics = []
    subjects = []
    isBraceOfStatement = false
    isCondition = false
    result = .unknown
    thrown = .unknown
    returned = .unknown
    let isType = declaration.kind == .type || declaration.kind == .extension
    owner = isType ? declaration.declaredType : program.owner(of: number)
    scopeGenerics(number)
  }

  private func scopeGenerics(_ number: Int) {
    var chain: [Int] = []
    var next = number
    while next >= 0 {
      chain.append(next)
      next = program.declarations[next].parent
    }
    for index in chain.reversed() {
      for generic in program.declarations[index].generics {
        generics.append((generic.name, .unknown))
        guard generic.bound >= 0 else { continue }
        let recorded = isRecording
        isRecording = isRecording && index == number
        generics[generics.count - 1].bound = type(at: generic.bound)
        isRecording = recorded
      }
    }
  }

  /// The attributes in front of a declaration: property wrappers and macros are types.
  private func attributes(_ declaration: SourceDeclaration) {
    var next = declaration.start
    while tokens.isSymbol(next, Symbol.at) {
      if tokens.isName(next + 1), let found = program.topLevelTypeDeclaration(tokens[next + 1].code, from: file) {
        record(found, at: next + 1)
      }
      next = tokens.endOfAttribute(at: next)
    }
  }

  private func header(_ declaration: SourceDeclaration) {
    attributes(declaration)
    if declaration.kind == .extension { _ = type(at: declaration.value) }
    if declaration.type >= 0 {
      types(from: declaration.type, to: declaration.body)
    } else if declaration.body > 0, let place = whereClause(before: declaration.body, after: declaration.start) {
      types(from: place, to: declaration.body)
    }
  }

  private func whereClause(before end: Int, after start: Int) -> Int? {
    var next = start
    while next < end {
      if tokens.isWord(next, .where) { return next }
      next += 1
    }
    return nil
  }

  /// Reads all types in a range, as in an inheritance clause.
  private func types(from start: Int, to end: Int) {
    var next = start
    while next < end {
      if tokens.isName(next), !tokens.isWord(next, .where) || tokens.isSymbol(next, Symbol.parenthesis) {
        _ = type(at: next)
        next = max(next + 1, index)
      } else {
        next += 1
      }
    }
  }

  private func variable(_ number: Int, _ declaration: SourceDeclaration) {
    attributes(declaration)
    var declared: SwiftType = .unknown
    if declaration.type >= 0 { declared = type(at: declaration.type) }
    var end = declaration.end
    let next = number + 1
    if next < program.files[file].declarations.upperBound, program.declarations[next].start == declaration.start {
      // The second variable of `var a = 1, b = 2`, which is read by itself.
      let value =
        program.declarations[next].type >= 0 ? program.declarations[next].type : program.declarations[next].value
      if value >= 0 { end = min(end, value - 2) }
    }
    if declaration.value >= 0 {
      index = declaration.value
      _ = expression(expected: declared)
    } else {
      index = declaration.body >= 0 ? declaration.body : end
    }
    result = declared
    while index < end {
      let before = index
      body(upTo: end)
      if index == before { index += 1 }
    }
  }

  /// Reads accessors or observers, or the body of a computed property.
  private func body(upTo end: Int) {
    guard tokens.isSymbol(index, Symbol.brace) else {
      statement()
      return
    }
    let close = tokens.partner(index)
    index += 1
    let start = locals.count
    while index < close {
      guard tokens.isName(index), isAccessor(tokens[index].code) else {
        statements(to: close)
        break
      }
      var next = index + 1
      if tokens.isSymbol(next, Symbol.parenthesis) { next = tokens.partner(next) + 1 }
      while tokens.isWord(next, .throws) || tokens.isWord(next, .async) {
        next += 1
        if tokens.isSymbol(next, Symbol.parenthesis) {
          thrown = type(at: next + 1)
          next = tokens.partner(next) + 1
        }
      }
      guard tokens.isSymbol(next, Symbol.brace) else {
        if tokens.isSymbol(next, Symbol.braceEnd) || tokens.isName(next) {
          index = next
          continue
        }
        statements(to: close)
        break
      }
      if tokens.isSymbol(index + 1, Symbol.parenthesis), tokens.isName(index + 2) {
        locals.append(Local(name: tokens[index + 2].code, type: result))
      }
      locals.append(Local(name: Word.newValue.rawValue, type: result))
      locals.append(Local(name: Word.oldValue.rawValue, type: result))
      index = next
      block()
    }
    index = close + 1
    locals.removeLast(locals.count - start)
  }

  private func isAccessor(_ name: Int32) -> Bool {
    if name == Word.get.rawValue || name == Word.set.rawValue { return true }
    let text = program.names.texts[Int(name)]
    return ["willSet", "didSet", "_read", "_modify", "mutating", "nonmutating", "unsafeAddress", "borrow", "init"]
      .contains(text)
  }

  private func function(_ declaration: SourceDeclaration) {
    attributes(declaration)
    for parameter in declaration.parameters ?? [] { self.parameter(parameter) }
    if declaration.type >= 0 { result = type(at: declaration.type) }
    if declaration.thrown >= 0 { thrown = type(at: declaration.thrown) }
    if declaration.kind == .initializer { result = .unknown }
    let end = declaration.body >= 0 ? declaration.body : declaration.end
    if let place = whereClause(before: end, after: declaration.start) { types(from: place, to: end) }
    guard declaration.body >= 0 else { return }
    index = declaration.body
    body(upTo: declaration.end)
  }

  /// Reads the type and the default of a parameter, and brings it into scope.
  func parameter(_ parameter: SourceDeclaration.Parameter) {
    var found = type(at: parameter.type)
    if tokens.isSymbol(index, Symbol.assignment) {
      index += 1
      _ = expression(expected: found)
    }
    if parameter.isVariadic { found = array(of: found) }
    locals.append(Local(name: parameter.name, type: found))
  }

  func array(of type: SwiftType) -> SwiftType { .nominal(program.external(Word.Array.rawValue), [type]) }
}

/// Resolves names and members.
extension UseFinder {
  func lookUp(_ name: Int32) -> SwiftType? {
    var next = locals.count - 1
    while next >= 0 {
      if locals[next].name == name { return locals[next].type }
      next -= 1
    }
    return nil
  }

  // MARK: Names

  /// Reads a name that no receiver precedes.
  func identifier() -> SwiftType {
    let place = index
    let name = tokens[index].code
    index += 1
    if let local = lookUp(name) { return local }
    let call = call(at: index)
    var next = owner
    while next >= 0 {
      if let found = declared(name, in: next, call, isStatic: nil) {
        return use(found, of: .parameter(Word.Self.rawValue, .nominal(next, [])), at: place)
      }
      next = program.types[next].parent
    }
    if let type = knownType(name, at: place) { return .meta(type) }
    if program.moduleNamed(name) != nil, tokens.isSymbol(index, Symbol.dot), tokens.isName(index + 1) {
      index += 1
      let module = program.moduleNamed(name) ?? 0
      let found = tokens[index].code
      index += 1
      if let declaration = topLevel(found, in: [module], self.call(at: index)) {
        return use(declaration, of: nil, at: index - 1)
      }
      return .external
    }
    if let found = topLevel(name, in: program.files[file].imported, call) {
      return use(found, of: nil, at: place)
    }
    let text = program.names.texts[Int(name)]
    if let first = text.utf8.first, first >= 65, first <= 90 { return .meta(.nominal(program.external(name), [])) }
    return .external
  }

  /// A type, function or variable at file level.
  private func topLevel(_ name: Int32, in modules: [Int], _ call: Call?) -> Int? {
    for module in modules {
      guard let found = program.modules[module].declarations[name] else { continue }
      let visible = found.filter { program.isVisible($0, from: file) }
      if let match = visible.first(where: { isMatch($0, call) }) ?? visible.first { return match }
    }
    return nil
  }

  /// Records a use, and answers its type. Functions keep theirs until they are called.
  func use(_ declaration: Int, of receiver: SwiftType?, at place: Int) -> SwiftType {
    if !isAmbiguous { record(declaration, at: place) }
    isAmbiguous = false
    let kind = program.declarations[declaration].kind
    let found = typeDeclared(by: declaration)
    if kind == .type || kind == .alias || kind == .associatedType { return .meta(found) }
    return found.replacing(receiver.map(values) ?? [])
  }

  // MARK: Members

  /// The member of a type or of one of its supertypes; nil if they have none of that name.
  func declared(_ name: Int32, in type: Int, _ call: Call?, isStatic: Bool?) -> Int? {
    if let found = best(program.types[type].members[name], call, isStatic) { return found }
    for next in supertypes(of: type) {
      if let found = best(program.types[next].members[name], call, isStatic) { return found }
    }
    return nil
  }

  private func best(_ members: [Int]?, _ call: Call?, _ isStatic: Bool?) -> Int? {
    guard let members else { return nil }
    var found: [Int] = []
    // Without a call, a property is meant and not a function.
    let isProperty = call == nil && members.contains { program.declarations[$0].parameters == nil }
    for member in members where program.isVisible(member, from: file) {
      let declaration = program.declarations[member]
      if let isStatic, isStatic != declaration.isStatic, declaration.kind != .initializer { continue }
      guard isMatch(member, call), !isProperty || declaration.parameters == nil else { continue }
      found.append(member)
    }
    guard let first = found.first else { return nil }
    if found.count == 1 { return first }
    if let call, call.trailing > 0 {
      let closures = found.filter { program.declarations[$0].parameters?.last?.takesClosure ?? false }
      if !closures.isEmpty { found = closures }
    }
    return nearest(found)
  }

  /// Of overloads that only types of arguments distinguish, the nearest. Those of several other folders are ambiguous:
  /// they have a type, but are no use of either folder.
  private func nearest(_ members: [Int]) -> Int {
    if let own = members.first(where: { program.declarations[$0].file == file }) { return own }
    let own = program.folder(ofFile: file)
    let folders = members.map { program.folder(ofFile: program.declarations[$0].file) }
    if let index = folders.firstIndex(of: own) { return members[index] }
    isAmbiguous = folders.contains { $0 != folders[0] }
    return members[0]
  }

  /// Whether a declaration can be called like that. A variable of a function type can be called in any way.
  func isMatch(_ declaration: Int, _ call: Call?) -> Bool {
    guard let call, let parameters = program.declarations[declaration].parameters else { return true }
    var next = 0
    for (place, label) in call.labels.enumerated() {
      if next > 0, place > 0, label == Word.wildcard.rawValue, parameters[next - 1].isVariadic { continue }
      while next < parameters.count, parameters[next].label != label {
        guard parameters[next].isOptional else { return false }
        next += 1
      }
      guard next < parameters.count else { return false }
      next += 1
    }
    let missing = parameters[next...].count { !$0.isOptional }
    return missing <= call.trailing && call.trailing <= parameters.count - next
  }

  /// Resolves a member by the type of its receiver; if that is unknown, by its name.
  func member(_ name: Int32, of receiver: SwiftType, arguments call: Call?, at place: Int) -> SwiftType {
    switch receiver {
    case .unknown: return guess(name, call, isStatic: nil, at: place)
    case .external: return ofOtherPackage(name, call, at: place)
    case .optional(let inner):
      let found = member(name, of: inner, arguments: call, at: place)
      return found
    case .tuple(let elements):
      foreign.insert(name)
      return elements.first { $0.label == name }?.type ?? .external
    case .function: return .external
    case .meta(let type):
      if name == Word.`self`.rawValue { return receiver }
      if case .external = type { return .external }
      if let inner = memberType(name, of: type, at: place) { return .meta(inner) }
      guard let number = nominal(type) else { return guess(name, call, isStatic: true, at: place) }
      if isForeignInitializer(name, number, call) { return .function([], type) }
      let own = declared(name, in: number, call, isStatic: true)
      if let found = own ?? declared(name, in: number, call, isStatic: nil) { return use(found, of: type, at: place) }
      return name == Word.`init`.rawValue ? receiver : .external
    case .nominal, .parameter:
      guard let number = nominal(receiver) else { return guess(name, call, isStatic: false, at: place) }
      if let found = declared(name, in: number, call, isStatic: false) { return use(found, of: receiver, at: place) }
      if let found = standard(name, of: receiver) {
        foreign.insert(name)
        return found
      }
      return ofOtherPackage(name, call, at: place)
    }
  }

  /// Members of collections that have a type that follows from the elements.
  private func standard(_ name: Int32, of receiver: SwiftType) -> SwiftType? {
    guard case .nominal(let number, let arguments) = receiver, program.types[number].declaration < 0 else { return nil }
    let element = element(of: receiver)
    switch name {
    case Word.first.rawValue, Word.last.rawValue: return .optional(element)
    case Word.values.rawValue where arguments.count == 2: return array(of: arguments[1])
    case Word.keys.rawValue where arguments.count == 2: return array(of: arguments[0])
    default: break
    }
    switch program.names.texts[Int(name)] {
    case "popLast", "min", "max", "randomElement", "popFirst": return .function([], .optional(element))
    case "removeLast", "removeFirst", "remove": return .function([.function([element], .external)], element)
    case "filter", "sorted", "reversed", "prefix", "suffix", "dropFirst", "dropLast", "shuffled", "drop", "sort",
      "removeAll", "union", "subtracting", "intersection":
      return .function([.function([element, element], .external)], receiver)
    case "lazy", "indices": return name == Word.first.rawValue ? nil : receiver
    case "enumerated":
      return .function([], array(of: .tuple([(Word.offset.rawValue, .external), (Word.element.rawValue, element)])))
    case "reduce":
      return .function([.external, .function([.external, element], .external)], .external)
    case "map", "compactMap", "flatMap", "forEach", "contains", "allSatisfy", "firstIndex", "lastIndex", "partition",
      "count", "mapValues", "compactMapValues":
      return .function([.function([element], .unknown)], .external)
    default: return nil
    }
  }

  /// A member of a type of another package: one of our extensions, if only one has that name.
  private func ofOtherPackage(_ name: Int32, _ call: Call?, at place: Int) -> SwiftType {
    let candidates = (program.members[name] ?? []).filter { member in
      let owner = program.owner(of: member)
      return program.types[owner].declaration < 0 && program.isVisible(member, from: file) && isPlausible(member, call)
    }
    guard candidates.count == 1 else {
      foreign.insert(name)
      return .external
    }
    guess(candidates[0], at: place, isCertain: true)
    return typeDeclared(by: candidates[0])
  }

  /// The only member of that name, if one folder declares all of them.
  private func guess(_ name: Int32, _ call: Call?, isStatic: Bool?, at place: Int) -> SwiftType {
    var found: Int?
    for member in program.members[name] ?? [] where program.isVisible(member, from: file) && isPlausible(member, call) {
      let declaration = program.declarations[member]
      guard declaration.kind != .initializer, isStatic == nil || isStatic == declaration.isStatic else { continue }
      if let known = found, !isSameFolder(known, member) { return .unknown }
      found = found ?? member
    }
    guard let found else { return .external }
    guess(found, at: place, isCertain: false)
    return typeDeclared(by: found)
  }

  private func guess(_ declaration: Int, at place: Int, isCertain: Bool) {
    guard isRecording, program.declarations[declaration].file != file else { return }
    guesses.append(Guess(line: tokens[place].line, declaration: declaration, isMentioned: isCertain))
  }

  /// Whether a name alone can mean this member: functions are called, and properties are not.
  private func isPlausible(_ declaration: Int, _ call: Call?) -> Bool {
    let found = program.declarations[declaration]
    if found.kind == .enumCase { return isMatch(declaration, call) }
    return (call == nil) == (found.parameters == nil) && isMatch(declaration, call)
  }

  private func isSameFolder(_ left: Int, _ right: Int) -> Bool {
    let (left, right) = (program.declarations[left].file, program.declarations[right].file)
    return left == right || program.folder(ofFile: left) == program.folder(ofFile: right)
  }

  /// Whether an initializer of another package's type is meant: ours have labels.
  func isForeignInitializer(_ name: Int32, _ type: Int, _ call: Call?) -> Bool {
    guard name == Word.`init`.rawValue, type >= 0, program.types[type].declaration < 0 else { return false }
    return call?.labels.first.map { $0 == Word.wildcard.rawValue } ?? true
  }
}

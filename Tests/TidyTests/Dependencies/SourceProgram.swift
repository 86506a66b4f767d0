/// The sources under test, with their declarations by name and by type.
final class SourceProgram {
  struct File {
    var path: String
    var module: Int
    var lineCount: Int
    var tokens: [SourceTokens.Token]
    var declarations: Range<Int> = 0..<0
    var imports: [(name: Int32, isExported: Bool)] = []
    /// A number that files of one folder share.
    var folder = 0
    /// The modules with names that the file can use: its own, those it imports, and those that they export.
    var imported: [Int] = []
  }

  struct Module {
    var name: String
    /// The folder of the module's sources.
    var path: String
    /// The modules that it can use: those it depends on, and theirs.
    var visible: [Int]
    /// The modules that it exports to those that import it.
    var exported: Set<Int> = []
    /// Declarations at file level.
    var declarations: [Int32: [Int]] = [:]
  }

  struct NamedType {
    var name: Int32
    /// The index of the enclosing type, or -1.
    var parent: Int
    /// The index of its declaration, or -1 for types of other packages.
    var declaration: Int
    var generics: [Int32] = []
    var members: [Int32: [Int]] = [:]
    /// Types that are declared in it; private ones of several files may have one name.
    var nested: [Int32: [Int]] = [:]
    /// Declarations with an inheritance clause.
    var clauses: [Int] = []
    var extensions: [Int] = []
    /// The supertypes, once they were asked for.
    var supertypes: [Int]?
  }

  let names = SourceNames()
  var files: [File] = []
  var modules: [Module] = []
  var declarations: [SourceDeclaration] = []
  var types: [NamedType] = []
  private var folders: [String: Int] = [:]
  /// Types of other packages, by name.
  private var externals: [Int32: Int] = [:]
  /// Members of all types, by name, for receivers of unknown type.
  private(set) var members: [Int32: [Int]] = [:]
  /// Types of declarations, once they were asked for.
  var declaredTypes: [SwiftType?] = []

  init(_ sources: [(path: String, text: String)], modules targets: [PackageTarget]) {
    let indexes = Dictionary(uniqueKeysWithValues: targets.enumerated().map { ($1.name, $0) })
    modules = targets.map { Module(name: $0.name, path: $0.path, visible: []) }
    for index in modules.indices {
      var reached: Set<Int> = []
      var open = [index]
      while let next = open.popLast() {
        for name in targets[next].dependencies {
          if let found = indexes[name], reached.insert(found).inserted { open.append(found) }
        }
      }
      modules[index].visible = reached.sorted()
    }
    for (path, text) in sources {
      guard let module = modules.indices.first(where: { path.hasPrefix(modules[$0].path + "/") }) else { continue }
      add(path, text, module)
    }
    connectImports()
    declareTypes()
    declareMembers()
    declaredTypes = Array(repeating: nil, count: declarations.count)
  }

  private func add(_ path: String, _ text: String, _ module: Int) {
    let tokens = SourceTokens(text, names: names)
    var file = File(path: path, module: module, lineCount: tokens.lineCount, tokens: tokens.all)
    var parser = DeclarationParser(file.tokens, file: files.count, base: declarations.count)
    parser.parse()
    file.declarations = declarations.count..<declarations.count + parser.declarations.count
    file.imports = parser.imports
    let folder = path.split(separator: "/").dropLast().joined(separator: "/")
    file.folder = folders[folder, default: folders.count]
    folders[folder] = file.folder
    declarations += parser.declarations
    files.append(file)
  }

  private func connectImports() {
    let numbers = Dictionary(uniqueKeysWithValues: modules.indices.map { (names.number(modules[$0].name), $0) })
    for file in files {
      for found in file.imports where found.isExported {
        if let number = numbers[found.name] { modules[file.module].exported.insert(number) }
      }
    }
    for index in files.indices {
      var open = files[index].imports.compactMap { numbers[$0.name] }
      files[index].imported = [files[index].module]
      while let next = open.popLast() {
        if files[index].imported.contains(next) { continue }
        files[index].imported.append(next)
        open += modules[next].exported
      }
    }
  }

  // MARK: Types

  private func declareTypes() {
    for index in declarations.indices where declarations[index].parent < 0 {
      let declaration = declarations[index]
      if declaration.kind == .type { _ = declareType(index, parent: -1) }
      if declaration.kind != .extension {
        modules[files[declaration.file].module].declarations[declaration.name, default: []].append(index)
      }
    }
    // An extension may extend a type that another extension declares.
    var waiting = declarations.indices.filter { declarations[$0].kind == .extension }
    for _ in 0..<4 {
      for index in declarations.indices where declarations[index].kind == .type {
        let parent = declarations[index].parent
        guard declarations[index].declaredType < 0, parent >= 0, declarations[parent].declaredType >= 0 else {
          continue
        }
        _ = declareType(index, parent: declarations[parent].declaredType)
      }
      waiting.removeAll { extend($0, isLast: false) }
    }
    for index in waiting { _ = extend(index, isLast: true) }
  }

  private func declareType(_ index: Int, parent: Int) -> Int {
    let declaration = declarations[index]
    var type = NamedType(name: declaration.name, parent: parent, declaration: index)
    type.generics = declaration.generics.map(\.name)
    if declaration.type >= 0 || declaration.isProtocol { type.clauses.append(index) }
    types.append(type)
    declarations[index].declaredType = types.count - 1
    if parent >= 0 { types[parent].nested[declaration.name, default: []].append(types.count - 1) }
    return types.count - 1
  }

  /// Finds the type that an extension extends; the last time, it becomes a type of another package.
  private func extend(_ index: Int, isLast: Bool) -> Bool {
    let declaration = declarations[index]
    let tokens = files[declaration.file].tokens
    var token = declaration.value
    if tokens.isSymbol(token, Symbol.bracket) {
      let isDictionary = tokens.isSymbol(tokens.endOfType(at: token + 1), Symbol.colon)
      return attach(index, to: external((isDictionary ? Word.Dictionary : Word.Array).rawValue))
    }
    guard tokens.isName(token) else { return true }
    var found = topLevelType(tokens[token].code, from: declaration.file)
    if found == nil, let module = moduleNamed(tokens[token].code), tokens.isSymbol(token + 1, Symbol.dot) {
      token += 2
      found = topLevelType(tokens[token].code, in: module, from: declaration.file)
    }
    if let first = found {
      var type = first
      while tokens.isSymbol(token + 1, Symbol.dot), tokens.isName(token + 2) {
        guard let inner = nestedType(tokens[token + 2].code, in: type, from: declaration.file) else {
          return isLast
        }
        type = inner
        token += 2
      }
      return attach(index, to: type)
    }
    guard isLast else { return false }
    while tokens.isSymbol(token + 1, Symbol.dot), tokens.isName(token + 2) { token += 2 }
    return attach(index, to: external(tokens[token].code))
  }

  private func attach(_ index: Int, to type: Int) -> Bool {
    declarations[index].declaredType = type
    if declarations[index].type >= 0 { types[type].clauses.append(index) }
    types[type].extensions.append(index)
    return true
  }

  /// The type of that name in another one, as a file sees it.
  func nestedType(_ name: Int32, in type: Int, from file: Int) -> Int? {
    guard let found = types[type].nested[name] else { return nil }
    let own = found.first { declarations[types[$0].declaration].file == file }
    return own ?? found.first { !declarations[types[$0].declaration].isPrivate }
  }

  func external(_ name: Int32) -> Int {
    if let known = externals[name] { return known }
    types.append(NamedType(name: name, parent: -1, declaration: -1))
    externals[name] = types.count - 1
    return types.count - 1
  }

  /// The declaration of a type or alias at file level.
  func topLevelTypeDeclaration(_ name: Int32, in module: Int, from file: Int) -> Int? {
    var found: Int?
    for index in modules[module].declarations[name] ?? [] {
      let declaration = declarations[index]
      guard declaration.kind == .type || declaration.kind == .alias else { continue }
      if declaration.isPrivate {
        if declaration.file == file { return index }
      } else {
        found = found ?? index
      }
    }
    return found
  }

  func topLevelTypeDeclaration(_ name: Int32, from file: Int) -> Int? {
    for module in files[file].imported {
      if let found = topLevelTypeDeclaration(name, in: module, from: file) { return found }
    }
    return nil
  }

  private func topLevelType(_ name: Int32, from file: Int) -> Int? {
    topLevelTypeDeclaration(name, from: file).flatMap {
      declarations[$0].kind == .type ? declarations[$0].declaredType : nil
    }
  }

  private func topLevelType(_ name: Int32, in module: Int, from file: Int) -> Int? {
    topLevelTypeDeclaration(name, in: module, from: file).map { declarations[$0].declaredType }
  }

  func moduleNamed(_ name: Int32) -> Int? {
    let text = names.texts[Int(name)]
    return text.hasPrefix("KV") ? modules.firstIndex { $0.name == text } : nil
  }

  func folder(ofFile file: Int) -> Int { files[file].folder }

  // MARK: Members

  private func declareMembers() {
    for index in declarations.indices {
      let declaration = declarations[index]
      guard declaration.parent >= 0, declaration.kind != .extension, declaration.name >= 0 else { continue }
      let owner = declarations[declaration.parent].declaredType
      guard owner >= 0 else { continue }
      if declarations[declaration.parent].isPrivate { declarations[index].isPrivate = true }
      types[owner].members[declaration.name, default: []].append(index)
      members[declaration.name, default: []].append(index)
    }
  }

  /// The type that a declaration is a member of, or -1.
  func owner(of declaration: Int) -> Int {
    let parent = declarations[declaration].parent
    return parent < 0 ? -1 : declarations[parent].declaredType
  }

  func isVisible(_ declaration: Int, from file: Int) -> Bool {
    let found = declarations[declaration]
    if found.file == file { return true }
    if found.isPrivate { return false }
    let module = files[found.file].module
    return module == files[file].module || modules[files[file].module].visible.contains(module)
  }
}

/// The rules that keep parts of the sources apart: no cycles, and no part that is too large to be understood.
enum DependencyRules {
  /// Sources that the rules apply to. They do not apply to tests, benchmarks and small tools.
  static let roots = ["Sources/", "Tools/kvclone"]

  static let greatestModule = 18_000
  static let greatestType = 1_500
  static let greatestFileCount = 12
  static let greatestFolder = 25

  // MARK: Cycles

  /// The shortest cycle at each level, as lines to be read.
  static func cycles(_ program: SourceProgram, _ graphs: [DependencyGraph]) -> [String] {
    graphs.compactMap { graph in
      guard let cycle = graph.shortestCycle() else { return nil }
      return "a cycle in \(graph.level): " + (cycle.map(\.from) + [cycle[0].from]).joined(separator: " → ") + "\n"
        + cycle.map { describe($0, graph.uses[$0] ?? [], program) }.joined(separator: "\n")
    }
  }

  private static func describe(_ edge: DependencyGraph.Edge, _ uses: [SourceUse], _ program: SourceProgram) -> String {
    let shown = uses.prefix(5).map { "    " + program.description(of: $0) }
    let rest = uses.count > shown.count ? ["    and \(uses.count - shown.count) more"] : []
    return (["  \(edge.from) → \(edge.to), \(uses.count) uses:"] + shown + rest).joined(separator: "\n")
  }

  // MARK: Sizes

  struct Size: Equatable, CustomStringConvertible {
    enum Unit: String {
      case lines, files
    }

    /// A module, a folder or a type.
    var name: String
    var unit: Unit
    var value: Int
    var limit: Int

    var key: String { "\(name): \(unit.rawValue)" }

    var description: String { "\(name) has \(value) \(unit.rawValue), and \(limit) are allowed; split it" }
  }

  /// Modules, folders and types above their limits.
  static func oversized(_ program: SourceProgram) -> [Size] {
    (modules(program) + folders(program) + types(program)).filter { $0.value > $0.limit }.sorted { $0.key < $1.key }
  }

  private static func modules(_ program: SourceProgram) -> [Size] {
    var lines: [Int: Int] = [:]
    for file in program.files { lines[file.module, default: 0] += file.lineCount }
    return lines.map { Size(name: program.modules[$0].name, unit: .lines, value: $1, limit: greatestModule) }
  }

  private static func folders(_ program: SourceProgram) -> [Size] {
    var counts: [String: Int] = [:]
    for file in program.files {
      counts[file.path.split(separator: "/").dropLast().joined(separator: "/"), default: 0] += 1
    }
    return counts.map { Size(name: $0, unit: .files, value: $1, limit: greatestFolder) }
  }

  /// Types with their extensions. Lines of nested types belong to the nested types.
  private static func types(_ program: SourceProgram) -> [Size] {
    var lines: [Int: Int] = [:]
    var files: [Int: Set<Int>] = [:]
    for declaration in program.declarations where declaration.declaredType >= 0 && declaration.body >= 0 {
      let tokens = program.files[declaration.file].tokens
      let first = tokens[declaration.start].line
      let count = Int(tokens[min(declaration.end, tokens.count) - 1].line - first) + 1
      lines[declaration.declaredType, default: 0] += count
      files[declaration.declaredType, default: []].insert(declaration.file)
      let outer = declaration.parent >= 0 ? program.declarations[declaration.parent].declaredType : -1
      if outer >= 0 { lines[outer, default: 0] -= count }
    }
    return lines.keys.filter { program.types[$0].declaration >= 0 }.flatMap { type in
      let name = program.qualifiedName(ofType: type)
      return [
        Size(name: name, unit: .lines, value: lines[type] ?? 0, limit: greatestType),
        Size(name: name, unit: .files, value: files[type]?.count ?? 0, limit: greatestFileCount),
      ]
    }
  }
}

extension SourceProgram {
  /// A type with its module and the types around it.
  func qualifiedName(ofType type: Int) -> String {
    var path: [String] = []
    var next = type
    while next >= 0 {
      path.insert(names.texts[Int(types[next].name)], at: 0)
      next = types[next].parent
    }
    let declaration = types[type].declaration
    let module = declaration >= 0 ? [modules[files[declarations[declaration].file].module].name] : []
    return (module + path).joined(separator: ".")
  }

  /// The sources of the package that the rules apply to. Samples in articles are not part of a module.
  static func package() -> SourceProgram {
    let manifest = PackageFiles.text("Package.swift") ?? ""
    let targets = PackageTarget.targets(inManifest: manifest).filter { target in
      DependencyRules.roots.contains { $0.hasSuffix("/") ? target.path.hasPrefix($0) : target.path == $0 }
    }
    let paths = PackageFiles.all.filter { path in
      path.hasSuffix(".swift") && !path.contains(".docc/") && targets.contains { path.hasPrefix($0.path + "/") }
    }
    return SourceProgram(paths.compactMap { path in PackageFiles.text(path).map { (path, $0) } }, modules: targets)
  }
}

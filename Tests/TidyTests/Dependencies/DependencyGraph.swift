/// The uses between parts of the sources at one level: modules, or the folders inside one folder.
struct DependencyGraph {
  struct Edge: Hashable, Comparable, CustomStringConvertible {
    var from: String
    var to: String

    var description: String { "\(from) -> \(to)" }

    static func < (left: Edge, right: Edge) -> Bool { (left.from, left.to) < (right.from, right.to) }
  }

  /// The folder that contains the parts, or `modules`.
  var level: String
  var uses: [Edge: [SourceUse]] = [:]

  /// The shortest cycle, or nil.
  func shortestCycle() -> [Edge]? {
    var targets: [String: [String]] = [:]
    for edge in uses.keys.sorted() { targets[edge.from, default: []].append(edge.to) }
    var shortest: [Edge]?
    for start in targets.keys.sorted() {
      guard let path = Self.path(from: start, in: targets), path.count < shortest?.count ?? Int.max else { continue }
      shortest = path
    }
    return shortest
  }

  /// The shortest way from a part back to itself, by breadth first.
  private static func path(from start: String, in targets: [String: [String]]) -> [Edge]? {
    var origins: [String: String] = [:]
    var queue = [start]
    var next = 0
    while next < queue.count {
      let part = queue[next]
      next += 1
      for target in targets[part] ?? [] {
        if target == start {
          var path = [Edge(from: part, to: start)]
          while let from = path.first?.from, from != start, let origin = origins[from] {
            path.insert(Edge(from: origin, to: from), at: 0)
          }
          return path
        }
        guard origins[target] == nil else { continue }
        origins[target] = part
        queue.append(target)
      }
    }
    return nil
  }

  /// The graphs of all levels: the modules, and each folder that contains folders.
  static func all(of program: SourceProgram, _ uses: [SourceUse]) -> [DependencyGraph] {
    let folders = program.files.map { $0.path.split(separator: "/").dropLast().map(String.init) }
    var graphs: [String: DependencyGraph] = [:]
    for use in uses {
      let target = program.declarations[use.declaration].file
      let (from, to) = (program.files[use.file].module, program.files[target].module)
      let (level, edge) =
        from != to
        ? ("modules", Edge(from: program.modules[from].name, to: program.modules[to].name))
        : fork(folders[use.file], folders[target])
      guard edge.from != edge.to else { continue }
      graphs[level, default: DependencyGraph(level: level)].uses[edge, default: []].append(use)
    }
    return graphs.values.sorted { $0.level < $1.level }
  }

  /// The innermost folder that contains both, and the folders in it where the two part. Files of that folder itself
  /// are a part under its own name.
  private static func fork(_ from: [String], _ to: [String]) -> (String, Edge) {
    var common = 0
    while common < min(from.count, to.count), from[common] == to[common] { common += 1 }
    let level = from[..<common].joined(separator: "/")
    return (
      level,
      Edge(
        from: from[..<min(common + 1, from.count)].joined(separator: "/"),
        to: to[..<min(common + 1, to.count)].joined(separator: "/"))
    )
  }
}

extension SourceProgram {
  /// A declaration as documentation writes it, with its type and labels.
  func symbol(_ number: Int) -> String {
    let declaration = declarations[number]
    var text = declaration.name >= 0 ? names.texts[Int(declaration.name)] : "operator"
    if let parameters = declaration.parameters, !parameters.isEmpty {
      text += "(" + parameters.map { names.texts[Int($0.label)] + ":" }.joined() + ")"
    } else if declaration.kind == .function || declaration.kind == .initializer {
      text += "()"
    }
    let owner = owner(of: number)
    return owner >= 0 ? names.texts[Int(types[owner].name)] + "." + text : text
  }

  /// A use as a place to jump to, with what is used there.
  func description(of use: SourceUse) -> String {
    let declaration = declarations[use.declaration]
    return "\(files[use.file].path):\(use.line) uses \(symbol(use.declaration)) of "
      + "\(files[declaration.file].path):\(declaration.line)"
  }
}

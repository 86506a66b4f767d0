import Foundation

/// The few rules about this package's own source that matter enough to be a test.
///
/// Each function takes a path within the package and a file's text, and answers what is wrong, as lines to be read.
/// They know nothing of Package.swift: what they say holds whatever is written there.
enum SourceRules {
  /// Which of the package's modules each module may import. An arrow that is not here points up, or past a layer.
  static let allowedImports: [String: Set<String>] = [
    "CKVCloneLMDB": [],
    "KVCloneModel": [],
    "KVCloneLMDB": ["CKVCloneLMDB"],
    "KVCloneRecords": ["KVCloneModel"],
    "KVCloneCoreData": ["KVCloneModel"],
    "KVCloneGenerator": ["KVCloneModel"],
    "KVCloneTracing": [],
    "KVCloneCore": ["KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneTracing"],
    "KVCloneQuery": ["KVCloneCore", "KVCloneRecords", "KVCloneModel", "KVCloneTracing"],
    "KVCloneBranches": ["KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "KVCloneTracing"],
    "KVClone": [
      "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneCoreData",
      "KVCloneModel", "KVCloneTracing",
    ],
    "KVCloneMerge": [
      "KVClone", "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel",
      "KVCloneTracing",
    ],
    "KVCloneOperations": [
      "KVClone", "KVCloneBranches", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneCoreData",
      "KVCloneModel", "KVCloneTracing",
    ],
    "KVCloneExplorer": [
      "KVClone", "KVCloneMerge", "KVCloneOperations", "KVCloneQuery", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords",
      "KVCloneModel",
    ],
    "CKVClonePostgres": [],
    "KVClonePostgres": [
      "CKVClonePostgres", "KVClone", "KVCloneBranches", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel",
      "KVCloneTracing",
    ],
    "KVCloneConfiguration": ["KVClone", "KVClonePostgres", "KVCloneService"],
    "KVCloneService": ["KVClone", "KVCloneOperations"],
    "KVCloneInbox": ["KVClone", "KVCloneService", "KVClonePostgres"],
    "KVCloneDemo": ["KVClone", "KVCloneMerge", "KVCloneOperations"],
    "KVCloneBench": ["KVClone", "KVCloneOperations", "KVCloneDemo"],
    "KVCloneTool": [
      "KVClone", "KVCloneMerge", "KVCloneOperations", "KVCloneExplorer", "KVCloneBench", "KVCloneDemo",
      "KVCloneGenerator", "KVClonePostgres",
    ],
    "KVCloneModelTool": ["KVCloneGenerator", "KVCloneCoreData", "KVCloneModel"],
    "KVCloneFaultTool": ["KVClone", "KVCloneMerge", "KVCloneOperations", "KVCloneLMDB", "KVCloneRecords"],
    "KVCloneFuzz": [
      "KVClone", "KVCloneCore", "KVCloneOperations", "KVCloneExplorer", "KVCloneRecords", "KVCloneCoreData",
      "KVCloneModel",
    ],
    "CKVCloneYardstick": [],
    "KVCloneLayerBenchmark": [
      "KVClone", "KVCloneCore", "KVCloneLMDB", "KVCloneRecords", "KVCloneModel", "CKVCloneYardstick",
    ],
    "Benchmarks": ["KVClone", "KVCloneMerge", "KVCloneOperations", "KVClonePostgres"],
  ]

  /// Modules of C, and the modules that may call them: each engine calls its own library.
  static let callersOfC: [String: Set<String>] = {
    let platform: Set = ["KVCloneLMDB", "KVClonePostgres"]
    return [
      "CKVCloneLMDB": ["KVCloneLMDB"], "CKVClonePostgres": ["KVClonePostgres"], "Glibc": platform, "Musl": platform,
      "Darwin": platform, "Bionic": platform,
    ]
  }()

  static let greatestLineCount = 500

  static let modulesOfTools = [
    "kvclone": "KVCloneTool", "kvclone-demo": "KVCloneDemo", "kvclone-bench": "KVCloneBench",
    "kvclone-model": "KVCloneModelTool", "kvclone-faults": "KVCloneFaultTool",
    "fuzz": "KVCloneFuzz", "service-example": "KVCloneInbox",
  ]

  /// The module that a file belongs to; nil for tests, which may import whatever they test, and for the programs of
  /// tutorials, which are text of the documentation.
  static func module(ofFile path: String) -> String? {
    if path.contains(".docc/") { return nil }
    let folders = path.split(separator: "/").map(String.init)
    return switch folders.first {
    case "Sources" where folders.count > 2: folders[1]
    case "Tools" where folders.count > 2: modulesOfTools[folders[1]] ?? folders[1]
    case "Benchmarks": folders.count > 2 && folders[1] == "Layers" ? "KVCloneLayerBenchmark" : "Benchmarks"
    default: nil
    }
  }

  /// The top-level modules that a Swift source imports, each with its line number.
  static func imports(in source: String) -> [(line: Int, module: String)] {
    let declaration = /^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+\s+)?import\s+(?:\w+\s+)?`?(\w+)`?/
    var found: [(line: Int, module: String)] = []
    for (index, line) in source.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      for statement in line.split(separator: ";") {
        if statement.drop(while: \.isWhitespace).hasPrefix("//") { break }
        if let match = statement.firstMatch(of: declaration) { found.append((index + 1, String(match.1))) }
      }
    }
    return found
  }

  /// C is called in the modules of the engines; every other module gets what it needs from there, checked and typed.
  static func importsOfC(in path: String, _ source: String) -> [String] {
    guard path.hasSuffix(".swift"), let module = module(ofFile: path) else { return [] }
    return imports(in: source).compactMap { found in
      guard let callers = callersOfC[found.module], !callers.contains(module) else { return nil }
      return "\(path):\(found.line): \(module) imports \(found.module); only "
        + "\(callers.sorted().joined(separator: " and ")) may call it"
    }
  }

  /// Arrows between modules point down.
  static func importsUpward(in path: String, _ source: String) -> [String] {
    guard path.hasSuffix(".swift"), let module = module(ofFile: path) else { return [] }
    guard let allowed = allowedImports[module] else {
      return ["\(path): the module \(module) has no line in SourceRules.allowedImports"]
    }
    return imports(in: source).filter {
      allowedImports.keys.contains($0.module) && $0.module != module && !allowed.contains($0.module)
    }.map {
      "\(path):\($0.line): \(module) may not import \($0.module)"
    }
  }

  /// A file has one purpose, and fits in a head.
  static func tooLong(_ path: String, _ source: String) -> [String] {
    guard [".swift", ".c", ".h"].contains(where: path.hasSuffix) else { return [] }
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false).count - (source.hasSuffix("\n") ? 1 : 0)
    guard lines > greatestLineCount else { return [] }
    return ["\(path): \(lines) lines; split it, \(greatestLineCount) is the limit"]
  }

  /// The compiler silently inlines nothing of a type that is only `package` into other modules, `@inlinable` or not.
  static func neverInlined(in path: String, _ source: String) -> [String] {
    guard path.hasSuffix(".swift") else { return [] }
    let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
    var broken: [String] = []
    var type: (line: Int, name: Substring)?
    for (index, line) in lines.enumerated() {
      if line == "}" { type = nil }
      if let match = line.firstMatch(of: /^package (?:final )?(?:struct|enum|class) (\w+)/) {
        let isUsable = index > 0 && lines[index - 1].hasPrefix("@usableFromInline")
        type = isUsable ? nil : (index + 1, match.1)
      }
      if let found = type, line.contains("@inlinable") {
        broken.append("\(path):\(found.line): \(found.name) has @inlinable members, and needs @usableFromInline")
        type = nil
      }
    }
    return broken
  }

  /// Paths and hosts of one machine do not belong in a repository.
  static func machinePaths(in path: String, _ source: String) -> [String] {
    // Put together, so that this file does not contain them.
    let roots = ["work", "root", "home", "Users"].map { "/\($0)/" }
    return source.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
      guard let root = roots.first(where: { isPath($0, in: line) }) else { return nil }
      return "\(path):\(index + 1): a path of one machine (\(root)…)"
    }
  }

  /// Whether `root` begins an absolute path in the line, and is not part of a URL or of a relative path.
  private static func isPath(_ root: String, in line: Substring) -> Bool {
    line.ranges(of: root).contains { range in
      guard range.lowerBound > line.startIndex else { return true }
      let before = line[line.index(before: range.lowerBound)]
      return !before.isLetter && !before.isNumber && !"._-/)}".contains(before)
    }
  }

  /// Users resolve versions themselves, and what is built stays where it was built.
  static func unwanted(_ path: String) -> [String] {
    let folders = path.split(separator: "/")
    let isUnwanted =
      folders.last == "Package.resolved" || folders.contains { $0 == ".build" || $0.hasPrefix(".build-") }
    return isUnwanted ? ["\(path): not to be tracked"] : []
  }
}

import Foundation
public import KVCloneModel

/// The versions in a model bundle.
public struct ModelVersions: Hashable, Sendable {
  /// The names of the versions, sorted, without `.xcdatamodel` or `.mom`.
  public var names: [String]
  /// The current version; nil if the bundle has several versions and does not name one.
  public var current: String?
  /// Warnings about the bundle.
  public var warnings: [ModelWarning]
}

/// A model with its versions: a `.xcdatamodeld` folder, or its compiled form, a `.momd` folder. A `.xcdatamodel` folder
/// and a `.mom` file are a single version.
struct ModelBundle {
  /// A readable version.
  struct Version {
    var name: String
    /// The folder of a source, or the file of a compiled one.
    var path: String
    var isCompiled = false

    /// The file that contains the version.
    var file: String { isCompiled ? path : path + "/contents" }
  }

  /// The path extensions of models, without a dot.
  static let pathExtensions: Set<String> = ["xcdatamodeld", "xcdatamodel", "momd", "mom", "omo"]

  var path: String
  /// The model's name: the bundle's, or that of the bundle around a single version.
  var name: String
  var versions: [Version] = []
  var current: String?
  var warnings: [ModelWarning] = []
  private var binaryVersions: [Version] = []
  /// The information about versions in the bundle of a compiled model.
  private(set) var info: CompiledModelInfo?

  /// A plist with one short text; its parser recurses, so nothing longer is accepted.
  private static let currentVersionLimit = 4_096
  private static let currentVersionFile = ".xccurrentversion"

  init(at path: String) throws(ModelFileError) {
    var trimmed = path
    while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
    self.path = trimmed
    let url = URL(fileURLWithPath: trimmed)
    name = url.deletingPathExtension().lastPathComponent
    guard let isFolder = Self.isFolder(trimmed) else { throw .notFound(path: trimmed) }
    switch (url.pathExtension, isFolder) {
    case ("xcdatamodeld", true): try readBundle()
    case ("momd", true): try readCompiledBundle()
    case ("xcdatamodel", true):
      try add(Version(name: name, path: trimmed))
      takeSingle(in: "xcdatamodeld", url)
    case ("mom", false), ("omo", false):
      versions = [Version(name: name, path: try Self.compiledFile(trimmed), isCompiled: true)]
      takeSingle(in: "momd", url)
    default: throw .notAModel(path: trimmed)
    }
    if versions.isEmpty {
      if let binary = binaryVersions.first { throw .binaryModel(path: binary.path) }
      throw .noVersion(path: trimmed)
    }
  }

  /// Makes the only version the current one, with the name of the bundle around it.
  private mutating func takeSingle(in bundle: String, _ url: URL) {
    current = name
    let parent = url.deletingLastPathComponent()
    if parent.pathExtension == bundle { name = parent.deletingPathExtension().lastPathComponent }
  }

  /// Returns the version with this name, or the current one.
  func version(_ wanted: String?) throws(ModelFileError) -> Version {
    let available = versions.map(\.name)
    guard let wanted = wanted.map(Self.withoutSuffix) ?? current else {
      throw .currentVersionUnknown(path: path, available: available)
    }
    if let version = versions.first(where: { $0.name == wanted }) { return version }
    if let binary = binaryVersions.first(where: { $0.name == wanted }) { throw .binaryModel(path: binary.path) }
    throw .unknownVersion(path: path, version: wanted, available: available)
  }

  // MARK: Sources

  private mutating func readBundle() throws(ModelFileError) {
    let items = try Self.items(of: path)
    for item in items {
      let full = path + "/" + item
      let isModel = item.hasSuffix(".xcdatamodel")
      let isFolder = isModel ? Self.isFolder(full) : false
      // It was just listed. If it were skipped, another version would become the current one.
      if isModel, isFolder == nil { throw .unreadable(path: full, reason: "its attributes cannot be read") }
      if isFolder == true {
        try add(Version(name: Self.withoutSuffix(item), path: full))
      } else if item != Self.currentVersionFile && item != ".DS_Store" {
        warnings.append(
          ModelWarning(.strayFile, file: full, message: "does not belong to a model bundle, and is ignored"))
      }
    }
    try chooseCurrent(isNamed: items.contains(Self.currentVersionFile))
  }

  private mutating func add(_ version: Version) throws(ModelFileError) {
    let items = try Self.items(of: version.path)
    if items.contains("contents") {
      versions.append(version)
      for item in items where item != "contents" && item != ".DS_Store" && item != "layout" {
        warnings.append(
          ModelWarning(.strayFile, file: version.path + "/" + item, message: "is not a model file, and is ignored"))
      }
    } else if items.contains("elements") {
      binaryVersions.append(version)
    } else {
      warnings.append(
        ModelWarning(.strayFile, file: version.path, message: "has no file 'contents', and is ignored"))
    }
  }

  private mutating func chooseCurrent(isNamed: Bool) throws(ModelFileError) {
    let file = path + "/" + Self.currentVersionFile
    let named = isNamed ? try Self.currentVersionName(in: file).map(Self.withoutSuffix) : nil
    chooseCurrent(named, from: versions + binaryVersions, isNamed: isNamed, file: file)
  }

  /// - Parameters:
  ///   - named: the version that the file names; nil if it names none.
  ///   - isNamed: whether the file exists.
  private mutating func chooseCurrent(_ named: String?, from known: [Version], isNamed: Bool, file: String) {
    // A new bundle has one version of its own name, and names no other until one is chosen: real bundles of many
    // versions have an empty plist.
    let all = known.map(\.name)
    let fallback = all.count == 1 ? all.first : all.first { $0 == name }
    if !isNamed && all.count <= 1 {
      current = fallback
      return
    }
    if let named, all.contains(named) {
      current = named
      return
    }
    current = fallback
    let problem = named == nil ? "names no version" : "names a version that the bundle does not have"
    let outcome =
      fallback.map { "so '\($0)' is used; name the version to use another one" } ?? "so the version must be named"
    warnings.append(ModelWarning(.currentVersion, file: file, message: "\(problem), \(outcome)"))
  }

  // MARK: Compiled models

  private static let infoFile = "VersionInfo.plist"
  /// Enough for a hundred versions of a hundred entities.
  private static let infoLimit = 1 << 20

  private mutating func readCompiledBundle() throws(ModelFileError) {
    let items = try Self.items(of: path)
    for item in items where item.hasSuffix(".mom") {
      versions.append(Version(name: Self.withoutSuffix(item), path: path + "/" + item, isCompiled: true))
    }
    let names = Set(versions.map(\.name))
    for item in items where item != Self.infoFile && !item.hasSuffix(".mom") {
      // Core Data's own copy of a version.
      if item.hasSuffix(".omo"), names.contains(Self.withoutSuffix(item)) { continue }
      warnings.append(
        ModelWarning(
          .strayFile, file: path + "/" + item, message: "is not used from a compiled model, and is ignored"))
    }
    let isNamed = items.contains(Self.infoFile)
    let file = path + "/" + Self.infoFile
    if isNamed {
      info = CompiledModelInfo([UInt8](try Self.read(file, limit: Self.infoLimit)))
      for name in info?.entities.keys.sorted() ?? [] where !names.contains(name) {
        warnings.append(
          ModelWarning(.strayFile, file: file, message: "names the version '\(name)', but its .mom file is missing"))
      }
    }
    chooseCurrent(info?.current, from: versions, isNamed: isNamed, file: file)
  }

  /// The file to read for a `.mom` or `.omo` path. Core Data's optimized format is undocumented, and has the same
  /// content as the `.mom` file next to it; an archive under the name is read directly.
  private static func compiledFile(_ path: String) throws(ModelFileError) -> String {
    guard path.hasSuffix(".omo") else { return path }
    let plain = path.dropLast(".omo".count) + ".mom"
    if isFolder(String(plain)) == false { return String(plain) }
    let bytes = try read(path, limit: XMLLimits.bytes)
    guard !bytes.starts(with: optimizedMark) else { throw .optimizedModel(path: path) }
    return path
  }

  /// The beginning of files in the optimized format.
  private static let optimizedMark = Data("momv".utf8)

  /// Compares a version's entities with those that the bundle lists for it.
  func warning(about model: ManagedObjectModel, _ version: Version) -> ModelWarning? {
    guard let known = info?.entities[version.name] else { return nil }
    let names = Set(model.entities.map(\.name))
    guard names != known else { return nil }
    let different = names.symmetricDifference(known).sorted().joined(separator: ", ")
    return ModelWarning(
      .unknownContent, file: version.path,
      message:
        "differs from the entities that \(Self.infoFile) lists for it (\(different)); copy the whole bundle from the app"
    )
  }

  // MARK: Files

  /// Nil if the file is not a plist, or lacks the key.
  private static func currentVersionName(in file: String) throws(ModelFileError) -> String? {
    let bytes = try read(file, limit: currentVersionLimit)
    let list = try? PropertyListSerialization.propertyList(from: bytes, options: [], format: nil)
    return (list as? [String: Any])?["_XCCurrentVersionName"] as? String
  }

  static func withoutSuffix(_ name: String) -> String {
    for suffix in [".xcdatamodel", ".mom", ".omo"] where name.hasSuffix(suffix) {
      return String(name.dropLast(suffix.count))
    }
    return name
  }

  /// Nil if the path does not exist.
  private static func isFolder(_ path: String) -> Bool? {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) ? isFolder.boolValue : nil
  }

  private static func items(of folder: String) throws(ModelFileError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw .unreadable(path: folder, reason: FileProblem.reason(error))
    }
  }

  /// Reads a regular file of limited size; a pipe or device would never end.
  static func read(_ file: String, limit: Int) throws(ModelFileError) -> Data {
    do {
      let target = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
      let facts = try FileManager.default.attributesOfItem(atPath: target)
      guard facts[.type] as? FileAttributeType == .typeRegular else {
        throw ModelFileError.unreadable(path: file, reason: "it is not a regular file")
      }
      // Limits what is read, not the reported size: some files report a size of 0 and do not end.
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: target))
      defer { try? handle.close() }
      var bytes = Data()
      while let piece = try handle.read(upToCount: 1 << 20), !piece.isEmpty {
        bytes.append(piece)
        if bytes.count > limit { throw ModelFileError.tooLarge(path: file, limit: limit) }
      }
      return bytes
    } catch let error as ModelFileError {
      throw error
    } catch {
      throw .unreadable(path: file, reason: FileProblem.reason(error))
    }
  }
}

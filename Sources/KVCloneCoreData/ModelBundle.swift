import Foundation
public import KVCloneModel

/// The versions in a model bundle.
public struct ModelVersions: Hashable, Sendable {
  /// The names of the versions, sorted, without `.xcdatamodel`.
  public var names: [String]
  /// The current version; nil where the bundle has several and does not say.
  public var current: String?
  /// What is odd about the bundle.
  public var warnings: [ModelWarning]
}

/// A `.xcdatamodeld` folder with its versions, or a `.xcdatamodel` folder, which is one version.
struct ModelBundle {
  /// A version that can be read.
  struct Version {
    var name: String
    var folder: String
  }

  var path: String
  /// The model's name: the bundle's, or that of the bundle around a single version.
  var name: String
  var versions: [Version] = []
  var current: String?
  var warnings: [ModelWarning] = []
  private var binaryVersions: [Version] = []

  /// A plist with one short text; its reader recurses, so nothing longer is let in.
  private static let currentVersionLimit = 4_096
  private static let currentVersionFile = ".xccurrentversion"

  init(at path: String) throws(ModelFileError) {
    var trimmed = path
    while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
    self.path = trimmed
    let url = URL(fileURLWithPath: trimmed)
    name = url.deletingPathExtension().lastPathComponent
    guard let isFolder = Self.isFolder(trimmed) else { throw .notFound(path: trimmed) }
    guard isFolder else { throw .notAModel(path: trimmed) }
    switch url.pathExtension {
    case "xcdatamodeld":
      try readBundle()
    case "xcdatamodel":
      let version = Version(name: name, folder: trimmed)
      try add(version)
      current = name
      let parent = url.deletingLastPathComponent()
      if parent.pathExtension == "xcdatamodeld" { name = parent.deletingPathExtension().lastPathComponent }
    default:
      throw .notAModel(path: trimmed)
    }
    if versions.isEmpty {
      if let binary = binaryVersions.first { throw .binaryModel(path: binary.folder) }
      throw .noVersion(path: trimmed)
    }
  }

  /// The version of that name, or the current one.
  func version(_ wanted: String?) throws(ModelFileError) -> Version {
    let available = versions.map(\.name)
    guard let wanted = wanted.map(Self.withoutSuffix) ?? current else {
      throw .currentVersionUnknown(path: path, available: available)
    }
    if let version = versions.first(where: { $0.name == wanted }) { return version }
    if let binary = binaryVersions.first(where: { $0.name == wanted }) { throw .binaryModel(path: binary.folder) }
    throw .unknownVersion(path: path, version: wanted, available: available)
  }

  private mutating func readBundle() throws(ModelFileError) {
    let items = try Self.items(of: path)
    for item in items {
      let full = path + "/" + item
      let isModel = item.hasSuffix(".xcdatamodel")
      let isFolder = isModel ? Self.isFolder(full) : false
      // It was just listed. Without it, another version would be the current one.
      if isModel, isFolder == nil { throw .unreadable(path: full, reason: "it cannot be looked at") }
      if isFolder == true {
        try add(Version(name: Self.withoutSuffix(item), folder: full))
      } else if item != Self.currentVersionFile && item != ".DS_Store" {
        warnings.append(
          ModelWarning(.strayFile, file: full, message: "is no part of a model bundle, and is ignored"))
      }
    }
    try chooseCurrent(isNamed: items.contains(Self.currentVersionFile))
  }

  private mutating func add(_ version: Version) throws(ModelFileError) {
    let items = try Self.items(of: version.folder)
    if items.contains("contents") {
      versions.append(version)
      for item in items where item != "contents" && item != ".DS_Store" && item != "layout" {
        warnings.append(
          ModelWarning(.strayFile, file: version.folder + "/" + item, message: "is no model file, and is ignored"))
      }
    } else if items.contains("elements") {
      binaryVersions.append(version)
    } else {
      warnings.append(
        ModelWarning(.strayFile, file: version.folder, message: "has no file 'contents', and is ignored"))
    }
  }

  private mutating func chooseCurrent(isNamed: Bool) throws(ModelFileError) {
    // A bundle begins with one version of its own name, and names no other until somebody chooses one: real bundles of
    // many versions have an empty plist.
    let all = (versions + binaryVersions).map(\.name)
    let fallback = all.count == 1 ? all.first : all.first { $0 == name }
    if !isNamed && all.count <= 1 {
      current = fallback
      return
    }
    let file = path + "/" + Self.currentVersionFile
    let named = isNamed ? try Self.currentVersionName(in: file).map(Self.withoutSuffix) : nil
    if let named, all.contains(named) {
      current = named
      return
    }
    current = fallback
    let problem = named == nil ? "names no version" : "names a version that the bundle does not have"
    let outcome =
      fallback.map { "so '\($0)' is taken; ask for another one by name" } ?? "so one must be asked for by name"
    warnings.append(ModelWarning(.currentVersion, file: file, message: "\(problem), \(outcome)"))
  }

  /// Nil where the file is no plist, or lacks the key.
  private static func currentVersionName(in file: String) throws(ModelFileError) -> String? {
    let bytes = try read(file, limit: currentVersionLimit)
    let list = try? PropertyListSerialization.propertyList(from: bytes, options: [], format: nil)
    return (list as? [String: Any])?["_XCCurrentVersionName"] as? String
  }

  private static func withoutSuffix(_ name: String) -> String {
    name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
  }

  /// Nil where there is nothing.
  private static func isFolder(_ path: String) -> Bool? {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) ? isFolder.boolValue : nil
  }

  private static func items(of folder: String) throws(ModelFileError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    } catch {
      throw .unreadable(path: folder, reason: (error as NSError).localizedDescription)
    }
  }

  /// Reads a regular file of limited size; a pipe or device would never end.
  static func read(_ file: String, limit: Int) throws(ModelFileError) -> Data {
    do {
      let target = URL(fileURLWithPath: file).resolvingSymlinksInPath().path
      let facts = try FileManager.default.attributesOfItem(atPath: target)
      guard facts[.type] as? FileAttributeType == .typeRegular else {
        throw ModelFileError.unreadable(path: file, reason: "it is no regular file")
      }
      // What is read counts, and not what is said of it: some files have a size of 0 and do not end.
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
      throw .unreadable(path: file, reason: (error as NSError).localizedDescription)
    }
  }
}

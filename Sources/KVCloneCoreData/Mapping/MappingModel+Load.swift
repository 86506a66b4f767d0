import Foundation
public import KVCloneModel

/// A mapping model read from a file, with warnings about it.
public struct LoadedMappingModel: Hashable, Sendable {
  /// The mapping model. `MappingModel.resolved(from:to:)` validates it against its models.
  public var mapping: MappingModel
  /// Warnings about parts that are ignored, or that are refused when a migration needs them.
  public var warnings: [ModelWarning]
}

extension MappingModel {
  /// Reads a mapping model from Xcode's file.
  ///
  /// The models embedded in the file are not read: see ``sourceModel(near:userInfoKeys:)`` and
  /// ``destinationModel(near:userInfoKeys:)``.
  ///
  /// - Parameter path: A `.xcmappingmodel` folder.
  public static func load(contentsOf path: String) throws(ModelFileError) -> LoadedMappingModel {
    var trimmed = path
    while trimmed.count > 1 && trimmed.hasSuffix("/") { trimmed.removeLast() }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: trimmed, isDirectory: &isFolder) else {
      throw .notFound(path: trimmed)
    }
    let url = URL(fileURLWithPath: trimmed)
    let file = trimmed + "/xcmapping.xml"
    guard isFolder.boolValue, url.pathExtension == "xcmappingmodel", FileManager.default.fileExists(atPath: file) else {
      throw .notAMapping(path: trimmed)
    }
    let bytes = try ModelBundle.read(file, limit: XMLLimits.bytes)
    return try load(contents: bytes, file: file, name: url.deletingPathExtension().lastPathComponent)
  }

  /// Parses a mapping model from the bytes of a `xcmapping.xml` file; `file` is its name in errors and warnings.
  static func load(contents bytes: Data, file: String, name: String) throws(ModelFileError) -> LoadedMappingModel {
    let root = try XMLTree.parse(bytes, path: file, form: .store)
    let (mapping, warnings) = try MappingReader.read(root, file: file, name: name)
    return LoadedMappingModel(mapping: mapping, warnings: warnings)
  }
}

extension MappingModel {
  /// Reads the source version that the file names, if it exists near a path; see ``modelVersion(at:near:)``.
  public func sourceModel(
    near path: String, userInfoKeys: CloneUserInfoKeys = .standard
  ) throws(ModelFileError) -> LoadedModel? {
    try Self.model(at: sourceModelPath, near: path, userInfoKeys)
  }

  /// Reads the destination version that the file names, if it exists near a path; see ``modelVersion(at:near:)``.
  public func destinationModel(
    near path: String, userInfoKeys: CloneUserInfoKeys = .standard
  ) throws(ModelFileError) -> LoadedModel? {
    try Self.model(at: destinationModelPath, near: path, userInfoKeys)
  }

  /// Returns the path of the version that a mapping model's file names, or nil if it does not exist.
  ///
  /// Xcode writes paths relative to the project's folder, which is not stored in a mapping model. The search first
  /// tries the last two components of the path, the bundle and the version, in the folder of `path`. It then tries the
  /// whole path in that folder and in the eight folders above it. Absolute paths, and paths with `..`, are never
  /// followed.
  ///
  /// - Parameters:
  ///   - recorded: The path stored in the file, such as `App/Model.xcdatamodeld/Model 2.xcdatamodel`.
  ///   - path: The mapping model, a bundle with versions (source or compiled), or any other folder.
  public static func modelVersion(at recorded: String, near path: String) -> String? {
    let parts = recorded.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard let version = parts.last, version.hasSuffix(".xcdatamodel"), parts.count <= 64,
      !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." || $0.utf8.contains(0) })
    else { return nil }
    var folder = URL(fileURLWithPath: path).standardizedFileURL
    var candidates: [String] = []
    switch folder.pathExtension {
    case "xcdatamodeld":
      candidates.append(folder.path + "/" + version)
      folder.deleteLastPathComponent()
    // The compiled form of the sources.
    case "momd":
      let file = folder.path + "/" + ModelBundle.withoutSuffix(version) + ".mom"
      if FileManager.default.fileExists(atPath: file) { return file }
      folder.deleteLastPathComponent()
    case "xcmappingmodel": folder.deleteLastPathComponent()
    default: break
    }
    candidates.append(folder.path + "/" + parts.suffix(2).joined(separator: "/"))
    for _ in 0...8 {
      candidates.append(folder.path + "/" + recorded)
      if folder.path == "/" { break }
      folder.deleteLastPathComponent()
    }
    return candidates.first { FileManager.default.fileExists(atPath: $0 + "/contents") }
  }

  private static func model(
    at recorded: String?, near path: String, _ keys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel? {
    guard let version = recorded.flatMap({ modelVersion(at: $0, near: path) }) else { return nil }
    return try ManagedObjectModel.load(contentsOf: version, userInfoKeys: keys)
  }
}

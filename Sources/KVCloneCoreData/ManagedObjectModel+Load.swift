import Foundation
public import KVCloneModel

/// A model that was read from files, and what was odd about them.
public struct LoadedModel: Hashable, Sendable {
  /// The model; it has passed validation.
  public var model: ManagedObjectModel
  /// What is odd but can be lived with: the bundle's, the file's, then the model's.
  public var warnings: [ModelWarning]
}

extension ManagedObjectModel {
  /// Reads a model from Xcode's files.
  ///
  /// - Parameters:
  ///   - path: a `.xcdatamodeld` folder, or a `.xcdatamodel` folder, which is one version.
  ///   - version: the version's name, such as `Model 2`; nil is the current version.
  ///   - userInfoKeys: the keys that the rules of a deep clone are written with, which are checked here (R16).
  public static func load(
    contentsOf path: String, version: String? = nil, userInfoKeys: CloneUserInfoKeys = .standard
  ) throws(ModelFileError) -> LoadedModel {
    let bundle = try ModelBundle(at: path)
    let chosen = try bundle.version(version)
    let file = chosen.folder + "/contents"
    let bytes = try ModelBundle.read(file, limit: XMLLimits.bytes)
    let loaded = try load(
      contents: bytes, file: file, name: bundle.name, version: chosen.name, userInfoKeys: userInfoKeys)
    return LoadedModel(model: loaded.model, warnings: bundle.warnings + loaded.warnings)
  }

  /// Reads all versions in a bundle that can be read, from the earliest to the latest as their names count: `Model`, `Model 2`,
  /// `Model 10`. Versions that are no models are left out.
  ///
  /// - Throws: `unreadable`, too, where the system refuses to read one: a migration would go past it.
  public static func loadVersions(contentsOf path: String) throws(ModelFileError) -> [LoadedModel] {
    let bundle = try ModelBundle(at: path)
    let sorted = bundle.versions.sorted { left, right in
      // A bundle's first version has the bundle's name, whatever the later ones are called.
      if (left.name == bundle.name) != (right.name == bundle.name) { return left.name == bundle.name }
      return left.name.compare(right.name, options: .numeric) == .orderedAscending
    }
    var loaded: [LoadedModel] = []
    for version in sorted {
      do throws(ModelFileError) {
        loaded.append(try load(contentsOf: path, version: version.name))
      } catch {
        if case .unreadable = error { throw error }
      }
    }
    return loaded
  }

  /// The versions in a bundle, none of which is read.
  public static func modelVersions(at path: String) throws(ModelFileError) -> ModelVersions {
    let bundle = try ModelBundle(at: path)
    return ModelVersions(names: bundle.versions.map(\.name), current: bundle.current, warnings: bundle.warnings)
  }

  /// Reads a model from the bytes of a `contents` file; `file` is its name in errors and warnings.
  static func load(
    contents bytes: Data, file: String, name: String, version: String, userInfoKeys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel {
    let root = try XMLTree.parse(bytes, path: file)
    let (model, oddities) = try ModelReader.read(root, file: file, name: name, version: version)
    let inner: [ModelWarning]
    do {
      inner = try model.validate(userInfoKeys: userInfoKeys)
    } catch {
      throw .invalidModel(path: file, error)
    }
    let located = inner.map { warning in
      var located = warning
      located.file = file
      return located
    }
    return LoadedModel(model: model, warnings: oddities + located)
  }
}

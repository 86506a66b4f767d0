import Foundation
public import KVCloneModel

/// A model read from files, with warnings about them.
public struct LoadedModel: Hashable, Sendable {
  /// The model, which has passed validation.
  public var model: ManagedObjectModel
  /// Warnings about the bundle, the file and the model, in that order.
  public var warnings: [ModelWarning]
}

extension ManagedObjectModel {
  /// Reads a model from Xcode's files, or from their compiled form.
  ///
  /// A compiled model describes the same stored data. It lacks settings that only the model editor and source
  /// generation use: scalar attributes, and the classes to generate.
  ///
  /// - Parameters:
  ///   - path: A `.xcdatamodeld` folder, or a `.xcdatamodel` folder, which is one version. Compiled: a `.momd` folder,
  ///     or a `.mom` or `.omo` file, which is one version.
  ///   - version: The version's name, such as `Model 2`; nil means the current version.
  ///   - userInfoKeys: The keys of the deep-clone rules, which are validated here (R16).
  public static func load(
    contentsOf path: String, version: String? = nil, userInfoKeys: CloneUserInfoKeys = .standard
  ) throws(ModelFileError) -> LoadedModel {
    let bundle = try ModelBundle(at: path)
    let chosen = try bundle.version(version)
    let bytes = try ModelBundle.read(chosen.file, limit: XMLLimits.bytes)
    guard chosen.isCompiled else {
      let loaded = try load(
        contents: bytes, file: chosen.file, name: bundle.name, version: chosen.name, userInfoKeys: userInfoKeys)
      return LoadedModel(model: loaded.model, warnings: bundle.warnings + loaded.warnings)
    }
    let loaded = try load(
      archive: [UInt8](bytes), file: chosen.file, name: bundle.name, version: chosen.name, userInfoKeys: userInfoKeys)
    let difference = bundle.warning(about: loaded.model, chosen)
    return LoadedModel(
      model: loaded.model, warnings: bundle.warnings + (difference.map { [$0] } ?? []) + loaded.warnings)
  }

  /// The path extensions of models, without a dot: of sources and of compiled models.
  package static var modelPathExtensions: Set<String> { ModelBundle.pathExtensions }

  /// Reads all versions in a bundle, from the earliest to the latest in the order of their names: `Model`, `Model 2`,
  /// `Model 10`. Folders that are not models are skipped.
  ///
  /// - Throws: `unreadable` if the system cannot read a version, because a migration would then skip it.
  public static func loadVersions(contentsOf path: String) throws(ModelFileError) -> [LoadedModel] {
    let bundle = try ModelBundle(at: path)
    let sorted = bundle.versions.sorted { left, right in
      // A bundle's first version has the bundle's name, whatever the names of later ones.
      if (left.name == bundle.name) != (right.name == bundle.name) { return left.name == bundle.name }
      return left.name.compare(right.name, options: .numeric) == .orderedAscending
    }
    var loaded: [LoadedModel] = []
    for version in sorted {
      do throws(ModelFileError) {
        loaded.append(try load(contentsOf: path, version: version.name))
      } catch {
        if error.kind == .unreadable { throw error }
      }
    }
    return loaded
  }

  /// Returns the versions in a bundle without reading them.
  public static func modelVersions(at path: String) throws(ModelFileError) -> ModelVersions {
    let bundle = try ModelBundle(at: path)
    return ModelVersions(names: bundle.versions.map(\.name), current: bundle.current, warnings: bundle.warnings)
  }

  /// Parses a model from the bytes of a `contents` file; `file` is its name in errors and warnings.
  static func load(
    contents bytes: Data, file: String, name: String, version: String, userInfoKeys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel {
    let root = try XMLTree.parse(bytes, path: file)
    let (model, oddities) = try ModelReader.read(root, file: file, name: name, version: version)
    return try validated(model, oddities, file: file, userInfoKeys)
  }

  /// Decodes a model from the bytes of a compiled one; `file` is its name in errors and warnings.
  static func load(
    archive bytes: [UInt8], file: String, name: String, version: String, userInfoKeys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel {
    let archived: ArchivedModel
    do throws(ModelArchive.Problem) {
      archived = try ModelArchive.model(in: bytes, name: name, version: version)
    } catch {
      switch error {
      case .corrupted, .cancelled:
        throw .unreadableArchive(path: file, reason: "it is not a keyed archive of a model, or it is corrupted")
      case .tooLarge(let entity):
        let what = entity.map { "entity \($0), together with the preceding ones, has" } ?? "it has"
        throw .unreadableArchive(path: file, reason: "\(what) more than a model may hold")
      case .unsupported(let entity, let property, let reason):
        throw .unsupportedArchive(path: file, entity: entity, property: property, reason: reason)
      }
    }
    let oddities = archived.omitted.map {
      ModelWarning(.unknownContent, file: file, message: "ignored, because it cannot be read: \($0)")
    }
    return try validated(archived.model, oddities, file: file, userInfoKeys)
  }

  /// - Parameter oddities: the warnings about the file.
  private static func validated(
    _ model: ManagedObjectModel, _ oddities: [ModelWarning], file: String, _ userInfoKeys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel {
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

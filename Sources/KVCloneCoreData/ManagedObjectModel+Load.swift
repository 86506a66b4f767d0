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
  /// Reads a model from Xcode's files, or from what Xcode compiled them to.
  ///
  /// A compiled model says the same of what is stored, and lacks what only the model editor and the generation of
  /// source need: which attributes are scalars, and which classes are generated.
  ///
  /// - Parameters:
  ///   - path: a `.xcdatamodeld` folder, or a `.xcdatamodel` folder, which is one version; compiled, a `.momd` folder,
  ///     or a `.mom` or `.omo` file, which is one version.
  ///   - version: the version's name, such as `Model 2`; nil is the current version.
  ///   - userInfoKeys: the keys that the rules of a deep clone are written with, which are checked here (R16).
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

  /// How the paths of models end, without a dot: those of sources and of compiled models.
  package static var modelPathExtensions: Set<String> { ModelBundle.pathExtensions }

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
        if error.kind == .unreadable { throw error }
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
    return try validated(model, oddities, file: file, userInfoKeys)
  }

  /// Reads a model from the bytes of a compiled one; `file` is its name in errors and warnings.
  static func load(
    archive bytes: [UInt8], file: String, name: String, version: String, userInfoKeys: CloneUserInfoKeys
  ) throws(ModelFileError) -> LoadedModel {
    let archived: ArchivedModel
    do throws(ModelArchive.Problem) {
      archived = try ModelArchive.model(in: bytes, name: name, version: version)
    } catch {
      switch error {
      case .corrupted, .cancelled:
        throw .unreadableArchive(path: file, reason: "it is no keyed archive of a model, or damaged")
      case .tooLarge(let entity):
        let what = entity.map { "entity \($0) has, with what came before," } ?? "it has"
        throw .unreadableArchive(path: file, reason: "\(what) more than a model may hold")
      case .unsupported(let entity, let property, let reason):
        throw .unsupportedArchive(path: file, entity: entity, property: property, reason: reason)
      }
    }
    let oddities = archived.omitted.map {
      ModelWarning(.unknownContent, file: file, message: "left out, because it cannot be read: \($0)")
    }
    return try validated(archived.model, oddities, file: file, userInfoKeys)
  }

  /// - Parameter oddities: the file's.
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

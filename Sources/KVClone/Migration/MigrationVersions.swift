import KVCloneCore
import KVCloneModel

/// The versions that a migration may pass through: each content once, in the order of ``MigrationOptions/versions``,
/// with the store's version before them and the wanted one after them if they are not among them.
struct MigrationVersions {
  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  /// By position.
  private(set) var models: [ManagedObjectModel] = []
  /// The positions of the store's version and of the wanted one; equal if they differ only in what the hash omits.
  private(set) var start = 0
  private(set) var end = 0

  private var positions: [ModelHash: Int] = [:]
  /// The versions as given, with their names, and their positions.
  private var given: [(model: ManagedObjectModel, hash: ModelHash)] = []

  init(from source: ManagedObjectModel, to destination: ManagedObjectModel, _ versions: [ManagedObjectModel]) {
    self.source = source
    self.destination = destination
    given = versions.map { ($0, $0.modelHash) }
    let (first, last) = (source.modelHash, destination.modelHash)
    if !given.contains(where: { $0.hash == first }) { add(source, first) }
    // Of two versions with equal content, the last name counts.
    for (index, version) in given.enumerated() where !given[(index + 1)...].contains(where: { $0.hash == version.hash })
    {
      add(version.hash == last ? destination : version.model, version.hash)
    }
    if positions[last] == nil { add(destination, last) }
    start = positions[first] ?? 0
    end = positions[last] ?? 0
  }

  private mutating func add(_ model: ManagedObjectModel, _ hash: ModelHash) {
    positions[hash] = models.count
    models.append(model)
  }

  func name(_ position: Int) -> String {
    position == start ? source.versionIdentifier : models[position].versionIdentifier
  }

  /// The model at a position; at the start, the store's own.
  func model(_ position: Int) -> ManagedObjectModel { position == start ? source : models[position] }

  /// Whether a version has this name.
  func knows(_ name: String) -> Bool {
    ([source, destination] + given.map(\.model)).contains { $0.versionIdentifier == name }
  }

  /// The position of the version that a mapping model names; nil for an unknown name.
  ///
  /// - Parameter prefersEnd: which of the migration's two ends is meant if several versions have the name.
  func position(named name: String, prefersEnd: Bool) -> Int? {
    let ends = prefersEnd ? [(destination, end), (source, start)] : [(source, start), (destination, end)]
    if let first = ends.first, first.0.versionIdentifier == name { return first.1 }
    if let version = given.last(where: { $0.model.versionIdentifier == name }) { return positions[version.hash] }
    return ends.last.flatMap { $0.0.versionIdentifier == name ? $0.1 : nil }
  }

  /// The position of the version that a stage names.
  ///
  /// - Throws: `invalidStage` if no version matches, or several.
  func position(of version: ManagedObjectModelReference, in stage: any MigrationStage) throws(StoreError) -> Int {
    var found: Set<Int> = []
    for (model, hash) in given + [(source, source.modelHash), (destination, destination.modelHash)]
    where version.isReference(to: model, hash) {
      if let position = positions[hash] { found.insert(position) }
    }
    if found.count > 1 {
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) names the version \(version), but \(found.count) versions of different content have "
          + "this name; name the version by its hash")
    }
    guard let position = found.first else {
      let known = models.map { "'\($0.versionIdentifier)'" }.joined(separator: ", ")
      throw StoreError(
        .invalidStage,
        "stage \(stage.label) names the version \(version), which is not in MigrationOptions.versions (\(known)); "
          + "correct the name, or add the version")
    }
    return position
  }

  /// Whether a step between two versions leads towards the wanted one, according to the order of versions.
  func leadsTowardsEnd(_ from: Int, _ to: Int) -> Bool {
    start < end ? from < to && to <= end : to < from && to >= end
  }
}

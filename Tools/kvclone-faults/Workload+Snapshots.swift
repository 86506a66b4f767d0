import KVClone

/// The workload's commits with snapshots and migrations.
extension Workload {
  /// The latest manual snapshot with the store's current model version.
  func youngestSnapshot(_ store: ObjectStore, isOfCommit: Bool = false) throws -> Snapshot? {
    let version = store.model.versionIdentifier
    let found = try store.snapshots().last { snapshot in
      !snapshot.isAutomatic && snapshot.modelVersion == version
        && (!isOfCommit || snapshot.name.hasPrefix(Workload.snapshotPrefix))
    }
    guard let found else { return nil }
    return try store.snapshot(named: found.name)
  }

  func rollBack(_ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator) throws {
    guard let snapshot = try youngestSnapshot(store) else { return try changes(number, store, random) }
    try store.rollback(to: snapshot)
  }

  func rollBackObject(_ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator) throws {
    guard let snapshot = try youngestSnapshot(store),
      let project = random.element(try snapshot.read { try Workload.ids(of: "Project", in: $0) })
    else { return try changes(number, store, random) }
    try store.rollback(to: snapshot, objects: [project])
  }

  /// Deletes all snapshots, or those between the oldest and the latest.
  func deleteSnapshots(
    _ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator, onlyInner: Bool
  ) throws {
    let names = try store.snapshots().map(\.name)
    let doomed = onlyInner ? Array(names.dropFirst().dropLast()) : names
    if doomed.isEmpty { return try changes(number, store, random) }
    // First the bases of merged drafts: until the next commit, snapshots show the blobs that they show.
    if !onlyInner { _ = try store.deleteExpiredSnapshots() }
    try store.deleteSnapshots(named: doomed)
  }

  func migrate(_ number: Int, _ store: ObjectStore, at path: String) throws {
    store.close()
    let model = version(after: number).model
    var options = options()
    switch kind(number) {
    case .mappingMigration:
      let mapping = MigrationOptions(mappings: [WorkloadModel.mapping])
      try ObjectStore.migrate(at: path, to: model, migration: mapping, options: options)
    case .chainedMigration:
      let stage = LightweightMigrationStage(WorkloadModel.chain.map { ManagedObjectModelReference($0) })
      let chain = MigrationOptions(versions: WorkloadModel.chain, stages: [stage])
      let report = try ObjectStore.migrate(at: path, to: model, migration: chain, options: options)
      guard report.rewrittenCount > 0, report.versions == WorkloadModel.chain.map(\.versionIdentifier) else {
        throw Finding("the migration of commit \(number) has too little to do: \(report)")
      }
    case .automaticMigration:
      options.automaticMigration = MigrationOptions()
      try ObjectStore.open(at: path, model: model, options: options).close()
    default:
      let report = try ObjectStore.migrate(at: path, to: model, options: options)
      guard report.rewrittenCount > 0, report.movedCount > 0, report.deletedCount > 0 else {
        throw Finding("the migration of commit \(number) has too little to do: \(report)")
      }
    }
  }
}

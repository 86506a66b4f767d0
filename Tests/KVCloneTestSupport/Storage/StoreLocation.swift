package import KVClone
package import KVCloneCore
#if Postgres
  import KVClonePostgres
#endif

/// The place of a store as a single argument of a second process: the path of a data file's directory, or a store in a
/// cluster.
///
/// A store in a cluster is the address, which begins with `postgresql://` or `host=`, and the name, separated by a tab.
/// Optional further fields are the size of the cache in bytes, and the idle limit of writers in milliseconds.
package struct StoreLocation {
  private let fields: [String]

  package init(_ text: String) {
    let isCluster = text.hasPrefix("postgresql://") || text.hasPrefix("host=")
    fields = isCluster ? text.split(separator: "\t").map(String.init) : [text]
  }

  package func open(
    model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> ObjectStore {
    #if Postgres
      if fields.count > 1 {
        return try cluster.openStore(fields[1], model: model, options: options.withoutFileOptions)
      }
    #endif
    return try ObjectStore.open(at: fields[0], model: model, options: options)
  }

  package func migrate(
    to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> MigrationReport {
    #if Postgres
      if fields.count > 1 {
        let cluster = cluster
        defer { cluster.close() }
        return try cluster.migrate(
          fields[1], to: model, migration: migration, options: options.withoutFileOptions, progress: progress,
          cancellation: cancellation)
      }
    #endif
    return try ObjectStore.migrate(
      at: fields[0], to: model, migration: migration, options: options, progress: progress, cancellation: cancellation)
  }

  package func planMigration(
    to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> MigrationPlan {
    #if Postgres
      if fields.count > 1 {
        let cluster = cluster
        defer { cluster.close() }
        return try cluster.planMigration(
          fields[1], to: model, migration: migration, options: options.withoutFileOptions)
      }
    #endif
    return try ObjectStore.planMigration(at: fields[0], to: model, migration: migration, options: options)
  }

  #if Postgres
    /// A cluster object with connections of its own, as another process has.
    private var cluster: PostgresCluster {
      var options = PostgresOptions()
      if fields.count > 2, let bytes = Int(fields[2]) { options.cacheBytes = bytes }
      if fields.count > 3, let limit = Int(fields[3]) { options.writerIdleLimit = .milliseconds(limit) }
      return PostgresCluster(fields[0], options: options)
    }
  #endif
}

#if Postgres
  extension StoreOptions {
    /// The options without those that a store in a cluster refuses.
    var withoutFileOptions: StoreOptions {
      var options = self
      options.maximumFileBytes = nil
      options.verifiesPagesAtOpen = false
      // That of local stores, unless the test sets one: asynchronous tests wait for minutes for their turns.
      options.pinnedSnapshotMaximumAge = options.pinnedSnapshotMaximumAge
      return options
    }
  }
#endif

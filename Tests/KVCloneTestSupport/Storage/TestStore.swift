import Foundation
package import KVClone
package import KVCloneCore
#if Postgres
  import KVClonePostgres
#endif

/// A store in a temporary directory, both removed after the test; in a cluster if the variable `KVCLONE_TEST_ENGINE` is
/// `postgres`.
package final class TestStore {
  /// The engine of a test's store.
  package enum Engine {
    /// The engine that `KVCLONE_TEST_ENGINE` selects.
    case selected
    /// A data file, for tests of its bytes.
    case dataFile
    /// A cluster, which the tests must have.
    case postgres(caches: Bool)
  }

  package let root: String
  /// The path of the store; its parent directory exists. Stores in a cluster do not use it: see ``location``.
  package let path: String
  package private(set) var store: ObjectStore
  #if Postgres
    /// The server of a store in a cluster.
    private let server: PostgresServer?
  #endif

  package init(
    _ model: ManagedObjectModel, options: StoreOptions = StoreOptions(), engine: Engine = .selected
  ) throws {
    root = try temporaryDirectory()
    path = root + "/test.kvclone"
    #if Postgres
      switch engine {
      case .selected: server = PostgresServer.isDefaultEngine ? try PostgresServer(caches: true, isEmpty: true) : nil
      case .dataFile: server = nil
      case .postgres(let caches): server = try PostgresServer(caches: caches, isEmpty: true)
      }
      if let server {
        store = try server.cluster.createStore(server.name, model: model, options: options.withoutFileOptions)
        return
      }
    #endif
    store = try ObjectStore.create(at: path, model: model, options: options)
  }

  /// Creates the fixture for a store that `place` creates at the given path.
  package init(placedBy place: (String) throws -> Void) throws {
    root = try temporaryDirectory()
    path = root + "/test.kvclone"
    try place(path)
    #if Postgres
      server = nil
    #endif
    store = try ObjectStore.open(at: path)
  }

  deinit {
    store.close()
    #if Postgres
      server?.drop()
    #endif
    try? FileManager.default.removeItem(atPath: root)
  }

  /// The place of the store for a second process, see ``StoreLocation``.
  package var location: String {
    #if Postgres
      if let server { return server.location }
    #endif
    return path
  }

  /// Closes the store and opens it with its own model, or with `model`.
  package func reopen(model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions()) throws {
    store.close()
    #if Postgres
      if let server {
        store = try server.cluster.openStore(server.name, model: model, options: options.withoutFileOptions)
        return
      }
    #endif
    store = try ObjectStore.open(at: path, model: model, options: options)
  }

  /// Opens the store a second time; in a cluster with other connections, as another process does.
  package func openAgain(model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions())
    throws(StoreError) -> ObjectStore
  {
    try StoreLocation(location).open(model: model, options: options)
  }

  /// Migrates the store, which must be closed.
  @discardableResult
  package func migrate(
    to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions(), progress: (@Sendable (OperationProgress) -> Void)? = nil,
    cancellation: Cancellation? = nil
  ) throws(StoreError) -> MigrationReport {
    try StoreLocation(location).migrate(
      to: model, migration: migration, options: options, progress: progress, cancellation: cancellation)
  }

  /// Plans a migration of the store, which must be closed.
  package func planMigration(
    to model: ManagedObjectModel, migration: MigrationOptions = MigrationOptions(),
    options: StoreOptions = StoreOptions()
  ) throws(StoreError) -> MigrationPlan {
    try StoreLocation(location).planMigration(to: model, migration: migration, options: options)
  }
}

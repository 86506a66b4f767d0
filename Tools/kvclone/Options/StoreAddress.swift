import Foundation
import KVClone

#if Postgres
  import KVClonePostgres
#endif

/// The place of a store: a directory, or a name in a PostgreSQL cluster.
enum StoreAddress: Equatable {
  case directory(String)
  /// - Parameter database: the URL of the database, which may contain a password: never print it.
  case cluster(database: String, name: String)

  /// Parses the value of `--store` or of another argument for a store.
  ///
  /// - Throws: a usage error for a malformed URL, or if this build has no PostgreSQL support.
  init(_ text: String) throws {
    self = try Self.parsed(text)
    if case .cluster = self { try Self.requireSupport() }
  }

  /// Parses an address, whether or not this build can use it.
  static func parsed(_ text: String) throws -> StoreAddress {
    guard ClusterURL.isURL(text) else { return .directory(text) }
    let parts = try Failure.ofUsage { () throws(StoreError) in try ClusterURL(text).storeParts() }
    return .cluster(database: parts.database, name: parts.name)
  }

  /// - Throws: a usage error if this build has no PostgreSQL support.
  static func requireSupport() throws {
    #if !Postgres
      throw missingSupport
    #endif
  }

  #if !Postgres
    static var missingSupport: Failure {
      Failure(usage: "this build has no PostgreSQL support; build kvclone with `swift build --traits Postgres`")
    }
  #endif

  /// The path of the directory, or the name of the store in the cluster.
  var name: String {
    switch self {
    case .directory(let path): path
    case .cluster(_, let name): name
    }
  }

  /// The same store, with a wait of at most 2 s for a server that does not answer.
  var withShortWait: StoreAddress {
    guard case .cluster(let database, let name) = self else { return self }
    return .cluster(database: ClusterURL.url(database, connectingWithin: 2), name: name)
  }

  var isDirectory: Bool {
    if case .directory = self { true } else { false }
  }

  /// Opens the store, which contains its model.
  func open(_ options: StoreOptions = StoreOptions()) throws -> ObjectStore {
    switch self {
    case .directory(let path): return try ObjectStore.open(at: path, options: options)
    case .cluster(let database, let name):
      #if Postgres
        return try PostgresCluster(database).openStore(name, options: options)
      #else
        throw Self.missingSupport
      #endif
    }
  }

  /// Creates a store.
  func create(_ model: ManagedObjectModel, _ options: StoreOptions) throws -> ObjectStore {
    switch self {
    case .directory(let path): return try ObjectStore.create(at: path, model: model, options: options)
    case .cluster(let database, let name):
      #if Postgres
        return try PostgresCluster(database).createStore(name, model: model, options: options)
      #else
        throw Self.missingSupport
      #endif
    }
  }

  // MARK: Migrating

  func planMigration(
    to model: ManagedObjectModel, _ migration: MigrationOptions,
    progress: (@Sendable (OperationProgress) -> Void)? = nil, _ cancellation: Cancellation? = nil
  ) throws -> MigrationPlan {
    switch self {
    case .directory(let path):
      return try ObjectStore.planMigration(
        at: path, to: model, migration: migration, progress: progress, cancellation: cancellation)
    case .cluster(let database, let name):
      #if Postgres
        return try PostgresCluster(database).planMigration(
          name, to: model, migration: migration, progress: progress, cancellation: cancellation)
      #else
        throw Self.missingSupport
      #endif
    }
  }

  func migrate(
    to model: ManagedObjectModel, _ migration: MigrationOptions,
    progress: @escaping @Sendable (OperationProgress) -> Void, _ cancellation: Cancellation
  ) throws -> MigrationReport {
    switch self {
    case .directory(let path):
      return try ObjectStore.migrate(
        at: path, to: model, migration: migration, progress: progress, cancellation: cancellation)
    case .cluster(let database, let name):
      #if Postgres
        return try PostgresCluster(database).migrate(
          name, to: model, migration: migration, progress: progress, cancellation: cancellation)
      #else
        throw Self.missingSupport
      #endif
    }
  }

  // MARK: Operations on files

  /// Returns the directory of the store.
  ///
  /// - Parameters:
  ///   - operation: the subject of the error.
  ///   - remedy: the end of the error; by default, to copy the store to a directory.
  /// - Throws: `unsupportedByEngine` for a store in a cluster.
  func directory(for operation: String, remedy: String? = nil) throws -> String {
    switch self {
    case .directory(let path): return path
    case .cluster(_, let name):
      throw Failure(
        StoreError.Kind.unsupportedByEngine.rawValue,
        "\(operation) needs the files of a store, and \(name) is in a cluster; "
          + (remedy ?? "copy it to a directory first (kvclone copy)"))
    }
  }

  /// Checks that a path for a new directory is not a URL.
  ///
  /// - Parameter operation: the subject of the error.
  /// - Throws: `unsupportedByEngine` for a URL of a cluster.
  static func requireDirectory(_ text: String, for operation: String) throws {
    guard ClusterURL.isURL(text) else { return }
    try requireSupport()
    throw Failure(
      StoreError.Kind.unsupportedByEngine.rawValue,
      "\(operation) reads and writes directories only; give a path, and copy the directory to the cluster afterwards "
        + "(kvclone copy)")
  }
}

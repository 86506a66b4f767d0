#if Postgres
  public import KVCloneCore
  import KVCloneRecords

  /// A PostgreSQL server, or a group of servers with one primary, that keeps stores.
  ///
  /// All stores of a process that are open in a cluster share its connections. Create it once, and keep it as long as
  /// its stores are open.
  public final class PostgresCluster: Sendable {
    /// The options, which hold for all its stores.
    public let options: PostgresOptions
    let pool: ConnectionPool

    /// Creates a cluster. Connects with its first use.
    ///
    /// - Parameter address: a URL `postgresql://user@host1,host2/database?target_session_attrs=read-write`, or the
    ///   keywords and values that libpq takes. Passwords belong into `.pgpass` or a service file.
    public init(_ address: String, options: PostgresOptions = PostgresOptions()) {
      self.options = options
      pool = ConnectionPool(address, options)
    }

    /// Closes the connections. Stores that are open must be closed first.
    public func close() { pool.close() }

    /// Creates the schema `kvclone` in the database, if it does not exist. Needs the privilege to create schemas.
    ///
    /// - Throws: `StoreError`: `newerFormat` if a newer library has installed it; `io`.
    public func install() throws(StoreError) {
      do {
        _ = try pool.run(ClusterSchema.install.map { PostgresStatement($0, isPrepared: false) })
        let rows = try pool.run([PostgresStatement("SELECT version FROM kvclone.schema_version")])[0]
        try Self.check(version: rows.count > 0 ? rows.integer(0, 0) : nil)
      } catch {
        throw storeError(error)
      }
    }

    /// A store in the cluster.
    public struct StoreInfo: Sendable, Hashable {
      /// The name, by which it is opened.
      public let name: String
      /// The number of commits of the storage engine since its creation.
      public let commitNumber: Int64
      /// The number of entries of all its tables: records, links, index entries, chunks of blobs, and so on.
      public let entryCount: Int64
    }

    /// Lists the stores in the order of their names.
    public func stores() throws(StoreError) -> [StoreInfo] {
      do {
        let rows = try pool.run([PostgresStatement(ClusterSchema.listStores)])[0]
        return (0..<rows.count).map { row in
          StoreInfo(
            name: rows.text(row, 0), commitNumber: rows.integer(row, 1) ?? 0, entryCount: rows.integer(row, 2) ?? 0)
        }
      } catch {
        throw storeError(error)
      }
    }

    /// Deletes a store with everything in it. Processes that have it open get `storeNotFound`.
    ///
    /// - Throws: `StoreError`: `storeNotFound` if there is none; `busy` if a writer holds it for more than 5 s.
    public func drop(_ name: String) throws(StoreError) {
      do {
        let connection = try pool.take()
        defer { pool.give(back: connection, isUsable: true) }
        do throws(PostgresError) {
          let found = try connection.run([
            PostgresStatement("BEGIN", isPrepared: false),
            PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
            PostgresStatement("SELECT id FROM kvclone.store WHERE name = $1 FOR UPDATE", [.text(name)]),
          ])
          guard let store = found[2].count > 0 ? found[2].integer(0, 0) : nil else {
            connection.send([PostgresStatement("ROLLBACK", isPrepared: false)])
            throw PostgresError(state: Self.missingStore, message: name, isConnectionLost: false)
          }
          _ = try connection.run(
            ClusterSchema.tablesOfStores.map {
              PostgresStatement("DELETE FROM kvclone.\($0) WHERE store = $1", [.int8(store)])
            } + [
              PostgresStatement("DELETE FROM kvclone.store WHERE id = $1", [.int8(store)]),
              PostgresStatement("COMMIT", isPrepared: false),
            ])
        } catch {
          connection.send([PostgresStatement("ROLLBACK", isPrepared: false)])
          if error.state == Self.missingStore { throw Self.notFound(name) }
          throw error
        }
      } catch {
        throw storeError(error)
      }
    }

    private static let missingStore = "KV001"

    static func notFound(_ name: String) -> StoreError {
      StoreError(
        .storeNotFound, "the cluster has no store \(name); check the name, or list the stores (kvclone cluster stores)")
    }

    /// The store's error for an error of any layer.
    func storeError(_ error: any Error) -> StoreError {
      switch error {
      case let error as StoreError: return error
      case let error as PostgresError:
        // Other idle connections lead to the same server.
        if error.isConnectionLost { pool.closeIdle() }
        return error.storeError
      default: return StoreError(.io, "the database server could not be used: \(error)")
      }
    }

    static func check(version: Int64?) throws(StoreError) {
      guard let version else {
        throw StoreError(.invalidStore, "the schema kvclone has no version; run `kvclone cluster install`")
      }
      if version > ClusterSchema.version {
        throw StoreError(
          .newerFormat,
          "the schema kvclone has version \(version), and this library knows \(ClusterSchema.version); use a newer "
            + "library")
      }
    }
  }
#endif

#if Postgres
  public import KVCloneCore

  extension PostgresCluster {
    /// The versions of the schema `kvclone` before and after an upgrade.
    public struct SchemaUpgrade: Sendable, Hashable, Codable {
      /// The version before the upgrade.
      public let from: Int
      /// The version after the upgrade; equal to ``from`` if there was nothing to do.
      public let to: Int
    }

    /// Creates the schema `kvclone` and its tables in the database, as far as they do not exist.
    ///
    /// A new schema gets the version of this library. The version of an existing schema does not change; see
    /// ``upgrade()``. The user needs the privilege to create schemas in the database, even if the schema exists.
    ///
    /// - Throws: `newerFormat` if the schema requires a newer library; `olderFormat` if this library requires an
    ///   upgrade of the schema; `busy` if no connection is available; `storeNotFound` if the database does not exist;
    ///   `invalidStore` if ``PostgresOptions/durability`` is not satisfied; `readOnly` on a standby; `diskFull`;
    ///   `closed`; `io`, also for missing privileges.
    public func install() throws(StoreError) {
      let versions = options.schema
      // It creates only what is missing, so it runs again if the connection was lost.
      try StoreRows.change(self) { (connection, _) throws(PostgresError) in
        let found = try connection.run(
          ["BEGIN", ClusterSchema.lock, ClusterSchema.isInstalled].map { PostgresStatement($0, isPrepared: false) })
        var isNew = true
        if found[2].integer(0, 0) == 1 {
          let version = try connection.run([PostgresStatement(SchemaVersions.statement)])[0]
          isNew = version.count == 0
          if !isNew, let reason = versions.refusal(version) {
            connection.rollBack()
            return reason
          }
        }
        try connection.commit(
          ClusterSchema.install.map { PostgresStatement($0, isPrepared: false) }
            + (isNew ? versions.upgrade(from: Int64(ClusterSchema.version)) : []))
        return nil
      }
    }

    /// Raises the version of the schema `kvclone` to that of this library, in one transaction.
    ///
    /// Waits up to 5 seconds for write transactions of all stores, and for read transactions if it alters tables that
    /// they use. New ones wait for the upgrade. Libraries of older versions can then get `newerFormat` with their next
    /// transaction, also with stores that are already open. There is no downgrade. The user must own the tables.
    ///
    /// - Returns: the versions before and after. They are equal if the schema already has this version or a later one.
    /// - Throws: `storeNotFound` if the schema or the database does not exist; `newerFormat` if the schema requires a
    ///   newer library; `busy` if transactions do not end within 5 seconds, or if no connection is available;
    ///   `invalidStore` if ``PostgresOptions/durability`` is not satisfied; `readOnly` on a standby; `diskFull`;
    ///   `closed`; `io`, also for missing privileges. Nothing has changed, except after `io` if no server answered
    ///   within ``PostgresOptions/resolveTimeout``: then call it again.
    @discardableResult
    public func upgrade() throws(StoreError) -> SchemaUpgrade {
      let versions = options.schema
      var first: Int64?
      var last: Int64 = 0
      try StoreRows.change(self) { (connection, _) throws(PostgresError) in
        let found = try connection.run(
          ["BEGIN", ClusterSchema.lock, "SET LOCAL lock_timeout = 5000", SchemaVersions.statement].map {
            PostgresStatement($0, isPrepared: false)
          })[3]
        guard found.count > 0, let version = found.integer(0, 0), let minimum = found.integer(0, 1) else {
          connection.rollBack()
          return versions.refusal(found)
        }
        if let reason = versions.refusal(minimum: minimum) {
          connection.rollBack()
          return reason
        }
        // An earlier attempt may have taken effect.
        first = first ?? version
        last = max(version, Int64(versions.newest))
        let statements = versions.upgrade(from: version)
        if statements.isEmpty { connection.rollBack() } else { try connection.commit(statements) }
        return nil
      }
      return SchemaUpgrade(from: Int(first ?? last), to: Int(last))
    }
  }
#endif

#if Postgres
  import KVCloneCore
  import KVCloneLMDB

  extension PostgresEngine: EngineNetwork {
    var network: (any EngineNetwork)? { self }

    var pinnedSnapshotDefaults: (limit: Int, maximumAge: Duration) {
      (max(2, cluster.options.connections) / 2, .seconds(300))
    }

    var readThreads: ReadThreads { cluster.readThreads }

    /// Two cluster objects can have different addresses of one server. A standby is the same place as its primary.
    func isSameStore(as other: any EngineNetwork) -> Bool {
      guard let other = other as? PostgresEngine, store == other.store else { return false }
      if cluster === other.cluster { return true }
      guard let place, let otherPlace = other.place else { return true }
      return place == otherPlace
    }

    /// The identity of the server's data and of the database; nil if the server does not say it.
    private var place: String? {
      guard let rows = try? cluster.pool.run([PostgresStatement(Self.placeStatement)])[0], rows.count > 0 else {
        return nil
      }
      return rows.text(0, 0)
    }

    private static let placeStatement = """
      SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system())::text || ' ' || \
      (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())::text
      """
  }
#endif

#if Postgres
  import KVCloneCore
  import KVCloneLMDB
  import Synchronization

  extension PostgresEngine: EngineNetwork {
    var network: (any EngineNetwork)? { self }

    var pinnedSnapshotDefaults: (limit: Int, maximumAge: Duration) {
      (max(2, cluster.options.connections) / 2, .seconds(300))
    }

    var readThreads: ReadThreads { ClusterReadThreads.of(cluster) }

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

  /// The threads for reads of each cluster object.
  private enum ClusterReadThreads {
    private struct Entry {
      weak var cluster: PostgresCluster?
      let threads: ReadThreads
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    static func of(_ cluster: PostgresCluster) -> ReadThreads {
      entries.withLock { entries in
        // Another object can have had the same address.
        if let known = entries[ObjectIdentifier(cluster)], known.cluster === cluster { return known.threads }
        entries = entries.filter { $0.value.cluster != nil }
        let threads = ReadThreads(count: max(2, cluster.options.connections))
        entries[ObjectIdentifier(cluster)] = Entry(cluster: cluster, threads: threads)
        return threads
      }
    }
  }
#endif

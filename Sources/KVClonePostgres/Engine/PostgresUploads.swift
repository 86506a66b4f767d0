#if Postgres
  import Dispatch
  import KVCloneCore
  import Synchronization

  /// Staged uploads hold their bytes by rows with a time limit, which this renews by the server's clock: a process that
  /// has ended, or cannot reach the server, loses them.
  final class PostgresUploads: UploadLeases {
    /// The time after which a byte that is not renewed is free, and the interval of the renewals, in seconds.
    private static let (limit, renewal) = (60, 15)

    private static let hold = """
      INSERT INTO kvclone.stager (store, byte, owner, until) \
      VALUES ($1, $2, $3, clock_timestamp() + interval '\(limit) s') \
      ON CONFLICT (store, byte) DO UPDATE SET owner = excluded.owner, until = excluded.until \
      WHERE stager.until < clock_timestamp() OR stager.owner = excluded.owner
      """
    private static let release = "DELETE FROM kvclone.stager WHERE store = $1 AND byte = $2 AND owner = $3"
    private static let renew = """
      UPDATE kvclone.stager SET until = clock_timestamp() + interval '\(limit) s' WHERE store = $1 AND owner = $2
      """

    private let cluster: PostgresCluster
    private let store: Int64
    private let owner = CommitToken.random()
    private let held = Mutex<Set<UInt16>>([])
    private let queue = DispatchQueue(label: "KVClone.postgres.uploads")

    init(_ cluster: PostgresCluster, store: Int64) {
      self.cluster = cluster
      self.store = store
    }

    func hold(_ byte: UInt16) throws(StoreError) -> Bool {
      do {
        let rows = try cluster.pool.run([
          PostgresStatement(Self.hold, [.int8(store), .int4(Int32(byte)), .bytea(owner)])
        ])
        guard rows[0].changedCount == 1 else { return false }
      } catch {
        throw cluster.storeError(error)
      }
      let isFirst = held.withLock { held in
        defer { held.insert(byte) }
        return held.isEmpty
      }
      if isFirst { scheduleRenewal() }
      return true
    }

    func release(_ byte: UInt16) {
      _ = held.withLock { $0.remove(byte) }
      // Otherwise its time passes.
      _ = try? cluster.pool.run([
        PostgresStatement(Self.release, [.int8(store), .int4(Int32(byte)), .bytea(owner)])
      ])
    }

    private func scheduleRenewal() {
      queue.asyncAfter(deadline: .now() + .seconds(Self.renewal)) { [weak self] in
        guard let self, !held.withLock({ $0.isEmpty }) else { return }
        _ = try? cluster.pool.run([PostgresStatement(Self.renew, [.int8(store), .bytea(owner)])])
        scheduleRenewal()
      }
    }
  }
#endif

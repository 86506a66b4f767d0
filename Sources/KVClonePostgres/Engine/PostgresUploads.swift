#if Postgres
  import Dispatch
  import KVCloneCore
  import Synchronization

  /// Staged uploads hold their bytes by rows with a time limit, which this renews by the server's clock: a process that
  /// has ended, or cannot reach the server, loses them.
  final class PostgresUploads: UploadLeases {
    /// The time after which a byte that is not renewed is free, in seconds, and the interval of the renewals.
    private static let limit = 60
    private static let renewal = Duration.seconds(15)

    private static let hold = """
      INSERT INTO kvclone.stager (store, byte, owner, until) \
      VALUES ($1, $2, $3, clock_timestamp() + interval '\(limit) s') \
      ON CONFLICT (store, byte) DO UPDATE SET owner = excluded.owner, until = excluded.until \
      WHERE stager.until < clock_timestamp() OR stager.owner = excluded.owner
      """
    private static let release = "DELETE FROM kvclone.stager WHERE store = $1 AND byte = $2 AND owner = $3"
    private static let releaseAll = "DELETE FROM kvclone.stager WHERE store = $1 AND owner = $2"
    private static let renew = """
      UPDATE kvclone.stager SET until = clock_timestamp() + interval '\(limit) s' WHERE store = $1 AND owner = $2 \
      RETURNING byte
      """

    private struct State {
      /// The held bytes, each with the number of its hold.
      var held: [UInt16: Int] = [:]
      var holdCount = 0
      /// Whether a renewal is scheduled. It schedules the next one until no byte is held.
      var isRenewing = false
    }

    private let cluster: PostgresCluster
    private let store: Int64
    private let owner = CommitToken.random()
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "KVClone.postgres.uploads")
    private let renewal: Duration

    init(_ cluster: PostgresCluster, store: Int64, renewal: Duration = renewal) {
      self.cluster = cluster
      self.store = store
      self.renewal = renewal
    }

    deinit {
      // A closed store has no uploads. Without this, others would keep their chunks until the limit.
      if state.withLock({ $0.held.isEmpty }) { return }
      _ = try? cluster.pool.run(
        [PostgresStatement(Self.releaseAll, [.int8(store), .bytea(owner)])], isRepeatable: true)
    }

    func hold(_ byte: UInt16) throws(StoreError) -> Bool {
      do {
        // A second attempt by the same owner has the same result.
        let rows = try cluster.pool.run(
          [PostgresStatement(Self.hold, [.int8(store), .int4(Int32(byte)), .bytea(owner)])], isRepeatable: true)
        guard rows[0].changedCount == 1 else { return false }
      } catch {
        throw cluster.storeError(error)
      }
      let isFirst = state.withLock { state in
        state.holdCount += 1
        state.held[byte] = state.holdCount
        defer { state.isRenewing = true }
        return !state.isRenewing
      }
      if isFirst { scheduleRenewal(after: renewal) }
      return true
    }

    func release(_ byte: UInt16) {
      state.withLock { $0.held[byte] = nil }
      // Otherwise its time passes.
      _ = try? cluster.pool.run(
        [PostgresStatement(Self.release, [.int8(store), .int4(Int32(byte)), .bytea(owner)])], isRepeatable: true)
    }

    private func scheduleRenewal(after interval: Duration) {
      queue.asyncAfter(deadline: .now() + interval.seconds) { [weak self] in self?.renew() }
    }

    private func renew() {
      let held = state.withLock { state in
        state.isRenewing = !state.held.isEmpty
        return state.held
      }
      if held.isEmpty { return }
      do {
        let rows = try cluster.pool.run(
          [PostgresStatement(Self.renew, [.int8(store), .bytea(owner)])], isRepeatable: true)
        let renewed = Set((0..<rows[0].count).compactMap { rows[0].integer($0, 0) })
        // A row that is missing was deleted by a process that found it out of date, with the upload's chunks. The
        // upload finds out with its next chunk, and its byte is not renewed, because another upload can hold it now.
        state.withLock { state in
          for (byte, hold) in held where !renewed.contains(Int64(byte)) && state.held[byte] == hold {
            state.held[byte] = nil
          }
        }
        scheduleRenewal(after: renewal)
      } catch {
        // Soon again: the server may be in a failover, and the limit must not pass.
        scheduleRenewal(after: renewal / 5)
      }
    }
  }
#endif

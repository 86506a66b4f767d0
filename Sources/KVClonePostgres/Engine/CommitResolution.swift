#if Postgres
  import Glibc
  import KVCloneCore

  /// Finds out whether a commit took effect after the connection was lost.
  struct CommitResolution {
    private enum Outcome { case committed, notCommitted, forgotten }

    private let engine: PostgresEngine
    private let commit: SharedCache.Commit

    init(_ engine: PostgresEngine, _ commit: SharedCache.Commit) {
      self.engine = engine
      self.commit = commit
    }

    /// Returns if the commit took effect.
    ///
    /// - Throws: `io` if nothing was changed; `commitOutcomeUnknown` if no server answers in time, or if the commit may
    ///   be one of those that the server no longer lists.
    func resolve(_ failure: PostgresError) throws(StoreError) {
      let end = ContinuousClock.now + engine.cluster.options.resolveTimeout
      var pause: UInt32 = 20_000
      while true {
        if let outcome = try? look(until: end) {
          switch outcome {
          case .committed: return
          case .notCommitted:
            throw StoreError(
              .io, "the connection to the database server was lost before the commit; nothing was changed, try again",
              underlyingError: failure)
          case .forgotten: throw unknown("and the server no longer lists this commit", failure)
          }
        }
        guard ContinuousClock.now < end else { break }
        usleep(pause)
        pause = min(1_000_000, pause * 2)
      }
      throw unknown("and no server answered since", failure)
    }

    private func unknown(_ reason: String, _ failure: PostgresError) -> StoreError {
      StoreError(
        .commitOutcomeUnknown,
        "the connection to the database server was lost during commit \(commit.number) of the store \(engine.name), "
          + "\(reason); look for its changes before repeating them",
        underlyingError: failure)
    }

    /// Looks for the token of the commit, under the lock of the store: a server process that still commits holds it.
    private func look(until end: ContinuousClock.Instant) throws -> Outcome {
      let pool = engine.cluster.pool
      pool.closeIdle()
      let connection = try pool.take(until: end, isShort: true)
      connection.deadline = end
      connection.responseTimeout = nil
      defer {
        connection.deadline = nil
        pool.give(back: connection)
      }
      do throws(PostgresError) {
        let results = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement("SELECT number FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(engine.store)]),
          PostgresStatement(
            "SELECT token FROM kvclone.commit WHERE store = $1 AND number = $2",
            [.int8(engine.store), .int8(commit.number)]),
        ])
        guard results[3].count > 0 else {
          connection.rollBack()
          // The rows of old commits are deleted, and all those of a store that was dropped.
          let number = results[2].count > 0 ? results[2].integer(0, 0) ?? 0 : .max
          return number < commit.number ? .notCommitted : .forgotten
        }
        guard results[3].bytes(0, 0).elementsEqual(commit.token) else {
          connection.rollBack()
          return .notCommitted
        }
        // A write of its own that is durable makes the found commit durable, too, where replication is synchronous.
        try connection.commit([
          PostgresStatement("UPDATE kvclone.store SET number = number WHERE id = $1", [.int8(engine.store)])
        ])
        return .committed
      } catch {
        connection.rollBack()
        throw error
      }
    }
  }
#endif

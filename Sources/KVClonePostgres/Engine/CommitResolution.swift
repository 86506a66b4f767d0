#if Postgres
  import Glibc
  import KVCloneCore

  /// Finds out whether a commit took effect after the connection was lost.
  struct CommitResolution {
    private let engine: PostgresEngine
    private let commit: SharedCache.Commit

    init(_ engine: PostgresEngine, _ commit: SharedCache.Commit) {
      self.engine = engine
      self.commit = commit
    }

    /// Returns if the commit took effect.
    ///
    /// - Throws: `io` if nothing was changed; `commitOutcomeUnknown` if no server answers in time.
    func resolve(_ failure: PostgresError) throws(StoreError) {
      let end = ContinuousClock.now + engine.cluster.options.resolveTimeout
      var pause: UInt32 = 20_000
      while true {
        if let isCommitted = try? look() {
          if isCommitted { return }
          throw StoreError(
            .io, "the connection to the database server was lost before the commit; nothing was changed, try again",
            underlyingError: failure)
        }
        guard ContinuousClock.now < end else { break }
        usleep(pause)
        pause = min(1_000_000, pause * 2)
      }
      throw StoreError(
        .commitOutcomeUnknown,
        "the connection to the database server was lost during commit \(commit.number) of the store \(engine.name), "
          + "and no server answered since; look for its changes before repeating them",
        underlyingError: failure)
    }

    /// Looks for the token of the commit, under the lock of the store: a server process that still commits holds it.
    private func look() throws -> Bool {
      engine.cluster.pool.closeIdle()
      let connection = try engine.cluster.pool.take()
      defer { engine.cluster.pool.give(back: connection, isUsable: true) }
      do throws(PostgresError) {
        let results = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement("SELECT number FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(engine.store)]),
          PostgresStatement(
            "SELECT token FROM kvclone.commit WHERE store = $1 AND number = $2",
            [.int8(engine.store), .int8(commit.number)]),
        ])
        let isFound = results[3].count > 0 && results[3].bytes(0, 0).elementsEqual(commit.token)
        // A write of its own that is durable makes the found commit durable, too, where replication is synchronous.
        let warningCount = connection.warningCount
        _ = try connection.run([
          PostgresStatement("UPDATE kvclone.store SET number = number WHERE id = $1", [.int8(engine.store)]),
          PostgresStatement("COMMIT", isPrepared: false),
        ])
        if isFound, connection.warningCount > warningCount {
          throw PostgresError(state: "01000", message: "the standby did not confirm", isConnectionLost: true)
        }
        return isFound
      } catch {
        connection.send([PostgresStatement("ROLLBACK", isPrepared: false)])
        throw error
      }
    }
  }
#endif

#if Postgres
  import Synchronization

  /// The use of standbys for reads: their connections, and whether a read should try one at present.
  final class StandbyReads: Sendable {
    /// The intervals after which a standby is tried again.
    struct Intervals: Sendable {
      /// After a standby could not be reached: connecting can take seconds.
      var unreachable = Duration.seconds(5)
      /// After a standby was too far behind.
      var behind = Duration.milliseconds(250)
      /// The maximum wait of a read for the replay of a commit that it must see.
      var replay = Duration.milliseconds(50)
    }

    private struct State {
      var intervals = Intervals()
      var retry: ContinuousClock.Instant?
      /// Whether a standby has answered since the last failure. Otherwise, one thread at a time tries to connect.
      var hasAnswered = false
    }

    let pool: ConnectionPool
    let maximumLag: Duration
    private let use = Mutex(State())

    init(_ pool: ConnectionPool, maximumLag: Duration) {
      self.pool = pool
      self.maximumLag = maximumLag
    }

    var intervals: Intervals {
      get { use.withLock { $0.intervals } }
      set { use.withLock { $0.intervals = newValue } }
    }

    /// Whether a read that begins now should try a standby.
    func isWorthTrying() -> Bool {
      use.withLock { state in
        if let retry = state.retry, retry > .now { return false }
        state.retry = state.hasAnswered ? nil : .now + state.intervals.unreachable
        return true
      }
    }

    /// Records that a standby was used.
    func noteAnswer() {
      use.withLock { state in
        state.retry = nil
        state.hasAnswered = true
      }
    }

    /// Records that a standby has answered and is too far behind.
    func noteBehind() {
      use.withLock { state in
        state.retry = .now + state.intervals.behind
        state.hasAnswered = true
      }
    }

    /// Records that no standby could be used.
    func noteFailure() {
      use.withLock { state in
        state.retry = .now + state.intervals.unreachable
        state.hasAnswered = false
      }
      pool.closeIdle()
    }

    // MARK: The state of a server

    /// Finds out whether the server is a standby, and whether its lag is at most the maximum. A standby that does not
    /// stream can have replayed all that it has received, and still be hours behind.
    var state: PostgresStatement {
      PostgresStatement(
        """
        SELECT pg_is_in_recovery()::int4, CASE WHEN NOT pg_is_in_recovery() \
        OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver) THEN 1 \
        ELSE COALESCE(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000 <= $1, false)::int4 \
        END
        """, [.int8(Int64(maximumLag.milliseconds))])
    }

    static func isStandby(_ rows: PostgresRows) -> Bool { rows.count > 0 && rows.integer(0, 0) == 1 }

    static func isRecent(_ rows: PostgresRows) -> Bool { rows.count > 0 && rows.integer(0, 1) == 1 }
  }
#endif

#if Postgres
  import Glibc
  import KVCloneCore

  /// Begins read transactions of a store: on a standby, if it has what the transaction must see, or else on the
  /// primary.
  struct ReadRoute {
    /// A commit that a read must see, on any server.
    struct Requirement: Sendable {
      let engine: PostgresEngine
      let commit: SharedCache.Commit
      /// The end of the wait for a standby if there is no primary.
      let deadline: ContinuousClock.Instant
    }

    /// The requirement of the reads that this task begins.
    @TaskLocal static var requirement: Requirement?
    /// Whether the reads that this task begins do not try a standby.
    @TaskLocal static var usesPrimary = false

    private static let begin = PostgresStatement(
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", isPrepared: false)
    private static let token = "SELECT token FROM kvclone.commit WHERE store = $1 AND number = $2"
    /// The first and the longest pause between two attempts on a standby, in microseconds.
    private static let pauses: (first: UInt32, longest: UInt32) = (1_000, 10_000)

    private let engine: PostgresEngine
    private let requirement: Requirement?
    /// The commit that the transaction must see, unless a failover has lost it.
    private let floor: SharedCache.Commit?

    init(_ engine: PostgresEngine) {
      self.engine = engine
      let requirement = Self.requirement
      self.requirement = requirement?.engine === engine ? requirement : nil
      floor = engine.seen.commit
    }

    func begin() throws(StoreError) -> EntryReader.Begun {
      if let standbys = engine.standbys, !Self.usesPrimary, standbys.isWorthTrying(),
        let begun = try onStandby(standbys)
      {
        engine.seen.note(begun.commit)
        return begun
      }
      let begun = try onPrimary()
      engine.seen.note(begun.commit, insteadOf: floor)
      return begun
    }

    /// The number of the last commit by a server that reads use at present; nil if none answers.
    func commitNumber() -> Int64? {
      if let standbys = engine.standbys, standbys.isWorthTrying() {
        let results = try? standbys.pool.run([standbys.state, number], isRepeatable: true)
        guard let results, StandbyReads.isStandby(results[0]) else {
          standbys.noteFailure()
          return numberOnPrimary()
        }
        if StandbyReads.isRecent(results[0]), results[1].count > 0 {
          standbys.noteAnswer()
          return results[1].integer(0, 0)
        }
        standbys.noteBehind()
      }
      return numberOnPrimary()
    }

    private func numberOnPrimary() -> Int64? {
      let rows = try? engine.cluster.pool.run([number], isRepeatable: true)[0]
      return rows.flatMap { $0.count > 0 ? $0.integer(0, 0) : nil }
    }

    private var number: PostgresStatement {
      PostgresStatement(CommitList.number, [.int8(engine.store)])
    }

    /// The statement that reads the token of the required commit.
    private var requiredToken: [PostgresStatement] {
      requirement.map { [PostgresStatement(Self.token, [.int8(engine.store), .int8($0.commit.number)])] } ?? []
    }

    // MARK: Standbys

    /// Returns nil if no standby can be used.
    private func onStandby(_ standbys: StandbyReads) throws(StoreError) -> EntryReader.Begun? {
      let end = ContinuousClock.now + standbys.intervals.replay
      let deadline = standbys.pool.deadline
      var pause = Self.pauses.first
      while true {
        let begun: EntryReader.Begun
        do throws(StoreError) {
          begun = try EntryReader.begin(engine, standbys.pool, until: deadline) {
            [Self.begin, standbys.state] + requiredToken
          }
        } catch {
          // Those of this process, not of a server.
          if [.closed, .forked].contains(error.kind) || error.message == ConnectionPool.exhausted.message {
            throw error
          }
          switch error.kind {
          // A store that was created a moment ago is not there yet.
          case .storeNotFound: standbys.noteBehind()
          // The primary knows whether this is still so. The standby is of use for other stores.
          case .storeMoved, .newerFormat,
            .busy where error.underlyingError == nil:
            standbys.noteAnswer()
          default: standbys.noteFailure()
          }
          return nil
        }
        guard StandbyReads.isStandby(begun.results[1]) else {
          // It was promoted. The connections of the primary's pool find it.
          begun.cancel(isUsable: false)
          standbys.noteFailure()
          return nil
        }
        if StandbyReads.isRecent(begun.results[1]), hasFloor(begun) {
          standbys.noteAnswer()
          return begun
        }
        let isRecent = StandbyReads.isRecent(begun.results[1])
        begun.cancel()
        guard isRecent, ContinuousClock.now < end else {
          standbys.noteBehind()
          return nil
        }
        usleep(pause)
        pause = min(Self.pauses.longest, pause * 2)
      }
    }

    /// Whether a transaction sees what it must see. If not, it may see it later, or a failover has lost it.
    private func hasFloor(_ begun: EntryReader.Begun) -> Bool {
      if let floor, begun.commit.number < floor.number || begun.commit.number == floor.number && begun.commit != floor {
        return false
      }
      guard let requirement else { return true }
      return token(of: requirement, begun, at: 2).map { $0 == requirement.commit.token }
        ?? (begun.commit.number >= requirement.commit.number)
    }

    /// The token of the commit with the required number; nil if it has no row.
    private func token(of requirement: Requirement, _ begun: EntryReader.Begun, at index: Int) -> [UInt8]? {
      begun.results[index].count > 0 ? Array(begun.results[index].bytes(0, 0)) : nil
    }

    // MARK: The primary

    private func onPrimary() throws(StoreError) -> EntryReader.Begun {
      let pool = engine.cluster.pool
      var pause = Self.pauses.first
      while true {
        let begun = try EntryReader.begin(engine, pool, until: pool.deadline) {
          // Without a requirement, the address decides about the server.
          requirement == nil ? [Self.begin] : [Self.begin, Self.isInRecovery] + requiredToken
        }
        guard let requirement else { return begun }
        // The rows of old commits are deleted.
        if token(of: requirement, begun, at: 2).map({ $0 == requirement.commit.token })
          ?? (begun.commit.number >= requirement.commit.number)
        {
          return begun
        }
        let isMissing = begun.results[2].count == 0
        let isStandby = StandbyReads.isStandby(begun.results[1])
        begun.cancel()
        guard isStandby, isMissing else { throw lost(requirement.commit) }
        guard ContinuousClock.now < requirement.deadline else { throw late(requirement.commit) }
        usleep(pause)
        pause = min(Self.pauses.longest, pause * 2)
      }
    }

    private static let isInRecovery = PostgresStatement("SELECT pg_is_in_recovery()::int4", isPrepared: false)

    private func lost(_ commit: SharedCache.Commit) -> StoreError {
      StoreError(
        .commitLost,
        "the store \(engine.name) does not have the required commit \(commit.number): a failover has lost it, or it is "
          + "one of another store; read without it, and look for its changes")
    }

    private func late(_ commit: SharedCache.Commit) -> StoreError {
      StoreError(
        .busy,
        "the standby has not replayed commit \(commit.number) of the store \(engine.name) in time; try again, raise "
          + "the timeout, or connect to the primary (target_session_attrs=read-write)")
    }
  }
#endif

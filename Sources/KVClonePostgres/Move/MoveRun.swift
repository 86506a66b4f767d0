#if Postgres
  import Glibc
  import KVCloneCore
  import KVCloneRecords

  /// Moves a store to another cluster.
  ///
  /// One row decides at each moment which place accepts writes: that of the source. Until it is marked as moved, the
  /// source is the store, and the copy is not opened. Once it is marked, which needs a complete copy with the same id
  /// of the move, the copy is the store. Only its opening waits for one more change, which a repeated move makes up
  /// for.
  final class MoveRun {
    /// The points at which tests interrupt a move.
    enum Point: CaseIterable {
      case claimed, copied, followed, verified, locked, completed, marked, finished
    }

    /// The delta that is applied under the lock of the source: with a larger one, the lock is released again.
    private static let (keyLimit, lockCount) = (4096, 10)
    /// A round that takes no longer ends the search for a small delta.
    private static let roundTime = Duration.milliseconds(100)
    private static let roundLimit = 100
    private static let lockTimeout = Duration.seconds(30)

    private let cluster: PostgresCluster
    private let other: PostgresCluster
    private let name: String
    private let progress: CopyProgress
    private let didSwitch: (@Sendable () -> Void)?
    private let reach: (Point) throws(StoreError) -> Void
    /// Whether a test has interrupted the move: nothing may be tidied up then.
    private var isInterrupted = false
    private var pause = Duration.zero
    private var byteCount: UInt64 = 0

    init(
      _ name: String, from cluster: PostgresCluster, to other: PostgresCluster, _ progress: CopyProgress,
      didSwitch: (@Sendable () -> Void)?, reach: @escaping (Point) throws(StoreError) -> Void = { _ in }
    ) {
      self.name = name
      self.cluster = cluster
      self.other = other
      self.progress = progress
      self.didSwitch = didSwitch
      self.reach = reach
    }

    private func pass(_ point: Point) throws(StoreError) {
      do throws(StoreError) { try reach(point) } catch {
        isInterrupted = true
        throw error
      }
    }

    func run() throws(StoreError) -> MoveResult {
      guard let row = try MoveTarget.row(name, in: cluster) else { throw PostgresCluster.notFound(name) }
      if MoveState.part(of: row.state) == MoveState.moved { return try resume(row) }
      let engine = try PostgresEngine(cluster, name: name)
      defer { engine.close() }
      let target = try claim(engine)
      let copy = MoveCopy(target, progress)
      do throws(StoreError) {
        try pass(.claimed)
        try prepare(engine, copy)
        try switchOver(engine, copy, target)
      } catch {
        if isInterrupted { throw error }
        throw discarding(target, after: error)
      }
      return try end(target, source: engine.store, copy.followedCommitCount)
    }

    /// Ends a move that was interrupted after the source had been marked.
    private func resume(_ row: MoveTarget.Row) throws(StoreError) -> MoveResult {
      guard let found = try MoveTarget.row(name, in: other), !row.move.isEmpty, found.move == row.move,
        found.state == 0 || MoveState.part(of: found.state) == MoveState.arrived
      else { throw MoveState.refusal(row.state, name) ?? PostgresCluster.notFound(name) }
      let target = MoveTarget(cluster: other, name: name, store: found.store, move: row.move)
      return try end(target, source: row.store, 0)
    }

    // MARK: Before the switch

    private func claim(_ engine: PostgresEngine) throws(StoreError) -> MoveTarget {
      // Without a lock: the row of the source itself is found in a move within a database.
      if let row = try MoveTarget.row(name, in: other), row.state == 0 { throw MoveTarget.exists(name) }
      let locked = try MoveSource.locking(engine, timeout: Self.lockTimeout)
      defer { locked.end() }
      return try MoveTarget.claim(name, in: other, move: CommitToken.random(), locked)
    }

    /// Copies and verifies, and follows the commits of the source until few are left.
    private func prepare(_ engine: PostgresEngine, _ copy: MoveCopy) throws(StoreError) {
      try read(engine) { (source) throws(StoreError) in try copy.copy(source) }
      try pass(.copied)
      try approach(engine, copy)
      try pass(.followed)
      try verify(engine, copy)
      try pass(.verified)
      try approach(engine, copy)
    }

    private func verify(_ engine: PostgresEngine, _ copy: MoveCopy) throws(StoreError) {
      try read(engine) { (source) throws(StoreError) in
        try copy.follow(source)
        byteCount = try copy.verify(source)
      }
    }

    private func read(
      _ engine: PostgresEngine, _ body: (MoveSource) throws(StoreError) -> Void
    ) throws(StoreError) {
      let source = try MoveSource.reading(engine)
      defer { source.end() }
      try body(source)
    }

    private func approach(_ engine: PostgresEngine, _ copy: MoveCopy) throws(StoreError) {
      try progress.begin(.apply, of: nil)
      for _ in 0..<Self.roundLimit {
        let start = ContinuousClock.now
        try read(engine) { (source) throws(StoreError) in try copy.follow(source) }
        if ContinuousClock.now - start < Self.roundTime { return }
      }
      throw tooFast
    }

    private var tooFast: StoreError {
      StoreError(
        .busy,
        "the store \(name) changes faster than its changes can be copied; nothing was changed, move it when there are "
          + "fewer writes")
    }

    /// Deletes the copy, and returns the error to throw.
    private func discarding(_ target: MoveTarget, after error: StoreError) -> StoreError {
      // The copy may be the store.
      if error.kind == .commitOutcomeUnknown { return error }
      do throws(StoreError) {
        try target.discard()
        return error
      } catch {
        return StoreError(
          error.kind, "\(error.message); the incomplete copy at the destination could not be deleted, repeat the move",
          underlyingError: error)
      }
    }

    // MARK: The switch

    private func switchOver(_ engine: PostgresEngine, _ copy: MoveCopy, _ target: MoveTarget) throws(StoreError) {
      try progress.begin(.publish, of: nil)
      for attempt in 1... {
        let source = try MoveSource.locking(engine, timeout: Self.lockTimeout)
        let start = ContinuousClock.now
        defer { source.end() }
        if attempt < Self.lockCount, try isLarge(copy, source) {
          source.end()
          try approach(engine, copy)
          if !copy.isVerified {
            // Everything was copied again.
            try verify(engine, copy)
            try approach(engine, copy)
          }
          continue
        }
        guard copy.isVerified, try copy.step(source) != nil else { throw tooFast }
        try copy.follow(source)
        try copy.verifyCounts(source)
        try pass(.locked)
        try target.complete(source.commit)
        try pass(.completed)
        try mark(engine, source, target)
        try pass(.marked)
        // A failure is not that of the copy: it is the store now. The end repeats this.
        if (try? target.finish()) != nil { pause = ContinuousClock.now - start }
        return
      }
    }

    /// Whether the last changes would take long under the lock.
    private func isLarge(_ copy: MoveCopy, _ source: MoveSource) throws(StoreError) -> Bool {
      guard copy.isVerified, let step = try copy.step(source), step.commitCount < MoveCopy.commitCount else {
        return true
      }
      return step.delta.hasRanges || step.delta.keyCount > Self.keyLimit
    }

    /// Marks the source as moved. From this commit on, the copy is the store.
    private func mark(_ engine: PostgresEngine, _ source: MoveSource, _ target: MoveTarget) throws(StoreError) {
      let failure: PostgresError
      do throws(PostgresError) {
        return try source.commit(
          PostgresStatement(
            "UPDATE kvclone.store SET state = \(MoveState.moved), move = $2 WHERE id = $1",
            [.int8(engine.store), .bytea(target.move)]))
      } catch {
        failure = error
      }
      let end = ContinuousClock.now + cluster.options.resolveTimeout
      repeat {
        if let isMarked = try? look(engine, target, until: end) {
          if isMarked { return }
          throw cluster.storeError(failure)
        }
        usleep(100_000)
      } while ContinuousClock.now < end
      throw StoreError(
        .commitOutcomeUnknown,
        "the connection to the database server was lost while the store \(name) was moved, and no server answered "
          + "since; repeat the move, which ends it or begins again", underlyingError: failure)
    }

    /// Whether the source is marked, found under its lock. If not, the copy is incomplete again.
    private func look(
      _ engine: PostgresEngine, _ target: MoveTarget, until end: ContinuousClock.Instant
    ) throws -> Bool {
      cluster.pool.closeIdle()
      let connection = try cluster.pool.take(until: end, isShort: true)
      connection.deadline = end
      connection.responseTimeout = nil
      defer {
        connection.deadline = nil
        cluster.pool.give(back: connection)
      }
      do {
        let found = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement("SELECT state, move FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(engine.store)]),
        ])[2]
        if found.count > 0, found.integer(0, 0) == MoveState.moved, found.bytes(0, 1).elementsEqual(target.move) {
          // Durable together with a write of its own, where replication is synchronous.
          try connection.commit([
            PostgresStatement("UPDATE kvclone.store SET number = number WHERE id = $1", [.int8(engine.store)])
          ])
          return true
        }
        try target.reopen()
        connection.rollBack()
        return false
      } catch {
        connection.rollBack()
        throw error
      }
    }

    // MARK: After the switch

    /// Makes the copy the store, if it is not yet, and deletes the entries of the source.
    private func end(_ target: MoveTarget, source: Int64, _ commitCount: Int) throws(StoreError) -> MoveResult {
      do throws(StoreError) {
        try target.finish()
      } catch {
        throw StoreError(
          error.kind, "the store \(name) is moved, but cannot be opened there yet, repeat the move: \(error.message)",
          underlyingError: error)
      }
      didSwitch?()
      try pass(.finished)
      do throws(StoreError) {
        try deleteEntries(of: source)
      } catch {
        throw StoreError(
          error.kind,
          "the store \(name) was moved, but its entries at the old place could not be deleted, repeat the move to "
            + "delete them: \(error.message)", underlyingError: error)
      }
      let counts = try target.entryCounts()
      return MoveResult(
        entryCount: UInt64(max(0, counts.values.reduce(0, +))), byteCount: byteCount, commitCount: commitCount,
        writePause: pause, duration: ContinuousClock.now - progress.start)
    }

    /// Keeps the marker, and the tokens of the last commits, by which writers look up outcomes.
    private func deleteEntries(of store: Int64) throws(StoreError) {
      try StoreRows.change(cluster) { (connection, _) throws(PostgresError) in
        _ = try connection.run([
          PostgresStatement("BEGIN", isPrepared: false),
          PostgresStatement("SET LOCAL lock_timeout = 5000", isPrepared: false),
          PostgresStatement("SELECT id FROM kvclone.store WHERE id = $1 FOR UPDATE", [.int8(store)]),
        ])
        try connection.commit(
          ["stager", "tally", "entry"].map {
            PostgresStatement("DELETE FROM kvclone.\($0) WHERE store = $1", [.int8(store)])
          } + [
            PostgresStatement(
              """
              DELETE FROM kvclone.commit WHERE store = $1 \
              AND number < (SELECT number - \(CommitList.limit) FROM kvclone.store WHERE id = $1)
              """, [.int8(store)]),
            PostgresStatement(
              "UPDATE kvclone.commit SET changed = '' WHERE store = $1 AND changed <> ''", [.int8(store)]),
          ])
        return nil
      }
    }
  }
#endif

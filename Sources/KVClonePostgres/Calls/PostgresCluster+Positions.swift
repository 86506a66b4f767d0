#if Postgres
  public import KVCloneCore

  extension PostgresCluster {
    /// Returns the last commit that an open store has made or read, for reads of other processes that must see it.
    ///
    /// After a write of this thread, it is the commit of that write or a later one. It needs no round trip.
    ///
    /// - Throws: `unsupportedByEngine` if the store is not in a cluster; `closed`.
    public static func lastCommit(of store: ObjectStore) throws(StoreError) -> CommitPosition {
      guard let commit = try engine(of: store).seen.commit else {
        throw StoreError(.closed, "the store \(store.path) has not been read; open it again")
      }
      return CommitPosition(store: store.uuid, commit)
    }

    /// Runs `body` in a read transaction that sees a commit, on the calling thread.
    ///
    /// Later reads of this store object see the commit, too, also by pinned snapshots and live results. The server
    /// lists at least the last 4,096 commits of a store; an older one counts as present.
    ///
    /// - Parameters:
    ///   - store: the store, which another process may have opened to make the commit.
    ///   - commit: the commit, from ``lastCommit(of:)``.
    ///   - timeout: the maximum wait for the replay of the commit, if the address of the cluster leads to standbys
    ///     only. Otherwise, the read uses the primary if a standby needs more than 50 milliseconds.
    ///   - body: the reads.
    /// - Returns: the result of `body`.
    /// - Throws: `commitLost` if a failover has lost the commit, or if it is one of another store; `busy` after the
    ///   timeout; `unsupportedByEngine` if the store is not in a cluster; the errors of `ObjectStore.read(_:)`.
    @available(*, noasync, message: "use the asynchronous form")
    public static func read<R>(
      _ store: ObjectStore, atLeast commit: CommitPosition, timeout: Duration = .seconds(5),
      _ body: (borrowing ReadTransaction) throws -> R
    ) throws -> R {
      try run(store, try requirement(store, commit, timeout), body)
    }

    /// Runs `body` in a read transaction that sees a commit, on a thread for reads.
    ///
    /// Parameters and errors are those of the synchronous form.
    public static func read<R: Sendable>(
      _ store: ObjectStore, atLeast commit: CommitPosition, timeout: Duration = .seconds(5),
      _ body: @Sendable (borrowing ReadTransaction) throws -> R
    ) async throws -> R {
      let requirement = try requirement(store, commit, timeout)
      return try await requirement.engine.readThreads.run { try run(store, requirement, body) }
    }

    private static func run<R>(
      _ store: ObjectStore, _ requirement: ReadRoute.Requirement, _ body: (borrowing ReadTransaction) throws -> R
    ) throws -> R {
      try ReadRoute.$requirement.withValue(requirement) { try store.runRead(body) }
    }

    private static func engine(of store: ObjectStore) throws(StoreError) -> PostgresEngine {
      guard let engine = store.engine as? PostgresEngine else {
        throw StoreError(
          .unsupportedByEngine, "the store at \(store.path) is not in a cluster; its reads always see the last commit")
      }
      return engine
    }

    private static func requirement(
      _ store: ObjectStore, _ commit: CommitPosition, _ timeout: Duration
    ) throws(StoreError) -> ReadRoute.Requirement {
      let engine = try engine(of: store)
      guard commit.store == store.uuid else {
        throw StoreError(
          .commitLost,
          "commit \(commit.number) is not one of the store \(store.path), which has another UUID; use a position of it")
      }
      return ReadRoute.Requirement(engine: engine, commit: commit.commit, deadline: .now + timeout)
    }
  }
#endif

#if Postgres
  public import KVCloneCore

  extension PostgresCluster {
    /// Moves a store to another cluster, under its name, while processes read and write it.
    ///
    /// Copies the entries of one state, then those that later commits have changed, and compares all of them. When few
    /// changes are left, locks the store, copies the last ones, marks the store here as moved, and opens it there.
    /// The store keeps its UUID, ids, snapshots, history and commit numbers. No committed write is lost.
    ///
    /// Processes that have the store open continue until the switch. Later transactions throw `storeMoved`, and run
    /// nothing; a ``ClusterRouter`` opens the store at its new place. Read transactions and pinned snapshots that are
    /// open at the switch continue to read the old place until they end. Staged uploads that are not a value yet are
    /// lost: their next call throws `storeMoved`.
    ///
    /// The old place keeps a small marker, with which opening and creating the store there throw `storeMoved`.
    /// ``deleteMoveMarker(_:)`` deletes it.
    ///
    /// If the process is killed, or a server fails, call this again: before the switch it begins again, and after it,
    /// it ends the move. At no time do both places accept writes.
    ///
    /// - Parameters:
    ///   - name: the name of the store in both clusters.
    ///   - other: the cluster to move it to, with the schema `kvclone`.
    ///   - progress: receives the number of entries on this thread. The phases are `copy`, `apply`, `verify` and
    ///     `publish`.
    ///   - cancellation: cancels the move from another thread, until the switch.
    ///   - didSwitch: called when the new place accepts writes, before the entries at the old one are deleted. Change
    ///     the routing here.
    /// - Returns: the numbers of entries and commits, and the duration for which writes waited.
    /// - Throws: `StoreError`: `storeNotFound` (the store, or the schema of the other cluster); `storeMoved` (it was
    ///   moved elsewhere); `storeExists`; `corrupted` (the copy differs); `busy`, also if it changes faster than it can
    ///   be copied; `cancelled`; `io`; `commitOutcomeUnknown` if the server of the store did not answer at the switch:
    ///   repeat the move.
    @available(*, noasync, message: "call it on a separate thread")
    @discardableResult
    public func moveStore(
      _ name: String, to other: PostgresCluster,
      progress: (@Sendable (OperationProgress) -> Void)? = nil, cancellation: Cancellation? = nil,
      didSwitch: (@Sendable () -> Void)? = nil
    ) throws(StoreError) -> MoveResult {
      try MoveRun(name, from: self, to: other, CopyProgress(progress, cancellation), didSwitch: didSwitch).run()
    }
  }
#endif

public import KVCloneModel

/// Rolls branches back.
extension StoreBranches {
  /// Rolls a branch, or some of its objects with their subgraphs, back to its base or to one of its snapshots, as
  /// `ObjectStore.rollback(to:objects:)` does. An automatic snapshot of the branch is created first, so that the reset
  /// can be undone.
  ///
  /// If the whole branch is reset to a snapshot from before a merge or a reset, its base is again the one of that time.
  /// This reset, and one of the whole branch to its base, end the drafts on it: if they are undone, their clones are
  /// ordinary objects.
  ///
  /// - Parameters:
  ///   - name: the name of the branch.
  ///   - snapshot: a snapshot of the branch; nil for its base.
  ///   - objects: the objects to roll back, with what a clone of them would copy; nil for the whole branch.
  /// - Returns: the numbers of changed objects, and the automatic snapshot of the branch.
  /// - Throws: `branchNotFound`, `unsupportedOnBranch` on a branch; the errors of `ObjectStore.rollback(to:objects:)`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func reset(_ name: String, to snapshot: Snapshot? = nil, objects: [ObjectID]? = nil) throws
    -> RollbackResult
  {
    try RollbackCall(open(name), snapshot, objects).run()
  }

  /// Rolls a branch back from asynchronous code.
  @discardableResult
  public func reset(_ name: String, to snapshot: Snapshot? = nil, objects: [ObjectID]? = nil) async throws
    -> RollbackResult
  {
    let branch = try open(name)
    return try await branch.onWriterQueue { try RollbackCall(branch, snapshot, objects).run() }
  }

  /// Returns what `reset(_:to:objects:)` would change and cost, and all errors, without changing the branch; see
  /// `ObjectStore.planRollback(to:objects:)`.
  ///
  /// - Throws: `branchNotFound`, `unsupportedOnBranch` on a branch; the errors of
  ///   `ObjectStore.planRollback(to:objects:)`.
  public func planReset(_ name: String, to snapshot: Snapshot? = nil, objects: [ObjectID]? = nil) throws
    -> RollbackPlan
  {
    try RollbackCall(open(name), snapshot, objects).plan()
  }
}

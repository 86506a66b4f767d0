public import KVClone
public import KVCloneModel

/// Merges of branches: *publish* merges the changes of a branch into the store, *update* those of the store into the
/// branch.
///
/// ```swift
/// import KVCloneMerge
///
/// let plan = try store.branches.planPublish("spring-prices")
/// if plan.canMerge { try store.branches.publish("spring-prices") }
/// ```
extension StoreBranches {
  /// Plans to merge the changes of a branch into the store, without the write lock. Ours is the store.
  ///
  /// If the merge may not fit into the file or on the disk, the plan runs it under the write lock, with its hooks, and
  /// rolls it back.
  ///
  /// - Parameters:
  ///   - name: the name of the branch.
  ///   - objects: publishes only these objects, with what a clone of them would copy and inserted objects that they
  ///     need (M13); nil for all changes. The branch is updated first, in memory and with its hooks: their rejections
  ///     are issues of the plan. Conflicts of both steps have the store as ours. Use answers of a plan with the same
  ///     objects.
  ///   - options: the treatment of conflicts.
  /// - Throws: `branchNotFound`; `unsupportedOnBranch` on a branch; `incompatibleModel`; `objectNotFound` for an object
  ///   that neither side has; ``MergeError`` for rules and answers that cannot be used, of the kind `draftInUse` if the
  ///   branch has open drafts, and `idempotencyKeyReused`; `invalidConfiguration` for an idempotency key that is empty
  ///   or too long; `busy` and `nestedWrite` if the plan needs the write lock and does not get it.
  public func planPublish(_ name: String, only objects: [ObjectID]? = nil, options: MergeOptions = MergeOptions())
    throws -> MergePlan
  {
    if let objects { return try MergeCall(ChosenMerge(store, name, objects), options).plan() }
    return try MergeCall(BranchMerge(store, name, .publish), options).plan()
  }

  /// Merges the changes of a branch into the store, in one transaction. Afterwards the branch shows the merged state,
  /// and has no changes of its own (M9).
  ///
  /// - Throws: ``MergeError`` if there are conflicts without an answer, answers that no longer fit, or violated rules
  ///   of the model, and of the kinds `limitExceeded` and `cancelled`; the errors of ``planPublish(_:only:options:)``,
  ///   of hooks and of ``MergeOptions/resolve``; `busy`, `diskFull` and other errors of a write transaction. Nothing is
  ///   merged then.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func publish(_ name: String, only objects: [ObjectID]? = nil, options: MergeOptions = MergeOptions()) throws
    -> MergeResult
  {
    if let objects { return try MergeCall(ChosenMerge(store, name, objects), options).run() }
    return try MergeCall(BranchMerge(store, name, .publish), options).run()
  }

  /// Publishes a branch from asynchronous code. Cancelling the task cancels the merge.
  @discardableResult
  public func publish(_ name: String, only objects: [ObjectID]? = nil, options: MergeOptions = MergeOptions())
    async throws -> MergeResult
  {
    if let objects { return try await MergeCall(ChosenMerge(store, name, objects), options).runOnWriterThread() }
    return try await MergeCall(BranchMerge(store, name, .publish), options).runOnWriterThread()
  }

  /// Plans to merge the changes of the store into a branch, without the write lock, as
  /// ``planPublish(_:only:options:)`` does. Ours is the branch.
  ///
  /// - Throws: the errors of ``planPublish(_:only:options:)``.
  public func planUpdate(_ name: String, options: MergeOptions = MergeOptions()) throws -> MergePlan {
    try MergeCall(BranchMerge(store, name, .update), options).plan()
  }

  /// Merges the changes of the store into a branch, in one transaction. Afterwards the base of the branch is the state
  /// of the store, and the branch has as its own what differs from it (M9).
  ///
  /// - Throws: the errors of `publish(_:only:options:)`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func update(_ name: String, options: MergeOptions = MergeOptions()) throws -> MergeResult {
    try MergeCall(BranchMerge(store, name, .update), options).run()
  }

  /// Updates a branch from asynchronous code. Cancelling the task cancels the merge.
  @discardableResult
  public func update(_ name: String, options: MergeOptions = MergeOptions()) async throws -> MergeResult {
    try await MergeCall(BranchMerge(store, name, .update), options).runOnWriterThread()
  }
}

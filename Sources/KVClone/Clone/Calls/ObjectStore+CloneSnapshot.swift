public import KVCloneCore
public import KVCloneModel

extension ObjectStore {
  /// Clones objects and their subgraphs from a snapshot, in a separate write transaction.
  ///
  /// The clones restore, under new ids, the objects that the snapshot shows. The store may have changed or deleted the
  /// objects since. The clone rules are those of the store's current model. The snapshot decides which objects belong
  /// to the clone, and their values, lists and order. Everything outside the clone is the current state of the store:
  ///
  /// - A link to an object that is not cloned leads to the same object, and its inverse gains the clone. If that object
  ///   no longer exists, the link is left out. If the model requires the link, the clone fails with
  ///   `requiredRelationshipExcluded`.
  /// - Maximum counts, occupied to-one inverses and uniqueness constraints are checked against the current state.
  /// - Blobs are shared, including blobs that only snapshots reference. Their bytes stay when the snapshot is deleted.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError`` if the plan finds an error, `objectNotFound` if the snapshot does not show a root;
  ///   `snapshotNotFound`; ``ValidationError``; `busy`, `diskFull`, `mapFull`. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> CloneResult
  {
    try CloneCall(roots, options, from: .snapshot(snapshot), to: self).run()
  }

  /// Clones objects and their subgraphs from a snapshot, from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) async throws
    -> CloneResult
  {
    try await CloneCall(roots, options, from: .snapshot(snapshot), to: self).runOnWriterThread()
  }

  /// Returns what a clone from a snapshot would create, share and change in the current state, and all errors, without
  /// writing (R36).
  ///
  /// - Throws: `snapshotNotFound`; ``StoreError`` if the store cannot be read; errors of ``CloneOptions/willClone``.
  ///   Errors of the clone itself are in ``ClonePlan/errors``.
  public func planClone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try CloneCall(roots, options, from: .snapshot(snapshot), to: self).plan()
  }
}

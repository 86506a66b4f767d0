#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneCore
public import KVCloneModel

/// Creates, finds, compares and deletes snapshots, and rolls back to them.
extension ObjectStore {
  /// The branches of the store.
  public var branches: StoreBranches { StoreBranches(self) }

  /// Creates a named snapshot of the current state. It writes one small record, regardless of the size of the store.
  ///
  /// Afterwards, the first change of each existing entry also writes its preimage. New entries have no extra cost.
  ///
  /// - Parameters:
  ///   - name: 1 to 128 characters from `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, without the prefix `auto-`.
  ///   - expires: the time after which `deleteExpiredSnapshots()` deletes it; nil if it stays until it is deleted by
  ///     name.
  ///   - userInfo: key-value pairs for the description of the snapshot.
  /// - Returns: the snapshot.
  /// - Throws: `invalidSnapshotName`, `snapshotExists`, `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createSnapshot(named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:])
    throws -> Snapshot
  {
    try StoreSnapshots(self).create(name, expires, userInfo)
  }

  /// Creates a named snapshot from asynchronous code.
  @discardableResult
  public func createSnapshot(named name: String, expiresAt expires: Date? = nil, userInfo: [String: String] = [:])
    async throws -> Snapshot
  {
    try await onWriterQueue { try StoreSnapshots(self).create(name, expires, userInfo) }
  }

  /// Creates an automatic snapshot with a generated name, and deletes automatic snapshots that
  /// ``StoreOptions/snapshotRetention`` no longer keeps, in the same transaction.
  ///
  /// - Throws: `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) throws -> Snapshot {
    try StoreSnapshots(self).createAutomatic(userInfo)
  }

  /// Creates an automatic snapshot from asynchronous code.
  @discardableResult
  public func createAutomaticSnapshot(userInfo: [String: String] = [:]) async throws -> Snapshot {
    try await onWriterQueue { try StoreSnapshots(self).createAutomatic(userInfo) }
  }

  /// Returns the descriptions of all named snapshots, in the order of creation.
  public func snapshots() throws(StoreError) -> [SnapshotInfo] { try StoreSnapshots(self).all() }

  /// Returns the snapshot with a name.
  ///
  /// - Throws: `snapshotNotFound`.
  public func snapshot(named name: String) throws(StoreError) -> Snapshot { try StoreSnapshots(self).named(name) }

  /// Deletes named snapshots, and the preimages that only they need. Deletes either all of them or none.
  ///
  /// Time and space depend on the number of these preimages, not on the size of the store. A name that occurs twice
  /// counts once.
  ///
  /// - Throws: `snapshotNotFound`, `snapshotHeld`, `busy`, `diskFull` and other errors of a write transaction.
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshots(named names: [String]) throws { try StoreSnapshots(self).delete(names) }

  /// Deletes named snapshots from asynchronous code.
  public func deleteSnapshots(named names: [String]) async throws {
    try await onWriterQueue { try StoreSnapshots(self).delete(names) }
  }

  /// Deletes a named snapshot; see `deleteSnapshots(named:)`.
  @available(*, noasync, message: "use the asynchronous form")
  public func deleteSnapshot(named name: String) throws { try StoreSnapshots(self).delete([name]) }

  /// Deletes a named snapshot from asynchronous code.
  public func deleteSnapshot(named name: String) async throws {
    try await onWriterQueue { try StoreSnapshots(self).delete([name]) }
  }

  /// Deletes the expired snapshots without holds, and returns their names. A store never does this automatically.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func deleteExpiredSnapshots() throws -> [String] { try StoreSnapshots(self).deleteExpired() }

  /// Deletes the expired snapshots without holds, from asynchronous code.
  @discardableResult
  public func deleteExpiredSnapshots() async throws -> [String] {
    try await onWriterQueue { try StoreSnapshots(self).deleteExpired() }
  }

  /// Pins the latest committed state, as a consistent view for any number of reads until it is closed.
  ///
  /// - Parameters:
  ///   - owner: a name for the list of readers, which identifies the snapshot there.
  ///   - maximumAge: the maximum age; nil for ``StoreOptions/pinnedSnapshotMaximumAge``, which it cannot exceed.
  /// - Returns: the pinned snapshot.
  /// - Throws: `tooManySnapshots`, with the owner of the oldest one; `readersFull`, `closed`, `forked`.
  public func pinnedSnapshot(owner: String = "", maximumAge: Duration? = nil) throws(StoreError) -> PinnedSnapshot {
    try PinnedSnapshot(self, owner: owner, maximumAge: maximumAge)
  }

  /// Calls `body` with every object that differs between a snapshot and another snapshot or the current state, until
  /// `body` returns false.
  ///
  /// Objects are ordered by root entity, and then by serial number. Time and memory depend on the number of changes
  /// between the states, not on the size of the store.
  ///
  /// - Parameters:
  ///   - from: the first state. It may be later than the second one; the differences then lead backwards.
  ///   - to: the second state; nil for the current state of the store.
  ///   - body: receives a difference and returns whether to continue. It must not write to the store.
  /// - Throws: `snapshotNotFound`, `corrupted`; errors of `body`.
  public func diff(
    from: Snapshot, to: Snapshot? = nil, _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    try SnapshotComparison.compare(self, from, to, body)
  }

  /// Returns all objects that differ between a snapshot and another snapshot or the current state; see
  /// ``diff(from:to:_:)``.
  public func diff(from: Snapshot, to: Snapshot? = nil) throws -> [SnapshotDifference] {
    var differences: [SnapshotDifference] = []
    try diff(from: from, to: to) {
      differences.append($0)
      return true
    }
    return differences
  }

  /// Rolls the whole store, or some objects with their subgraphs, back to a snapshot, in one write transaction. An
  /// automatic snapshot is created first, so that the rollback can be undone.
  ///
  /// **Whole store** (`objects` is nil). Objects that were changed or deleted since the snapshot are restored under
  /// their ids, and later objects are deleted regardless of delete rules. Hooks and validation are skipped, because the
  /// earlier state was valid. Only a snapshot that was created inside a write transaction is validated. The rollback is
  /// recorded in the history.
  ///
  /// **Some objects.** The subgraph that a clone would have copied then (``ObjectReading/cloneSet(of:options:)``) is
  /// restored, with its links to outside objects that still exist. Later objects that a clone would copy now are
  /// deleted. The transaction is validated like any other.
  ///
  /// Ids and other counters are never reused.
  ///
  /// - Parameters:
  ///   - snapshot: the target state.
  ///   - objects: the objects to roll back; nil for the whole store.
  /// - Returns: the numbers of changed objects, and the automatic snapshot.
  /// - Throws: `snapshotNotFound`; `incompatibleModel` if the store has another model version; `objectNotFound` for
  ///   objects that the snapshot does not show; ``ValidationError`` (for some objects, or for a snapshot created inside
  ///   a transaction); `busy`, `diskFull` and other errors of a write transaction. The store is unchanged if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func rollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) throws -> RollbackResult {
    try RollbackCall(self, snapshot, objects).run()
  }

  /// Rolls the store back to a snapshot from asynchronous code.
  @discardableResult
  public func rollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) async throws -> RollbackResult {
    try await onWriterQueue { try RollbackCall(self, snapshot, objects).run() }
  }

  /// Rolls the store back to the snapshot with a name; see `rollback(to:objects:)`.
  ///
  /// - Throws: `snapshotNotFound` if no snapshot has the name; the errors of `rollback(to:objects:)`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func rollback(toSnapshotNamed name: String, objects: [ObjectID]? = nil) throws -> RollbackResult {
    try RollbackCall(self, try snapshot(named: name), objects).run()
  }

  /// Rolls the store back to the snapshot with a name, from asynchronous code.
  @discardableResult
  public func rollback(toSnapshotNamed name: String, objects: [ObjectID]? = nil) async throws -> RollbackResult {
    try await onWriterQueue { try RollbackCall(self, try self.snapshot(named: name), objects).run() }
  }

  /// Returns what `rollback(to:objects:)` would change and cost, and all errors, without changing the store.
  ///
  /// The plan runs the rollback in a write transaction that is rolled back. If the plan has no errors, the rollback
  /// succeeds on the same state. The plan waits for the write lock and holds it as long as the rollback would, without
  /// the commit. Hooks are called as in the rollback.
  ///
  /// - Throws: errors that do not depend on the content of objects: `snapshotNotFound`, `incompatibleModel`,
  ///   `objectNotFound`, `readOnly`, `busy` and other errors of a write transaction.
  public func planRollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) throws -> RollbackPlan {
    try RollbackCall(self, snapshot, objects).plan()
  }
}

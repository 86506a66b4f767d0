public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

/// The result of a dry run of a rollback.
public struct RollbackPlan: Sendable, Hashable {
  /// The number of objects that would be restored to their earlier content.
  public let updatedCount: Int
  /// The number of deleted objects that would be restored, under their ids.
  public let recreatedCount: Int
  /// The number of later objects that would be deleted.
  public let deletedCount: Int
  /// The size of the preimages for the automatic snapshot, in bytes, as in ``RollbackResult/replacedByteCount``.
  public let replacedByteCount: UInt64
  /// The first 100 errors that would fail the rollback; empty if it would succeed.
  public let errors: [PlanIssue]
  /// The total number of errors.
  public let errorCount: Int

  /// Whether the rollback would succeed.
  public var isPossible: Bool { errorCount == 0 }

  init(_ tally: RollbackTally, _ reasons: PlanReasons) {
    updatedCount = tally.updatedCount
    recreatedCount = tally.recreatedCount
    deletedCount = tally.deletedCount
    replacedByteCount = tally.replacedByteCount
    errors = reasons.issues
    errorCount = reasons.count
  }
}

/// The result of a rollback.
public struct RollbackResult: Sendable, Hashable {
  /// The number of objects that were restored to their earlier content.
  public let updatedCount: Int
  /// The number of deleted objects that were restored, under their ids.
  public let recreatedCount: Int
  /// The number of later objects that were deleted.
  public let deletedCount: Int
  /// The size of the replaced or deleted data, in bytes.
  ///
  /// The transaction also writes the same amount as preimages for the automatic snapshot, so the rollback writes about
  /// twice as much.
  public let replacedByteCount: UInt64
  /// The snapshot of the state before the rollback; nil if none was created.
  public let automaticSnapshot: SnapshotInfo?
}

/// Bringing back what a snapshot shows.
extension ObjectStore {
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
    try runRollback(snapshot, objects)
  }

  /// Rolls the store back to a snapshot from asynchronous code.
  @discardableResult
  public func rollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) async throws -> RollbackResult {
    try await onWriterQueue { try self.runRollback(snapshot, objects) }
  }

  /// Rolls the store back to the snapshot with a name; see `rollback(to:objects:)`.
  ///
  /// - Throws: `snapshotNotFound` if no snapshot has the name; the errors of `rollback(to:objects:)`.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func rollback(toSnapshotNamed name: String, objects: [ObjectID]? = nil) throws -> RollbackResult {
    try runRollback(try snapshot(named: name), objects)
  }

  /// Rolls the store back to the snapshot with a name, from asynchronous code.
  @discardableResult
  public func rollback(toSnapshotNamed name: String, objects: [ObjectID]? = nil) async throws -> RollbackResult {
    try await onWriterQueue { try self.runRollback(try self.snapshot(named: name), objects) }
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
    let dryRun = RollbackDryRun()
    do {
      _ = try runRollback(snapshot, objects, dryRun)
    } catch {
      try dryRun.reasons.note(thrown: error)
    }
    return RollbackPlan(dryRun.tally, dryRun.reasons)
  }

  /// Counts what is to be done in the whole store.
  private func wholeTally(_ snapshot: Snapshot) throws -> RollbackTally {
    var tally = RollbackTally()
    try diff(from: snapshot) { difference in
      tally.note(difference)
      return true
    }
    return tally
  }

  private func runRollback(_ snapshot: Snapshot, _ objects: [ObjectID]?, _ dryRun: RollbackDryRun? = nil) throws
    -> RollbackResult
  {
    try requireOwn(snapshot)
    let retention = options.snapshotRetention
    // What is saved and what is replaced may each be as large as the store.
    return try onceMoreIfMapFull(times: 2) {
      dryRun?.reasons = PlanReasons()
      let label = dryRun == nil ? "rollback" : "rollback plan"
      return try runWrite(label: label, timeout: nil, dryRun: dryRun?.reasons) { tx in
        tx.operation = "rollback"
        let name = snapshot.info.name
        let (value, past, automatic) = try tx.changeObjects { (session) throws(StoreError) in
          let value = try Snapshots.existing(
            session.storage, session.schema.tables, name, epoch: snapshot.info.epoch)
          let past = try snapshotSchemas.requireSameModel(value, session)
          let automatic = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
            try snapshots.createAutomatic("rollback", userInfo: ["rollback": name])
          }
          return (value, past, automatic)
        }
        var tally: RollbackTally
        // A plan has the counts even if it fails halfway, but not the size of the replaced data.
        if let objects {
          let sets = try rollbackSets(snapshot, objects)
          tally = try tx.changeRollback(of: ObjectRollback.self) { (rollback) throws(StoreError) in
            try rollback.count(sets, to: value)
          }
          dryRun?.tally = tally
          tally.replacedByteCount = try tx.changeRollback(of: ObjectRollback.self) { (rollback) throws(StoreError) in
            try rollback.run(sets, to: value)
          }
        } else {
          do {
            tally = try tx.changeRollback(of: StoreRollback.self) { (rollback) throws(StoreError) in
              try rollback.run(to: value, past, automatic.value)
            }
          } catch {
            // Readers see what the transaction began with.
            dryRun?.tally = try wholeTally(snapshot)
            throw error
          }
          dryRun?.tally = tally
          dryRun?.tally.replacedByteCount = 0
          if value.isUnfinished {
            if let dryRun { try tx.validateRollback(dryRun.reasons) } else { try tx.validateRollback() }
          }
          try tx.changeRollback(of: StoreRollback.self) { (rollback) throws(StoreError) in try rollback.end(from: past)
          }
        }
        dryRun?.tally = tally
        try tx.changeSnapshots { (snapshots) throws(StoreError) in
          try snapshots.deleteSuperfluous(retention, sparing: name)
        }
        return tally.result(automatic.info)
      }
    }
  }

  /// What belongs to some objects, then and now. Nobody else writes meanwhile, where this is called in a write
  /// transaction.
  private func rollbackSets(_ snapshot: Snapshot, _ objects: [ObjectID]) throws -> RollbackSets {
    let past = ReadTransaction(try snapshotSession(snapshot.info.name, epoch: snapshot.info.epoch))
    let then = try past.cloneSet(of: objects)
    let reader = ReadTransaction(try readSession())
    let left = try objects.filter { try reader.exists($0) }
    let now = left.isEmpty ? [] : try reader.cloneSet(of: left)
    // Not those with later serials: a rollback may have brought back what the snapshot does not show.
    let doomed = try now.filter { try !past.exists($0) }
    try schema.requireReading(past.session.schema, of: snapshot.info.name)
    return RollbackSets(past: then, doomed: doomed)
  }
}

extension SnapshotSchemas {
  /// The schema of a snapshot whose model means the same to stored data as the store's.
  ///
  /// - Throws: `incompatibleModel` where what a snapshot shows is not for the store's model.
  fileprivate func requireSameModel(
    _ snapshot: SnapshotValue, _ session: borrowing Session
  ) throws(StoreError) -> Schema {
    let schema = session.schema
    let past = try self.schema(of: snapshot, session.storage, schema)
    // A version that came back after another one stores what it has under other codes.
    if past.model.modelHash == schema.model.modelHash,
      SchemaCodes.storeAlike(past.codes, past.model, as: schema.codes, schema.model)
    {
      return past
    }
    throw StoreError(
      .incompatibleModel,
      "the store was migrated after the snapshot was created (by version \(past.model.versionIdentifier), "
        + "\(past.model.modelHash.hex.prefix(12))…); clone from the snapshot, or load a dump of it into a new store")
  }
}

extension WriteTransaction {
  fileprivate mutating func changeRollback<Rollback: SessionOwner & ~Copyable, R>(
    of _: Rollback.Type, _ body: (inout Rollback) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try changeObjects { (session) throws(StoreError) in try Rollback.own(&session, body) }
  }

  /// Refuses to bring back what broke the model's rules when a transaction was half way.
  fileprivate borrowing func validateRollback() throws {
    let issues = try ObjectValidation.issues(in: session)
    guard issues.isEmpty else { throw ValidationError(issues: issues) }
  }

  /// The same for a dry run, which collects all of it.
  fileprivate borrowing func validateRollback(_ reasons: PlanReasons) throws {
    try ObjectValidation.validateChanges(in: session) { issues in
      reasons.note(issues)
      return true
    }
  }
}

/// The dry run of a rollback.
private final class RollbackDryRun {
  /// Those of the present attempt.
  var reasons = PlanReasons()
  var tally = RollbackTally()
}

/// The objects that are brought back, and those that came since and go.
struct RollbackSets {
  let past: [ObjectID]
  let doomed: [ObjectID]
}

/// Counts what a rollback does.
struct RollbackTally {
  var updatedCount = 0
  var recreatedCount = 0
  var deletedCount = 0
  var replacedByteCount: UInt64 = 0

  mutating func note(_ difference: SnapshotDifference) {
    switch difference.kind {
    case .inserted: deletedCount += 1
    case .updated: updatedCount += 1
    case .deleted: recreatedCount += 1
    }
  }

  func result(_ automatic: SnapshotInfo?) -> RollbackResult {
    RollbackResult(
      updatedCount: updatedCount, recreatedCount: recreatedCount, deletedCount: deletedCount,
      replacedByteCount: replacedByteCount, automaticSnapshot: automatic)
  }
}

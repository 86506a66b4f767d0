import KVCloneCore
import KVCloneModel
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

  /// Returns the plan of a rollback as ``ObjectStore/planRollback(to:objects:)`` does.
  ///
  /// - Parameter timeout: the longest wait for the write lock, in place of that of the store's options.
  /// - Throws: `busy` if another transaction holds the write lock for longer.
  package static func of(
    _ snapshot: Snapshot, objects: [ObjectID]?, in store: ObjectStore, timeout: Duration
  ) throws -> RollbackPlan {
    try RollbackCall(store, snapshot, objects, timeout: timeout).plan()
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

/// A rollback of a store, or of some of its objects, to a snapshot.
struct RollbackCall {
  private let store: ObjectStore
  /// The target; nil for the base of the branch.
  private let snapshot: Snapshot?
  private let objects: [ObjectID]?
  private let timeout: Duration?

  /// - Parameter timeout: the longest wait for the write lock; nil for that of the store's options.
  init(_ store: ObjectStore, _ snapshot: Snapshot?, _ objects: [ObjectID]?, timeout: Duration? = nil) {
    self.store = store
    self.snapshot = snapshot
    self.objects = objects
    self.timeout = timeout
  }

  func run() throws -> RollbackResult { try run(nil) }

  /// Runs the rollback as a dry run.
  func plan() throws -> RollbackPlan {
    let dryRun = RollbackDryRun()
    do {
      _ = try run(dryRun)
    } catch {
      try dryRun.reasons.note(thrown: error)
    }
    return RollbackPlan(dryRun.tally, dryRun.reasons)
  }

  private func run(_ dryRun: RollbackDryRun?) throws -> RollbackResult {
    if let snapshot { try StoreSnapshots(store).requireOwn(snapshot) }
    if objects == nil, let reset = try BranchReset(store, snapshot, timeout) { return try reset.run(dryRun) }
    let retention = store.options.snapshotRetention
    // The preimages and the replaced data may each be as large as the store.
    return try retryIfMapFull(times: 2) {
      dryRun?.reasons = PlanReasons()
      let label = dryRun == nil ? "rollback" : "rollback plan"
      return try store.runWrite(label: label, timeout: timeout, dryRun: dryRun?.reasons) { tx in
        tx.operation = "rollback"
        let (target, past, automatic) = try tx.changeObjects { (session) throws(StoreError) in
          let target = try RollbackTarget(snapshot, in: session)
          let past = try StoreSnapshots(store).schemas.requireSameModel(target.value, session)
          let automatic = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
            try snapshots.createAutomatic("rollback", userInfo: target.userInfo)
          }
          return (target, past, automatic)
        }
        var tally: RollbackTally
        // A plan has the counts even if it fails halfway, but not the size of the replaced data.
        if let objects {
          let sets = try rollbackSets(objects)
          tally = try ObjectRollback.change(in: &tx) { (rollback) throws(StoreError) in
            try rollback.count(sets, to: target)
          }
          dryRun?.tally = tally
          tally.replacedByteCount = try ObjectRollback.change(in: &tx) { (rollback) throws(StoreError) in
            try rollback.run(sets, to: target)
          }
        } else {
          do {
            tally = try StoreRollback.change(in: &tx) { (rollback) throws(StoreError) in
              try rollback.run(to: target.value, past, automatic.value)
            }
          } catch {
            // Reads see the state at the beginning of the transaction.
            dryRun?.tally = try wholeTally()
            throw error
          }
          dryRun?.tally = tally
          dryRun?.tally.replacedByteCount = 0
          if target.value.isUnfinished {
            try Self.validate(tx, dryRun)
          }
          try StoreRollback.change(in: &tx) { (rollback) throws(StoreError) in try rollback.end(from: past)
          }
        }
        dryRun?.tally = tally
        try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in
          try snapshots.deleteSuperfluous(retention, sparing: target.name)
        }
        return tally.result(automatic.info)
      }
    }
  }

  /// Rejects the rollback if the snapshot, which was created inside a transaction, breaks the model's rules. A dry run
  /// collects all errors.
  private static func validate(_ transaction: borrowing WriteTransaction, _ dryRun: RollbackDryRun?) throws {
    if let dryRun {
      return try ObjectValidation.validateChanges(in: transaction.session) { issues in
        dryRun.reasons.note(issues)
        return true
      }
    }
    let issues = try ObjectValidation.issues(in: transaction.session)
    guard issues.isEmpty else { throw ValidationError(issues: issues) }
  }

  /// Counts the changes in the whole store.
  private func wholeTally() throws -> RollbackTally {
    var tally = RollbackTally()
    guard let snapshot else { return tally }
    try SnapshotComparison.compare(store, snapshot, nil) { difference in
      tally.note(difference)
      return true
    }
    return tally
  }

  /// Returns the objects that the subgraphs contain in the snapshot and now. In a write transaction, no other writer
  /// can change them.
  private func rollbackSets(_ objects: [ObjectID]) throws -> RollbackSets {
    let past = ReadTransaction(try StoreSnapshots(store).session(ofTarget: snapshot))
    let then = try past.cloneSet(of: objects)
    let reader = ReadTransaction(try store.readSession())
    let left = try objects.filter { try reader.exists($0) }
    let now = left.isEmpty ? [] : try reader.cloneSet(of: left)
    // Not those with later serials: an earlier rollback may have restored objects that the snapshot does not show.
    let doomed = try now.filter { try !past.exists($0) }
    try store.schema.requireReading(past.session.schema, of: snapshot?.name ?? "of the base")
    return RollbackSets(past: then, doomed: doomed)
  }
}

extension SnapshotSchemas {
  /// Returns the schema of a snapshot with a model that describes stored data in the same way as the store's.
  ///
  /// - Throws: `incompatibleModel` if the snapshot's data does not match the store's model.
  func requireSameModel(
    _ snapshot: SnapshotValue, _ session: borrowing Session
  ) throws(StoreError) -> Schema {
    let schema = session.schema
    let past = try self.schema(of: snapshot, session.storage, schema)
    // A version that was replaced and then adopted again stores its data under other codes.
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

/// The dry run of a rollback.
final class RollbackDryRun {
  /// The reasons of the current attempt.
  var reasons = PlanReasons()
  var tally = RollbackTally()
}

/// The objects to restore, and the later objects to delete.
struct RollbackSets {
  let past: [ObjectID]
  let doomed: [ObjectID]
}

/// The numbers of changes of a rollback.
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

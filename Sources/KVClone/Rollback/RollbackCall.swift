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
  private let snapshot: Snapshot
  private let objects: [ObjectID]?

  init(_ store: ObjectStore, _ snapshot: Snapshot, _ objects: [ObjectID]?) {
    self.store = store
    self.snapshot = snapshot
    self.objects = objects
  }

  func run() throws -> RollbackResult { try run(nil) }

  /// Runs the rollback in a dry run.
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
    try StoreSnapshots(store).requireOwn(snapshot)
    let retention = store.options.snapshotRetention
    // What is saved and what is replaced may each be as large as the store.
    return try onceMoreIfMapFull(times: 2) {
      dryRun?.reasons = PlanReasons()
      let label = dryRun == nil ? "rollback" : "rollback plan"
      return try store.runWrite(label: label, timeout: nil, dryRun: dryRun?.reasons) { tx in
        tx.operation = "rollback"
        let name = snapshot.info.name
        let (value, past, automatic) = try tx.changeObjects { (session) throws(StoreError) in
          let value = try Snapshots.existing(
            session.storage, session.schema.tables, name, epoch: snapshot.info.epoch)
          let past = try StoreSnapshots(store).schemas.requireSameModel(value, session)
          let automatic = try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
            try snapshots.createAutomatic("rollback", userInfo: ["rollback": name])
          }
          return (value, past, automatic)
        }
        var tally: RollbackTally
        // A plan has the counts even if it fails halfway, but not the size of the replaced data.
        if let objects {
          let sets = try rollbackSets(objects)
          tally = try ObjectRollback.change(in: &tx) { (rollback) throws(StoreError) in
            try rollback.count(sets, to: value)
          }
          dryRun?.tally = tally
          tally.replacedByteCount = try ObjectRollback.change(in: &tx) { (rollback) throws(StoreError) in
            try rollback.run(sets, to: value)
          }
        } else {
          do {
            tally = try StoreRollback.change(in: &tx) { (rollback) throws(StoreError) in
              try rollback.run(to: value, past, automatic.value)
            }
          } catch {
            // Readers see what the transaction began with.
            dryRun?.tally = try wholeTally()
            throw error
          }
          dryRun?.tally = tally
          dryRun?.tally.replacedByteCount = 0
          if value.isUnfinished {
            try Self.validate(tx, dryRun)
          }
          try StoreRollback.change(in: &tx) { (rollback) throws(StoreError) in try rollback.end(from: past)
          }
        }
        dryRun?.tally = tally
        try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in
          try snapshots.deleteSuperfluous(retention, sparing: name)
        }
        return tally.result(automatic.info)
      }
    }
  }

  /// Refuses to bring back what broke the model's rules when a transaction was half way. A dry run collects all of it.
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

  /// Counts what is to be done in the whole store.
  private func wholeTally() throws -> RollbackTally {
    var tally = RollbackTally()
    try SnapshotComparison.compare(store, snapshot, nil) { difference in
      tally.note(difference)
      return true
    }
    return tally
  }

  /// What belongs to some objects, then and now. Nobody else writes meanwhile, where this is called in a write
  /// transaction.
  private func rollbackSets(_ objects: [ObjectID]) throws -> RollbackSets {
    let past = ReadTransaction(try StoreSnapshots(store).session(of: snapshot))
    let then = try past.cloneSet(of: objects)
    let reader = ReadTransaction(try store.readSession())
    let left = try objects.filter { try reader.exists($0) }
    let now = left.isEmpty ? [] : try reader.cloneSet(of: left)
    // Not those with later serials: a rollback may have brought back what the snapshot does not show.
    let doomed = try now.filter { try !past.exists($0) }
    try store.schema.requireReading(past.session.schema, of: snapshot.info.name)
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

public import KVCloneModel
import KVCloneRecords

/// What a rollback would do.
public struct RollbackPlan: Sendable, Hashable {
  /// Objects that would be changed back.
  public let updatedCount: Int
  /// Objects that were deleted, and would be there again, under their ids.
  public let recreatedCount: Int
  /// Objects that came later, and would be deleted.
  public let deletedCount: Int
  /// Bytes of previous states that would be saved for the automatic snapshot, as ``RollbackResult/replacedByteCount``.
  public let replacedByteCount: UInt64
  /// The reasons for which the rollback would fail, the first 100 of them.
  public let errors: [PlanIssue]
  /// How many reasons there are.
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

/// What a rollback did.
public struct RollbackResult: Sendable, Hashable {
  /// Objects that were changed, and are again what they were.
  public let updatedCount: Int
  /// Objects that were deleted, and are there again, under their ids.
  public let recreatedCount: Int
  /// Objects that came later, and are gone.
  public let deletedCount: Int
  /// Bytes of what is replaced or deleted, as they are in the store. As much is saved for the automatic snapshot, in the same
  /// transaction, so the rollback writes at least that, and about twice as much.
  public let replacedByteCount: UInt64
  /// The snapshot of what the store showed before.
  public let automaticSnapshot: SnapshotInfo?
}

/// Bringing back what a snapshot shows.
extension ObjectStore {
  /// Brings the whole store, or some objects with all that belongs to them, back to what a snapshot shows, in one write
  /// transaction. First an automatic snapshot is made, to which the store can be rolled back in turn.
  ///
  /// The whole store: what was changed or deleted since is again what it was, under its ids, and what came since is deleted,
  /// whatever the delete rules say. Neither hooks nor validation are asked: all was so before. Only a snapshot that was made
  /// within a transaction, of what that had changed so far, is validated. The history tells of it.
  ///
  /// Some objects: what a clone of them would have copied then (``ObjectReading/cloneSet(of:options:)``) is brought back, with its
  /// links, as far as the objects outside are there. What a clone would copy now, and came since, is deleted. The
  /// transaction is validated like any other.
  ///
  /// Ids are never given again, nor is anything else that is counted.
  ///
  /// - Parameters:
  ///   - snapshot: where to go back to.
  ///   - objects: the objects; nil is the whole store.
  /// - Throws: `snapshotNotFound`; `incompatibleModel` where the store has another version of its model by now;
  ///   `objectNotFound` for objects that the snapshot does not show; ``ValidationError`` (some objects, or a snapshot made
  ///   within a transaction); `busy`, `diskFull` …
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func rollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) throws -> RollbackResult {
    try runRollback(snapshot, objects)
  }

  /// Brings back what a snapshot shows, from asynchronous code.
  @discardableResult
  public func rollback(to snapshot: Snapshot, objects: [ObjectID]? = nil) async throws -> RollbackResult {
    try await onWriterQueue { try self.runRollback(snapshot, objects) }
  }

  /// Rolls the store back to the snapshot with a name; see ``rollback(to:objects:)``.
  ///
  /// - Throws: `snapshotNotFound` if no snapshot has the name; what ``rollback(to:objects:)`` throws.
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

  /// Returns what `rollback(to:objects:)` would do and cost, and every reason for which it would fail. Nothing is
  /// changed.
  ///
  /// The plan runs the rollback itself, in a write transaction that is rolled back: a plan without errors is a rollback
  /// that succeeds on the same state. It waits for the write lock and holds it as long as the rollback would, without
  /// the commit. Hooks are called where the rollback calls them.
  ///
  /// - Throws: what the rollback throws whatever the objects hold: `snapshotNotFound`, `incompatibleModel`,
  ///   `objectNotFound`, `readOnly`, `busy` …
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
          let value = try session.existingSnapshot(name, epoch: snapshot.info.epoch)
          let past = try session.requireSameModel(as: value, snapshotSchemas)
          return (value, past, try session.createAutomaticSnapshot("rollback", userInfo: ["rollback": name]))
        }
        let result: RollbackResult
        if let objects {
          let sets = try rollbackSets(snapshot, objects)
          dryRun?.tally = sets.tally
          result = try tx.changeObjects { (session) throws(StoreError) in
            try session.rollBack(to: value, sets, automatic)
          }
        } else {
          // Readers see what the transaction began with.
          let tally = try wholeTally(snapshot)
          dryRun?.tally = tally
          result = try tx.changeObjects { (session) throws(StoreError) in
            try session.rollBack(to: value, automatic, tally)
          }
          if value.isUnfinished {
            if let dryRun { try tx.validateRollback(dryRun.reasons) } else { try tx.validateRollback() }
          }
          try tx.changeObjects { (session) throws(StoreError) in try session.endRollback(from: past) }
        }
        dryRun?.tally.replacedByteCount = result.replacedByteCount
        try tx.changeObjects { (session) throws(StoreError) in
          try session.deleteSuperfluousSnapshots(retention, sparing: name)
        }
        return result
      }
    }
  }

  /// What belongs to some objects, then and now. Nobody else writes meanwhile, where this is called in a write transaction.
  private func rollbackSets(_ snapshot: Snapshot, _ objects: [ObjectID]) throws -> RollbackSets {
    let past = ReadTransaction(try snapshotSession(snapshot.info.name, epoch: snapshot.info.epoch))
    let then = try past.cloneSet(of: objects)
    let reader = ReadTransaction(try readSession())
    let left = try objects.filter { try reader.exists($0) }
    let now = left.isEmpty ? [] : try reader.cloneSet(of: left)
    // Not those with later serials: a rollback may have brought back what the snapshot does not show.
    let sets = RollbackSets(past: then, doomed: try now.filter { try !past.exists($0) })
    let source = try snapshotSession(snapshot.info.name, epoch: snapshot.info.epoch, byPresentModel: true)
    return try sets.compared(source, reader.session)
  }

  /// - Throws: `snapshotNotFound` for a snapshot of another store, of which this one may have a namesake.
  func requireOwn(_ snapshot: Snapshot) throws(StoreError) {
    if snapshot.store.uuid == uuid { return }
    throw StoreError(
      .snapshotNotFound, "the snapshot \(snapshot.name) is one of another store; ask this one for its own")
  }
}

extension WriteTransaction {
  /// Refuses to bring back what broke the model's rules when a transaction was half way.
  fileprivate borrowing func validateRollback() throws {
    let issues = try session.validationIssues()
    guard issues.isEmpty else { throw ValidationError(issues: issues) }
  }

  /// The same for a dry run, which collects all of it.
  fileprivate borrowing func validateRollback(_ reasons: PlanReasons) throws {
    try session.validateChanges { issues in
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
  /// Those that are there, and are not what they were.
  private(set) var changed: [ObjectID] = []
  private(set) var tally = RollbackTally()

  init(past: [ObjectID], doomed: [ObjectID]) {
    self.past = past
    self.doomed = doomed
  }

  /// With what is to be done.
  func compared(_ past: borrowing Session, _ now: borrowing Session) throws(StoreError) -> RollbackSets {
    var result = self
    let all = ObjectSet(self.past)
    for id in self.past {
      if try !now.exists(id) {
        result.tally.recreatedCount += 1
      } else if try now.isChanged(id, since: past, all) {
        result.changed.append(id)
      }
    }
    result.tally.updatedCount = result.changed.count
    result.tally.deletedCount = doomed.count
    return result
  }
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

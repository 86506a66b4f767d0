public import KVCloneCore
public import KVCloneModel
import KVCloneQuery
import KVCloneRecords

/// The interface of a stage handler to the objects of a running migration.
///
/// All reads and writes belong to the one transaction of the migration, with the steps before and after.
public struct StagedMigrationManager: ~Copyable {
  /// Objects that are looked for at a time.
  private static var batchCount: Int { 1024 }

  /// The stage of the running handler.
  public let stage: CustomMigrationStage
  private var writer: WriteTransaction
  private let run: MigrationRun

  init(_ writer: consuming WriteTransaction, _ stage: CustomMigrationStage, _ run: MigrationRun) {
    self.writer = writer
    self.stage = stage
    self.run = run
  }

  /// Gives the transaction back.
  consuming func finish() -> WriteTransaction { writer }

  /// Reads objects, with the model version of the handler.
  public borrowing func read<R>(_ body: (borrowing WriteTransaction) throws -> R) rethrows -> R { try body(writer) }

  /// Changes objects, with the model version of the handler.
  ///
  /// A handler can catch an error that `body` throws. After a change that failed halfway, the migration still fails
  /// when the handler returns.
  public mutating func write<R>(_ body: (inout WriteTransaction) throws -> R) rethrows -> R { try body(&writer) }

  /// Calls `body` with each object of an entity, in ascending order of serial numbers, with constant memory.
  ///
  /// `body` may change, insert and delete any object. It is not called with objects that it inserted, or deleted before
  /// their turn. The call reports progress, and throws if the migration is cancelled.
  ///
  /// - Parameters:
  ///   - entity: the name of the entity.
  ///   - predicate: restricts the objects; nil for all. It is evaluated for batches of objects, slightly ahead of
  ///     `body`.
  ///   - includesSubentities: whether objects of subentities are included.
  ///   - body: the code to run for each object.
  /// - Throws: errors of `body`; `unknownEntity`; `invalidPredicate`; `cancelled`.
  public mutating func forEachObject(
    of entity: String, where predicate: QueryPredicate? = nil, includesSubentities: Bool = true,
    _ body: (inout WriteTransaction, ObjectID) throws -> Void
  ) throws {
    let end = try writer._withSession { (session) throws(StoreError) in
      try session.nextSerial(rootCode: try session.schema.entity(entity).rootCode)
    }
    var start: UInt64 = 0
    while true {
      let ids = try writer._withSession { (session) throws(StoreError) in
        try session.ids(
          of: try session.schema.entity(entity), includesSubentities: includesSubentities, where: predicate,
          from: start, below: end, limit: Self.batchCount)
      }
      for id in ids {
        if try writer.exists(id) { try body(&writer, id) }
      }
      try run.advance(by: ids.count)
      guard let last = ids.last, ids.count == Self.batchCount else { return }
      start = last.serial + 1
    }
  }
}

extension Session {
  /// Runs a handler, and has what it changed be as valid as after a commit; the session that goes on.
  ///
  /// - Parameter history: where the handlers' changes are noted; nil where the store keeps no history.
  consuming func running(
    _ handler: CustomMigrationStage.Handler, of stage: CustomMigrationStage, in phase: OperationProgress.Phase,
    _ run: MigrationRun, _ history: inout HistoryRecorder?
  ) throws(StoreError) -> Session {
    try run.begin(phase)
    changes.history = history
    history = nil
    var manager = StagedMigrationManager(WriteTransaction(self), stage, run)
    do { try handler(&manager) } catch { throw stage.failure(error, in: phase) }
    var transaction = manager.finish()
    // A handler may have gone on where a change had failed half way.
    if let failure = transaction.session.changes.failure { throw stage.failure(failure, in: phase) }
    do { try transaction.prepareToSave() } catch { throw stage.failure(error, in: phase) }
    var session = transaction.takeSession()
    if let failure = session.changes.failure { throw stage.failure(failure, in: phase) }
    let issues = try session.validationIssues()
    guard issues.isEmpty else { throw stage.invalid(issues, in: phase) }
    history = session.changes.history
    session.forgetChanges()
    return session
  }

  /// Objects of an entity for which a predicate is true, by ascending serial.
  borrowing func ids(
    of entity: CompiledEntity, includesSubentities: Bool = false, where predicate: QueryPredicate?, from start: UInt64,
    below end: UInt64 = .max, limit: Int
  ) throws(StoreError) -> [ObjectID] {
    var compiler = queryCompiler(entity)
    var condition: QueryCondition?
    if let predicate {
      if predicate.isTooDeep { throw compiler.tooDeep }
      condition = try compiler.condition(predicate)
    }
    let evaluator = QueryEvaluator(schema)
    var ids: [ObjectID] = []
    try forEachRecord(of: entity, includesSubentities: includesSubentities, from: start) {
      (id, view) throws(StoreError) in
      if id.serial >= end { return false }
      if let condition, try !evaluator.holds(condition, id, view, self) { return true }
      ids.append(id)
      return ids.count < limit
    }
    return ids
  }
}

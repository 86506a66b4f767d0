public import KVCloneCore
public import KVCloneModel

/// The interface of a stage handler to the objects of a running migration.
///
/// All reads and writes belong to the one transaction of the migration, with the steps before and after.
public struct StagedMigrationManager: ~Copyable {
  /// The number of objects per batch.
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

  /// Returns the transaction.
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
        try ObjectSearch.ids(
          session, of: try session.schema.entity(entity), includesSubentities: includesSubentities, where: predicate,
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

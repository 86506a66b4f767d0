import KVCloneModel
import KVCloneRecords

/// A state of a write transaction and its session to which it can be rolled back.
struct Savepoint {
  private let storage: StorageSavepoint
  private let (journal, sets): (SerialJournal, SerialJournal.Savepoint)
  /// The state before the savepoint, without the sets of objects, which the journal restores.
  private var state: TransactionState
  private let restoreInserts: (() -> Void)?
  private let replaced: [ObjectID: ObjectID]?

  /// Begins a savepoint. The session must not have deferred changes.
  init(_ session: inout Session) throws(StoreError) {
    storage = try session.storage.beginSavepoint(directory: session.context.scratchDirectory)
    (journal, sets) = session.changes.beginSavepoint()
    session.state.history?.journal = journal
    restoreInserts = session.state.history?.insertsRestorer()
    replaced = session.state.replaced?.all
    state = session.state
    // Serials are never reused, and a second reference to them would force a copy.
    state.changes.nextSerials = [:]
  }

  /// Undoes all changes since the savepoint, and ends it.
  ///
  /// - Parameter error: the error that causes the rollback.
  /// - Throws: the error of the engine; the transaction is then abort-only.
  consuming func rollBack(_ session: inout Session, after error: any Error) throws {
    do throws(StoreError) {
      try session.storage.rollBack(to: storage)
    } catch let failure {
      session.changes.fail(error)
      session.changes.fail(failure)
      let cause = failure.cause(in: session.changes)
      session.changes.failure = nil
      session.changes.fail(cause)
      throw cause
    }
    let (serials, blobSerial) = (session.changes.nextSerials, session.changes.nextBlobSerial)
    session.state = state
    session.changes.nextSerials = serials
    session.changes.nextBlobSerial = blobSerial
    journal.rollBack(to: sets)
    restoreInserts?()
    if let replaced { session.state.replaced?.restore(replaced) }
    session.forgetTransientState()
  }

  /// Ends the savepoint and keeps the changes since.
  consuming func release(_ session: inout Session) {
    session.storage.release(storage)
    journal.release(sets)
  }
}

extension StoreError {
  /// Returns the error to report if this one ends a rollback: after an error of its own, the engine refuses the
  /// rollback, and that error is the cause, even if the caller of a nested savepoint caught it.
  func cause(in changes: PendingChanges) -> StoreError {
    kind == .transactionAborted ? changes.engineFailure ?? self : self
  }
}

extension WriteTransaction {
  /// Runs `body` in a savepoint: if it throws, its changes are rolled back, and the transaction continues with the
  /// state before.
  ///
  /// ```swift
  /// try store.write { tx in
  ///   for line in lines {
  ///     do { try tx.savepoint { tx in try insert(line, &tx) } } catch { rejected.append(line) }
  ///   }
  /// }
  /// ```
  ///
  /// The rollback covers all changes of `body`: objects, relationships, blobs, snapshots, clones and deletions, also
  /// those that failed after their first change, which make the transaction abort-only outside a savepoint. It takes
  /// about as long as the changes. Ids that `body` allocated are not reused. Savepoints can be nested. Changes are
  /// validated when the transaction commits.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`. `transactionAborted` if the transaction was already abort-only, or if `body`
  ///   returned although a change had failed; the savepoint is then rolled back. If the rollback itself fails, the
  ///   error of the storage engine, such as `io`; the transaction is then abort-only.
  @discardableResult
  public mutating func savepoint<R>(_ body: (inout WriteTransaction) throws -> R) throws -> R {
    if let failure = session.changes.failure { throw failure }
    try settle()
    let savepoint = try Savepoint(&session)
    do {
      let result = try body(&self)
      try settle()
      if let failure = session.changes.failure { throw failure }
      savepoint.release(&session)
      return result
    } catch {
      try savepoint.rollBack(&session, after: error)
      throw error
    }
  }
}

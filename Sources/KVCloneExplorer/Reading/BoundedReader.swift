import KVClone
import KVCloneCore

/// Read transactions that end at a deadline.
struct BoundedReader: Sendable {
  let store: ObjectStore
  let deadline: Deadline

  /// Runs `body` in a transaction of the present state, or of a snapshot.
  ///
  /// - Throws: ``ExplorerError`` with `timeLimit` or `cancelled`; errors of `body`; and those of `ObjectStore.read`.
  func read<Result: Sendable>(
    at snapshotName: String?, _ body: @Sendable (borrowing ReadTransaction) throws -> Result
  ) async throws -> Result {
    try deadline.check()
    do {
      guard let snapshotName else { return try await store.read { tx in try bounded(tx, body) } }
      return try await StateName.snapshot(snapshotName, of: store).read { tx in try bounded(tx, body) }
    } catch let error as StoreError where error.kind == .cancelled {
      try deadline.check()
      throw error
    }
  }

  /// Runs `body` in a view of a transaction that checks the deadline.
  private func bounded<Result>(
    _ transaction: borrowing ReadTransaction, _ body: (borrowing ReadTransaction) throws -> Result
  ) throws -> Result {
    try transaction._withSession { session in
      var storage = StorageTransaction(lookingInto: session.storage)
      storage.interpose { DeadlineBackend($0, deadline) }
      let view = store.context.session(storage, session.schema, shownCommit: session.shownCommit)
      view.trustFetchIndexes(try session.hasCurrentFetchIndexes())
      return try body(ReadTransaction(view))
    }
  }
}

import KVCloneCore

/// The transaction of a branch within one of its store.
struct MergeTransaction: ~Copyable, SessionOwner {
  var transaction: WriteTransaction

  init(_ session: consuming Session) {
    transaction = WriteTransaction(session)
  }

  consuming func finish() -> Session { transaction.takeSession() }
}

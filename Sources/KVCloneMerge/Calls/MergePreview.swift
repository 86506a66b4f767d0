import KVCloneCore

extension MergeStates {
  /// Calls `body` with a transaction in memory that has carried out a merge, up to its commit (B12). It takes no lock.
  /// Hooks are called as in a merge.
  func preview<R>(
    _ apply: (inout WriteTransaction) throws -> Void, _ body: (borrowing WriteTransaction) throws -> R
  ) throws -> R {
    let storage = StorageTransaction(lookingInto: scratch)
    var transaction = WriteTransaction(target.writeContext.session(storage, target.schema, commit: commit + 1))
    // Hooks may have seen the ids.
    defer { target.noteSerials(of: transaction.session.changes, dryRun: PlanReasons()) }
    try apply(&transaction)
    try transaction.prepareToSave()
    return try body(transaction)
  }
}

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

  /// The error that prevents ours from having more objects; nil if the limits allow it.
  func limitError(adding count: Int) throws(StoreError) -> CloneError? {
    let ours = target.context.session(StorageTransaction(lookingInto: scratch), target.schema)
    return try StoreLimits.error(addingClones: count, in: ours)
  }
}

extension PlanReasons {
  /// Records why a merge in memory failed: the refusal of a hook, or another reason for the plan. Throws every other
  /// error.
  func note(previewing error: any Error) throws {
    if error is any KVCloneError || error is CancellationError { return try note(thrown: error) }
    guard let rejection = error as? LifecycleRejection else {
      return note(PlanIssue(StoreError(.hookFailed, "a hook failed: \(error)")))
    }
    note(
      PlanIssue(
        StoreError(
          .hookFailed,
          "a hook rejected the merge: \(rejection.message); change the objects so that the hook accepts them",
          property: rejection.property)))
  }

  /// Records the rules of the model that a merge in memory breaks, if only its derived values tell them.
  func noteDerivedValues(in transaction: borrowing WriteTransaction) throws {
    guard transaction.session.schema.hasDerivedConstraints else { return }
    try ObjectValidation.validateChanges(in: transaction.session) { issues in
      note(issues)
      return true
    }
  }
}

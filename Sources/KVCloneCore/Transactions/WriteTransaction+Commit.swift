extension WriteTransaction {
  /// Checks the changes and makes them durable. If it throws, nothing was written.
  ///
  /// - Parameters:
  ///   - store: the store that the transaction belongs to.
  ///   - reasons: collects, for a dry run, what a commit would throw; nothing is committed then.
  package consuming func commit(_ store: ObjectStore, dryRun reasons: PlanReasons? = nil) throws {
    store.noteSerials(of: session.changes, dryRun: reasons)
    if let failure = session.changes.failure { throw failure }
    // Without changes there is nothing to commit, and the counter stays.
    if session.changes.isEmpty && session.storage.changeCount == 0 { return }
    let announced: [SavedObjects]
    do {
      try prepareToSave()
      announced = try self.announced()
    } catch {
      store.noteSerials(of: session.changes, dryRun: reasons)
      throw error
    }
    store.noteSerials(of: session.changes, dryRun: reasons)
    if let reasons { return try session.checkCommit(reasons) }
    let issues = session.changes.refusals + (try session.validationIssues())
    guard issues.isEmpty else { throw ValidationError(issues: issues) }
    try session.writeHistory()
    try session.writeCounters()
    try session.checkLimits()
    if session.changes.takesAway { session.storage.markDeleteOnly() }
    let committed = takeSession()
    try committed.storage.commit()
    store.commitSignal.noteCommit()
    for saved in announced { saved.announce(store) }
  }
}

extension Session {
  /// Checks, for a dry run, all that a commit checks, in the same order, and collects every reason instead of throwing
  /// the first.
  fileprivate mutating func checkCommit(_ reasons: PlanReasons) throws {
    reasons.note(changes.refusals)
    try validateChanges { issues in
      reasons.note(issues)
      return true
    }
    do {
      try writeHistory()
      try writeCounters()
      try checkLimits()
      if changes.takesAway { storage.markDeleteOnly() }
      try storage.space()?.checkCommitRoom()
    } catch {
      try reasons.note(thrown: error)
    }
  }
}

/// A write transaction that has passed all checks of a commit.
package struct PreparedCommit {
  /// The objects with hooks that are called after the commit.
  let saved: [SavedObjects]
  /// Whether the transaction only deletes.
  let isDeleteOnly: Bool

  /// Calls the hooks, after the commit.
  package func announce(_ store: ObjectStore) {
    for saved in saved { saved.announce(store) }
  }
}

extension WriteTransaction {
  /// Checks the changes and makes them durable. If it throws, nothing was written.
  ///
  /// - Parameters:
  ///   - store: the store that the transaction belongs to.
  ///   - reasons: collects, for a dry run, what a commit would throw; nothing is committed then.
  package consuming func commit(_ store: ObjectStore, dryRun reasons: PlanReasons? = nil) throws {
    guard let prepared = try prepareCommit(store, dryRun: reasons) else { return }
    if prepared.isDeleteOnly { session.storage.markDeleteOnly() }
    let committed = takeSession()
    try committed.storage.commit()
    store.commitSignal.noteCommit()
    prepared.announce(store)
  }

  /// Completes the changes, checks them, and writes what belongs to a commit.
  ///
  /// - Returns: nil if there is nothing to commit, or if `reasons` has collected everything.
  package mutating func prepareCommit(_ store: ObjectStore, dryRun reasons: PlanReasons? = nil) throws
    -> PreparedCommit?
  {
    store.noteSerials(of: session.changes, dryRun: reasons)
    if let failure = session.changes.failure { throw failure }
    // Without changes there is nothing to commit, and the counter stays.
    if session.changes.isEmpty && session.storage.changeCount == 0 { return nil }
    let announced: [SavedObjects]
    do {
      try prepareToSave()
      announced = try self.announced()
    } catch {
      store.noteSerials(of: session.changes, dryRun: reasons)
      throw error
    }
    store.noteSerials(of: session.changes, dryRun: reasons)
    if let reasons {
      try ObjectValidation.checkCommit(reasons, in: &session)
      return nil
    }
    let issues = session.state.refusals + (try ObjectValidation.issues(in: session))
    guard issues.isEmpty else {
      let rejection = session.state.rejection
      throw rejection?(session, issues) ?? ValidationError(issues: issues)
    }
    for complete in session.state.completions { try complete(&session) }
    try HistoryWriter.finish(in: &session)
    try session.writeCounters()
    try StoreLimits.check(in: session)
    return PreparedCommit(saved: announced, isDeleteOnly: session.changes.isDeleteOnly)
  }
}

extension ObjectValidation {
  /// Checks, for a dry run, all that a commit checks, in the same order, and collects every reason instead of throwing
  /// the first.
  fileprivate static func checkCommit(_ reasons: PlanReasons, in session: inout Session) throws {
    reasons.note(session.state.refusals)
    try validateChanges(in: session) { issues in
      reasons.note(issues)
      return true
    }
    do {
      // Completions can write as many pages as the changes. They need changes without errors.
      if reasons.isEmpty { for complete in session.state.completions { try complete(&session) } }
      try HistoryWriter.finish(in: &session)
      try session.writeCounters()
      try StoreLimits.check(in: session)
      if session.changes.isDeleteOnly { session.storage.markDeleteOnly() }
      try session.storage.space()?.checkCommitRoom()
    } catch {
      try reasons.note(thrown: error)
    }
  }
}

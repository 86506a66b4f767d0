#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

extension WriteTransaction {
  /// Clones objects and their subgraphs in this transaction. Objects that the transaction inserted or changed are
  /// cloned in their current state.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    if let failure = session.changes.failure { throw failure }
    let start = ContinuousClock.now
    do {
      try settle()
      let key = try CloneKey(roots, options)
      if let key, let known = try key.result(in: session) { return known }
      // Constraints over derived attributes are looked up in what is stored, which has to be of now (R24). All else is worked
      // out of what is not derived; so the rest may wait, and is not computed once for every clone of a transaction.
      if session.schema.hasDerivedConstraints, !session.changes.derived.isEmpty {
        session.changes.now = session.changes.now ?? Date()
        try session.refreshDerived()
      }
      let context = try session.prepareClone(roots, options, CloneMonitor(progress: options.progress))
      return try runClone(context, roots, key, start)
    } catch {
      session.changes.fail(error)
      throw error
    }
  }

  /// Clones one object with the parameters of MOCloner in this transaction, and returns the clone (R27).
  ///
  /// `saveBeforeReturn` has no effect: the transaction itself commits.
  ///
  /// - Throws: ``CloneError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// Everything that a clone writes: the clones, what they come from, what the caller's hook adds, and what a repetition
  /// of the call will answer.
  mutating func runClone(
    _ context: CloneContext, _ roots: [ObjectID], _ key: CloneKey?, _ start: ContinuousClock.Instant
  ) throws -> CloneResult {
    // What this transaction has changed is in no commit yet but its own.
    let sourceCommit = session.changes.isEmpty ? session.commit - 1 : session.commit
    let tally = try session.runClone(context)
    return try finish(context, tally, sourceCommit: sourceCommit, roots, key, start)
  }
}

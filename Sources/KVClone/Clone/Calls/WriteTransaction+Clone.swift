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
    try clone(roots, from: .transaction, options)
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

  /// Clones in this transaction. After an error, it is abort-only.
  mutating func clone(_ roots: [ObjectID], from origin: CloneOrigin, _ options: CloneOptions) throws -> CloneResult {
    if let failure = session.changes.failure { throw failure }
    let start = ContinuousClock.now
    do {
      try origin.checkEngine(of: session)
      try settle()
      let key = try origin.key(roots, options)
      if let key, let known = try key.result(in: session) { return known }
      // Constraints over derived attributes are looked up in stored values, which have to be current (R24). Everything
      // else is computed from attributes that are not derived; the rest is therefore deferred, instead of being
      // computed for every clone of a transaction.
      if session.schema.hasDerivedConstraints, !session.changes.derived.isEmpty {
        session.changes.now = session.changes.now ?? Date()
        try DerivedRefresh.refreshAll(in: &session)
      }
      try origin.check(session)
      let reader = try origin.beginReading()
      let context = try origin.prepare(roots, options, CloneMonitor(progress: options.progress), reader, session)
      return try write(context, from: origin, reader, roots, key, start)
    } catch {
      session.changes.fail(error)
      throw error
    }
  }

  /// Writes the clones, their provenance, the changes by the caller's hook, and the result for a repetition of the
  /// call.
  mutating func write(
    _ context: CloneContext, from origin: CloneOrigin, _ reader: CloneReader?, _ roots: [ObjectID], _ key: CloneKey?,
    _ start: ContinuousClock.Instant
  ) throws -> CloneResult {
    let sourceCommit = try origin.commit(reader, session)
    var tally = try CloneStream.write(context, from: reader, in: &session)
    let options = context.book.options
    if options.recordsProvenance {
      let store = origin.storeUUID
      try ProvenanceTable.writeAll(of: context, sourceCommit: sourceCommit, store: store, in: &session)
      tally.bytesWritten += UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: store != nil)
    }
    if let didClone = options.didClone {
      try context.forEachClone { source, clone in try didClone(&self, source, clone) }
      if let failure = session.changes.failure { throw failure }
    }
    let result = context.result(roots, tally, ContinuousClock.now - start)
    if let key { try key.store(result, in: &session) }
    return result
  }
}

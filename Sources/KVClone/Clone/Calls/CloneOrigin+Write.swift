#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneTracing

extension CloneOrigin {
  /// Clones in a transaction. After an error, it is abort-only.
  func clone(
    _ roots: [ObjectID], _ options: CloneOptions, in transaction: inout WriteTransaction
  ) throws -> CloneResult {
    try StoreSpan(.clone, of: transaction.session.engine).run {
      try cloneNow(roots, options, in: &transaction)
    }
  }

  private func cloneNow(
    _ roots: [ObjectID], _ options: CloneOptions, in transaction: inout WriteTransaction
  ) throws -> CloneResult {
    if let failure = transaction.session.changes.failure { throw failure }
    let start = ContinuousClock.now
    do {
      try checkEngine(of: transaction.session)
      try transaction.settle()
      let key = try key(roots, options, in: transaction.session.engine)
      if let key, let known = try key.result(in: transaction.session) { return known }
      // Constraints over derived attributes are looked up in what is stored, which has to be of now (R24). All else is
      // worked out of what is not derived; so the rest may wait, and is not computed once for every clone of a
      // transaction.
      if transaction.session.schema.hasDerivedConstraints, !transaction.session.changes.derived.isEmpty {
        transaction.session.state.now = transaction.session.state.now ?? Date()
        try DerivedRefresh.refreshAll(in: &transaction.session)
      }
      try check(transaction.session)
      let reader = try beginReading()
      let context = try prepare(roots, options, CloneMonitor(progress: options.progress), reader, transaction.session)
      return try write(context, reader, roots, key, start, in: &transaction)
    } catch {
      transaction.session.changes.fail(error)
      throw error
    }
  }

  /// Everything that a clone writes: the clones, what they come from, what the caller's hook adds, and what a
  /// repetition of the call will answer.
  func write(
    _ context: CloneContext, _ reader: CloneReader?, _ roots: [ObjectID], _ key: CloneKey?,
    _ start: ContinuousClock.Instant, in transaction: inout WriteTransaction
  ) throws -> CloneResult {
    let sourceCommit = try commit(reader, transaction.session)
    var tally = try CloneStream.write(context, from: reader, in: &transaction.session)
    let options = context.book.options
    let base = options.keepsBase ? try CloneBase.reserve(in: &transaction.session) : nil
    var serials: [UInt16: ClosedRange<UInt64>] = [:]
    if options.recordsProvenance || options.keepsBase {
      let store = storeUUID
      serials = try ProvenanceTable.writeAll(
        of: context, sourceCommit: sourceCommit, store: store, base: base, in: &transaction.session)
      tally.bytesWritten += UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: store != nil)
    }
    if let didClone = options.didClone {
      try context.forEachClone { source, clone in try didClone(&transaction, source, clone) }
      if let failure = transaction.session.changes.failure { throw failure }
    }
    let result = context.result(roots, tally, ContinuousClock.now - start)
    if let key { try key.store(result, in: &transaction.session) }
    if let base {
      let copies = (0..<context.copies).map { Array(result.roots[$0 * roots.count..<($0 + 1) * roots.count]) }
      transaction.session.state.completions.append { [serials] session in
        try CloneBase.create(base, copies, serials, expires: options.baseExpiresAt, in: &session)
      }
    }
    return result
  }
}

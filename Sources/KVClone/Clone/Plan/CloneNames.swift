#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// What is known of a clone operation once its ids are: every source and its clones, whichever store those are in.
protocol CloneNames: AnyObject {
  var book: CloneRuleBook { get }
  var mark: CloneMark { get }
  var cancellation: CloneMonitor { get }
  /// The schema of the store that is cloned from.
  var sourceSchema: Schema { get }
  /// The clone's id of a source in one of the copies; nil for objects outside the clone set.
  func cloneID(of id: ObjectID, copy: Int) -> ObjectID?
}

extension CloneNames {
  /// How many clones of the same plan (R32).
  var copies: Int { book.options.count }

  /// How many objects the operation makes, all copies together.
  var objectCount: Int { mark.count * copies }

  /// Every source with its clones: sources by ascending id, copies in the order that they were made.
  func forEachClone(_ body: (_ source: ObjectID, _ clone: ObjectID) throws -> Void) throws {
    var done = 0
    try mark.set.forEach { source in
      for copy in 0..<copies {
        guard let clone = cloneID(of: source, copy: copy) else { throw sourceSchema.notFound(source) }
        try body(source, clone)
      }
      done += 1
      if done & 1023 == 0 { try cancellation.check() }
      return true
    }
  }

  /// The result of a finished stream, roots in the caller's order, copy after copy.
  func result(_ roots: [ObjectID], _ tally: CloneTally, _ duration: Duration) -> CloneResult {
    CloneResult(
      roots: (0..<copies).flatMap { copy in roots.compactMap { cloneID(of: $0, copy: copy) } },
      objectCount: tally.objects, counts: tally.countsByName(sourceSchema), affectedObjectCount: tally.touched.count,
      affectedObjectIDs: tally.firstTouched, blobsShared: tally.blobsShared, bytesShared: tally.bytesShared,
      bytesCopied: tally.bytesCopied, bytesWritten: tally.bytesWritten, duration: duration)
  }
}

extension WriteTransaction {
  /// What a clone writes after its objects: what they come from, what the caller's hook adds, and what a repetition of the
  /// call will answer.
  ///
  /// - Parameter store: the store that was cloned from, where it is another one.
  mutating func finish(
    _ names: some CloneNames, _ streamed: CloneTally, sourceCommit: UInt64, store: UUID? = nil, _ roots: [ObjectID],
    _ key: CloneKey?, _ start: ContinuousClock.Instant
  ) throws -> CloneResult {
    let options = names.book.options
    var tally = streamed
    if options.recordsProvenance {
      try ProvenanceTable.writeAll(of: names, sourceCommit: sourceCommit, store: store, in: &session)
      tally.bytesWritten += UInt64(tally.objects) * CloneTally.provenanceBytes(isForeign: store != nil)
    }
    if let didClone = options.didClone {
      try names.forEachClone { source, clone in try didClone(&self, source, clone) }
      if let failure = session.changes.failure { throw failure }
    }
    let result = names.result(roots, tally, ContinuousClock.now - start)
    if let key { try key.store(result, in: &session) }
    return result
  }
}

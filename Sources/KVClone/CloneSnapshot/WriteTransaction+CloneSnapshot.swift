#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

extension WriteTransaction {
  /// Clones objects and their subgraphs from a snapshot in this transaction; see <doc:DeepClone>.
  ///
  /// Objects outside the clone are in the state of this transaction. The snapshot must exist since before the
  /// transaction began, and the transaction must not have deleted it.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError``, `snapshotNotFound`. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone(
    _ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) throws -> CloneResult {
    if let failure = session.changes.failure { throw failure }
    let start = ContinuousClock.now
    do {
      guard session.engine === snapshot.store.engine else { throw ObjectStore.foreignSnapshot(snapshot) }
      try settle()
      let key = try CloneKey(roots, options, epoch: snapshot.info.epoch)
      if let key, let known = try key.result(in: session) { return known }
      // Constraints over derived attributes are looked up in what is stored, which has to be of now (R24).
      if session.schema.hasDerivedConstraints, !session.changes.derived.isEmpty {
        session.changes.now = session.changes.now ?? Date()
        try session.refreshDerived()
      }
      // What the last commit left is what the snapshot shows, whatever this transaction has changed since. Deleting the
      // snapshot would take large values along that it alone shows.
      _ = try Snapshots.existing(
        session.storage, session.schema.tables, snapshot.name, epoch: snapshot.info.epoch)
      let source = try snapshot.store.cloneSource(snapshot)
      let context = try source.prepareClone(
        from: snapshot, roots, options, CloneMonitor(progress: options.progress))
      try context.check(source, session)
      return try runClone(context, source, snapshot, roots, key, start)
    } catch {
      session.changes.fail(error)
      throw error
    }
  }

  /// Everything that a clone from a snapshot writes.
  mutating func runClone(
    _ context: CloneIntoContext, _ source: borrowing Session, _ snapshot: Snapshot, _ roots: [ObjectID],
    _ key: CloneKey?, _ start: ContinuousClock.Instant
  ) throws -> CloneResult {
    let tally = try session.stream(source, context)
    return try finish(context, tally, sourceCommit: snapshot.info.commit, roots, key, start)
  }
}

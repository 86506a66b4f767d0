public import KVCloneCore
public import KVCloneModel

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
    try clone(roots, from: .snapshot(snapshot), options)
  }
}

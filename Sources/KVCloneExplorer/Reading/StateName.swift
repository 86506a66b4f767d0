import KVClone
import KVCloneCore

/// Names of states in URLs besides those of snapshots, which never contain an at sign.
enum StateName {
  /// The base of the branch that a page shows.
  static let base = "@base"
  /// The present state of the store of that branch.
  static let store = "@store"

  /// Identifies a state among those of a store and its branches, for caches.
  ///
  /// - Parameter snapshot: nil for the present state.
  static func key(_ store: ObjectStore, _ snapshot: String?) -> String {
    "\(BranchComparison(store)?.number ?? 0):\(snapshot ?? "")"
  }

  /// Returns the snapshot that a name means; on a branch, also its base.
  ///
  /// - Throws: `snapshotNotFound`.
  static func snapshot(_ name: String, of store: ObjectStore) throws(StoreError) -> Snapshot {
    if name == base, let branch = BranchComparison(store) { return try branch.base() }
    return try store.snapshot(named: name)
  }
}

@testable import KVClone
@testable import KVCloneCore

extension BranchManager {
  /// Creates an automatic snapshot of the store, as a merge does.
  mutating func createSnapshotOfStore() throws(StoreError) -> String {
    try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
      try snapshots.createAutomatic("merge", userInfo: [:]).info.name
    }
  }

  /// Creates an automatic snapshot of a branch, as a merge does.
  mutating func createSnapshot(ofBranch name: String) throws -> String {
    try write(onBranch: name) { session in
      try SnapshotManager.own(&session) { (snapshots) throws(StoreError) in
        try snapshots.createAutomatic("merge", userInfo: [:]).info.name
      }
    }
  }
}

import KVClone

/// The workload's commits on branches.
extension Workload {
  /// Performs a commit of a branch; without a branch, changes the store.
  func performOnBranch(_ number: Int, _ store: ObjectStore, _ random: inout SeededGenerator) throws {
    if kind(number) == .branch { return try createBranch(number, store) }
    let names = try store.branches.list().map(\.name)
    if kind(number) == .deletedBranch, let name = random.element(names) { return try store.branches.delete(name) }
    guard let name = names.last else { return try changes(number, store, random) }
    let branch = try store.branches.open(name)
    switch kind(number) {
    case .branchDeletion: try write("branch deletion", number, branch, random) { try $0.deleteSome(&$1) }
    case .branchSpilling: try write("branch spilling", number, branch, random) { try $0.insertManyPhotos(&$1) }
    case .branchStaged: try stage(number, (0..<3).map { _ in 5_000 + random.below(30_000) }, branch, &random)
    case .branchSnapshot: try branch.createSnapshot(named: Workload.snapshotName(number))
    case .branchRollback: try rollBack(number, branch, &random)
    case .branchRival: try write("branch rival", number, branch, random) { try $0.compete(isOnBranch: true, &$1) }
    case .publish, .update: try merge(number, name, store)
    default: try changes(number, branch, random)
    }
  }

  /// Creates a branch from the present state or, if the number is odd, from the latest snapshot.
  private func createBranch(_ number: Int, _ store: ObjectStore) throws {
    let snapshot = number % 2 == 1 ? try youngestSnapshot(store, isOfCommit: true) : nil
    try store.branches.create("branch-\(number)", from: snapshot)
  }
}

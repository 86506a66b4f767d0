package import KVCloneCore

extension StorageEngine {
  /// Rejects an operation on a branch that concerns the whole store.
  ///
  /// - Parameter operation: the operation, for the error.
  /// - Throws: `unsupportedOnBranch`.
  package func requireStore(for operation: String) throws(StoreError) {
    guard let branch = self as? BranchEngine else { return }
    throw StoreError(
      .unsupportedOnBranch,
      "\(operation) concerns the whole store, and \(branch.name) is a branch; call it on the store that it is a branch "
        + "of")
  }
}

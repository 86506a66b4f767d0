public import KVCloneCore

extension StoreError {
  /// The error for a change of the model that would have to change branches, too.
  package static func branches(_ names: [String], prevent what: String) -> StoreError {
    StoreError(
      .incompatibleModel,
      "\(what) changes objects or rules that objects must satisfy, and the store has branches with objects of their own: "
        + "\(names.joined(separator: ", ")); publish or delete them first")
  }
}

extension StoreError.Kind {
  /// The branch does not exist, or was deleted.
  public static let branchNotFound = StoreError.Kind(rawValue: "branchNotFound")
  /// A branch with the name already exists.
  public static let branchExists = StoreError.Kind(rawValue: "branchExists")
  /// The name of a branch is empty, too long, or has other characters than letters, digits, `.`, `_` and `-`.
  public static let invalidBranchName = StoreError.Kind(rawValue: "invalidBranchName")
  /// The snapshot is the base of a branch or a draft, and cannot be deleted.
  public static let snapshotInUse = StoreError.Kind(rawValue: "snapshotInUse")
  /// The operation concerns the whole store, or needs a snapshot that can be the base of a branch.
  public static let unsupportedOnBranch = StoreError.Kind(rawValue: "unsupportedOnBranch")
}

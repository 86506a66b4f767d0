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
  /// The name of a branch is invalid.
  public static let invalidBranchName = StoreError.Kind(rawValue: "invalidBranchName")
  /// A branch needs the snapshot, which therefore cannot be deleted.
  public static let snapshotInUse = StoreError.Kind(rawValue: "snapshotInUse")
  /// The operation is not possible on a branch.
  public static let unsupportedOnBranch = StoreError.Kind(rawValue: "unsupportedOnBranch")
}

import KVCloneRecords

/// A branch that a salvage or a backup has left out.
public struct OmittedBranch: Sendable, Hashable {
  /// The name of the branch.
  public let name: String
  /// The number of objects that the branch inserted, changed or deleted.
  public let changedObjectCount: Int
  /// The size of what the branch wrote, in bytes, without blobs.
  public let byteCount: UInt64

  init(_ name: String, _ value: BranchValue) {
    self.name = name
    changedObjectCount = Int(clamping: value.changedObjectCount)
    byteCount = value.byteCount
  }
}

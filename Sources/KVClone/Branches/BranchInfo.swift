#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

/// The description of a branch.
public struct BranchInfo: Sendable, Hashable {
  /// The name of the branch.
  public let name: String
  /// The time of creation.
  public let createdAt: Date
  /// The time after which the app may delete the branch; nil if it has no expiry. The store does not delete it.
  public let expiresAt: Date?
  /// The named snapshot that is the base of the branch; nil if the base is the state at its creation or last merge.
  public let baseSnapshot: String?
  /// The number of the last commit on the branch; that of its base if nothing was written on it.
  public let lastCommit: UInt64
  /// The number of objects that differ from the base in their stored bytes, or that only one of both has.
  public let changedObjectCount: Int
  /// The size of what the branch wrote, in bytes, without blobs.
  public let byteCount: UInt64

  /// The number of the branch, which is never reused.
  package let number: UInt32

  init(_ name: String, _ value: BranchValue) {
    self.name = name
    createdAt = Date(timeIntervalSinceReferenceDate: value.created)
    expiresAt = value.expires.map { Date(timeIntervalSinceReferenceDate: $0) }
    let base = value.present.baseName
    baseSnapshot = SnapshotName.isOfBase(base) ? nil : base
    lastCommit = value.lastCommit
    changedObjectCount = Int(clamping: value.changedObjectCount)
    byteCount = value.byteCount
    number = value.number
  }

  /// Returns whether the branch is expired at a time.
  public func isExpired(at date: Date = Date()) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

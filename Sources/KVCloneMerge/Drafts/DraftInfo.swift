#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// The description of a draft: the clones of one copy, which can be merged into their sources (P9).
public struct DraftInfo: Sendable, Hashable {
  /// The clones of the roots. Deleted ones are included.
  public let roots: [ObjectID]
  /// The sources of the roots that exist, in the order of the roots.
  public let sources: [ObjectID]
  /// The author of the commit that cloned; empty if none was set.
  public let author: String
  /// The time of the clone.
  public let createdAt: Date
  /// The time after which the draft cannot be merged, and its base may be deleted; nil for no expiry.
  public let expiresAt: Date?
  /// The number of clones that exist.
  public let objectCount: Int
  /// The size of what only the base retains, in bytes. Copies of one call share a base.
  public let retainedBytes: UInt64
  /// Whether the clones, or links to them, were changed since. Also true for a draft that can no longer be merged.
  public let isChanged: Bool

  /// Returns whether the draft is expired at a time.
  public func isExpired(at date: Date = Date()) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

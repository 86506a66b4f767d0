#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// What an object was cloned from (R33).
public struct CloneProvenance: Sendable, Hashable {
  /// The object that was cloned; it may be gone by now.
  public let source: ObjectID
  /// The commit whose state of the source was cloned.
  public let sourceCommit: UInt64
  /// The commit that made the clone.
  public let cloneCommit: UInt64
  /// The store of the source; nil for this one.
  public let sourceStore: UUID?
}

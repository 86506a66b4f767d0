#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// The source of a clone, with the commits of source and clone (R33).
public struct CloneProvenance: Sendable, Hashable {
  /// The source object. It may no longer exist.
  public let source: ObjectID
  /// The number of the commit that defines the cloned state of the source.
  public let sourceCommit: UInt64
  /// The number of the commit that created the clone.
  public let cloneCommit: UInt64
  /// The UUID of the store that contains the source; nil for this store.
  public let sourceStore: UUID?
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A position in the history of a store, after a commit. It can be stored, and used by any process after a restart.
///
/// The text form is `STORE-UUID:commit`.
public struct HistoryToken: Sendable, Hashable, Codable, LosslessStringConvertible {
  /// The identifier of the store.
  public let store: UUID
  /// The number of the commit before the position; 0 for the position before the first commit.
  public let commit: UInt64

  /// Creates a token.
  public init(store: UUID, commit: UInt64) {
    self.store = store
    self.commit = commit
  }

  /// Parses `STORE-UUID:commit`; returns nil for other text.
  public init?(_ description: String) {
    let parts = description.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let store = UUID(uuidString: String(parts[0])),
      parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let commit = UInt64(parts[1])
    else { return nil }
    self.init(store: store, commit: commit)
  }

  /// The text form, `STORE-UUID:commit`.
  public var description: String { "\(store.uuidString):\(commit)" }
}

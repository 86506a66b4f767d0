#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A place in a store's history: right after a commit. It is a value to be kept and used after a restart, by any process.
///
/// As text it is `STORE-UUID:commit`.
public struct HistoryToken: Sendable, Hashable, Codable, LosslessStringConvertible {
  /// The store that the token is of.
  public let store: UUID
  /// The commit that it stands behind; 0 is before the first.
  public let commit: UInt64

  /// Makes a token.
  public init(store: UUID, commit: UInt64) {
    self.store = store
    self.commit = commit
  }

  /// Reads `STORE-UUID:commit`; nil for other texts.
  public init?(_ description: String) {
    let parts = description.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let store = UUID(uuidString: String(parts[0])),
      parts[1].utf8.allSatisfy({ (48...57).contains($0) }), let commit = UInt64(parts[1])
    else { return nil }
    self.init(store: store, commit: commit)
  }

  /// `STORE-UUID:commit`.
  public var description: String { "\(store.uuidString):\(commit)" }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The commit that last changed an object, from the history (M15).
public struct ObjectChange: Sendable, Hashable, Codable {
  /// The number of the commit.
  public let commit: UInt64
  /// The author of the commit; empty if none was set.
  public let author: String
  /// The time of the commit, by the clock of the writing process; nil if the history does not have it.
  public let date: Date?

  /// Creates the description of a commit.
  public init(commit: UInt64, author: String = "", date: Date? = nil) {
    self.commit = commit
    self.author = author
    self.date = date
  }
}

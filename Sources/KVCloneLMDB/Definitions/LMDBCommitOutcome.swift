/// The outcome of a commit after its meta page could not be written.
@usableFromInline
package enum LMDBCommitOutcome: Sendable, Equatable {
  /// The commit is in the file, and durable.
  case committed
  /// The commit is not in the file, and cannot reappear.
  case notCommitted
  /// Unknown: the file could not be read or synced, or its content is inconclusive.
  case unknown
}

/// What became of a commit whose meta page could not be written.
@usableFromInline
package enum LMDBCommitOutcome: Sendable, Equatable {
  /// It is in the file, and durable.
  case committed
  /// It is not in the file, and will not come back.
  case notCommitted
  /// The file could not be read or synced, or says nothing certain.
  case unknown
}

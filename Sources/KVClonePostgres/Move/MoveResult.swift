#if Postgres
  /// The result of a move of a store between clusters.
  public struct MoveResult: Sendable, Hashable {
    /// The number of entries of all tables: records, links, index entries, chunks of blobs, and so on.
    public let entryCount: UInt64
    /// The number of bytes of all keys and values when they were verified; 0 if the call ended an interrupted move.
    public let byteCount: UInt64
    /// The number of commits that were made during the copy, and copied after it.
    public let commitCount: Int
    /// The duration for which no process could write; 0 if the call ended an interrupted move.
    public let writePause: Duration
    /// The duration of the call.
    public let duration: Duration
  }
#endif

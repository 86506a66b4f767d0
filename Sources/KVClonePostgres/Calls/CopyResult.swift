#if Postgres
  /// The result of a copy between a directory and a cluster, or between clusters.
  public struct CopyResult: Sendable, Hashable {
    /// The number of tables.
    public let tableCount: Int
    /// The number of entries of all tables: records, links, index entries, chunks of blobs, and so on.
    public let entryCount: UInt64
    /// The number of bytes of all keys and values.
    public let byteCount: UInt64
    /// The duration, including the verification.
    public let duration: Duration
  }
#endif

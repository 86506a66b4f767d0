#if Postgres
  import KVClone
  public import KVCloneCore

  /// The place of a store in a cluster: a database and a name, from a URL like
  /// `postgresql://app@db1,db2/kv/tenant-42?target_session_attrs=read-write`.
  ///
  /// The URL is that of a database, as libpq takes it, with the name of the store as a second component of its path.
  public struct PostgresStoreURL: Sendable, Hashable {
    /// The URL of the database, for ``PostgresCluster/init(_:options:)``. It can contain a password: never log it.
    public let database: String
    /// The name of the store in the cluster.
    public let name: String

    /// Whether a text begins like the URL of a database, and is not the path of a directory.
    public static func isURL(_ text: String) -> Bool { ClusterURL.isURL(text) }

    /// Parses a URL. Characters within the name other than letters, digits, `-`, `.`, `_` and `~` are percent-encoded.
    ///
    /// - Throws: `invalidDestination` with what to write instead. The message contains no part of the URL.
    public init(_ text: String) throws(StoreError) {
      (database, name) = try ClusterURL(text).storeParts()
    }
  }
#endif

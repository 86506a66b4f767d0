#if Postgres
  /// Options of a ``PostgresCluster``.
  public struct PostgresOptions: Sendable {
    /// What a durable commit means.
    public enum Durability: Sendable, Hashable {
      /// What the server is set to: with `synchronous_commit = on` and no synchronous standby, a commit survives a crash
      /// of the server, and not the loss of its disk. `synchronous_commit = off` is refused.
      case server
      /// A synchronous standby has the commit, too: it survives the loss of the primary. Refused if the server names no
      /// synchronous standby, or does not wait for one.
      case replicated
    }

    /// What a durable commit means. Default: ``Durability/server``.
    public var durability = Durability.server
    /// The number of connections of this process to the cluster at most, from 2. Each open transaction has one, and so does
    /// an upload for moments. Default: 8.
    public var connections = 8
    /// The number of bytes that each open store caches. With 0, every transaction reads from the server. Default:
    /// 32 MiB.
    public var cacheBytes = 32 << 20
    /// The time after which the server ends a write transaction that does nothing, so that a stopped process cannot
    /// hold a store forever. Default: 60 s.
    public var writerIdleLimit: Duration = .seconds(60)
    /// The time in which the outcome of a commit is looked up after the connection was lost, before
    /// `commitOutcomeUnknown` is thrown. Default: 30 s.
    public var resolveTimeout: Duration = .seconds(30)
    /// The wait for a free connection at most. Default: 30 s.
    public var connectionTimeout: Duration = .seconds(30)
    /// The interval at which commits of other processes are looked for, while something waits for them. Default:
    /// 100 ms.
    public var watchInterval: Duration = .milliseconds(100)

    /// Creates options with their defaults.
    public init() {}
  }
#endif

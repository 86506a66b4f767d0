#if Postgres
  /// Options of a ``PostgresCluster``.
  public struct PostgresOptions: Sendable {
    /// The guarantee that a server must give for commits. It is checked when a connection is opened, which throws
    /// `invalidStore` if it is not satisfied.
    public enum Durability: Sendable, Hashable {
      /// The setting of the server, except `synchronous_commit = off`, which is refused.
      ///
      /// With `synchronous_commit = on` and no synchronous standby, a commit survives a crash of the server, but not
      /// the loss of its disk.
      case server
      /// A commit waits for a synchronous standby, and survives the loss of the primary.
      ///
      /// A server is refused if its `synchronous_standby_names` is empty, or if `synchronous_commit` is not `on` or
      /// `remote_apply`: with `remote_write`, a commit can be lost if the standby's machine crashes at the same time.
      case replicated
    }

    /// The servers that read transactions of open stores use. Writes always use the primary.
    public enum ReadPreference: Sendable, Hashable {
      /// The server that the address leads to, as for writes.
      case primary
      /// A standby of the address with at most this lag, or else the primary.
      ///
      /// A read transaction does not see commits that the standby has not replayed. An open store still reads its own
      /// commits, and never goes back: if the standby has not replayed a commit that the store has made or read before,
      /// the read waits for it for at most 50 milliseconds, and then uses the primary.
      ///
      /// The lag is the age of the last replayed commit by the clock of the standby; 0 if the standby streams from its
      /// primary and has replayed everything that it has received.
      case standby(maximumLag: Duration)
    }

    /// The servers that read transactions use. The default is ``ReadPreference/primary``.
    ///
    /// Connections to standbys are counted separately: the object has up to ``connections`` of each kind.
    public var reads = ReadPreference.primary
    /// The guarantee that the server must give for commits. The default is ``Durability/server``.
    public var durability = Durability.server
    /// The maximum number of connections of the cluster object, for each kind of server if ``reads`` names standbys.
    /// Values below 2 count as 2. The default is 8.
    ///
    /// Each open transaction and each pinned snapshot occupies one. One connection is reserved: only a transaction within
    /// a transaction of the same thread uses it, and other calls, such as those of staged uploads and of listeners for
    /// commits, use it briefly. A write transaction that scans many entries also reads on a second one, for a moment each
    /// time, if one is free.
    public var connections = 8
    /// The maximum size of the keys and values that each open store caches, in bytes. The default is 32 MiB.
    ///
    /// Each open transaction can read as much again. With 0, nothing is cached between transactions, and up to 1 MiB
    /// within one.
    public var cacheBytes = 32 << 20
    /// The time without a statement after which the server ends a write transaction, at least 1 millisecond. The
    /// default is 60 seconds.
    ///
    /// The limit prevents a stopped process from blocking other writers. It also ends the transaction of a closure that
    /// computes for longer. Its next call that needs the server throws `io`, and nothing has changed. If the network of
    /// the process fails while it sends statements, the TCP parameters of the server decide instead.
    public var writerIdleLimit: Duration = .seconds(60)
    /// The time for which the outcome of an unconfirmed commit is looked up, before the commit throws
    /// `commitOutcomeUnknown`. The default is 30 seconds.
    ///
    /// Connecting to a server that does not answer can exceed it by the `connect_timeout` of the address, which is 5
    /// seconds per host if it is not set.
    public var resolveTimeout: Duration = .seconds(30)
    /// The maximum wait for a free connection of the cluster object, before a call throws `busy`. The default is 30
    /// seconds.
    ///
    /// It does not limit the time to connect to a server; see `connect_timeout` of libpq. The begin of a write
    /// transaction waits for its own timeout instead, for a connection and for the write lock together.
    public var connectionTimeout: Duration = .seconds(30)
    /// The time without a byte from the server during a statement, or without one that it takes, after which the
    /// connection is lost, at least 1 millisecond; nil, the default, for no limit.
    ///
    /// By default, only a lost network ends a wait, by the TCP parameters of the connection. A server that stops
    /// working but keeps its connections, for instance because its disk hangs, blocks calls until it continues. A
    /// commit without an available synchronous standby waits, too. With a limit, these calls throw `io`, and the
    /// outcome of a commit is looked up. Choose more than the longest statement and the longest wait for a standby:
    /// tens of seconds. The limit does not apply to the wait of a write transaction for the write lock, to connecting,
    /// and to creating and deleting stores.
    public var responseTimeout: Duration?
    /// The interval at which a store with listeners for commits looks for those of other processes, at least 1
    /// millisecond. The default is 100 milliseconds.
    public var watchInterval: Duration = .milliseconds(100)

    /// The versions of the schema that the library knows; tests replace them.
    var schema = SchemaVersions.library

    /// Creates options with default values.
    public init() {}
  }
#endif

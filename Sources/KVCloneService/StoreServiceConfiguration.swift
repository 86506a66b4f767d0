#if Service
  public import CoreMetrics

  /// The configuration of a ``StoreService``: metrics and the limit for write locks.
  public struct StoreServiceConfiguration: Sendable {
    /// The `store` dimension of the metrics, for processes with several stores; nil omits it.
    public var name: String?
    /// The interval between metrics. Recording them costs a few milliseconds; see `ObjectStore.statistics()`.
    /// For a store in a cluster, it takes one round trip to the server for each entity, and the metrics of the data
    /// file and of entities that share a root entity are not available.
    public var metricsInterval: Duration = .seconds(15)
    /// The time that a writer may hold the write lock before the service reports that it is not ready. Set it above
    /// the duration of the longest transaction.
    public var writerPatience: Duration = .seconds(60)
    /// The metrics factory; nil uses the one with which the process has bootstrapped `MetricsSystem`.
    public var metricsFactory: (any MetricsFactory)?

    /// Creates a configuration with default values.
    public init() {}
  }
#endif

#if Service
  public import CoreMetrics

  /// How a ``StoreService`` watches its store.
  public struct StoreServiceConfiguration: Sendable {
    /// The `store` dimension of its metrics, for processes with several stores; nil leaves it out.
    public var name: String?
    /// How often metrics are recorded. What they cost is told at `ObjectStore.statistics()`: some milliseconds.
    public var metricsInterval: Duration = .seconds(15)
    /// How long anybody may hold the write lock before the service says that it is not ready. Above the longest
    /// transaction there is.
    public var writerPatience: Duration = .seconds(60)
    /// Where the metrics go; nil is what the process has bootstrapped `MetricsSystem` with.
    public var metricsFactory: (any MetricsFactory)?

    /// The defaults.
    public init() {}
  }
#endif

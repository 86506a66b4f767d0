#if Service
  public import KVClone
  public import KVCloneOperations
  public import Logging
  public import ServiceLifecycle
  import Synchronization

  /// A service that manages a store: it records metrics, reports health, and closes the store on shutdown, after the
  /// last asynchronous write.
  ///
  /// Put it first in its `ServiceGroup`. Services stop in reverse order, so that all users of the store have ended
  /// before the store is closed.
  ///
  /// ```swift
  /// let service = StoreService(store, logger: logger)
  /// let group = ServiceGroup(services: [service, inbox], gracefulShutdownSignals: [.sigterm], logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// The product requires the package trait `Service`. Packages without this trait do not get its dependencies.
  public final class StoreService: Service, Sendable {
    private enum Phase { case waiting, running, stopping, stopped }

    /// The store, for reads and all other operations.
    public let store: ObjectStore
    private let configuration: StoreServiceConfiguration
    private let logger: Logger
    private let metrics: StoreMetrics
    private let phase = Mutex(Phase.waiting)

    /// Creates a service for an open store.
    public init(_ store: ObjectStore, configuration: StoreServiceConfiguration = .init(), logger: Logger) {
      self.store = store
      self.configuration = configuration
      self.logger = logger
      metrics = StoreMetrics(configuration)
    }

    /// Records metrics until shutdown, then waits for pending asynchronous writes and closes the store. Pending writes
    /// include those of this service and of `ObjectStore.write`.
    ///
    /// It does not wait for synchronous writes on other threads. If the process keeps running, these writes continue to
    /// their end while the store is closed to all other operations. Programs must join their writing threads.
    ///
    /// If the store cannot be read temporarily, for example because no reader slot is free, the service logs a warning
    /// and continues.
    public func run() async throws {
      // The first record is the starting point of the counters, so it precedes the first write.
      await record()
      phase.withLock { $0 = .running }
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          // Ending early with the service is not an error.
          try? await Task.sleep(for: self.configuration.metricsInterval)
          await self.record()
        }
      }
      await stop()
    }

    /// Runs a write transaction like `ObjectStore.write`, and records its duration as `kvclone_write_duration`, or its
    /// failure. The duration includes the wait for the write lock. Throws after the service has stopped, because the
    /// store is closed.
    @discardableResult
    public func write<R: Sendable>(
      label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
      _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
    ) async throws -> R {
      try await recorded {
        try await self.store.write(label: label, timeout: timeout, mergePolicy: mergePolicy, body)
      }
    }

    /// Loads an NDJSON file like `ObjectStore.load`, in order with other asynchronous writes, and records the load as a
    /// write. Input from a pipe is spooled to a file before the write begins.
    public func load(contentsOf path: String, options: LoadOptions = LoadOptions()) async throws -> LoadResult {
      try await recorded {
        try await LoadRun.loadInTurn(contentsOf: path, options, into: self.store)
      }
    }

    private func recorded<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
      let start = ContinuousClock.now
      do {
        let result = try await body()
        metrics.recordWrite(ContinuousClock.now - start, isDone: true)
        return result
      } catch {
        metrics.recordWrite(ContinuousClock.now - start, isDone: false)
        throw error
      }
    }

    /// Returns the store's current health, for the handlers of `/livez` and `/readyz`.
    ///
    /// The call begins a read transaction. For a store in a directory, it takes no locks and never waits. For a store
    /// in a cluster, it waits for the server on the calling thread. While the server cannot be reached or all
    /// connections are in use, the store is live and not ready, because a restart of the process does not help then.
    public func health() -> StoreHealth {
      var health = StoreHealth(isLive: true, isReady: true, problems: [])
      if let (error, mayRestartHelp) = StoreActivity.failure(toRead: store) {
        health.isLive = !mayRestartHelp
        health.isReady = false
        health.problems.append("the store cannot be read: \(error.message)")
      }
      if let writer = store.writeLockHolder, writer.age > configuration.writerPatience {
        health.isReady = false
        health.problems.append(
          "process \(writer.processID) has held the write lock for \(Int(writer.age.inSeconds)) s (\(writer.label))")
      }
      switch phase.withLock({ $0 }) {
      case .waiting: health.refuse("the service has not been started")
      case .running: break
      case .stopping: health.refuse("the service is stopping")
      case .stopped:
        health.refuse("the service has stopped")
        // The service has closed the store itself, which is not a problem.
        health.isLive = true
      }
      return health
    }

    private func record() async {
      do throws(StoreError) {
        if let network = store.engine.network {
          let store = store
          metrics.record(
            try await network.readThreads.run { () throws(StoreError) in try StoreActivity(of: store) })
        } else {
          metrics.record(try StoreActivity(of: store))
        }
      } catch {
        logger.warning("recording the store's metrics failed: \(error.message)")
      }
    }

    private func stop() async {
      phase.withLock { $0 = .stopping }
      logger.info("waiting for pending asynchronous writes")
      // Asynchronous writes are in order: when this one runs, those before it have ended.
      try? await store.onWriterQueue {}
      await record()
      store.close()
      phase.withLock { $0 = .stopped }
      logger.info("closed the store")
    }
  }

  extension StoreHealth {
    fileprivate mutating func refuse(_ reason: String) {
      isReady = false
      problems.append(reason)
    }
  }
#endif

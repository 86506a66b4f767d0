#if Service
  public import KVClone
  public import Logging
  public import ServiceLifecycle
  import Synchronization

  /// A store as one of the services of a process: it records metrics, says how it is, and closes the store when it is
  /// stopped, after the last asynchronous write.
  ///
  /// Put it first in its `ServiceGroup`: services are stopped from the last to the first, so that those that use the store have
  /// ended when it is closed.
  ///
  /// ```swift
  /// let service = StoreService(store, logger: logger)
  /// let group = ServiceGroup(services: [service, inbox], gracefulShutdownSignals: [.sigterm], logger: logger)
  /// try await group.run()
  /// ```
  ///
  /// The product is there with the package's trait `Service` only, so that those who do not want these dependencies do not get them.
  public final class StoreService: Service, Sendable {
    private enum Phase { case waiting, running, stopping, stopped }

    /// The store, for all that this service does not do.
    public let store: ObjectStore
    private let configuration: StoreServiceConfiguration
    private let logger: Logger
    private let metrics: StoreMetrics
    private let phase = Mutex(Phase.waiting)

    /// A service for a store that is open.
    public init(_ store: ObjectStore, configuration: StoreServiceConfiguration = .init(), logger: Logger) {
      self.store = store
      self.configuration = configuration
      self.logger = logger
      metrics = StoreMetrics(configuration)
    }

    /// Records metrics until the process is asked to stop, then waits for the asynchronous writes that have been begun, this
    /// service's and those of `ObjectStore.write`, and closes the store.
    ///
    /// A synchronous write of another thread is not waited for. It goes on to its end with the store closed for all others, as
    /// long as the process lives: a program that has such threads joins them itself.
    ///
    /// A store that cannot be read for a while, for want of a reader's slot, say, is logged and does not end the service.
    public func run() async throws {
      // The first look is where counters begin, so it comes before the first write.
      record()
      phase.withLock { $0 = .running }
      await cancelWhenGracefulShutdown {
        while !Task.isCancelled {
          // Ends early with the service: that is no error.
          try? await Task.sleep(for: self.configuration.metricsInterval)
          self.record()
        }
      }
      await stop()
    }

    /// Changes the store as `ObjectStore.write` does, and records how long it took, the wait for its turn included, as
    /// `kvclone_write_duration`, or that it failed. Refused once the service has stopped: the store is closed then.
    @discardableResult
  public func write<R: Sendable>(
      label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
      _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
    ) async throws -> R {
      try await recorded {
        try await self.store.write(label: label, timeout: timeout, mergePolicy: mergePolicy, body)
      }
    }

    /// Loads a file of NDJSON as `ObjectStore.load` does, in the store's turn for writes, and records it as a write. A
    /// pipe is spooled before its turn comes.
    public func load(contentsOf path: String, options: LoadOptions = LoadOptions()) async throws -> LoadResult {
      try await recorded {
        try await self.store.loadInTurn(contentsOf: path, options: options)
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

    /// How the store is, now: for the handlers behind `/livez` and `/readyz`. It looks at the store, takes no lock and
    /// waits for nobody.
    public func health() -> StoreHealth {
      var health = StoreHealth(isLive: true, isReady: true, problems: [])
      do {
        _ = try store.statistics()
      } catch {
        health.isLive = error.kind == .readersFull
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
      case .stopping: health.refuse("the service is being stopped")
      case .stopped:
        health.refuse("the service has stopped")
        // It has closed the store itself: nothing is wrong with that.
        health.isLive = true
      }
      return health
    }

    private func record() {
      do {
        metrics.record(try store.statistics())
      } catch {
        logger.warning("the store's metrics cannot be taken: \(error.message)")
      }
    }

    private func stop() async {
      phase.withLock { $0 = .stopping }
      logger.info("waiting for the asynchronous writes that have been begun")
      // Asynchronous writes take turns: when this one's comes, those before it are done.
      try? await store.onWriterQueue {}
      record()
      store.close()
      phase.withLock { $0 = .stopped }
      logger.info("the store is closed")
    }
  }

  extension StoreHealth {
    fileprivate mutating func refuse(_ reason: String) {
      isReady = false
      problems.append(reason)
    }
  }
#endif

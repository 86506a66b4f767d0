#if Postgres
  import Glibc
  public import KVClone
  public import KVCloneModel
  import Synchronization

  /// The wait of a call for the end of a move.
  private struct MoveWait {
    private let timeout: Duration
    private var end: ContinuousClock.Instant?

    init(_ timeout: Duration) { self.timeout = timeout }

    /// Whether the call can try again. The time starts with the first failure: what the call waited for before,
    /// such as a thread or other writes, says nothing about the move.
    mutating func continues() -> Bool {
      let now = ContinuousClock.now
      if let end { return now < end }
      end = now + timeout
      return true
    }
  }

  /// Opens the stores of many tenants in one or several clusters, and keeps those open that were used last.
  ///
  /// A closure returns the cluster of each tenant; its store has the name of the tenant. Stores can be moved between
  /// clusters while they are in use (``PostgresCluster/moveStore(_:to:progress:cancellation:didSwitch:)``):
  ///
  /// ```swift
  /// let router = ClusterRouter(model: model) { tenant in try directory.cluster(of: tenant) }
  /// let count = try router.read("tenant-42") { tx in try tx.count(FetchRequest("Note")) }
  /// try router.write("tenant-42") { tx in try tx.insert("Note", ["title": "Groceries"]) }
  /// ```
  ///
  /// The stores of one cluster object share its connections. A router is safe to use from any thread.
  public final class ClusterRouter: Sendable {
    /// Returns the cluster of a tenant's store. It is called when the store is opened, and can return another cluster
    /// after a move.
    public typealias Route = @Sendable (_ tenant: String) throws -> PostgresCluster

    /// The maximum number of stores that the router keeps open.
    public let limit: Int
    /// The maximum wait for the end of a move: until the closure returns the new place, and the store can be opened
    /// there. The default is 10 seconds. A call that finds the store moved tries the new place at least once.
    public let moveTimeout: Duration
    private let model: ManagedObjectModel?
    private let options: StoreOptions
    private let route: Route
    private let tenants: Tenants

    /// Creates a router without open stores.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of stores to keep open, at least 1. Each of them caches up to
    ///     ``PostgresOptions/cacheBytes``. A store beyond the limit stays open as long as it is used.
    ///   - model: the model of the stores; nil for the model that each store contains. With a model, missing stores are
    ///     created.
    ///   - options: the options to open the stores with.
    ///   - moveTimeout: the maximum wait for the end of a move, before a call throws `storeMoved` or `busy`.
    ///   - route: returns the cluster of a tenant. It is called from any thread, and must not use the router for the
    ///     same tenant.
    public init(
      limit: Int = 100, model: ManagedObjectModel? = nil, options: StoreOptions = StoreOptions(),
      moveTimeout: Duration = .seconds(10), route: @escaping Route
    ) {
      self.limit = max(1, limit)
      self.model = model
      self.options = options
      self.moveTimeout = moveTimeout
      self.route = route
      tenants = Tenants(limit: max(1, limit))
    }

    // MARK: Stores

    /// Returns the open store of a tenant, or opens it. Calls for one tenant at the same time open it once.
    ///
    /// The store stays usable for as long as the caller keeps it. After a move, its transactions throw `storeMoved`;
    /// call ``reopen(_:for:)`` then. The methods `read` and `write` of the router do so.
    ///
    /// While opening throws `storeMoved` or `busy`, because a move has not ended, calls the closure again for up to
    /// ``moveTimeout``.
    ///
    /// - Throws: the error of the closure; `storeMoved` if the closure returns a cluster from which the store was
    ///   moved; and the errors of ``PostgresCluster/openStore(_:model:options:)``.
    public func store(for tenant: String) throws -> ObjectStore {
      var wait = MoveWait(moveTimeout)
      while true {
        do {
          return try tenants.store(tenant) { try route(tenant).openStore(tenant, model: model, options: options) }
        } catch let error as StoreError where error.kind == .storeMoved || error.kind == .busy {
          guard wait.continues() else { throw error }
          usleep(20_000)
        }
      }
    }

    /// Returns the store of a tenant after a transaction has thrown `storeMoved`: calls the closure for the new place,
    /// and opens the store there.
    ///
    /// - Parameters:
    ///   - store: the store that was moved.
    ///   - tenant: the tenant.
    /// - Throws: the errors of ``store(for:)``.
    public func reopen(_ store: ObjectStore, for tenant: String) throws -> ObjectStore {
      tenants.remove(store, of: tenant)
      return try self.store(for: tenant)
    }

    /// The number of stores that the router keeps open.
    public var openStoreCount: Int { tenants.openCount }

    /// Stops keeping the store of a tenant open, for instance after it was dropped. Transactions in it continue.
    public func close(_ tenant: String) { tenants.remove(nil, of: tenant) }

    /// Stops keeping stores open. The clusters stay open.
    public func closeAll() { tenants.removeAll() }

    /// Whether a transaction did not begin because the store is not in its cluster any more.
    private static func isGone(_ error: any Error) -> Bool {
      guard let error = error as? StoreError else { return false }
      return error.kind == .storeMoved || error.kind == .storeNotFound
    }

    // MARK: Transactions

    /// Runs `body` with the open store of a tenant, once. It stays open for the duration, also beyond the limit.
    ///
    /// - Throws: the errors of ``store(for:)`` and of `body`. `body` is not repeated after `storeMoved`: it may have
    ///   run other transactions before.
    public func withStore<R>(_ tenant: String, _ body: (ObjectStore) throws -> R) throws -> R {
      try body(try store(for: tenant))
    }

    /// Runs `body` in a read transaction of a tenant's store, see `ObjectStore.read`.
    ///
    /// If the store was moved, the transaction begins again at the new place. `body` runs at most once.
    ///
    /// - Throws: the error of `body`, and the errors of ``store(for:)`` and `ObjectStore.read`.
    @available(*, noasync, message: "use the asynchronous form")
    public func read<R>(_ tenant: String, _ body: (borrowing ReadTransaction) throws -> R) throws -> R {
      try run(tenant) { store, hasBegun in
        try store.read { transaction in
          hasBegun = true
          return try body(transaction)
        }
      }
    }

    /// Runs `body` in a write transaction of a tenant's store, see `ObjectStore.write`.
    ///
    /// If the store was moved, the transaction begins again at the new place. `body` runs at most once.
    ///
    /// - Throws: the error of `body`, and the errors of ``store(for:)`` and `ObjectStore.write`.
    @available(*, noasync, message: "use the asynchronous form")
    @discardableResult
    public func write<R>(
      _ tenant: String, label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
      _ body: (inout WriteTransaction) throws -> R
    ) throws -> R {
      try run(tenant) { store, hasBegun in
        try store.write(label: label, timeout: timeout, mergePolicy: mergePolicy) { transaction in
          hasBegun = true
          return try body(&transaction)
        }
      }
    }

    private func run<R>(_ tenant: String, _ attempt: (ObjectStore, inout Bool) throws -> R) throws -> R {
      var store = try store(for: tenant)
      var wait = MoveWait(moveTimeout)
      while true {
        var hasBegun = false
        do {
          return try attempt(store, &hasBegun)
        } catch  where !hasBegun && Self.isGone(error) && wait.continues() {
          store = try reopen(store, for: tenant)
        }
      }
    }

    /// Runs `body` in a read transaction of a tenant's store, from asynchronous code.
    ///
    /// - Throws: the same errors as the synchronous form.
    public func read<R: Sendable>(
      _ tenant: String, _ body: @Sendable (borrowing ReadTransaction) throws -> R
    ) async throws -> R {
      try await run(tenant) { store, begin in
        try await store.read { transaction in
          begin.note()
          return try body(transaction)
        }
      }
    }

    /// Runs `body` in a write transaction of a tenant's store, from asynchronous code. Writes to one store that wait at
    /// the same time share a commit.
    ///
    /// - Throws: the same errors as the synchronous form; `CancellationError`.
    @discardableResult
    public func write<R: Sendable>(
      _ tenant: String, label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
      _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
    ) async throws -> R {
      try await run(tenant) { store, begin in
        try await store.write(label: label, timeout: timeout, mergePolicy: mergePolicy) { transaction in
          begin.note()
          return try body(&transaction)
        }
      }
    }

    /// Whether the body of a transaction has begun, on any thread.
    private final class Begin: Sendable {
      private let flag = Atomic(false)

      func note() { flag.store(true, ordering: .relaxed) }

      var hasBegun: Bool { flag.load(ordering: .relaxed) }
    }

    private func run<R: Sendable>(
      _ tenant: String, _ attempt: (ObjectStore, Begin) async throws -> R
    ) async throws -> R {
      var store: ObjectStore
      if let open = tenants.open(tenant) {
        store = open
      } else {
        // Opening waits for the network.
        store = try await route(tenant).readThreads.run { try self.store(for: tenant) }
      }
      var wait = MoveWait(moveTimeout)
      while true {
        let begin = Begin()
        do {
          return try await attempt(store, begin)
        } catch  where !begin.hasBegun && Self.isGone(error) && wait.continues() {
          let moved = store
          store = try await route(tenant).readThreads.run { try self.reopen(moved, for: tenant) }
        }
      }
    }
  }
#endif

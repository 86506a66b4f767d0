#if Postgres
  import Dispatch
  import KVCloneCore
  import Synchronization

  /// The connections of a process to a cluster, shared by all its stores.
  final class ConnectionPool: Sendable {
    private struct State {
      var idle: [PostgresConnection] = []
      var isClosed = false
    }

    private let address: String
    private let timeout: Duration
    private let durability: PostgresOptions.Durability
    private let state = Mutex(State())
    private let slots: DispatchSemaphore
    let roundTrips = RoundTrips()

    init(_ address: String, _ options: PostgresOptions) {
      self.address = address
      timeout = options.connectionTimeout
      durability = options.durability
      slots = DispatchSemaphore(value: 0)
      // Not by the initial value: a semaphore that has less at its end than at its start traps.
      for _ in 0..<max(2, options.connections) { slots.signal() }
    }

    /// Takes a connection, after waiting for a free one.
    func take() throws(StoreError) -> PostgresConnection {
      guard slots.wait(timeout: .now() + timeout.seconds) == .success else {
        throw StoreError(
          .busy,
          "all connections to the database server are in use; end transactions sooner, or raise "
            + "PostgresOptions.connections")
      }
      do throws(StoreError) {
        let (isClosed, idle) = state.withLock { ($0.isClosed, $0.idle.popLast()) }
        if isClosed { throw StoreError(.closed, "the cluster was closed") }
        if let idle { return idle }
        return try connect()
      } catch {
        slots.signal()
        throw error
      }
    }

    private func connect() throws(StoreError) -> PostgresConnection {
      let (connection, settings): (PostgresConnection, (synchronousCommit: String, standbyNames: String))
      do throws(PostgresError) {
        connection = try PostgresConnection(address, roundTrips)
        settings = try connection.durability()
      } catch {
        throw error.storeError
      }
      if settings.synchronousCommit == "off" {
        throw StoreError(
          .invalidStore,
          "the server has synchronous_commit = off, with which commits that were reported can be lost; set it to on for "
            + "this user or database")
      }
      if durability == .replicated, settings.standbyNames.isEmpty || settings.synchronousCommit == "local" {
        throw StoreError(
          .invalidStore,
          "the server does not wait for a synchronous standby (synchronous_standby_names is \"\(settings.standbyNames)\", "
            + "synchronous_commit is \(settings.synchronousCommit)); set both, or use PostgresOptions.Durability.server"
        )
      }
      return connection
    }

    /// Returns a connection. An unusable one is closed.
    func give(back connection: PostgresConnection, isUsable: Bool) {
      state.withLock { state in
        if isUsable, !connection.isBroken, !state.isClosed { state.idle.append(connection) }
      }
      slots.signal()
    }

    /// Runs statements on a connection of the pool, in one round trip.
    func run(_ statements: [PostgresStatement]) throws -> [PostgresRows] {
      let connection = try take()
      defer { give(back: connection, isUsable: true) }
      return try connection.run(statements)
    }

    /// Closes idle connections, for example after a failover.
    func closeIdle() { state.withLock { $0.idle = [] } }

    func close() {
      state.withLock { state in
        state.isClosed = true
        state.idle = []
      }
    }
  }

  extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    var milliseconds: Int { Int(min(seconds * 1000, 1_000_000_000)) }
  }
#endif

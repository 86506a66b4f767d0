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
    private let state = Mutex(State())
    private let slots: DispatchSemaphore
    let roundTrips = RoundTrips()

    /// - Parameters:
    ///   - count: the number of connections at most.
    ///   - timeout: the wait for a free one at most.
    init(_ address: String, count: Int, timeout: Duration) {
      self.address = address
      self.timeout = timeout
      slots = DispatchSemaphore(value: 0)
      // Not by the initial value: a semaphore that has less at its end than at its start traps.
      for _ in 0..<max(2, count) { slots.signal() }
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
        do throws(PostgresError) { return try PostgresConnection(address, roundTrips) } catch { throw error.storeError }
      } catch {
        slots.signal()
        throw error
      }
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

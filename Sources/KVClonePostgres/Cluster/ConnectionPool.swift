#if Postgres
  import Foundation
  import KVCloneCore
  import KVCloneLMDB
  import Synchronization

  /// The connections of a process to a cluster, shared by all its stores.
  ///
  /// One of them is reserved for threads that have a connection already, and for single statements: transactions that
  /// need a second connection would otherwise wait for each other.
  final class ConnectionPool: @unchecked Sendable {
    /// The time for the settings of a new connection, also for a call that does not wait for others.
    private static let setupTime = Duration.seconds(5)

    private let address: String
    private let timeout: Duration
    private let responseTimeout: Duration?
    private let durability: PostgresOptions.Durability
    /// Whether the connections lead to standbys of the address.
    private let isForStandbys: Bool
    let roundTrips = RoundTrips()
    private let forkGuard = ForkGuard()

    /// The error for a call that has waited for a free connection.
    static let exhausted = StoreError(
      .busy,
      "all connections to the database server are in use; end transactions sooner, or raise PostgresOptions.connections"
    )

    // All below is protected by the condition's lock.
    private let condition = NSCondition()
    private var idle: [PostgresConnection] = []
    private var isClosed = false
    private var freeCount: Int
    private let holders: ConnectionHolders

    /// - Parameter primaryPool: the pool of the cluster for the primary, if this one is for its standbys.
    init(_ address: String, _ options: PostgresOptions, besides primaryPool: ConnectionPool? = nil) {
      self.address = address
      isForStandbys = primaryPool != nil
      holders = primaryPool?.holders ?? ConnectionHolders()
      timeout = options.connectionTimeout
      responseTimeout = options.responseTimeout.map { max($0, .milliseconds(1)) }
      durability = options.durability
      freeCount = max(2, options.connections)
    }

    /// The time at which a call that begins now has waited for as long as the options allow.
    var deadline: ContinuousClock.Instant { .now + timeout }

    /// Takes a connection after waiting for a free one, and runs the first statements on it.
    ///
    /// If they find that an idle connection was lost, which happens after a failover, they run again on a new one. They
    /// must not change anything before the transaction that they begin is committed.
    ///
    /// - Parameters:
    ///   - isShort: whether the connection is given back soon, without waiting for another one.
    ///   - isLocking: whether the statements can wait for a lock until the deadline.
    ///   - statements: the statements, which can depend on the time that is left.
    func take(
      until deadline: ContinuousClock.Instant, isShort: Bool = false, isLocking: Bool = false,
      _ statements: () -> [PostgresStatement]
    ) throws -> (connection: PostgresConnection, results: [PostgresRows]) {
      let lockDeadline = isLocking ? deadline : nil
      let connection = try take(until: deadline, isShort: isShort)
      let isNew = connection.isNew
      do throws(PostgresError) {
        return (connection, try run(statements(), connection, lockDeadline))
      } catch {
        give(back: connection)
        guard error.isConnectionLost, !isNew, !forkGuard.isForked else { throw error }
        // The others lead to the same server.
        closeIdle()
        let connection = try take(until: deadline, isShort: isShort, isFresh: true)
        do {
          return (connection, try run(statements(), connection, lockDeadline))
        } catch {
          give(back: connection)
          throw error
        }
      }
    }

    private func run(
      _ statements: [PostgresStatement], _ connection: PostgresConnection, _ lockDeadline: ContinuousClock.Instant?
    ) throws(PostgresError) -> [PostgresRows] {
      connection.lockDeadline = lockDeadline
      defer { connection.lockDeadline = nil }
      do throws(PostgresError) {
        return try connection.run(statements)
      } catch {
        if statements.first?.text.hasPrefix("BEGIN") ?? false { connection.rollBack() }
        throw error
      }
    }

    /// Takes a connection, after waiting for a free one.
    ///
    /// - Parameter isFresh: whether to open one: another thread can have given back one that is lost, too.
    func take(until deadline: ContinuousClock.Instant, isShort: Bool = false, isFresh: Bool = false)
      throws(StoreError) -> PostgresConnection
    {
      if forkGuard.isForked { throw PostgresError.forked.storeError }
      let thread = pthread_self()
      // A new one replaces the idle one, so that their number stays below the limit.
      let idle = try slot(until: deadline, isShort: isShort, thread)
      let known = isFresh ? nil : idle
      do throws(StoreError) {
        let connection = if let known { known } else { try connect(until: deadline) }
        connection.isNew = known == nil
        connection.holder = thread
        connection.responseTimeout = responseTimeout
        return connection
      } catch {
        free(thread)
        throw error
      }
    }

    /// Waits for the right to use a connection, and returns an idle one if it exists.
    private func slot(
      until deadline: ContinuousClock.Instant, isShort: Bool, _ thread: pthread_t
    ) throws(StoreError) -> PostgresConnection? {
      condition.lock()
      defer { condition.unlock() }
      let reserved = isShort || holders.contains(thread) ? 0 : 1
      while freeCount <= reserved {
        let left = deadline - .now
        guard left > .zero, !isClosed else { break }
        // In parts, because Foundation traps for dates that are centuries away.
        _ = condition.wait(until: Date(timeIntervalSinceNow: min(3600, left.seconds)))
      }
      if isClosed { throw StoreError(.closed, "the cluster was closed") }
      guard freeCount > reserved else {
        throw Self.exhausted
      }
      freeCount -= 1
      holders.add(thread)
      return idle.popLast()
    }

    private func free(_ thread: pthread_t) {
      condition.lock()
      freeCount += 1
      holders.remove(thread)
      condition.broadcast()
      condition.unlock()
    }

    private func connect(until deadline: ContinuousClock.Instant) throws(StoreError) -> PostgresConnection {
      let (connection, settings): (PostgresConnection, (synchronousCommit: String, standbyNames: String))
      do throws(PostgresError) {
        connection = try PostgresConnection(
          address, sessionAttributes: isForStandbys ? "standby" : nil, roundTrips, forkGuard,
          until: max(deadline, .now + Self.setupTime))
        if isForStandbys {
          // Commits are made elsewhere.
          connection.deadline = nil
          return connection
        }
        settings = try connection.durability()
        connection.deadline = nil
      } catch {
        throw error.storeError
      }
      if settings.synchronousCommit == "off" {
        throw StoreError(
          .invalidStore,
          "the server has synchronous_commit = off, with which commits that were reported can be lost; set it to on for "
            + "this user or database")
      }
      if durability == .replicated, !Self.isReplicated(settings.synchronousCommit, settings.standbyNames) {
        throw StoreError(
          .invalidStore,
          "the server does not wait until a synchronous standby has stored a commit (synchronous_standby_names is "
            + "\"\(settings.standbyNames)\", synchronous_commit is \(settings.synchronousCommit)); set both, or use "
            + "PostgresOptions.Durability.server")
      }
      return connection
    }

    /// Whether a commit waits until a standby has it on its disk.
    static func isReplicated(_ synchronousCommit: String, _ standbyNames: String) -> Bool {
      !standbyNames.isEmpty && ["on", "remote_apply"].contains(synchronousCommit)
    }

    /// Whether this process is a forked child of the one that created the pool.
    var isForked: Bool { forkGuard.isForked }

    /// The number of threads that have connections.
    var holderCount: Int { holders.count }

    /// Returns a connection. One that was lost is closed.
    func give(back connection: PostgresConnection, isUsable: Bool = true) {
      // Before others can take it, which changes its holder.
      let thread = connection.holder
      condition.lock()
      if isUsable, !connection.isBroken, !isClosed { idle.append(connection) }
      condition.unlock()
      free(thread)
    }

    /// Runs statements on a connection of the pool, in one round trip.
    ///
    /// - Parameter isRepeatable: whether they run again on a new connection if an idle one was lost, because they
    ///   change nothing, or the same if they run twice.
    func run(_ statements: [PostgresStatement], isRepeatable: Bool = false) throws -> [PostgresRows] {
      if isRepeatable {
        let (connection, results) = try take(until: deadline, isShort: true) { statements }
        give(back: connection)
        return results
      }
      let connection = try take(until: deadline, isShort: true)
      defer { give(back: connection) }
      return try connection.run(statements)
    }

    /// Closes idle connections, for example after a failover.
    func closeIdle() {
      condition.lock()
      let closed = idle
      idle = []
      condition.unlock()
      // Closed here, not under the lock.
      _ = closed
    }

    /// The store's error for an error of any layer.
    func storeError(_ error: any Error) -> StoreError {
      switch error {
      case let error as StoreError: return error
      case let error as PostgresError:
        // Other idle connections lead to the same server.
        if error.isConnectionLost { closeIdle() }
        return error.storeError
      default: return StoreError(.io, "the database server could not be used: \(error)")
      }
    }

    func close() {
      condition.lock()
      isClosed = true
      condition.broadcast()
      condition.unlock()
      closeIdle()
    }
  }

  /// The threads that have connections of the pools of a cluster. Thread-safe.
  final class ConnectionHolders: Sendable {
    private let counts = Mutex<[pthread_t: Int]>([:])

    /// The number of threads.
    var count: Int { counts.withLock { $0.count } }

    func contains(_ thread: pthread_t) -> Bool { counts.withLock { $0[thread] != nil } }

    func add(_ thread: pthread_t) { counts.withLock { $0[thread, default: 0] += 1 } }

    func remove(_ thread: pthread_t) {
      counts.withLock { counts in
        let count = (counts[thread] ?? 1) - 1
        counts[thread] = count == 0 ? nil : count
      }
    }
  }

  extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    var milliseconds: Int { Int(min(seconds * 1000, 1_000_000_000)) }
  }
#endif

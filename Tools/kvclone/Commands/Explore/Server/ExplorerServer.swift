#if Explorer
  import FlyingSocks
  import Foundation
  import KVCloneExplorer

  /// Serves the explorer over HTTP/1.1, on a socket that listens.
  ///
  /// Uses the sockets and events of FlyingFox, but not its HTTP server: that limits neither connections nor headers nor
  /// the time of a request, and ends when the process has no free file descriptor.
  struct ExplorerServer: Sendable {
    let listener: Socket
    let explorer: Explorer
    let options: ExplorerOptions
    let launchCode: LaunchCode?
    private let table: ConnectionTable
    private let budget = ResponseBudget(limit: 32 << 20)

    /// The most connections, if the process may open enough files.
    private static let connectionLimit = 512
    /// Descriptors for the store, and for connections that end.
    private static let reservedDescriptors = 128

    init(_ listener: Socket, _ explorer: Explorer, _ options: ExplorerOptions, launchCode: LaunchCode?) {
      self.listener = listener
      self.explorer = explorer
      self.options = options
      self.launchCode = launchCode
      let descriptors = Self.raisedDescriptorLimit()
      table = ConnectionTable(capacity: min(Self.connectionLimit, max(8, descriptors - Self.reservedDescriptors)))
      // Writing to a closed connection must not end the process.
      signal(SIGPIPE, SIG_IGN)
    }

    /// Serves until the task is cancelled; then ends the connections, waits for changes in progress, and throws.
    func run() async throws {
      let pool: SocketPool<ePoll> = .ePoll(maxEvents: 64)
      try await pool.prepare()
      let socket = try AsyncSocket(socket: listener, pool: pool)
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await pool.run() }
          group.addTask { try await table.enforceDeadlines() }
          group.addTask { try await acceptConnections(socket, pool) }
          try await group.next()
        }
      } catch {
        // Checks of the store would continue after the last connection.
        explorer.shutdown()
        await pool.finishEvents()
        try? listener.close()
        table.cancelAll()
        // Not in this task: it is cancelled, and would not wait.
        await Task { await waitForConnections() }.value
        throw error
      }
    }

    private func acceptConnections(_ listener: AsyncSocket, _ pool: SocketPool<ePoll>) async throws {
      while true {
        try await table.waitForPlace()
        try Task.checkCancellation()
        do {
          serve(try await listener.accept(), pool)
        } catch SocketError.failed {
          // Too few descriptors or too little memory, or a client that has closed the connection already.
          table.evict()
          try await Task.sleep(for: .milliseconds(20))
        }
      }
    }

    private func serve(_ socket: AsyncSocket, _ pool: SocketPool<ePoll>) {
      let file = socket.socket.file.rawValue
      _ = fcntl(file, F_SETFD, FD_CLOEXEC)
      let settings = [
        (IPPROTO_TCP, TCP_NODELAY, 1),
        // Detects clients that disappear without closing the connection, after about ten minutes.
        (Int(SOL_SOCKET), SO_KEEPALIVE, 1), (IPPROTO_TCP, TCP_KEEPIDLE, 60),
      ]
      for (level, name, value) in settings {
        var value = Int32(value)
        setsockopt(file, Int32(level), name, &value, socklen_t(MemoryLayout<Int32>.size))
      }
      let place = table.admit()
      let connection = HTTPConnection(
        socket: socket, pool: pool, place: place, explorer: explorer, options: options, launchCode: launchCode,
        budget: budget)
      place.attach(
        Task {
          await connection.serve()
          await pool.finishEvents()
          try? socket.close()
          place.leave()
        })
    }

    private func waitForConnections() async {
      for _ in 0..<500 where !table.isEmpty { try? await Task.sleep(for: .milliseconds(10)) }
    }

    /// Raises the limit of open files, as far as the system allows and connections need; returns the limit.
    private static func raisedDescriptorLimit() -> Int {
      var limits = rlimit()
      let resource = Int32(RLIMIT_NOFILE.rawValue)
      guard getrlimit(resource, &limits) == 0 else { return 0 }
      let wanted = rlim_t(connectionLimit + 2 * reservedDescriptors)
      if limits.rlim_cur < wanted {
        limits.rlim_cur = min(wanted, limits.rlim_max)
        setrlimit(resource, &limits)
        getrlimit(resource, &limits)
      }
      return Int(clamping: limits.rlim_cur)
    }
  }

  extension SocketPool {
    /// Returns when the events that were reported before are processed.
    ///
    /// Call it before closing a socket. The pool resumes a waiting task, and then removes the socket from its queue. A
    /// socket that is closed in between stays in the queue, and the next connection with its number is never resumed.
    fileprivate func finishEvents() {}
  }
#endif

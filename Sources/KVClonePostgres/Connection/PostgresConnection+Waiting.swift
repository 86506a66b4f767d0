#if Postgres
  import CKVClonePostgres
  import Glibc

  /// Waits for the server. libpq would wait without a limit, also for a server that takes no more bytes.
  extension PostgresConnection {
    /// Waits are divided into slices of this length, in milliseconds: the descriptor does not report bytes that TLS has
    /// read already.
    private static let slice = 1000

    /// The time at which the connection is lost if the server neither sends nor takes a byte; nil for no limit.
    private var limit: ContinuousClock.Instant? {
      guard let responseTimeout else { return deadline }
      let now = ContinuousClock.now
      let end = max(now, lockDeadline ?? now) + responseTimeout
      return deadline.map { min($0, end) } ?? end
    }

    /// Sends the queued bytes. Receives bytes at the same time, so that the server can continue.
    func flush() throws(PostgresError) {
      var end = limit
      while true {
        let state = PQflush(handle)
        if state == 0 { return }
        guard state == 1, let isReady = wait(for: POLLIN | POLLOUT, until: end), PQconsumeInput(handle) == 1 else {
          throw lost()
        }
        if isReady { end = limit }
      }
    }

    /// Waits for a result. Returns nil behind the last result of a statement, and if the connection is lost.
    func nextResult() -> OpaquePointer? {
      var end = limit
      while end != nil, PQisBusy(handle) == 1 {
        guard !isBroken, let isReady = wait(for: POLLIN, until: end) else { return nil }
        if PQconsumeInput(handle) != 1 { break }
        if isReady { end = limit }
      }
      return PQgetResult(handle)
    }

    /// Waits for events of the descriptor, at most for a slice, and returns whether there is one; nil if the limit has
    /// passed. The connection can then only be closed.
    private func wait(for events: Int32, until limit: ContinuousClock.Instant?) -> Bool? {
      var left = Self.slice
      if let limit {
        let rest = limit - .now
        if rest <= .zero {
          noteTimeout()
          return nil
        }
        left = max(1, min(left, rest.milliseconds))
      }
      var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
      return poll(&descriptor, 1, Int32(left)) > 0
    }
  }
#endif

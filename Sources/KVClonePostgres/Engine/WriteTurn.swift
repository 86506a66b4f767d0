#if Postgres
  import Dispatch
  import Glibc
  import KVCloneCore
  import Synchronization

  /// The right of one thread of this process to write to a store. Between processes, the lock of the store's row
  /// decides.
  final class WriteTurn: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let holder = Mutex<pthread_t?>(nil)

    init() { semaphore.signal() }

    /// Waits for the turn.
    ///
    /// - Throws: `busy` after the timeout; `nestedWrite` if this thread has it.
    func take(_ timeout: Duration) throws(StoreError) {
      if holder.withLock({ $0 }) == pthread_self() {
        throw StoreError(.nestedWrite, "this thread has a write transaction open already; use that one")
      }
      guard semaphore.wait(timeout: .now() + timeout.seconds) == .success else {
        throw StoreError(
          .busy, "another write transaction of this process is in progress; wait for its end, or raise the timeout")
      }
      holder.withLock { $0 = pthread_self() }
    }

    /// Whether a thread of this process has the turn.
    var isTaken: Bool { holder.withLock { $0 != nil } }

    func give() {
      holder.withLock { $0 = nil }
      semaphore.signal()
    }
  }
#endif

#if Postgres
  import Dispatch
  import Glibc
  import KVCloneCore
  import Synchronization

  /// The right of one thread of this process to write to a store. Between processes, the lock of the store's row
  /// decides.
  final class WriteTurn: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let holder = Mutex<(thread: pthread_t, label: String)?>(nil)
    private let process = Atomic<Int32>(0)

    init() { semaphore.signal() }

    /// Waits for the turn.
    ///
    /// - Parameter label: the label of the transaction, for the errors of others.
    /// - Throws: `busy` after the deadline; `nestedWrite` if this thread has it.
    func take(until deadline: ContinuousClock.Instant, label: String) throws(StoreError) {
      if holder.withLock({ $0?.thread }) == pthread_self() {
        throw StoreError(.nestedWrite, "this thread has a write transaction open already; use that one")
      }
      guard semaphore.wait(timeout: .now() + max(0, (deadline - .now).seconds)) == .success else {
        let label = holder.withLock { $0?.label } ?? ""
        throw StoreError(
          .busy,
          "another write transaction of this process\(label.isEmpty ? "" : ", “\(label)”,") is in progress; wait for its "
            + "end, or raise the timeout")
      }
      holder.withLock { $0 = (pthread_self(), label) }
    }

    /// The server's process that runs the write transaction of the holder; 0 before its begin and without a holder.
    var serverProcess: Int32 {
      get { process.load(ordering: .relaxed) }
      set { process.store(newValue, ordering: .relaxed) }
    }

    func give() {
      serverProcess = 0
      holder.withLock { $0 = nil }
      semaphore.signal()
    }
  }
#endif

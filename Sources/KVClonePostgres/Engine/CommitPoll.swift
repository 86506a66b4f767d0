#if Postgres
  import Dispatch
  import KVCloneCore
  import Synchronization

  /// Notices commits: those of this process at once, and those of others by asking for the store's number.
  final class CommitPoll: Sendable {
    final class Watch: CommitWatch {
      private let stop: @Sendable () -> Void
      fileprivate let body: @Sendable () -> Void

      fileprivate init(_ body: @escaping @Sendable () -> Void, stop: @escaping @Sendable () -> Void) {
        self.body = body
        self.stop = stop
      }

      deinit { stop() }
    }

    private final class Stop: Sendable {
      let flag = Atomic(false)
    }

    /// Asks for the number at an interval, until it is stopped.
    private final class Poll: Sendable {
      private let queue = DispatchQueue(label: "KVClone.postgres.watch")
      private let number: @Sendable () -> Int64?
      private let body: @Sendable () -> Void
      private let last = Mutex<Int64?>(nil)

      init(_ number: @escaping @Sendable () -> Int64?, _ body: @escaping @Sendable () -> Void) {
        self.number = number
        self.body = body
      }

      func schedule(after milliseconds: Int, _ stop: Stop) {
        queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [self] in
          if stop.flag.load(ordering: .relaxed) { return }
          ask()
          schedule(after: milliseconds, stop)
        }
      }

      private func ask() {
        guard let now = number() else { return }
        let isNew = last.withLock { last in
          defer { last = now }
          return last != now
        }
        if isNew { body() }
      }
    }

    private struct WeakWatch: Sendable {
      weak var watch: Watch?
    }

    private let watches = Mutex<[WeakWatch]>([])

    /// Calls the watches: this process has committed.
    func note() {
      let bodies = watches.withLock { watches in
        watches.removeAll { $0.watch == nil }
        return watches.compactMap { $0.watch?.body }
      }
      for body in bodies { body() }
    }

    /// Begins a watch.
    ///
    /// - Parameter number: asks for the number of the last commit.
    func watch(
      every interval: Duration, _ number: @escaping @Sendable () -> Int64?, _ body: @escaping @Sendable () -> Void
    ) -> Watch {
      let poll = Poll(number, body)
      let isStopped = Stop()
      poll.schedule(after: max(1, interval.milliseconds), isStopped)
      let watch = Watch(body) { isStopped.flag.store(true, ordering: .relaxed) }
      watches.withLock { $0.append(WeakWatch(watch: watch)) }
      return watch
    }
  }
#endif

#if Explorer
  import Synchronization

  /// The open connections of a server, with a deadline for everything that waits for a client.
  ///
  /// If it is full, the connections that have waited longest for their client are closed. So idle and slow clients
  /// occupy no place that another one needs.
  final class ConnectionTable: Sendable {
    enum Phase {
      /// Between requests.
      case idle
      /// In the middle of a request.
      case receiving
      case answering
      /// Since a part of a response was given to the system.
      case sending
      /// After the last response, until the client closes the connection.
      case closing

      /// The time until the connection is closed; nil if the explorer limits it.
      var limit: Duration? {
        switch self {
        case .idle: .seconds(30)
        case .receiving: .seconds(10)
        case .answering: nil
        case .sending: .seconds(60)
        case .closing: .seconds(2)
        }
      }

      /// The time after which another connection may take the place; nil for never.
      fileprivate func evictionTime(sending: Duration) -> Duration? {
        switch self {
        case .idle, .receiving, .closing: .zero
        case .answering: nil
        case .sending: sending
        }
      }
    }

    /// The place of a connection in the table.
    struct Place: Sendable {
      fileprivate let table: ConnectionTable
      fileprivate let number: Int

      /// Begins a phase, and its time.
      func enter(_ phase: Phase) {
        table.update(number) { entry in
          entry.phase = phase
          entry.start = .now
        }
      }

      /// Sets the task that ends with the connection. It is cancelled at the deadline.
      func attach(_ task: Task<Void, Never>) {
        table.update(number) { entry in
          entry.task = task
          if entry.isCancelled { task.cancel() }
        }
      }

      func leave() { table.state.withLock { _ = $0.entries.removeValue(forKey: number) } }
    }

    private struct Entry {
      var task: Task<Void, Never>?
      var phase = Phase.idle
      var start = ContinuousClock.Instant.now
      var isCancelled = false

      mutating func cancel() {
        isCancelled = true
        task?.cancel()
      }
    }

    private struct State {
      var entries: [Int: Entry] = [:]
      var last = 0
    }

    private let capacity: Int
    private let sendingTime: Duration
    private let state = Mutex(State())

    /// - Parameter sendingTime: the time that a client has for a part of a response while others wait for a place.
    init(capacity: Int, sendingTime: Duration = .seconds(2)) {
      self.capacity = capacity
      self.sendingTime = sendingTime
    }

    var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }

    func admit() -> Place {
      state.withLock { state in
        state.last += 1
        state.entries[state.last] = Entry()
        return Place(table: self, number: state.last)
      }
    }

    /// Waits until the table has a free place.
    func waitForPlace() async throws {
      while state.withLock({ $0.entries.count >= capacity }) {
        evict()
        try await Task.sleep(for: .milliseconds(5))
      }
    }

    /// Closes an eighth of the connections: those that have waited longest for their client.
    func evict() {
      let now = ContinuousClock.now
      state.withLock { state in
        let waiting = state.entries.filter { _, entry in
          entry.phase.evictionTime(sending: sendingTime).map { entry.start + $0 <= now } ?? false
        }.sorted { $0.value.start < $1.value.start }
        for (number, _) in waiting.prefix(max(1, capacity / 8)) { state.entries[number]?.cancel() }
      }
    }

    /// Closes connections at their deadlines, until the task is cancelled.
    func enforceDeadlines() async throws {
      while true {
        try await Task.sleep(for: .milliseconds(500))
        let now = ContinuousClock.now
        state.withLock { state in
          for (number, entry) in state.entries where !entry.isCancelled {
            if let limit = entry.phase.limit, entry.start + limit < now { state.entries[number]?.cancel() }
          }
        }
      }
    }

    func cancelAll() {
      state.withLock { state in
        for number in state.entries.keys { state.entries[number]?.cancel() }
      }
    }

    private func update(_ number: Int, _ body: (inout Entry) -> Void) {
      state.withLock { state in
        guard var entry = state.entries[number] else { return }
        body(&entry)
        state.entries[number] = entry
      }
    }
  }
#endif

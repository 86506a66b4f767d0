import Dispatch
import KVCloneTracing
import Synchronization

/// A store's work that waits for the write lock, first in, first out. It runs on a separate thread and never blocks the
/// cooperative pool.
package final class WriterQueue: Sendable {
  private enum Item {
    /// Work that begins its own transactions.
    case alone(@Sendable () -> Void)
    /// A write that may share a commit with the writes behind it.
    case write(any QueuedWrite)
  }

  private struct State {
    /// Those before `first` were taken; cancelled ones are nil.
    private var items: [Item?] = []
    private var first = 0
    /// Whether a block on the dispatch queue will take the next item.
    var isScheduled = false

    mutating func append(_ item: Item) { items.append(item) }

    var count: Int { items[first...].count { $0 != nil } }

    /// The next item.
    var next: Item? {
      mutating get {
        while first < items.count, items[first] == nil { first += 1 }
        if first == items.count || first > max(64, items.count / 2) {
          items.removeFirst(first)
          first = 0
        }
        return first < items.count ? items[first] : nil
      }
    }

    mutating func takeNext() -> Item? {
      guard let item = next else { return nil }
      items[first] = nil
      return item
    }

    mutating func remove(_ write: any QueuedWrite) -> Bool {
      let place = items[first...].lastIndex { item in
        if case .write(let other)? = item { other === write } else { false }
      }
      guard let place else { return false }
      items[place] = nil
      return true
    }
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "KVClone.writer")
  /// The number of bytes written since the free space for a group was last checked. It begins with more than any group
  /// writes unchecked, so that the first group checks.
  let uncheckedByteCount = Atomic<UInt64>(1 << 40)

  /// Runs `body` after all queued work.
  package func async(_ body: @escaping @Sendable () -> Void) {
    if append(.alone(StoreSpan.carrying(body))) { schedule() }
  }

  /// Adds a write. Its `run` is called in its turn, unless another write takes it before. Returns whether the caller
  /// must call `schedule`.
  func append(_ write: any QueuedWrite) -> Bool { append(.write(write)) }

  private func append(_ item: Item) -> Bool {
    state.withLock { state in
      state.append(item)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// Runs the next item on the queue's thread.
  func schedule() {
    queue.async { [self] in
      switch state.withLock({ $0.takeNext() }) {
      case .alone(let body): body()
      case .write(let write): write.run()
      case nil: break
      }
      let isScheduled = state.withLock { state in
        state.isScheduled = state.next != nil
        return state.isScheduled
      }
      if isScheduled { schedule() }
    }
  }

  /// The number of items that wait.
  package var count: Int { state.withLock { $0.count } }

  /// Takes the next item if it is a write of a type.
  func takeWrite<Write>(as type: Write.Type) -> Write? {
    state.withLock { state in
      guard case .write(let next)? = state.next, let write = next as? Write else { return nil }
      _ = state.takeNext()
      return write
    }
  }

  /// Removes a waiting write, and returns whether it did.
  func remove(_ write: any QueuedWrite) -> Bool { state.withLock { $0.remove(write) } }
}

/// An asynchronous write in a ``WriterQueue``.
protocol QueuedWrite: AnyObject, Sendable {
  /// Runs the write, which was removed from its queue, and as many of the following ones as it takes.
  func run()
}

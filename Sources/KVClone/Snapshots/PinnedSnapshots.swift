import Dispatch
package import KVCloneCore
import KVCloneLMDB
import Synchronization

/// The pinned snapshots of a store: their limit, and the timer that ends expired ones.
///
/// The store and each snapshot refer to it, and it refers to neither, so there is no reference cycle. A timer exists
/// only while a pinned snapshot can expire.
package final class PinnedSnapshots: StoreResource {
  private struct State {
    var lastNumber: UInt64 = 0
    var readers: [UInt64: PinnedReader] = [:]
    /// The number of snapshots that are being pinned.
    var pending = 0
    var isClosed = false
    /// The timer; unmanaged, because a forked child that releases everything must not release it: queues are the
    /// parent's.
    var timer: Unmanaged<Timer>?
    /// The time at which the timer fires.
    var alarm = UInt64.max
  }

  /// Sendable, because it is used under the lock.
  private final class Timer: @unchecked Sendable {
    let source: any DispatchSourceTimer

    init(_ ring: @escaping @Sendable () -> Void) {
      source = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
      source.setEventHandler { ring() }
    }

    func set(_ nanoseconds: UInt64) {
      source.schedule(deadline: .now() + .nanoseconds(Int(clamping: nanoseconds)))
    }

    deinit { source.cancel() }
  }

  private let limit: Int
  private let state = Mutex(State())
  private let forkGuard = ForkGuard()

  init(limit: Int) {
    self.limit = limit
  }

  /// The pinned snapshots of a store.
  package static func of(_ store: ObjectStore) -> PinnedSnapshots { store.resource(Self.self) }

  deinit {
    if isForked { return }
    state.withLock { $0.timer?.release() }
  }

  /// Whether this is a forked child. Check it before any lock: in a forked child, a lock that another thread held stays
  /// locked forever.
  package var isForked: Bool { forkGuard.isForked }

  /// The open readers, oldest first.
  package var alive: [PinnedReader] {
    state.withLock { Array($0.readers.values) }.sorted { $0.began < $1.began }
  }

  /// Creates a reader and keeps it until it is removed, expires, or the store is closed.
  func add(_ make: () throws(StoreError) -> PinnedReader) throws(StoreError) -> (number: UInt64, reader: PinnedReader) {
    if isForked { throw StoreError(LMDBError.forked) }
    endExpired()
    if let failure = admit() { throw failure }
    let reader: PinnedReader
    do throws(StoreError) {
      reader = try make()
    } catch {
      state.withLock { $0.pending -= 1 }
      throw error
    }
    let number = state.withLock { state -> UInt64? in
      state.pending -= 1
      if state.isClosed { return nil }
      state.lastNumber += 1
      state.readers[state.lastNumber] = reader
      setAlarm(&state)
      return state.lastNumber
    }
    guard let number else {
      reader.end(.storeClosed)
      throw StoreError(LMDBError.closed)
    }
    return (number, reader)
  }

  func remove(_ number: UInt64, _ end: PinnedReader.End) {
    // The transaction ends first: a reader outside of the list has none.
    state.withLock { $0.readers[number] }?.end(end)
    drop([number])
  }

  /// Ends expired readers, even if they are not in use.
  package func endExpired() {
    let expired = state.withLock { state in state.readers.filter { $0.value.isPastDeadline } }
    if expired.isEmpty { return }
    for reader in expired.values { reader.end(.expired) }
    drop(expired.keys)
  }

  /// Ends all readers permanently.
  package func close() {
    if isForked { return }
    let readers = state.withLock { state in
      state.isClosed = true
      return state.readers
    }
    for reader in readers.values { reader.end(.storeClosed) }
    drop(readers.keys)
  }

  /// Counts a reader that is about to be created, or returns why it cannot be.
  private func admit() -> StoreError? {
    state.withLock { state in
      if state.isClosed { return StoreError(LMDBError.closed) }
      guard state.readers.count + state.pending >= limit else {
        state.pending += 1
        return nil
      }
      var oldest = ""
      if let reader = state.readers.values.min(by: { $0.began < $1.began }) {
        let name = reader.owner.isEmpty ? "without an owner's name" : "“\(reader.owner)”"
        oldest = " (the oldest \(name), \(reader.age.inWords) old)"
      }
      return StoreError(
        .tooManySnapshots,
        "\(state.readers.count) snapshots are pinned\(oldest), but the limit is \(limit); close some, or raise "
          + "pinnedSnapshotLimit")
    }
  }

  private func drop(_ numbers: some Sequence<UInt64>) {
    // The readers themselves end outside of the lock.
    let dropped = state.withLock { state in
      let dropped = numbers.map { state.readers.removeValue(forKey: $0) }
      setAlarm(&state)
      return dropped
    }
    _ = consume dropped
  }

  // MARK: The timer

  /// Sets the timer to the earliest expiry, or releases it.
  private func setAlarm(_ state: inout State) {
    guard let next = state.readers.values.lazy.compactMap(\.deadline).min() else {
      state.timer?.release()
      state.timer = nil
      state.alarm = .max
      return
    }
    if state.timer != nil, state.alarm == next { return }
    state.alarm = next
    let now = monotonicNanoseconds()
    // Fires one millisecond late rather than early; the pages can wait.
    let pause = (next > now ? next - now : 0) + 1_000_000
    if let timer = state.timer { return timer.takeUnretainedValue().set(pause) }
    let timer = Timer { [weak self] in self?.ring() }
    timer.set(pause)
    timer.source.activate()
    state.timer = .passRetained(timer)
  }

  private func ring() {
    state.withLock { $0.alarm = .max }
    endExpired()
    // By this clock, nothing may have expired yet.
    state.withLock { setAlarm(&$0) }
  }
}

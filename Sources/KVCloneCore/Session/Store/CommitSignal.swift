import KVCloneRecords
import Synchronization

/// Wakes tasks that wait for commits, of this process or others.
package final class CommitSignal: StoreResource {
  private struct State {
    /// Incremented for every noticed commit.
    var generation: UInt64 = 0
    var isClosed = false
    var lastWaiter: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    /// The number of listeners for other processes' commits, and the watch that reports them.
    var listenerCount = 0
    var watcher: (any CommitWatch)?
  }

  private let state = Mutex(State())

  /// Changes with every noticed commit: read it before reading the store, and pass it to `wait`.
  package var generation: UInt64 { state.withLock { $0.generation } }

  package var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Records that a commit may have happened.
  package func noteCommit() {
    let waiters = state.withLock { state in
      state.generation += 1
      return Self.takeWaiters(&state)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Ends all waiting.
  package func close() {
    // Objects that are released with the watcher are released outside of the lock.
    let (waiters, watcher) = state.withLock { state in
      state.isClosed = true
      defer { state.watcher = nil }
      return (Self.takeWaiters(&state), state.watcher)
    }
    for waiter in waiters { waiter.resume() }
    _ = consume watcher
  }

  private static func takeWaiters(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    if state.waiters.isEmpty { return [] }
    defer { state.waiters.removeAll() }
    return Array(state.waiters.values)
  }

  /// Returns when the generation is no longer `seen`, the store is closed, or the task is cancelled.
  package func wait(after seen: UInt64) async {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          // A task is cancelled before its handler runs, and the handler waits for this lock.
          if state.generation != seen || state.isClosed || Task.isCancelled { return true }
          state.waiters[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }

  // MARK: Other processes

  /// Starts to notice other processes' commits, through `watch` for the first listener.
  fileprivate func addListener(_ watch: () -> (any CommitWatch)?) {
    state.withLock { state in
      state.listenerCount += 1
      if state.watcher == nil, !state.isClosed { state.watcher = watch() }
    }
  }

  fileprivate func removeListener() {
    let watcher = state.withLock { state in
      state.listenerCount -= 1
      if state.listenerCount > 0 { return nil as (any CommitWatch)? }
      defer { state.watcher = nil }
      return state.watcher
    }
    _ = consume watcher
  }
}

/// Notices commits as long as it lives.
package final class CommitListener: Sendable {
  private let store: ObjectStore

  package init(_ store: ObjectStore) {
    self.store = store
    let engine = store.engine
    let signal = store.commitSignal
    let metadata = store.schema.tables.metadata
    let known = LastCommit()
    store.commitSignal.addListener {
      engine.watchCommits { [weak engine, weak signal] in
        // A written page is not yet a commit, and most are this process's own.
        guard let engine, let signal else { return }
        do throws(StoreError) {
          guard known.isNew(try engine.lastCommit(metadata)) else { return }
        } catch {
          // The listeners' next read throws this error. Others can pass.
          guard error.kind == .storeMoved else { return }
        }
        signal.noteCommit()
      }
    }
  }

  deinit {
    store.commitSignal.removeListener()
  }
}

/// The last noticed commit.
private final class LastCommit: Sendable {
  private let commit = Mutex<UInt64?>(nil)

  func isNew(_ commit: UInt64) -> Bool {
    self.commit.withLock { known in
      defer { known = commit }
      return known != commit
    }
  }
}

extension StorageEngine {
  /// The commit counter.
  fileprivate func lastCommit(_ metadata: StorageTable) throws(StoreError) -> UInt64 {
    let storage = StorageTransaction(try beginRead())
    return try Metadata.counter(storage, metadata, MetadataKey.commitCounter)
  }
}

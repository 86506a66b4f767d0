import KVClone
import KVCloneCore

/// The number of the last commit as server-sent events: at the start, and after commits of all processes.
///
/// An event is `commit` with the data `{"commit":12}`. Several commits can be one event. It needs no history, and holds
/// no transaction between events.
enum CommitEvents {
  /// The time between two comments, by which a server notices that its client has disconnected.
  private static let heartbeat = Duration.seconds(15)
  /// The shortest time between two events.
  private static let pause = Duration.milliseconds(100)

  private typealias Continuation = AsyncThrowingStream<[UInt8], any Error>.Continuation

  static func stream(
    _ store: ObjectStore, _ streams: OpenStreams
  ) throws(ExplorerError) -> AsyncThrowingStream<[UInt8], any Error> {
    try streams.stream(buffer: 64) { continuation in
      continuation.yield(Array("retry: 3000\n\n".utf8))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await yieldCommits(of: store, to: continuation) }
        group.addTask {
          while true {
            try await Task.sleep(for: heartbeat)
            continuation.yield(Array(": still open\n\n".utf8))
          }
        }
        // The commits end with the store.
        try await group.next()
        group.cancelAll()
      }
    }
  }

  private static func yieldCommits(of store: ObjectStore, to continuation: Continuation) async throws {
    let listener = CommitListener(store)
    defer { withExtendedLifetime(listener) {} }
    var known: UInt64?
    while !Task.isCancelled, !store.commitSignal.isClosed {
      let generation = store.commitSignal.generation
      let commit: UInt64
      do {
        commit = try await store.read { tx in try tx.currentToken().commit }
      } catch let error as StoreError where error.kind == .closed {
        return
      }
      if commit != known {
        known = commit
        continuation.yield(Array("id: \(commit)\nevent: commit\ndata: {\"commit\":\(commit)}\n\n".utf8))
        try await Task.sleep(for: pause)
      }
      await store.commitSignal.wait(after: generation)
    }
  }
}

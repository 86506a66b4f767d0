import Synchronization

/// The live updates, responses that do not end by themselves: their number is bounded, and they end with the explorer.
final class OpenStreams: Sendable {
  private struct State {
    var cancels: [UInt64: @Sendable () -> Void] = [:]
    var last: UInt64 = 0
    var isShutDown = false
  }

  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { state.withLock { $0.cancels.count } }

  var isShutDown: Bool { state.withLock { $0.isShutDown } }

  /// Ends all streams, and refuses others.
  func shutDown() {
    let cancels = state.withLock { state in
      state.isShutDown = true
      return Array(state.cancels.values)
    }
    for cancel in cancels { cancel() }
  }

  /// Returns a stream of what `produce` yields. It ends when `produce` returns; the task of `produce` is cancelled when
  /// the client has disconnected or the explorer is shut down.
  ///
  /// - Parameter buffer: the number of chunks that a slow client retains; older ones are dropped.
  /// - Throws: `busy` if too many streams are open.
  func stream(
    buffer: Int,
    _ produce: @escaping @Sendable (AsyncThrowingStream<[UInt8], any Error>.Continuation) async throws -> Void
  ) throws(ExplorerError) -> AsyncThrowingStream<[UInt8], any Error> {
    let number = try reserve()
    return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(buffer)) { continuation in
      let task = Task { [self] in
        defer { close(number) }
        do {
          try await produce(continuation)
          continuation.finish()
        } catch is CancellationError {
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { [self] _ in
        task.cancel()
        close(number)
      }
      let isShutDown = state.withLock { state in
        if state.cancels[number] != nil { state.cancels[number] = { task.cancel() } }
        return state.isShutDown
      }
      if isShutDown { task.cancel() }
    }
  }

  private func close(_ number: UInt64) {
    _ = state.withLock { $0.cancels.removeValue(forKey: number) }
  }

  private func reserve() throws(ExplorerError) -> UInt64 {
    let number = state.withLock { state -> UInt64? in
      guard state.cancels.count < limit, !state.isShutDown else { return nil }
      state.last += 1
      state.cancels[state.last] = {}
      return state.last
    }
    guard let number else {
      throw ExplorerError(.busy, "\(limit) live pages are open, which is the limit; close one, or reload this one")
    }
    return number
  }
}

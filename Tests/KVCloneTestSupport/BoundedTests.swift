import Synchronization
package import Testing

/// Runs few tests of asynchronous suites at the same time.
///
/// Asynchronous tests all begin before the first one ends. With a store each, they would need more address space for
/// memory maps than a process has.
package struct BoundedTests: SuiteTrait, TestTrait, TestScoping {
  private static let limit = 8

  private struct State {
    var running = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private static let state = Mutex(State())

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    await withCheckedContinuation { turn in
      let isFree = Self.state.withLock { state in
        if state.running < Self.limit {
          state.running += 1
          return true
        }
        state.waiting.append(turn)
        return false
      }
      if isFree { turn.resume() }
    }
    defer {
      // The place passes to the next one.
      let next = Self.state.withLock { state -> CheckedContinuation<Void, Never>? in
        if state.waiting.isEmpty {
          state.running -= 1
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
    try await function()
  }
}

extension Trait where Self == BoundedTests {
  /// See ``BoundedTests``.
  package static var bounded: Self { BoundedTests() }
}

import Foundation
import Testing

/// Runs `body` on a thread with the given stack size in bytes.
package func onThread<R: Sendable>(stackSize: Int, _ body: @escaping @Sendable () throws -> R) throws -> R {
  let answer = ThreadAnswer<R>()
  let thread = Thread { answer.finish(Result { try body() }) }
  thread.stackSize = stackSize
  thread.start()
  return try answer.wait()
}

private final class ThreadAnswer<R: Sendable>: @unchecked Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private var result: Result<R, any Error>?

  func finish(_ result: Result<R, any Error>) {
    self.result = result
    semaphore.signal()
  }

  func wait() throws -> R {
    semaphore.wait()
    return try #require(result).get()
  }
}

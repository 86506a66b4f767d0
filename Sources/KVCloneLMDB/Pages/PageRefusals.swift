import Synchronization

/// Where the system has refused to read, also where the next attempt succeeded: a disk says so once before it dies.
///
/// A check that makes several attempts at a file shares one among them.
package final class PageRefusals: Sendable {
  /// At one page.
  package struct Refusal: Sendable {
    /// How often whoever wanted the page did not get it. It is 0 where the next attempt, made at once, succeeded.
    package var denials = 0
    /// The error number of the last time.
    package var code: Int32 = 0
  }

  private struct State {
    var pages: [UInt64: Refusal] = [:]
    var isTruncated = false
  }

  private static let maximumPages = 1 << 12
  private let state = Mutex(State())

  package init() {}

  func note(_ page: UInt64, _ code: Int32, isDenied: Bool) {
    state.withLock { state in
      guard state.pages.count < Self.maximumPages || state.pages[page] != nil else {
        state.isTruncated = true
        return
      }
      state.pages[page, default: Refusal()].denials += isDenied ? 1 : 0
      state.pages[page]?.code = code
    }
  }

  /// By page; of very many, the first ones.
  package var pages: [UInt64: Refusal] { state.withLock { $0.pages } }

  /// Whether there were more pages than are remembered.
  package var isTruncated: Bool { state.withLock { $0.isTruncated } }
}

import Synchronization

/// Failed reads, including those that succeeded on retry: a disk may report an error once before it fails.
///
/// Several attempts of a check at a file share one.
package final class PageRefusals: Sendable {
  /// The failed reads of one page.
  package struct Refusal: Sendable {
    /// The number of times that the page could not be returned. 0 if the immediate retry succeeded.
    package var denials = 0
    /// The last error number.
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

  /// By page; limited to the first ones.
  package var pages: [UInt64: Refusal] { state.withLock { $0.pages } }

  /// Whether there were more pages than are recorded.
  package var isTruncated: Bool { state.withLock { $0.isTruncated } }
}

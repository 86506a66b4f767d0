/// Replaces the kernel's answers about the page cache, and observes requests. For tests.
package final class ReadAheadHooks: Sendable {
  /// Whether the page cache has a page.
  let isResident: @Sendable (UInt64) -> Bool
  /// Receives each run of pages that is requested.
  let request: @Sendable (Range<UInt64>) -> Void

  package init(
    isResident: @escaping @Sendable (UInt64) -> Bool, request: @escaping @Sendable (Range<UInt64>) -> Void
  ) {
    self.isResident = isResident
    self.request = request
  }
}

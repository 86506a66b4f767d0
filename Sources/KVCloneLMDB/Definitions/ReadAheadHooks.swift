/// Replaces the results of page cache lookups, and observes read-ahead requests. For tests.
package final class ReadAheadHooks: Sendable {
  /// Whether the page cache holds a page.
  let isResident: @Sendable (UInt64) -> Bool
  /// Receives each run of requested pages.
  let request: @Sendable (Range<UInt64>) -> Void

  package init(
    isResident: @escaping @Sendable (UInt64) -> Bool, request: @escaping @Sendable (Range<UInt64>) -> Void
  ) {
    self.isResident = isResident
    self.request = request
  }
}

/// Coalesces page numbers into runs of neighbours.
struct PageRun {
  /// Pages of the longest run, 128 KiB: the kernel cuts off what exceeds both its own read-ahead and the device's
  /// largest transfer.
  private static let longest: UInt64 = 32

  private var first: UInt64 = 0
  private var end: UInt64 = 0

  /// Adds pages, and passes on the run before if they do not continue it.
  @inline(__always)
  mutating func add(_ page: UInt64, count: UInt64 = 1, _ request: (Range<UInt64>) -> Void) {
    if page != end {
      finish(request)
      first = page
    }
    end = page &+ count
  }

  /// Passes on what was added last.
  mutating func finish(_ request: (Range<UInt64>) -> Void) {
    while first < end {
      let next = min(end, first + Self.longest)
      request(first..<next)
      first = next
    }
    end = 0
    first = 0
  }
}

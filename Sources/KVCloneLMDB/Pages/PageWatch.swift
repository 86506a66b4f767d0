import Synchronization

/// Lets a long reading of a file's pages be followed, and stopped: from then on no page can be read any more.
package final class PageWatch: Sendable {
  private let isStoppedFlag = Atomic<Bool>(false)
  private let byteCount = Atomic<Int>(0)
  private let goesOn: @Sendable (_ byteCount: Int) -> Bool
  /// How often the reading is told of: in bytes.
  private static let step = 1 << 20

  /// - Parameter goesOn: is told every mebibyte or so how many bytes were read since it was last told; false stops the reading.
  package init(goesOn: @escaping @Sendable (_ byteCount: Int) -> Bool) {
    self.goesOn = goesOn
  }

  package var isStopped: Bool { isStoppedFlag.load(ordering: .relaxed) }

  /// Counts bytes that are about to be read; false if they shall not be.
  @inline(__always)
  func allows(reading count: Int) -> Bool {
    if byteCount.wrappingAdd(count, ordering: .relaxed).newValue >= Self.step { tell() }
    return !isStopped
  }

  private func tell() {
    if !goesOn(byteCount.exchange(0, ordering: .relaxed)) { isStoppedFlag.store(true, ordering: .relaxed) }
  }
}

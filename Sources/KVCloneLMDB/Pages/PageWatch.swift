import Synchronization

/// Reports the progress of reading a file's pages, and can stop it: later reads then fail.
package final class PageWatch: Sendable {
  private let isStoppedFlag = Atomic<Bool>(false)
  private let byteCount = Atomic<Int>(0)
  private let goesOn: @Sendable (_ byteCount: Int) -> Bool
  /// The interval of reports, in bytes.
  private static let step = 1 << 20

  /// - Parameter goesOn: called about every mebibyte with the number of bytes read since the last call; false stops
  ///   reading.
  package init(goesOn: @escaping @Sendable (_ byteCount: Int) -> Bool) {
    self.goesOn = goesOn
  }

  package var isStopped: Bool { isStoppedFlag.load(ordering: .relaxed) }

  /// Counts bytes that are about to be read; returns false if reading was stopped.
  @inline(__always)
  func allows(reading count: Int) -> Bool {
    if byteCount.wrappingAdd(count, ordering: .relaxed).newValue >= Self.step { tell() }
    return !isStopped
  }

  private func tell() {
    if !goesOn(byteCount.exchange(0, ordering: .relaxed)) { isStoppedFlag.store(true, ordering: .relaxed) }
  }
}

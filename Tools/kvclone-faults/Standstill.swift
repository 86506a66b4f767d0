import Foundation
import Synchronization

/// Notices that the whole machine stood still for a while, as virtual ones do that are moved or saved, or that its disk or memory did: a
/// process that was to end in time could not, and that says nothing against it.
final class Standstill: Sendable {
  static let shared = Standstill()
  /// A trial is made so many times at most.
  static let attempts = 3

  /// A machine with much to do lets nobody wait for so long.
  private static let threshold = Duration.seconds(10)
  private static let interval: UInt32 = 250_000

  private let count = Mutex(0)

  private init() {}

  /// Looks from now on until the process ends.
  func watch() {
    let thread = Thread { [self] in
      var last = ContinuousClock.now
      while true {
        usleep(Self.interval)
        let now = ContinuousClock.now
        if now - last > Self.threshold { note() }
        last = now
      }
    }
    thread.start()
  }

  func note() { count.withLock { $0 += 1 } }

  /// How many times it did, up to now.
  var total: Int {
    // It is the watching thread's turn before.
    usleep(3 * Self.interval)
    return known
  }

  /// The same, and perhaps without the last time.
  var known: Int { count.withLock { $0 } }
}

import Foundation
import Synchronization

/// Notices that the whole machine stood still for a while, as virtual ones do that are moved or saved, or that its disk or memory did: a
/// process that was to end in time could not, and that says nothing against it. A disk or memory is noted for the trial that waited for it.
final class Standstill: Sendable {
  static let shared = Standstill()
  /// A trial is made so many times at most.
  static let attempts = 3

  /// A machine with much to do lets nobody wait for so long.
  private static let threshold = Duration.seconds(10)
  private static let interval: UInt32 = 250_000

  private let count = Mutex(0)
  /// By the threads that perform trials, each one at a time.
  private let waits = Mutex<[pthread_t: Int]>([:])

  private init() {}

  /// Looks from now on until the process ends.
  func watch() {
    let thread = Thread { [self] in
      var last = ContinuousClock.now
      while true {
        usleep(Self.interval)
        let now = ContinuousClock.now
        if now - last > Self.threshold { count.withLock { $0 += 1 } }
        last = now
      }
    }
    thread.start()
  }

  /// Notes that a process of this thread's trial waits for the machine.
  func noteWait() { waits.withLock { $0[pthread_self(), default: 0] += 1 } }

  /// How many times it did, up to now, as far as this thread's trial is concerned.
  var total: Int {
    // It is the watching thread's turn before.
    usleep(3 * Self.interval)
    return known
  }

  /// The same, and perhaps without the last time.
  var known: Int { count.withLock { $0 } + waits.withLock { $0[pthread_self(), default: 0] } }
}

import Foundation
import Synchronization

/// Detects stalls of the whole machine, as of a virtual machine that is moved or saved, and of its disk or memory: a
/// process that ends late then is not a failure. A stall of disk or memory counts for the trial that waited for it.
final class Standstill: Sendable {
  static let shared = Standstill()
  /// The maximum number of runs of a trial.
  static let attempts = 3

  /// A delay that a busy machine alone does not cause.
  private static let threshold = Duration.seconds(10)
  private static let interval: UInt32 = 250_000

  private let count = Mutex(0)
  /// Waits by the threads that perform trials, each one at a time.
  private let waits = Mutex<[pthread_t: Int]>([:])

  private init() {}

  /// Monitors the machine until the process ends.
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

  /// Records that a process of this thread's trial waits for the machine.
  func noteWait() { waits.withLock { $0[pthread_self(), default: 0] += 1 } }

  /// The number of stalls that affect this thread's trial, including one that has just ended.
  var total: Int {
    // Waits for the monitoring thread to record a stall.
    usleep(3 * Self.interval)
    return known
  }

  /// The same, possibly without the latest stall.
  var known: Int { count.withLock { $0 } + waits.withLock { $0[pthread_self(), default: 0] } }
}

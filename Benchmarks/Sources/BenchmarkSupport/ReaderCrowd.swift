import Foundation
import Synchronization

/// Threads that read concurrently with a writer.
package struct ReaderCrowd: Sendable {
  package static let readerCount = 8

  /// The maximum number of reads per second of all readers together; nil without a limit.
  private let readsPerSecond: Double?

  package init(readsPerSecond: Double? = nil) { self.readsPerSecond = readsPerSecond }

  package struct Outcome {
    package var reads: Int
    package var writes: Int
    package var seconds: Double
  }

  /// Runs eight reading threads while this thread writes. The figures cover the time of the writer.
  ///
  /// - Parameters:
  ///   - makeReader: creates the reader of one thread, on that thread. Each call reads once.
  ///   - write: writes, and returns the number of writes.
  /// - Throws: the error of `write` or of a reader.
  package func run(
    seed: UInt64, _ makeReader: @escaping @Sendable () throws -> (inout SeededGenerator) throws -> Void,
    write: () throws -> Int
  ) throws -> Outcome {
    let progress = Progress()
    let readers = DispatchGroup()
    for number in 0..<Self.readerCount {
      readers.enter()
      // Threads, because a queue runs no more of them than there are processors.
      Thread {
        do {
          try read(seed: seed &+ UInt64(number), progress.counts[number], progress, try makeReader())
        } catch {
          progress.failure.withLock { $0 = error }
        }
        readers.leave()
      }.start()
    }
    let clock = ContinuousClock()
    let start = clock.now
    let readsBefore = progress.reads
    let written = Result { try write() }
    let seconds = (clock.now - start).seconds
    let reads = progress.reads - readsBefore
    progress.isOver.store(true, ordering: .relaxed)
    readers.wait()
    let writes = try written.get()
    if let failure = progress.failure.withLock({ $0 }) { throw failure }
    return Outcome(reads: reads, writes: writes, seconds: seconds)
  }

  private func read(
    seed: UInt64, _ count: Count, _ progress: Progress, _ read: (inout SeededGenerator) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    var pace = readsPerSecond.map { Pace(operationsPerSecond: $0 / Double(Self.readerCount)) }
    while !progress.isOver.load(ordering: .relaxed) {
      pace?.wait()
      try read(&random)
      count.value.add(1, ordering: .relaxed)
    }
  }

  /// The number of reads of one thread.
  private final class Count: Sendable {
    let value = Atomic<Int>(0)
    /// Keeps the counts of different threads in different cache lines.
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  /// The shared state of the threads.
  private final class Progress: Sendable {
    let isOver = Atomic<Bool>(false)
    let counts = (0..<ReaderCrowd.readerCount).map { _ in Count() }
    let failure = Mutex<(any Error)?>(nil)

    var reads: Int { counts.reduce(0) { $0 + $1.value.load(ordering: .relaxed) } }
  }
}

/// Distributes the operations of a thread over time.
private struct Pace {
  /// The maximum delay that a thread catches up on; a larger one would exceed the rate limit for some time.
  private static let longestDebt = 0.02
  /// The minimum sleep of a thread, which then performs all due operations.
  private static let shortestSleep: UInt32 = 2_000

  private let interval: Double
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant
  /// The time of the next operation, in seconds after the start.
  private var due = 0.0

  init(operationsPerSecond: Double) {
    interval = 1 / operationsPerSecond
    start = clock.now
  }

  mutating func wait() {
    var now = (clock.now - start).seconds
    while now < due {
      usleep(max(Self.shortestSleep, UInt32((due - now) * 1e6)))
      now = (clock.now - start).seconds
    }
    due = max(due, now - Self.longestDebt) + interval
  }
}

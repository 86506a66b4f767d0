import Foundation
import Synchronization

/// Threads that read next to a writer.
package struct ReaderCrowd: Sendable {
  package static let readerCount = 8

  /// How much all readers read together in a second at most; nil for as much as they can.
  private let readsPerSecond: Double?

  package init(readsPerSecond: Double? = nil) { self.readsPerSecond = readsPerSecond }

  package struct Outcome {
    package var reads: Int
    package var writes: Int
    package var seconds: Double
  }

  /// Eight threads read while this one writes. The figures cover the time of the writer.
  ///
  /// - Parameters:
  ///   - makeReader: makes what one thread reads with, on that thread. Each call reads once.
  ///   - write: writes, and returns how often it did.
  /// - Throws: what `write` throws, or what a reader throws.
  package func run(
    seed: UInt64, _ makeReader: @escaping @Sendable () throws -> (inout SeededGenerator) throws -> Void,
    write: () throws -> Int
  ) throws -> Outcome {
    let progress = Progress()
    let readers = DispatchGroup()
    for number in 0..<Self.readerCount {
      readers.enter()
      // Threads, because a queue has no more of them than there are processors.
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

  /// The reads of one thread.
  private final class Count: Sendable {
    let value = Atomic<Int>(0)
    /// Keeps the counts of two threads out of one cache line.
    private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  /// What the threads tell each other.
  private final class Progress: Sendable {
    let isOver = Atomic<Bool>(false)
    let counts = (0..<ReaderCrowd.readerCount).map { _ in Count() }
    let failure = Mutex<(any Error)?>(nil)

    var reads: Int { counts.reduce(0) { $0 + $1.value.load(ordering: .relaxed) } }
  }
}

/// Spreads operations of a thread over time.
private struct Pace {
  /// A thread that fell behind by more than this does not catch up: its rate would exceed the limit for a while.
  private static let longestDebt = 0.02
  /// A thread sleeps at least this long, and then does all operations that are due.
  private static let shortestSleep: UInt32 = 2_000

  private let interval: Double
  private let clock = ContinuousClock()
  private let start: ContinuousClock.Instant
  /// When the next operation is due, in seconds after the start.
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

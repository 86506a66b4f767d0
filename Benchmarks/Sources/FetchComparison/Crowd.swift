import BenchmarkSupport
import Foundation
import Synchronization

/// Readers of single items beside a writer.
struct Crowd: Sendable {
  static let readerCount = 8

  /// What the digests of the first items have to be, by number from 1.
  private let digests: [UInt64]

  struct Outcome {
    var reads: Int
    var writes: Int
    var seconds: Double
  }

  init(_ graph: ItemGraph) { digests = (1...graph.itemCount).map { graph.item($0).item.digest } }

  /// Eight threads read items at random, each in a transaction of its own, while this one inserts items, each in a
  /// durable transaction of its own. Every peer writes the same; how much is read meanwhile is up to it.
  ///
  /// - Throws: what a thread throws, and a failure where a reader sees an item that is not as it should be.
  func run(_ peer: some Contestant, inserting items: [LinkedItem], seed: UInt64) throws -> Outcome {
    let progress = Progress()
    let readers = DispatchGroup()
    for number in 0..<Self.readerCount {
      readers.enter()
      // Threads, because a queue has no more of them than there are processors.
      Thread {
        do {
          try read(peer, seed: seed &+ UInt64(number), progress)
        } catch {
          progress.failure.withLock { $0 = error }
        }
        readers.leave()
      }.start()
    }
    let clock = ContinuousClock()
    let start = clock.now
    let readsBefore = progress.reads.load(ordering: .relaxed)
    let written = Result { try peer.run(.insertSingly(items)) }
    let seconds = (clock.now - start).seconds
    let reads = progress.reads.load(ordering: .relaxed) - readsBefore
    progress.isOver.store(true, ordering: .relaxed)
    readers.wait()
    _ = try written.get()
    if let failure = progress.failure.withLock({ $0 }) { throw failure }
    return Outcome(reads: reads, writes: items.count, seconds: seconds)
  }

  private func read(_ peer: some Contestant, seed: UInt64, _ progress: Progress) throws {
    var random = SeededGenerator(seed: seed)
    while !progress.isOver.load(ordering: .relaxed) {
      let index = random.below(digests.count)
      guard try peer.readSingly(index + 1) == digests[index] else {
        throw PeerFailure("a reader beside a writer saw another item \(index + 1) than was written")
      }
      progress.reads.add(1, ordering: .relaxed)
    }
  }

  /// What the threads tell each other.
  private final class Progress: Sendable {
    let isOver = Atomic<Bool>(false)
    let reads = Atomic<Int>(0)
    let failure = Mutex<(any Error)?>(nil)
  }
}

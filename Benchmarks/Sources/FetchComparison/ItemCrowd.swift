import BenchmarkSupport
import ItemPeers

/// Readers of single items beside a writer.
struct ItemCrowd: Sendable {
  /// The expected digests of the first items, by number from 1.
  private let digests: [UInt64]

  init(_ graph: ItemGraph) { digests = (1...graph.itemCount).map { graph.item($0).item.digest } }

  /// Runs threads that read random items, each in its own transaction, while this thread inserts items, each in its own
  /// durable transaction. Every peer writes the same items; the number of reads depends on the peer.
  ///
  /// - Throws: the error of a thread, or a failure if a reader sees a wrong item.
  func run(_ peer: some Contestant, inserting items: [LinkedItem], seed: UInt64) throws -> ReaderCrowd.Outcome {
    let reader: @Sendable (inout SeededGenerator) throws -> Void = { random in
      let index = random.below(digests.count)
      guard try peer.readSingly(index + 1) == digests[index] else {
        throw PeerFailure("a reader beside a writer saw another item \(index + 1) than was written")
      }
    }
    return try ReaderCrowd().run(seed: seed) {
      reader
    } write: {
      _ = try peer.run(.insertSingly(items))
      return items.count
    }
  }
}

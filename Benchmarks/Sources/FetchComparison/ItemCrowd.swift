import BenchmarkSupport
import ItemPeers

/// Readers of single items beside a writer.
struct ItemCrowd: Sendable {
  /// What the digests of the first items have to be, by number from 1.
  private let digests: [UInt64]

  init(_ graph: ItemGraph) { digests = (1...graph.itemCount).map { graph.item($0).item.digest } }

  /// Threads read items at random, each in a transaction of its own, while this one inserts items, each in a durable
  /// transaction of its own. Every peer writes the same; how much is read meanwhile is up to it.
  ///
  /// - Throws: what a thread throws, and a failure where a reader sees an item that is not as it should be.
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

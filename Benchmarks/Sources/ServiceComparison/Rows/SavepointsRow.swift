import BenchmarkSupport
import ItemPeers

/// Inserts with and without savepoints, in one durable transaction.
struct SavepointsRow {
  static let insertCount = 1_000
  /// The suffix of the title of a contestant without savepoints.
  static let without = ", without savepoints"

  let title: String
  let rotation: Rotation

  private struct Contestant {
    let index: Int
    let usesSavepoints: Bool
  }

  func run(_ peers: [any NestingPeer]) async throws -> RowResult {
    report("\(ServiceRow.savepoints.rawValue): \(title)")
    var next = peers.map { $0.filledCount + 1 }
    var expected = try peers.map { try $0.contents() }
    let contestants = peers.indices.flatMap { index in
      [true, false].map { Contestant(index: index, usesSavepoints: $0) }
    }
    let samples = try await rotation.run(contestants) { one in
      let numbers = next[one.index]..<next[one.index] + Self.insertCount
      next[one.index] = numbers.upperBound
      expected[one.index].add(events: numbers.filter { !one.usesSavepoints || $0.isMultiple(of: 2) })
      let peer = peers[one.index]
      let processorBefore = Measuring.processorSeconds()
      let took = try ContinuousClock().measure {
        if one.usesSavepoints { try peer.insertInSavepoints(numbers) } else { try peer.insert(numbers) }
      }
      return Sample(
        operations: 1, seconds: took.seconds, processorSeconds: Measuring.processorSeconds() - processorBefore)
    }
    for (peer, expected) in zip(peers, expected) where try peer.contents() != expected {
      throw PeerFailure("\(peer.title) has other events than those whose savepoints did not throw")
    }
    let results = zip(contestants, samples).map { one, samples in
      ContestantResult(title: peers[one.index].title + (one.usesSavepoints ? "" : Self.without), samples: samples)
    }
    for one in results { report("  \(one.title): \(duration(one.seconds.median))") }
    return RowResult(row: .savepoints, title: title, contestants: results)
  }
}

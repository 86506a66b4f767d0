import BenchmarkSupport
import ItemPeers

/// Counts the syncs of transactions with one object.
enum SyncCount {
  private static let transactionCount = 200
  private static let graph = ItemGraph(itemCount: 1_000)

  /// Runs this program on a small store of one peer under strace.
  ///
  /// - Parameter name: the peer's name for `FetchComparison syncs`.
  static func look<Peer: Contestant>(at type: Peer.Type, name: String, in folder: String) throws -> SyncFigures {
    try SyncFigures(of: Peer.title, transactions: transactionCount, in: folder, running: ["syncs", name])
  }

  /// The work of the traced process.
  static func work<Peer: Contestant>(_ type: Peer.Type, in folder: String) throws {
    let peer = try Peer(making: graph, in: folder)
    var round = FetchTask.Round(random: SeededGenerator(seed: 1), nextID: graph.itemCount + 1)
    // The first writes of a process include one-time costs, so they are not counted.
    _ = try peer.run(.insertSingly(round.newItems(10, graph)))
    let items = round.newItems(transactionCount, graph)
    Marks.write(Marks.begin)
    _ = try peer.run(.insertSingly(items))
    Marks.write(Marks.end)
    try peer.close()
  }
}

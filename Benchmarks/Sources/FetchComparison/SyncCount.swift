import BenchmarkSupport
import ItemPeers

/// Counts what transactions of one object ask of the disk.
enum SyncCount {
  private static let transactionCount = 200
  private static let graph = ItemGraph(itemCount: 1_000)

  /// Runs this program on a small store of one peer.
  ///
  /// - Parameter name: the same peer, as `FetchComparison syncs` takes it.
  static func look<Peer: Contestant>(at type: Peer.Type, name: String, in folder: String) throws -> SyncFigures {
    try SyncFigures(of: Peer.title, transactions: transactionCount, in: folder, running: ["syncs", name])
  }

  /// What the process does.
  static func work<Peer: Contestant>(_ type: Peer.Type, in folder: String) throws {
    let peer = try Peer(making: graph, in: folder)
    var round = FetchTask.Round(random: SeededGenerator(seed: 1), nextID: graph.itemCount + 1)
    // What a process does at its first write is not what a write does.
    _ = try peer.run(.insertSingly(round.newItems(10, graph)))
    let items = round.newItems(transactionCount, graph)
    Marks.write(Marks.begin)
    _ = try peer.run(.insertSingly(items))
    Marks.write(Marks.end)
    try peer.close()
  }
}

import BenchmarkSupport
import Foundation

/// Counts what transactions of one object ask of the disk. A process of its own does them under strace, because a trace
/// slows everything down.
enum SyncCount {
  private static let transactionCount = 200
  private static let graph = ItemGraph(itemCount: 1_000)

  /// Runs this program on a small store of one peer.
  ///
  /// - Parameter name: the same peer, as `FetchComparison syncs` takes it.
  static func look<Peer: Contestant>(at type: Peer.Type, name: String, in folder: String) throws -> SyncFigures {
    guard let strace = Command.find("strace") else { throw PeerFailure("strace is not installed") }
    let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    // strace names files by their whole paths.
    let place = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    let (trace, store) = (place + "/trace", place + "/small-" + name)
    let result = try Command.run(
      SystemCallTrace.wrapper(strace: strace, output: trace) + [program, "syncs", name, store])
    guard result.status == 0, let text = FileManager.default.contents(atPath: trace) else {
      throw PeerFailure("\(name) under strace ended with \(result.status): \(result.errors)")
    }
    let calls = SystemCallTrace(String(decoding: text, as: UTF8.self), folder: store)
    guard calls.bytesWritten > 0 else { throw PeerFailure("strace saw \(name) write nothing") }
    guard calls.syncCount >= transactionCount else {
      throw PeerFailure(
        "\(name) synced \(calls.syncCount) times in \(transactionCount) transactions: they are not durable")
    }
    return SyncFigures(
      title: Peer.title, transactions: transactionCount, syncs: calls.syncCount, bytesWritten: calls.bytesWritten)
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

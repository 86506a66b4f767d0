import BenchmarkSupport
import Foundation
import ItemPeers

/// Creates the stores, runs all tasks of both peers in interleaved rounds, and writes the report.
struct FetchRun {
  let folder: String
  let output: String
  let isQuick: Bool
  /// The names of the tasks to run; nil for all.
  let only: [String]?
  /// The number of items in the graph.
  let itemCount: Int

  private static let rounds = 5
  private static let crowdName = "crowd"
  private static let seed: UInt64 = 0xBE7C

  static func roundSeconds(isQuick: Bool) -> Double { isQuick ? 0.3 : 1 }

  private var graph: ItemGraph { ItemGraph(itemCount: itemCount) }
  private var tasks: [FetchTask] { FetchTask.reading(graph) + FetchTask.writing(batch: isQuick ? 20_000 : 100_000) }

  /// - Returns: whether the peers had equal results in all tasks.
  func run() throws -> Bool {
    let names = tasks.map(\.name) + [Self.crowdName]
    if let unknown = only?.first(where: { !names.contains($0) }) {
      throw PeerFailure("there is no task '\(unknown)'; there are: " + names.joined(separator: ", "))
    }
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { StoreFiles.remove(folder) }
    let facts = MachineFacts(stores: folder, sqlite: SQLitePeer.version)
    var results = FetchResults(isQuick: isQuick, graph: graph)
    let took = try ContinuousClock().measure { try compare(&results) }
    results.seconds = took.seconds
    let text = FetchReport(results: results, facts: facts)
    try text.write(to: output)
    report("\n" + text.text)
    report("report: \(output)/report.md")
    return results.differences.isEmpty
  }

  private func compare(_ results: inout FetchResults) throws {
    let ours: KVClonePeer = try make("kvclone", &results)
    let theirs: SQLitePeer = try make("sqlite", &results)
    defer {
      ours.close()
      try? theirs.close()
    }
    for query in PlannedQuery.allCases {
      results.plans.append((query, try ours.plan(of: query), try theirs.plan(of: query)))
    }
    var next = graph.itemCount + 1
    for (index, task) in tasks.enumerated() where only?.contains(task.name) ?? true {
      var duel = Duel(
        ours, theirs, graph, FetchTask.Round(random: SeededGenerator(seed: Self.seed + UInt64(index)), nextID: next))
      results.measurements.append(try duel.run(task, seconds: Self.roundSeconds(isQuick: isQuick), rounds: Self.rounds))
      results.differences += duel.differences
      next = duel.round.nextID
    }
    if only?.contains(Self.crowdName) ?? true { try crowd(ours, theirs, next, &results) }
    if only?.contains(FetchTask.single.name) ?? true {
      do {
        results.syncs = [
          try SyncCount.look(at: KVClonePeer.self, name: "kvclone", in: folder),
          try SyncCount.look(at: SQLitePeer.self, name: "sqlite", in: folder),
        ]
      } catch {
        results.failures.append("syncs were not counted: \(error)")
      }
    }
  }

  private func make<Peer: Contestant>(_ name: String, _ results: inout FetchResults) throws -> Peer {
    let path = folder + "/" + name
    let clock = ContinuousClock()
    let start = clock.now
    let peer = try Peer(making: graph, in: path)
    let seconds = (clock.now - start).seconds
    let bytes = try StoreFiles.bytes(path)
    results.stores.append((Peer.title, seconds, bytes))
    report("made for \(Peer.title) in \(duration(seconds)), \(BenchmarkSupport.bytes(Double(bytes)))")
    return peer
  }

  /// Runs eight readers beside a writer.
  private func crowd(_ ours: KVClonePeer, _ theirs: SQLitePeer, _ next: Int, _ results: inout FetchResults) throws {
    let crowd = ItemCrowd(graph)
    var duel = Duel(ours, theirs, graph, FetchTask.Round(random: SeededGenerator(seed: Self.seed), nextID: next))
    let measured = try duel.run(
      crowd, seconds: 2 * Self.roundSeconds(isQuick: isQuick), rounds: Self.rounds)
    results.measurements += measured
    results.differences += duel.differences
  }
}

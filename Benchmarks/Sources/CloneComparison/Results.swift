import BenchmarkSupport
import PhotoStores

/// What was measured with one graph.
struct GraphResult {
  var plan: GraphPlan
  var replies: [Run: [PeerReply]] = [:]
  /// The lengths of the stores that were cloned in.
  var storeBytes: [Peer.Family: Int] = [:]

  func seconds(_ run: Run) -> Rounds { Rounds((replies[run] ?? []).flatMap(\.seconds)) }

  func seconds(_ peer: Peer) -> Rounds { seconds(Run(peer: peer)) }

  /// The peak of a process's whole anonymous memory, the highest of all rounds.
  func peak(_ run: Run) -> Int { (replies[run] ?? []).map(\.peakAnonymousBytes).max() ?? 0 }

  func nanosecondsPerObject(_ run: Run) -> Double { seconds(run).median * 1e9 / Double(max(1, plan.recipe.objects)) }

  /// The same in processor time, which a wait for the disk is not in.
  func processorNanosecondsPerObject(_ run: Run) -> Double {
    let seconds = (replies[run] ?? []).map { $0.processorSeconds / Double(max(1, $0.seconds.count)) }
    return Measuring.median(seconds) * 1e9 / Double(max(1, plan.recipe.objects))
  }

  /// The median of a part of a peer's time, or nil where it does not tell.
  func part(_ name: String, _ peer: Peer) -> Double? {
    let values = (replies[Run(peer: peer)] ?? []).compactMap { $0.parts[name] }
    return values.isEmpty ? nil : Measuring.median(values)
  }
}

/// What a whole run found.
struct Results {
  var isQuick: Bool
  var graphs: [GraphResult] = []
  /// Whole sections of the report that extras wrote, in their order.
  var sections: [(title: String, text: String)] = []
  var limits: [LimitResult] = []
  var syncs: [SyncResult] = []
  /// The file's length after the last of ten rounds, against after the first.
  var growth: (rounds: Int, first: Double, last: Double)?
  var failures: [String] = []
  /// How long all of it took.
  var seconds = 0.0

  func graph(_ name: String) -> GraphResult? { graphs.first { $0.plan.name == name } }
}

/// A clone inside a memory limit.
struct LimitResult {
  var title: String
  var isComplete: Bool
  var says: String
}

/// What a clone asked of the kernel before it returned.
struct SyncResult {
  var peer: Peer
  var calls: [String: Int]
  var bytesWritten: Int
  var reachesDisk: Bool
}

import BenchmarkSupport
import PhotoStores

/// The measurements of one graph.
struct GraphResult {
  var plan: GraphPlan
  var replies: [Run: [PeerReply]] = [:]
  /// The sizes of the source stores.
  var storeBytes: [Peer.Family: Int] = [:]

  func seconds(_ run: Run) -> Rounds { Rounds((replies[run] ?? []).flatMap(\.seconds)) }

  func seconds(_ peer: Peer) -> Rounds { seconds(Run(peer: peer)) }

  /// The peak of a process's anonymous memory, the maximum of all rounds.
  func peak(_ run: Run) -> Int { (replies[run] ?? []).map(\.peakAnonymousBytes).max() ?? 0 }

  func nanosecondsPerObject(_ run: Run) -> Double { seconds(run).median * 1e9 / Double(max(1, plan.recipe.objects)) }

  /// The same in processor time, which excludes waits for the disk.
  func processorNanosecondsPerObject(_ run: Run) -> Double {
    let seconds = (replies[run] ?? []).map { $0.processorSeconds / Double(max(1, $0.seconds.count)) }
    return Measuring.median(seconds) * 1e9 / Double(max(1, plan.recipe.objects))
  }

  /// The median of a part of a peer's time, or nil if the peer does not report it.
  func part(_ name: String, _ peer: Peer) -> Double? {
    let values = (replies[Run(peer: peer)] ?? []).compactMap { $0.parts[name] }
    return values.isEmpty ? nil : Measuring.median(values)
  }
}

/// The results of a run.
struct Results {
  var isQuick: Bool
  var graphs: [GraphResult] = []
  /// Sections of the report by the extras, in order.
  var sections: [(title: String, text: String)] = []
  var limits: [LimitResult] = []
  var syncs: [SyncResult] = []
  /// The file size after the last of ten rounds, and after the first.
  var growth: (rounds: Int, first: Double, last: Double)?
  var failures: [String] = []
  /// The duration of the run.
  var seconds = 0.0

  func graph(_ name: String) -> GraphResult? { graphs.first { $0.plan.name == name } }
}

/// The result of a clone within a memory limit.
struct LimitResult {
  var title: String
  var isComplete: Bool
  var says: String
}

/// The syncs of a clone before it returned.
struct SyncResult {
  var peer: Peer
  var calls: [String: Int]
  var bytesWritten: Int
  var reachesDisk: Bool
}

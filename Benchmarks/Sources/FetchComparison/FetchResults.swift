import BenchmarkSupport
import ItemPeers

/// The measurements of a task: seconds per operation, one value for each round.
struct FetchMeasurement {
  var title: String
  var operation: String
  var target: Double
  /// The number of operations in a round; 0 if it was limited by time.
  var operations: Int
  /// The number of objects, links or counted objects per operation; 0 if it returns none.
  var rows: Double
  /// Whether to report operations per second instead of the time of one, because operations ran concurrently.
  var isRate = false
  var kvclone: [Double] = []
  var sqlite: [Double] = []

  /// The speedup of KVClone.
  var speedup: Double {
    let ours = Measuring.median(kvclone)
    return ours > 0 ? Measuring.median(sqlite) / ours : 0
  }

  func text(_ seconds: Double) -> String {
    isRate ? grouped(Int((1 / max(seconds, 1e-9)).rounded())) + "/s" : duration(seconds)
  }

  var asTarget: Target {
    let figures = "\(text(Measuring.median(sqlite))) / \(text(Measuring.median(kvclone)))"
    return Target(
      title: title, limit: "≥ \(Plot.compact(target)) × faster", figure: "\(figures): \(fixed(speedup, 2)) ×",
      verdict: speedup >= target ? .met : .missed)
  }
}

/// The results of a run.
struct FetchResults {
  var isQuick: Bool
  var graph: ItemGraph
  var measurements: [FetchMeasurement] = []
  var syncs: [SyncFigures] = []
  /// The time to fill each peer's store, and the size of its files.
  var stores: [(title: String, seconds: Double, bytes: Int)] = []
  var plans: [(query: PlannedQuery, kvclone: String, sqlite: String)] = []
  /// Tasks with differing results; their figures are invalid.
  var differences: [String] = []
  /// Measurements that failed.
  var failures: [String] = []
  var seconds = 0.0
}

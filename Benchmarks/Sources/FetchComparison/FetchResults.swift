import BenchmarkSupport
import ItemPeers

/// What was measured of a task: seconds an operation, one value for each round.
struct FetchMeasurement {
  var title: String
  var operation: String
  var target: Double
  /// How many operations a round had; 0 where it was as many as there was time for.
  var operations: Int
  /// How many objects, or links, or counted objects an operation gave; 0 where it gave none.
  var rows: Double
  /// Whether operations a second say more than the time of one, which others ran beside.
  var isRate = false
  var kvclone: [Double] = []
  var sqlite: [Double] = []

  /// How many times faster KVClone is.
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

/// What a whole run found.
struct FetchResults {
  var isQuick: Bool
  var graph: ItemGraph
  var measurements: [FetchMeasurement] = []
  var syncs: [SyncFigures] = []
  /// How long each peer took to be filled, and the bytes of its files then.
  var stores: [(title: String, seconds: Double, bytes: Int)] = []
  var plans: [(query: PlannedQuery, kvclone: String, sqlite: String)] = []
  /// Tasks whose results were not the same: nothing else about them counts then.
  var differences: [String] = []
  /// What could not be looked at.
  var failures: [String] = []
  var seconds = 0.0
}

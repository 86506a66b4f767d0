import BenchmarkSupport

/// Compares the results with the targets. A quick run evaluates the sizes that it has, and names them.
struct Targets {
  let results: Results

  var all: [Target] {
    peers + scale + images + memory + [document, growth, sync]
  }

  var missed: [Target] { all.filter { $0.verdict == .missed } }

  /// The graph for the targets with a million objects: a tenth of that in a quick run.
  private var million: GraphResult? {
    results.graph("small-1m") ?? (results.isQuick ? results.graph("small-100k") : nil)
  }

  private var peers: [Target] {
    [
      slowdown("clone against C, same layout and checksums", million, .kvclone, .lmdb, atMost: 1.3, aim: 1.1),
      speedup("clone against SQLite, set-based", million, .kvclone, .sqliteSet, atLeast: 8),
      speedup("clone against SQLite, row by row through GRDB", million, .kvclone, .sqliteRows, atLeast: 25),
      speedup("clone against a RocksDB batch", million, .kvclone, .rocksdb, atLeast: 2),
    ]
  }

  private var scale: [Target] {
    let small = ["small-10k", "small-100k", "small-1m"].compactMap(results.graph)
    let run = Run(peer: .kvclone)
    func target(_ title: String, _ graphs: [GraphResult], _ limit: Double) -> Target {
      let costs = graphs.filter { !$0.seconds(run).isEmpty }.map { $0.nanosecondsPerObject(run) }
      guard costs.count > 1 else {
        return Target(title: title, limit: "≤ \(Plot.compact(limit)) ×", figure: "", verdict: .unknown)
      }
      let processor = graphs.map { $0.processorNanosecondsPerObject(run) }
      let figure =
        costs.map { fixed($0) }.joined(separator: " / ") + " ns: \(fixed(spread(costs), 2)) × (processor time "
        + processor.map { fixed($0) }.joined(separator: " / ") + " ns: \(fixed(spread(processor), 2)) ×)"
      return Target(
        title: title, limit: "≤ \(Plot.compact(limit)) ×", figure: figure,
        verdict: spread(costs) <= limit ? .met : .missed)
    }
    let large = [results.graph("small-10k"), results.graph("small-10m")].compactMap { $0 }
    return [
      target(results.isQuick ? "time an object, 10 k to 100 k" : "time an object, 10 k to 1 M", small, 1.3),
      target("time an object, 10 k to 10 M", large.count == 2 ? large : [], 2),
    ]
  }

  /// The ratio of the highest and the lowest cost, whichever graph is larger: the cost of a small clone includes its
  /// sync.
  private func spread(_ costs: [Double]) -> Double { (costs.max() ?? 0) / max(costs.min() ?? 0, 1) }

  private var images: [Target] {
    let (large, small) = (results.graph("images-100k"), results.graph("images-4k"))
    let (one, other) = (large?.seconds(.kvclone).median ?? 0, small?.seconds(.kvclone).median ?? 0)
    let title = "clone of photos with 100 kB each, shared, against 4 KiB each"
    let shared =
      one > 0 && other > 0
      ? Target(
        title: title, limit: "≤ 1.1 ×", figure: "\(duration(one)) / \(duration(other)): \(fixed(one / other, 2)) ×",
        verdict: one / other <= 1.1 ? .met : .missed)
      : Target(title: title, limit: "≤ 1.1 ×", figure: "", verdict: .unknown)
    return [
      shared, speedup("images copied, against SQLite set-based", large, .kvcloneCopy, .sqliteSet, atLeast: 3),
    ]
  }

  private var memory: [Target] {
    let copy = Run(peer: .kvcloneCopy)
    let graphs = [results.graph("images-1g"), results.graph("images-1m")].compactMap { $0 }.filter { $0.peak(copy) > 0 }
    let peaks = graphs.map { $0.peak(copy) }
    let shown = peaks.map { mebibytes($0) }.joined(separator: " / ") + " MiB"
    let isComplete = peaks.count == 2
    let spread = (peaks.max() ?? 0) - (peaks.min() ?? 0)
    var targets = [
      Target(
        title: "byte copy of 1 GB and 4 GB: peak anonymous memory", limit: "≤ 64 MiB", figure: isComplete ? shown : "",
        verdict: !isComplete ? .unknown : (peaks.max() ?? 0) <= 64 << 20 ? .met : .missed),
      Target(
        title: "the difference between them", limit: "≤ 8 MiB", figure: isComplete ? mebibytes(spread) + " MiB" : "",
        verdict: !isComplete ? .unknown : spread <= 8 << 20 ? .met : .missed),
    ]
    for (title, name) in [("1 M", "small-1m"), ("10 M", "small-10m")] {
      let peak = results.graph(name)?.peak(Run(peer: .kvclone)) ?? 0
      targets.append(
        Target(
          title: "\(title) small objects: peak anonymous memory", limit: "≤ 96 MiB",
          figure: peak > 0 ? mebibytes(peak) + " MiB" : "",
          verdict: peak == 0 ? .unknown : peak <= 96 << 20 ? .met : .missed))
    }
    for limit in results.limits {
      targets.append(
        Target(
          title: "\(limit.title) inside 256 MiB", limit: "completes", figure: limit.says,
          verdict: limit.isComplete ? .met : .missed))
    }
    return targets
  }

  private var document: Target {
    let title = "document of 100 objects: latency without the sync"
    guard let graph = results.graph("document-memory"), !graph.seconds(.kvclone).isEmpty else {
      return Target(title: title, limit: "≤ 150 µs", figure: "", verdict: .unknown)
    }
    let times = graph.seconds(.kvclone)
    var figure = "\(duration(times.median)), p99 \(duration(times.percentile(0.99)))"
    if let others = results.graph("document-tags"), let (one, other) = medians(others, .kvclone, .lmdb) {
      figure += "; with links to nearly 192 outside objects instead of 24: \(duration(one)) (C \(duration(other)))"
    }
    return Target(
      title: title, limit: "≤ 150 µs", figure: figure, verdict: times.median <= 0.000_150 ? .met : .missed)
  }

  private var growth: Target {
    let title = "ten rounds of clone and delete: the file after the last against after the first"
    guard let growth = results.growth else {
      return Target(title: title, limit: "≤ 1.05 ×", figure: "", verdict: .unknown)
    }
    let ratio = growth.last / growth.first
    return Target(
      title: title, limit: "≤ 1.05 ×", figure: fixed(ratio, 3) + " ×", verdict: ratio <= 1.05 ? .met : .missed)
  }

  private var sync: Target {
    let title = "the clone is on the disk when it returns (strace)"
    guard let seen = results.syncs.first(where: { $0.peer == .kvclone }) else {
      return Target(title: title, limit: "synced", figure: "", verdict: .unknown)
    }
    let syncs = seen.calls.filter { $0.key.contains("sync") }.map { "\($0.key) × \($0.value)" }.sorted()
    return Target(
      title: title, limit: "synced",
      figure: "\(bytes(Double(seen.bytesWritten))) written, "
        + (syncs.isEmpty ? "no sync" : syncs.joined(separator: ", ")),
      verdict: seen.reachesDisk ? .met : .missed)
  }

  private func slowdown(
    _ title: String, _ graph: GraphResult?, _ ours: Peer, _ theirs: Peer, atMost limit: Double, aim: Double
  ) -> Target {
    let limitText = "≤ \(Plot.compact(limit)) × (aim \(Plot.compact(aim)))"
    guard let graph, let (one, other) = medians(graph, ours, theirs) else {
      return Target(title: title, limit: limitText, figure: "", verdict: .unknown)
    }
    func processor(_ peer: Peer) -> Double { graph.processorNanosecondsPerObject(Run(peer: peer)) }
    return Target(
      title: title + size(graph), limit: limitText,
      figure: "\(duration(one)) / \(duration(other)): \(fixed(one / other, 2)) × "
        + "(\(fixed(processor(ours) / max(1, processor(theirs)), 2)) × in processor time)",
      verdict: one / other <= limit ? .met : .missed)
  }

  private func speedup(_ title: String, _ graph: GraphResult?, _ ours: Peer, _ theirs: Peer, atLeast limit: Double)
    -> Target
  {
    let limitText = "≥ \(Plot.compact(limit)) × faster"
    guard let graph, let (one, other) = medians(graph, ours, theirs) else {
      return Target(title: title, limit: limitText, figure: "", verdict: .unknown)
    }
    var figure = "\(duration(other)) / \(duration(one)): \(fixed(other / one, 1)) ×"
    if let commit = graph.part("until the commit", theirs), commit < other * 0.99 {
      figure += " (\(fixed(commit / one, 1)) × without its checkpoint)"
    }
    return Target(
      title: title + size(graph), limit: limitText, figure: figure, verdict: other / one >= limit ? .met : .missed)
  }

  private func size(_ graph: GraphResult) -> String { ", " + graph.plan.title }

  private func medians(_ graph: GraphResult, _ ours: Peer, _ theirs: Peer) -> (Double, Double)? {
    let (one, other) = (graph.seconds(ours), graph.seconds(theirs))
    return one.isEmpty || other.isEmpty ? nil : (one.median, other.median)
  }
}

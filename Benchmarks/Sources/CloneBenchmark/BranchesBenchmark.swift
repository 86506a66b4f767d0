import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// The cost of branches: creating them, reading and writing on them, and merging them and drafts.
enum BranchesBenchmark {
  static func run(in directory: String, quick: Bool) throws {
    let sizes = quick ? [1_000, 100_000] : [1_000, 100_000, 1_000_000, 10_000_000]
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }
    report("branches: libraries of albums of 100 photos, 5 attributes and 2 of 1,000 shared tags each")
    let stores = try sizes.map { try MeasuredStore(of: $0, in: workspace) }
    defer { for entry in stores { entry.store.close() } }
    var targets = [try creation(stores, rounds: quick ? 20 : 200)]
    let measured = quick ? stores[1] : stores[2]
    targets += try reading(measured, rounds: quick ? 3 : 9)
    // A store with the same content: writes of a store with branches also record preimages.
    let plain = try MeasuredStore(of: sizes[1], in: workspace, named: "plain")
    defer { plain.store.close() }
    targets += try BranchWrites(plain, stores[1]).run(quick: quick)
    if let largest = stores.last { targets += try MergeBenchmark.run(largest, rounds: quick ? 2 : 5) }
    targets += try DraftBenchmark.run(in: workspace, quick: quick)
    report("\n" + targets.section())
  }

  // MARK: Creating

  private static func creation(_ stores: [MeasuredStore], rounds: Int) throws -> Target {
    var times = [[Double]](repeating: [], count: stores.count)
    // The first branch of a store creates tables. Rounds are interleaved, so that a slow phase of the disk affects all
    // sizes.
    for round in -1..<rounds {
      for (index, entry) in stores.enumerated() {
        let seconds = try Measuring.seconds { try entry.store.branches.create("round") }
        if round >= 0 { times[index].append(seconds) }
        try entry.store.branches.delete("round")
      }
    }
    report("  creating one, microseconds (median, least), including the syncs of the commit:")
    for (entry, times) in zip(stores, times) {
      report(
        "    \(grouped(entry.size).right(10)) objects \(fixed(Measuring.median(times) * 1e6, 1).right(10)) "
          + "\(fixed((times.min() ?? 0) * 1e6, 1).right(10))")
    }
    let medians = times.map { Measuring.median($0) }
    return .ratio(
      "creating a branch, the slowest size against the fastest", medians.max() ?? 0, to: medians.min() ?? 0,
      atMost: 1.5)
  }

  // MARK: Reading

  private static func reading(_ of: MeasuredStore, rounds: Int) throws -> [Target] {
    let snapshot = try of.store.createSnapshot(named: "base")
    let branch = try of.store.branches.create("read", from: snapshot)
    try of.change(try of.photos(of.size / 100, seed: 4), to: "changed for reading", on: branch)
    var targets: [Target] = []
    for task in try ReadTask.all(of.store) {
      var base: [Double] = []
      var own: [Double] = []
      var results: Set<Int> = []
      for _ in 0..<rounds {
        base.append(try Measuring.seconds { results.insert(try snapshot.read { try task.run($0) }) })
        own.append(try Measuring.seconds { results.insert(try branch.read { try task.run($0) }) })
      }
      guard results.count == 1 else { throw PeerFailure("\(task.name) gives other results on the branch: \(results)") }
      targets.append(
        .ratio(
          "\(task.name), on a branch with 1 % of \(grouped(of.size)) objects changed, against the snapshot of its base",
          Measuring.median(own), to: Measuring.median(base), atMost: 1.5))
    }
    try of.store.branches.delete("read")
    try of.store.deleteSnapshot(named: "base")
    return targets
  }
}

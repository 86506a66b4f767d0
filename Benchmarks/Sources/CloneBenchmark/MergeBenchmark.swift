import BenchmarkSupport
import Foundation
import KVClone
import KVCloneMerge

/// The cost of merges of branches.
enum MergeBenchmark {
  private static let changeCount = 1_000

  /// Merges branches with as many changes on each side, in both directions, in a store that is in memory (M10).
  static func run(_ of: MeasuredStore, rounds: Int) throws -> [Target] {
    var random = SeededGenerator(seed: 10)
    let photos = try of.photos(5 * changeCount * rounds, seed: 9).shuffled(using: &random)
    var (plans, merges): ([Double], [Double]) = ([], [])
    for round in 0..<rounds {
      for publishes in [true, false] {
        let first = (2 * round + (publishes ? 0 : 1)) * 2 * changeCount
        let own = photos.dropFirst(first).prefix(changeCount).sorted()
        let others = photos.dropFirst(first + changeCount).prefix(changeCount).sorted()
        let branch = try of.store.branches.create("merged")
        try of.change(own, to: "on the branch, round \(round)", on: branch)
        try of.change(others, to: "in the store, round \(round)")
        var count = 0
        plans.append(
          try Measuring.seconds {
            let plan =
              publishes
              ? try of.store.branches.planPublish("merged") : try of.store.branches.planUpdate("merged")
            count = plan.objects.updated
          })
        guard count == (publishes ? own : others).count else { throw PeerFailure("the plan has \(count) changes") }
        merges.append(
          try Measuring.seconds {
            _ = publishes ? try of.store.branches.publish("merged") : try of.store.branches.update("merged")
          })
        try of.store.branches.delete("merged")
        try of.store.deleteSnapshots(named: try of.store.snapshots().map(\.name))
      }
    }
    let size = grouped(of.size)
    return [
      .time("planning a merge of 1,000 changes a side in \(size) objects", Measuring.median(plans), atMost: 0.05),
      .time("merging them, durably", Measuring.median(merges), atMost: 0.15),
    ]
  }
}

import BenchmarkSupport
import Foundation
import KVClone
import KVCloneOperations

/// The cost of named snapshots: creating, keeping, reading, comparing and deleting them.
enum SnapshotsBenchmark {
  static func run(in directory: String, quick: Bool) throws {
    let sizes = quick ? [1_000, 100_000] : [1_000, 100_000, 1_000_000, 10_000_000]
    let workspace = try Workspace(in: directory)
    defer { workspace.remove() }
    report("snapshots: libraries of albums of 100 photos, 5 attributes and 2 of 1,000 shared tags each")
    let stores = try sizes.map { try MeasuredStore(of: $0, in: workspace) }
    defer { for entry in stores { entry.store.close() } }
    try creation(stores, rounds: quick ? 20 : 200)
    guard let large = stores.last, let middle = stores.dropLast().last, let small = stores.first else { return }
    try comparison(large, rounds: quick ? 3 : 9)
    try deletion(large, rounds: quick ? 3 : 5)
    try writing(small, rounds: quick ? 200 : 2000)
    let measured = quick ? large : middle
    try reading(measured, rounds: quick ? 3 : 9)
    try incrementing(measured, workspace.path, rounds: quick ? 3 : 5)
    try cloning(measured)
  }

  // MARK: Making

  private static func creation(_ stores: [MeasuredStore], rounds: Int) throws {
    var times = [[Double]](repeating: [], count: stores.count)
    // Rounds are interleaved, so that a slow phase of the disk affects all sizes.
    for round in 0..<rounds {
      for (index, entry) in stores.enumerated() {
        times[index].append(try Measuring.seconds { try entry.store.createSnapshot(named: "round-\(round)") })
        try entry.store.deleteSnapshot(named: "round-\(round)")
      }
    }
    report("  making one, microseconds (median, least), the commit's two syncs included:")
    for (entry, times) in zip(stores, times) {
      report(
        "    \("\(entry.size)".right(10)) objects \(fixed(Measuring.median(times) * 1e6, 1).right(10)) "
          + "\(fixed((times.min() ?? 0) * 1e6, 1).right(10))")
    }
    let medians = times.map { Measuring.median($0) }
    report("    the greatest median is \(fixed((medians.max() ?? 0) / (medians.min() ?? 1), 2)) × the least")
  }

  // MARK: Comparing and deleting

  private static func comparison(_ of: MeasuredStore, rounds: Int) throws {
    let photos = try of.photos(1_000, seed: 1)
    let snapshot = try of.store.createSnapshot(named: "before")
    try of.change(photos, to: "changed")
    var times: [Double] = []
    var count = 0
    for _ in 0..<rounds { times.append(try Measuring.seconds { count = try of.store.diff(from: snapshot).count }) }
    report(
      "  diff of \(count) changes in \(of.size) objects: \(fixed(Measuring.median(times) * 1e3, 2)) ms "
        + "(least \(fixed((times.min() ?? 0) * 1e3, 2)))")
    let took = try Measuring.seconds { try of.store.rollback(to: snapshot) }
    report("  rollback of them, in one durable transaction: \(fixed(took * 1e3, 2)) ms")
    try of.store.deleteSnapshots(named: try of.store.snapshots().map(\.name))
  }

  private static func deletion(_ of: MeasuredStore, rounds: Int) throws {
    report("  deleting one in \(of.size) objects, by what it alone retains (median):")
    for count in [0, 100, 1_000, 10_000, 100_000] where count <= of.size / 2 {
      let photos = count == 0 ? [] : try of.photos(count, seed: 2)
      var times: [Double] = []
      var retained: UInt64 = 0
      for round in 0..<rounds {
        let snapshot = try of.store.createSnapshot(named: "retaining")
        if count > 0 { try of.change(photos, to: "round \(round) of \(count)") }
        retained = try snapshot.retainedBytes()
        times.append(try Measuring.seconds { try of.store.deleteSnapshot(named: "retaining") })
      }
      report(
        "    \("\(photos.count)".right(8)) objects, \("\(retained)".right(12)) B: "
          + "\(fixed(Measuring.median(times) * 1e3, 2).right(10)) ms")
    }
  }

  // MARK: Writing

  private static func writing(_ of: MeasuredStore, rounds: Int) throws {
    let photos = try of.photos(500, seed: 3)
    func each(_ name: String, _ prepare: (Int) throws -> Void) throws {
      var times: [Double] = []
      for round in 0..<rounds {
        try prepare(round)
        times.append(try Measuring.seconds { try of.change([photos[round % photos.count]], to: "\(name) \(round)") })
      }
      report("    \(name.right(34)): \(fixed(Measuring.median(times) * 1e6, 1).right(8)) µs")
    }
    report("  setting one attribute, in a durable transaction (median):")
    try each("without snapshots") { _ in }
    try of.store.createSnapshot(named: "alive")
    try each("with one, the first change") { round in
      guard round % photos.count == 0, round > 0 else { return }
      try of.store.deleteSnapshot(named: "alive")
      try of.store.createSnapshot(named: "alive")
    }
    try each("with one, a change after the first") { _ in }
    try of.store.deleteSnapshot(named: "alive")
  }

  // MARK: Reading

  private static func reading(_ of: MeasuredStore, rounds: Int) throws {
    let snapshot = try of.store.createSnapshot(named: "read")
    try of.change(try of.photos(of.size / 100, seed: 4), to: "changed for reading")
    let tasks = try ReadTask.all(of.store)
    report("  reading at a snapshot of \(of.size) objects, a hundredth of which has changed, beside the store itself:")
    for task in tasks {
      var live: [Double] = []
      var past: [Double] = []
      var results: Set<Int> = []
      for _ in 0..<rounds {
        live.append(try Measuring.seconds { results.insert(try of.store.read { try task.run($0) }) })
        past.append(try Measuring.seconds { results.insert(try snapshot.read { try task.run($0) }) })
      }
      report(
        "    \(task.name.right(24)): live \(fixed(Measuring.median(live) * 1e3, 1).right(9)) ms, snapshot "
          + "\(fixed(Measuring.median(past) * 1e3, 1).right(9)) ms, \(fixed(Measuring.median(past) / Measuring.median(live), 2)) ×"
          + (results.count == 1 ? "" : " (the results differ)"))
    }
    try of.store.deleteSnapshot(named: "read")
  }

  // MARK: Backing up

  private static func incrementing(_ of: MeasuredStore, _ directory: String, rounds: Int) throws {
    let (full, part, restored) = (directory + "/full", directory + "/part", directory + "/restored")
    func removed<R>(_ path: String, _ body: () throws -> R) throws -> R {
      try? FileManager.default.removeItem(atPath: path)
      return try body()
    }
    let since = try of.store.createSnapshot(named: "since")
    var whole = 0.0
    var bytes: UInt64 = 0
    whole = try Measuring.seconds { bytes = try of.store.backup(to: full).byteCount }
    report(
      "  backing up \(of.size) objects, verified and on the disk: \(fixed(whole * 1e3, 1)) ms, \(bytes) B; "
        + "since a snapshot:")
    for count in [0, 1_000, 10_000] {
      if count > 0 { try of.change(try of.photos(count, seed: 6), to: "increment of \(count)") }
      var times: [Double] = []
      for _ in 0..<rounds {
        times.append(
          try removed(part) {
            try Measuring.seconds {
              bytes = try of.store.backup(to: part, options: BackupOptions(since: since.name)).byteCount
            }
          })
      }
      let back = try removed(restored) {
        try Measuring.seconds { try ObjectStore.restore(from: [full, part], to: restored) }
      }
      report(
        "    \("\(count)".right(8)) changes: \(fixed(Measuring.median(times) * 1e3, 1).right(8)) ms, \("\(bytes)".right(10)) B; "
          + "both restored, and all of it checked: \(fixed(back, 2)) s")
    }
    for path in [full, part, restored] { try FileManager.default.removeItem(atPath: path) }
    try of.store.deleteSnapshot(named: "since")
  }

  // MARK: Cloning

  private static func cloning(_ of: MeasuredStore) throws {
    let before = try of.store.clone([of.root])
    try of.store.write { tx in _ = try tx.delete(before.roots) }
    let snapshot = try of.store.createSnapshot(named: "clone")
    let result = try of.store.clone([of.root])
    let retained = try snapshot.retainedBytes()
    report(
      "  a clone of \(result.objectCount) objects under a snapshot: \(fixed(before.duration.seconds, 3)) s before, "
        + "\(fixed(result.duration.seconds, 3)) s; \(result.bytesWritten) B written, \(retained) B of previous states "
        + "(\(fixed(Double(retained) / Double(max(1, result.bytesWritten)) * 100, 3)) %)")
  }
}

import BenchmarkSupport
import Foundation
import KVClone
import KVClonePostgres

/// Durable inserts of one object: 8 stores with one writer each against pgbench with the same statements, and 64 tasks
/// on one store against one task.
enum ThroughputRow {
  private static let model = ManagedObjectModel("Events") {
    EntityDescription("Event") {
      AttributeDescription("name", .string)
      AttributeDescription("number", .integer64)
    }
  }

  static func run(_ server: Server, _ directory: String, seconds: Double) throws -> [Target] {
    let cluster = PostgresCluster(server.address, options: options)
    defer { cluster.close() }
    for name in try cluster.stores().map(\.name) where name.hasPrefix("events-") || name.hasPrefix("pgbench-") {
      try cluster.drop(name)
    }
    let stores = try (0..<8).map { try cluster.createStore("events-\($0)", model: model) }
    // One after the other, so that their ids follow each other.
    for number in 0..<8 { try cluster.createStore("pgbench-\(number)", model: model).close() }
    let ids = try server.run("SELECT id FROM kvclone.store WHERE name LIKE 'pgbench-%' ORDER BY id")
      .split(separator: "\n").compactMap { Int($0) }
    let id = Int(try server.run("SELECT id FROM kvclone.store WHERE name = 'events-0'")) ?? 0
    var (ours, pgbench): ([Double], [Double]) = ([], [])
    for _ in 0..<3 {
      try server.run("VACUUM kvclone.store", "VACUUM kvclone.tally", "CHECKPOINT")
      ours.append(try writers(stores, seconds))
      try server.run("VACUUM kvclone.store", "VACUUM kvclone.tally", "CHECKPOINT")
      pgbench.append(try PgbenchWriters.run(server, as: id, ids, seconds, directory))
      report("  8 stores: \(fixed(ours.last ?? 0))/s, pgbench \(fixed(pgbench.last ?? 0))/s")
    }
    var (one, many): ([Double], [Double]) = ([], [])
    for _ in 0..<3 {
      one.append(try tasks(1, stores[0], seconds))
      many.append(try tasks(64, stores[0], seconds))
      report("  1 task: \(fixed(one.last ?? 0))/s, 64 tasks \(fixed(many.last ?? 0))/s")
    }
    for store in stores { store.close() }
    let share = Measuring.median(zip(ours, pgbench).map { $0 / $1 })
    let gain = Measuring.median(zip(many, one).map { $0 / $1 })
    return [
      Target(
        title: "8 stores with a writer each, against pgbench with the same statements", limit: "≥ 0.8 ×",
        figure: "\(fixed(Measuring.median(ours)))/s, \(fixed(share, 2)) ×", verdict: share >= 0.8 ? .met : .missed),
      Target(
        title: "64 tasks on one store, against one task", limit: "≥ 5 ×",
        figure: "\(fixed(Measuring.median(many)))/s, \(fixed(gain, 1)) ×", verdict: gain >= 5 ? .met : .missed),
    ]
  }

  private static var options: PostgresOptions {
    var options = PostgresOptions()
    options.connections = 12
    return options
  }

  /// Transactions per second of one thread per store.
  private static func writers(_ stores: [ObjectStore], _ seconds: Double) throws -> Double {
    let end = Date(timeIntervalSinceNow: seconds)
    let counts = Counts()
    let start = ContinuousClock.now
    let threads = DispatchGroup()
    for store in stores {
      threads.enter()
      Thread {
        var count = 0
        while Date() < end {
          do {
            try store.write { tx in
              try tx.insert("Event", ["name": "an event that happened", "number": .integer(Int64(count))])
            }
          } catch {
            fail("a write failed: \(error)", 1)
          }
          count += 1
        }
        counts.add(count)
        threads.leave()
      }.start()
    }
    threads.wait()
    return Double(counts.value) / (ContinuousClock.now - start).seconds
  }

  /// Transactions per second of tasks that write to one store.
  private static func tasks(_ taskCount: Int, _ store: ObjectStore, _ seconds: Double) throws -> Double {
    let end = Date(timeIntervalSinceNow: seconds)
    let counts = Counts()
    let start = ContinuousClock.now
    let done = DispatchSemaphore(value: 0)
    Task {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<taskCount {
          group.addTask {
            var count = 0
            while Date() < end {
              do {
                let number = Int64(count)
                try await store.write { tx in
                  _ = try tx.insert("Event", ["name": "an event that happened", "number": .integer(number)])
                }
              } catch {
                fail("a write failed: \(error)", 1)
              }
              count += 1
            }
            counts.add(count)
          }
        }
      }
      done.signal()
    }
    done.wait()
    return Double(counts.value) / (ContinuousClock.now - start).seconds
  }
}

private final class Counts: @unchecked Sendable {
  private let lock = NSLock()
  private var total = 0

  var value: Int { lock.withLock { total } }

  func add(_ count: Int) { lock.withLock { total += count } }
}

import Foundation
import KVCloneLMDB

/// Planted mistakes of a kind: one value of a table is what it was before the last commit, with a checksum that is right. That is what a
/// writer leaves that forgets a part of what it has to do.
enum LostWrites {
  private typealias Values = [String: [[UInt8]: [UInt8]]]

  /// What is forgotten, by the tables that it is in.
  private static let mistakes: [(title: String, isIn: @Sendable (String) -> Bool)] = [
    ("a stale or missing index entry", { $0 == "indexes" }),
    ("a forgotten count of a large value", { $0 == "blobinfo" }),
    ("a list without its last change", { $0 == "links" }),
    ("a lost inverse, or another part of an object", { $0.hasPrefix("objects-") }),
  ]

  /// The commits of which parts are forgotten: a change, a clone, and one of many objects.
  private static let kinds: [Workload.Kind] = [.clone, .changes, .spilling]

  static func groups(_ context: TrialContext, _ count: Int) throws -> [TrialGroup] {
    let numbers = (2...max(2, context.workload.commitCount)).filter {
      $0 <= context.workload.commitCount && kinds.contains(context.workload.kind($0))
    }
    var places: [Place] = []
    for number in numbers.prefix(kinds.count) {
      let (before, after) = (try values(context, after: number - 1), try values(context, after: number))
      for (table, entries) in after {
        let earlier = before[table] ?? [:]
        for key in Set(entries.keys).union(earlier.keys) where entries[key] != earlier[key] {
          places.append(Place(commit: number, table: table, key: key, value: earlier[key]))
        }
      }
    }
    return mistakes.enumerated().map { index, mistake in
      // In an order that is the same on every run.
      var random = SeededGenerator(seed: context.workload.seed, stream: 13_000_000 + UInt64(index))
      let all = places.filter { mistake.isIn($0.table) }.sorted { $0.order < $1.order }.shuffled(using: &random)
      let trials = all.prefix(count).enumerated().map { number, place in
        Trial(id: "lost-write-\(index):\(number)") { lane in
          _ = try WorkerRun(context, root: lane.root, faults: [:], arguments: ["--commits", "\(place.commit)"])
          try place.forget(lane.root + "/store")
          return try lane.verify(context, root: lane.root, acknowledged: place.commit)
        }
      }
      return TrialGroup(title: "planted: \(mistake.title)", trials: trials) { failures, trials in
        failures > 0 ? nil : "none of \(trials) trials found the planted mistake"
      }
    }
  }

  /// An entry that a commit has changed.
  private struct Place: Sendable {
    let commit: Int
    let table: String
    let key: [UInt8]
    /// Before; nil where there was none.
    let value: [UInt8]?

    var order: String { "\(commit) \(table) \(key.map { String($0, radix: 16) }.joined(separator: "."))" }

    func forget(_ path: String) throws {
      let environment = try LMDBEnvironment.open(at: path)
      defer { environment.close() }
      guard let handle = try environment.openTables([table], create: false).first else { return }
      var transaction = try environment.beginWrite(label: "forget")
      if let value {
        try transaction.put(handle, key.span.bytes, value.span.bytes)
      } else {
        _ = try transaction.delete(handle, key.span.bytes)
      }
      try transaction.commit()
    }
  }

  /// All values after a commit, by their tables and keys.
  private static func values(_ context: TrialContext, after commit: Int) throws -> Values {
    let root = context.directory + "/lost-writes"
    let run = try WorkerRun(context, root: root, faults: [:], arguments: ["--commits", "\(commit)"])
    guard run.ending == .exit(0) else { throw Finding("the workload failed (\(run.ending)): \(run.errors)") }
    let environment = try LMDBEnvironment.open(at: root + "/store")
    defer { environment.close() }
    var values: Values = [:]
    for name in try environment.tableNames() where mistakes.contains(where: { $0.isIn(name) }) {
      guard let table = try environment.openTables([name], create: false).first else { continue }
      var entries: [[UInt8]: [UInt8]] = [:]
      let transaction = try environment.beginRead()
      try transaction.scan(table) { key, value in
        entries[key.withUnsafeBytes { Array($0) }] = value.withUnsafeBytes { Array($0) }
        return true
      }
      values[name] = entries
    }
    return values
  }
}

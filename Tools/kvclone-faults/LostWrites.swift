import Foundation
import KVCloneLMDB

/// Planted bugs: one value keeps its contents from before the last commit, with a valid checksum, as after a writer
/// that omits a write. Or the value is current, but has the previous checksum.
enum LostWrites {
  typealias Values = [String: [[UInt8]: [UInt8]]]

  private struct Mistake: Sendable {
    let title: String
    /// Whether the bug applies to a table.
    let isIn: @Sendable (String) -> Bool
    /// The new payload with the old value's checksum.
    var isOfChecksum = false

    func isPossible(_ place: Place) -> Bool {
      guard isIn(place.table) else { return false }
      if !isOfChecksum { return true }
      guard let before = place.before, let after = place.after else { return false }
      return before.prefix(checksumLength) != after.prefix(checksumLength)
    }

    /// The value that the bug leaves at a place; nil: no entry.
    func remains(of place: Place) -> [UInt8]? {
      guard isOfChecksum, let before = place.before, let after = place.after else { return place.before }
      return Array(before.prefix(checksumLength) + after.dropFirst(checksumLength))
    }
  }

  private static let checksumLength = 8

  private static let mistakes = [
    Mistake(title: "stale or missing index entry", isIn: { $0 == "indexes" }),
    Mistake(title: "outdated reference count of a blob", isIn: { $0 == "blobinfo" }),
    Mistake(title: "list without its last change", isIn: { $0 == "links" }),
    Mistake(title: "lost inverse or other part of a record", isIn: { $0.hasPrefix("objects-") }),
    Mistake(title: "value written without its checksum", isIn: { _ in true }, isOfChecksum: true),
  ]

  /// The commits with omitted writes: changes, a clone, and a commit of many objects.
  private static let kinds: [Workload.Kind] = [.clone, .changes, .spilling]

  /// - Parameters:
  ///   - count: the maximum number of trials per bug.
  ///   - commitCount: the number of commits with omitted writes.
  static func groups(_ context: TrialContext, _ count: Int, commits commitCount: Int) throws -> [TrialGroup] {
    var places: [Place] = []
    for number in numbers(context.workload).prefix(commitCount) {
      let (before, after) = (try values(context, after: number - 1), try values(context, after: number))
      for (table, entries) in after {
        let earlier = before[table] ?? [:]
        for key in Set(entries.keys).union(earlier.keys) where entries[key] != earlier[key] {
          places.append(Place(commit: number, table: table, key: key, before: earlier[key], after: entries[key]))
        }
      }
    }
    return mistakes.enumerated().map { index, mistake in
      // In a deterministic order.
      var random = SeededGenerator(seed: context.workload.seed, stream: 13_000_000 + UInt64(index))
      let all = places.filter(mistake.isPossible).sorted { $0.order < $1.order }.shuffled(using: &random)
      let trials = all.prefix(count).enumerated().map { number, place in
        Trial(id: "lost-write-\(index):\(number)") { lane in
          try WorkerRun.sound(context, root: lane.root, arguments: ["--commits", "\(place.commit)"])
          try place.leave(mistake.remains(of: place), lane.root + "/store")
          return try lane.verify(context, root: lane.root, acknowledged: place.commit)
        }
      }
      return TrialGroup(title: "planted: \(mistake.title)", trials: trials) { failures, trials in
        if mistake.isOfChecksum, failures < trials { return "\(trials - failures) of \(trials) were not detected" }
        return failures > 0 ? nil : "none of \(trials) trials detected the planted bug"
      }
    }
  }

  /// The commits of these kinds: the first of each kind, then the second of each, because they change different tables.
  private static func numbers(_ workload: Workload) -> [Int] {
    var counts: [Workload.Kind: Int] = [:]
    var ranked: [(rank: Int, number: Int)] = []
    for number in stride(from: 2, through: workload.commitCount, by: 1) where kinds.contains(workload.kind(number)) {
      ranked.append((counts[workload.kind(number), default: 0], number))
      counts[workload.kind(number), default: 0] += 1
    }
    return ranked.sorted { ($0.rank, $0.number) < ($1.rank, $1.number) }.map(\.number)
  }

  /// An entry that a commit has changed.
  struct Place: Sendable {
    let commit: Int
    let table: String
    let key: [UInt8]
    /// The values before and after the commit; nil: no entry.
    let before: [UInt8]?
    let after: [UInt8]?

    var order: String { "\(commit) \(table) \(key.map { String($0, radix: 16) }.joined(separator: "."))" }

    /// - Parameter value: the value to store; nil deletes the entry.
    func leave(_ value: [UInt8]?, _ path: String) throws {
      let environment = try LMDBEnvironment.open(at: path)
      defer { environment.close() }
      guard let handle = try environment.openTables([table], create: false).first else { return }
      var transaction = try environment.beginWrite(label: "planted")
      if let value {
        try transaction.put(handle, key.span.bytes, value.span.bytes)
      } else {
        _ = try transaction.delete(handle, key.span.bytes)
      }
      try transaction.commit()
    }
  }

  /// All values after a commit, by tables and keys.
  static func values(_ context: TrialContext, after commit: Int) throws -> Values {
    let root = context.directory + "/lost-writes"
    try WorkerRun.sound(context, root: root, arguments: ["--commits", "\(commit)"])
    let environment = try LMDBEnvironment.open(at: root + "/store")
    defer { environment.close() }
    var values: Values = [:]
    for name in try environment.tableNames() {
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

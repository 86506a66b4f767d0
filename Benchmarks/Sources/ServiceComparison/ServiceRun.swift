import BenchmarkSupport
import Foundation
import ItemPeers
import KVClone

/// Makes the stores, lets the contestants do every row in interleaved rounds, and writes the report.
struct ServiceRun {
  let folder: String
  let output: String
  let isQuick: Bool
  /// The names of the rows to run; all where it is nil.
  let only: [String]?

  private static let readsPerSecond = 20_000.0
  /// How many events a store is filled with before it is measured.
  private var eventCount: Int { isQuick ? 10_000 : 100_000 }
  /// How many items.
  private var itemCount: Int { isQuick ? 50_000 : 1_000_000 }
  private var taskSeconds: Double { isQuick ? 0.5 : 3 }
  private var crowdSeconds: Double { isQuick ? 0.5 : 3 }
  private var rotation: Rotation { Rotation(rounds: isQuick ? 3 : 5) }

  func run() async throws {
    if let unknown = only?.first(where: { ServiceRow(rawValue: $0) == nil }) {
      throw PeerFailure(
        "there is no row '\(unknown)'; there are: " + ServiceRow.allCases.map(\.rawValue).joined(separator: ", "))
    }
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { StoreFiles.remove(folder) }
    let facts = MachineFacts(stores: folder, sqlite: SQLitePeer.version)
    let start = ContinuousClock.now
    var results = ServiceResults(isQuick: isQuick)
    for group in groups {
      let rows = group.rows.filter { only?.contains($0.rawValue) ?? true }
      if rows.isEmpty { continue }
      do {
        results.rows += try await group.run(rows)
      } catch {
        report("  FAILED: \(error)")
        results.failures.append(rows.map(\.rawValue).joined(separator: ", ") + ": \(error)")
      }
      results.seconds = (ContinuousClock.now - start).seconds
      // After each group, so that a run that is interrupted leaves what it found.
      try ServiceReport(results: results, facts: facts).write(to: output)
    }
    if only == nil || results.rows.contains(where: { [.tasks64, .tasks8, .tasks1].contains($0.row) }) {
      do {
        results.syncs = try ServiceSyncs.look(in: folder)
      } catch {
        results.failures.append("durability: \(error)")
      }
    }
    results.seconds = (ContinuousClock.now - start).seconds
    let text = ServiceReport(results: results, facts: facts)
    try text.write(to: output)
    report("\n" + text.text)
    report("report: \(output)/report.md")
    if !results.failures.isEmpty { throw PeerFailure(results.failures.joined(separator: "\n")) }
  }

  /// Rows that use the same stores.
  private struct Group {
    let rows: [ServiceRow]
    let run: ([ServiceRow]) async throws -> [RowResult]
  }

  private var groups: [Group] {
    [
      Group(rows: [.tasks64, .tasks8, .tasks1], run: tasks), Group(rows: [.links], run: links),
      Group(rows: [.readersLimited, .readers], run: readers), Group(rows: [.savepoints], run: savepoints),
    ]
  }

  private func tasks(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let peers: [any DurablePeer] = [
      try KVCloneEvents(in: folder + "/tasks-log", journalMode: .writeAheadLog, filledWith: eventCount),
      try KVCloneEvents(in: folder + "/tasks-cow", journalMode: .copyOnWrite, filledWith: eventCount),
      try SQLiteEvents(in: folder + "/tasks-sqlite", filledWith: eventCount),
    ]
    return try await write(rows, peers)
  }

  private func links(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let graph = ItemGraph(itemCount: itemCount)
    let peers: [any DurablePeer] = [
      try KVCloneItems(graph, in: folder + "/links-log"), try SQLiteItems(graph, in: folder + "/links-sqlite"),
    ]
    return try await write(rows, peers)
  }

  private func write(_ rows: [ServiceRow], _ peers: [any DurablePeer]) async throws -> [RowResult] {
    let numbered = peers.map { NumberedPeer($0, filledCount: $0.filledCount) }
    var results: [RowResult] = []
    for row in rows {
      let taskCount =
        switch row {
        case .tasks64: 64
        case .tasks8: 8
        default: 1
        }
      results.append(
        try await TasksRow(row: row, taskCount: taskCount, seconds: taskSeconds, rotation: rotation).run(numbered))
    }
    for one in numbered {
      try one.peer.verify(count: one.count)
      try one.peer.close()
    }
    return results
  }

  private func readers(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let peers: [any CrowdedPeer] = [
      try KVCloneEvents(
        in: folder + "/readers-log", journalMode: .writeAheadLog, isIndexed: true, filledWith: eventCount),
      try SQLiteEvents(in: folder + "/readers-sqlite", isIndexed: true, filledWith: eventCount),
      try LMDBEvents(in: folder + "/readers-lmdb", filledWith: eventCount),
    ]
    let numbered = peers.map { NumberedPeer($0, filledCount: $0.filledCount) }
    var results: [RowResult] = []
    for row in rows {
      let crowd = ReaderCrowd(readsPerSecond: row == .readersLimited ? Self.readsPerSecond : nil)
      results.append(
        try await ReadersRow(row: row, crowd: crowd, seconds: crowdSeconds, rotation: rotation).run(numbered))
    }
    for one in numbered {
      try one.peer.verify(count: one.count)
      try one.peer.close()
    }
    return results
  }

  private func savepoints(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let peers: [any NestingPeer] = [
      try KVCloneEvents(in: folder + "/savepoints-log", journalMode: .writeAheadLog, filledWith: eventCount),
      try SQLiteEvents(in: folder + "/savepoints-sqlite", filledWith: eventCount),
    ]
    let result = try await SavepointsRow(rotation: Rotation(rounds: isQuick ? 9 : 25)).run(peers)
    for peer in peers { try peer.close() }
    return [result]
  }
}

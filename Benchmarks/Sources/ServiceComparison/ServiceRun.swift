import BenchmarkSupport
import Foundation
import ItemPeers
import KVClone
import PhotoStores

/// Creates the stores, runs all rows of the contestants in interleaved rounds, and writes the report.
struct ServiceRun {
  let folder: String
  let output: String
  let isQuick: Bool
  /// The names of the rows to run; nil for all.
  let only: [String]?
  /// The path of the command line tool; nil to omit the rows that use it.
  let tool: String?

  private static let readsPerSecond = 20_000.0
  private var sizes: ServiceSizes { isQuick ? .quick : .full }
  private var rotation: Rotation { Rotation(rounds: sizes.rounds) }

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
      // Written after each group, so that an interrupted run keeps its results.
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
      Group(rows: [.coldPhotos, .coldObjects], run: cold), Group(rows: [.dump, .load, .coreData], run: transfer),
    ]
  }

  private func tasks(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let peers: [any DurablePeer] = [
      try KVCloneEvents(in: folder + "/tasks-log", journalMode: .writeAheadLog, filledWith: sizes.events),
      try KVCloneEvents(in: folder + "/tasks-cow", journalMode: .copyOnWrite, filledWith: sizes.events),
      try SQLiteEvents(in: folder + "/tasks-sqlite", filledWith: sizes.events),
    ]
    return try await write(rows, peers)
  }

  private func links(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let graph = ItemGraph(itemCount: sizes.items)
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
        try await TasksRow(
          row: row, title: row.title(sizes), taskCount: taskCount, seconds: sizes.seconds, rotation: rotation
        ).run(numbered))
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
        in: folder + "/readers-log", journalMode: .writeAheadLog, isIndexed: true, filledWith: sizes.events),
      try SQLiteEvents(in: folder + "/readers-sqlite", isIndexed: true, filledWith: sizes.events),
      try LMDBEvents(in: folder + "/readers-lmdb", filledWith: sizes.events),
    ]
    let numbered = peers.map { NumberedPeer($0, filledCount: $0.filledCount) }
    var results: [RowResult] = []
    for row in rows {
      let crowd = ReaderCrowd(readsPerSecond: row == .readersLimited ? Self.readsPerSecond : nil)
      results.append(
        try await ReadersRow(
          row: row, title: row.title(sizes), crowd: crowd, seconds: sizes.seconds, rotation: rotation
        ).run(numbered))
    }
    for one in numbered {
      try one.peer.verify(count: one.count)
      try one.peer.close()
    }
    return results
  }

  private func savepoints(_ rows: [ServiceRow]) async throws -> [RowResult] {
    let peers: [any NestingPeer] = [
      try KVCloneEvents(in: folder + "/savepoints-log", journalMode: .writeAheadLog, filledWith: sizes.events),
      try SQLiteEvents(in: folder + "/savepoints-sqlite", filledWith: sizes.events),
    ]
    let row = SavepointsRow(
      title: ServiceRow.savepoints.title(sizes), rotation: Rotation(rounds: sizes.savepointRounds))
    let result = try await row.run(peers)
    for peer in peers { try peer.close() }
    return [result]
  }

  private func cold(_ rows: [ServiceRow]) async throws -> [RowResult] {
    var results: [RowResult] = []
    for row in rows {
      let recipe: GraphRecipe = row == .coldPhotos ? .images(sizes.photos, of: 100_000) : .small(sizes.objects)
      results.append(
        try await ColdRow(
          row: row, title: row.title(sizes), recipe: recipe,
          rotation: Rotation(rounds: sizes.slowRounds, warmsUp: false), folder: folder
        ).run())
    }
    return results
  }

  private func transfer(_ rows: [ServiceRow]) async throws -> [RowResult] {
    guard let tool else { throw PeerFailure("the command line tool is missing") }
    return try ToolRows(tool: MeasuredTool(program: tool), sizes: sizes, folder: folder).run(rows)
  }
}

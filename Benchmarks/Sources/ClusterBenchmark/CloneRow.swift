import BenchmarkSupport
import Foundation
import KVClone
import KVClonePostgres

/// Clones of a graph: in a store in the cluster, by the server's own `INSERT … SELECT` of as many entries, and in plain
/// tables.
enum CloneRow {
  static func run(_ server: Server, _ directory: String, objects: Int, rounds: Int) throws -> [Target] {
    let folder = try Folder(in: directory)
    defer { folder.remove() }
    let root = try PhotoGraph.make(at: folder.path + "/source", objects: objects)
    let cluster = PostgresCluster(server.address)
    defer { cluster.close() }
    try? cluster.drop("clone")
    let copied = try ContinuousClock().measure { try cluster.copyStore(at: folder.path + "/source", as: "clone") }
    report("clone: \(grouped(objects)) objects, copied to the cluster and verified in \(fixed(copied.seconds, 1)) s")
    try Floor.make(server)
    try PlainTables.make(server, objects: objects)
    try server.run("VACUUM ANALYZE kvclone.entry")
    let store = try cluster.openStore("clone")
    defer { store.close() }
    var (clones, streams, floors, plain): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var peak = 0
    for _ in 0..<rounds {
      // Otherwise one of them would write the pages that another one has changed.
      try server.run("CHECKPOINT")
      let times = PhaseTimes()
      var options = CloneOptions()
      options.progress = { times.note($0.phase) }
      let (seconds, bytes) = try Measuring.peakAnonymousBytes {
        try ContinuousClock().measure { _ = try store.clone([root], options: options) }.seconds
      }
      clones.append(seconds)
      streams.append(times.seconds(from: .copy, to: .publish))
      peak = max(peak, bytes)
      try server.run("CHECKPOINT")
      floors.append(try Floor.insert(server))
      try server.run("CHECKPOINT")
      plain.append(try PlainTables.clone(server))
      report(
        "  clone \(duration(seconds)), its stream \(duration(streams.last ?? 0)), INSERT … SELECT "
          + "\(duration(floors.last ?? 0)), plain tables \(duration(plain.last ?? 0))")
    }
    let stream = Measuring.median(zip(streams, floors).map { $0 / $1 })
    let share = Measuring.median(zip(clones, plain).map { $0 / $1 })
    let limit = 6 * Double(objects) / 1_000_000
    return [
      target("clone of \(grouped(objects)) objects", limit, Measuring.median(clones), duration),
      target("its stream against INSERT … SELECT of as many entries", 1.3, stream) { fixed($0, 2) + " ×" },
      target("clone against plain tables with foreign keys", 1.0 / 3, share) { fixed($0, 2) + " ×" },
      target("anonymous memory of the client", 96 * 1_048_576, Double(peak), bytes),
      try images(server, folder, cluster),
    ]
  }

  /// A clone that shares its images moves none of their bytes: neither between client and server, nor on the disk.
  private static func images(_ server: Server, _ folder: Folder, _ cluster: PostgresCluster) throws -> Target {
    let (count, size) = (1_000, 100 << 10)
    let root = try PhotoGraph.make(at: folder.path + "/images", objects: count, imageBytes: size)
    try? cluster.drop("images")
    try cluster.copyStore(at: folder.path + "/images", as: "images")
    let store = try cluster.openStore("images")
    defer { store.close() }
    let (before, read) = (try server.run("SELECT pg_current_wal_insert_lsn()"), Measuring.io("rchar"))
    try store.clone([root])
    let written = Int(try server.run("SELECT (pg_current_wal_insert_lsn() - '\(before)')::int8")) ?? .max
    let moved = written + Measuring.io("rchar") - read
    return target(
      "bytes for a clone of \(count) images of \(size >> 10) KiB", Double(count * size / 10), Double(moved), bytes)
  }

  private static func target(
    _ title: String, _ limit: Double, _ value: Double, _ text: (Double) -> String
  ) -> Target {
    Target(title: title, limit: "≤ " + text(limit), figure: text(value), verdict: value <= limit ? .met : .missed)
  }
}

/// The times at which the phases of a clone began.
private final class PhaseTimes: @unchecked Sendable {
  private let lock = NSLock()
  private var times: [OperationProgress.Phase: ContinuousClock.Instant] = [:]

  func note(_ phase: OperationProgress.Phase) {
    lock.withLock { if times[phase] == nil { times[phase] = .now } }
  }

  /// The seconds from the begin of a phase to that of another one.
  func seconds(from first: OperationProgress.Phase, to second: OperationProgress.Phase) -> Double {
    lock.withLock {
      guard let begin = times[first], let end = times[second] else { return .infinity }
      return (end - begin).seconds
    }
  }
}

/// The least work for a clone: the server copies entries of the same number and sizes, in the order of their keys.
private enum Floor {
  static func make(_ server: Server) throws {
    try server.run(
      "DROP TABLE IF EXISTS bench_source",
      """
      CREATE TABLE bench_source AS SELECT tbl, k, v FROM kvclone.entry
      WHERE store = (SELECT id FROM kvclone.store WHERE name = 'clone') ORDER BY tbl, k
      """, "VACUUM ANALYZE bench_source")
  }

  static func insert(_ server: Server) throws -> Double {
    defer { _ = try? server.run("DELETE FROM kvclone.entry WHERE store = -1", "VACUUM kvclone.entry") }
    return try server.seconds(["INSERT INTO kvclone.entry SELECT -1, tbl, k, v FROM bench_source"])
  }
}

import BenchmarkSupport
import Foundation
import KVClone
import KVClonePostgres

/// Operations through a proxy that adds 0.5 ms to each round trip.
enum LatencyRow {
  static func run(_ server: Server, _ directory: String, objects: Int, rounds: Int) throws -> [Target] {
    let folder = try Folder(in: directory)
    defer { folder.remove() }
    let path = folder.path + "/source"
    let root = try PhotoGraph.make(at: path, objects: objects)
    let socket = try server.run("SHOW unix_socket_directories") + "/.s.PGSQL." + server.run("SHOW port")
    let proxy = try LatencyProxy(to: socket, delay: .microseconds(500))
    defer { proxy.stop() }
    let near = PostgresCluster(server.address)
    try? near.drop("latency")
    try near.copyStore(at: path, as: "latency")
    near.close()
    try server.run("VACUUM ANALYZE kvclone.entry", "CHECKPOINT")
    let address = server.address + " host=\(proxy.directory) port=5432"
    let cluster = PostgresCluster(address)
    defer { cluster.close() }
    let store = try cluster.openStore("latency")
    defer { store.close() }
    let clock = ContinuousClock()
    var request = FetchRequest("Photo")
    request.fetchLimit = 1
    let photo = try store.read { tx in try tx.fetch(request).map(\.id).first }
    guard let photo else { throw Server.Failure(description: "no photo") }
    var (reads, inserts, clones, pages): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<200 {
      reads.append(try clock.measure { _ = try store.read { tx in try tx.object(photo)["title"] } }.seconds)
    }
    for number in 0..<200 {
      inserts.append(
        try clock.measure { _ = try store.write { tx in try tx.insert("Tag", ["name": .string("new \(number)")]) } }
          .seconds)
    }
    for _ in 0..<rounds {
      clones.append(try clock.measure { _ = try store.clone([root]) }.seconds)
    }
    var page = FetchRequest("Photo")
    page.fetchLimit = 50
    page.relationshipKeyPathsForPrefetching = ["tags", "album"]
    for _ in 0..<20 {
      // A store of its own, which has cached nothing but its metadata.
      let cold = try cluster.openStore("latency")
      defer { cold.close() }
      pages.append(
        try clock.measure {
          try cold.read { tx in
            let found = try tx.fetchPrefetching(page)
            guard found.objects.count == 50, found.objects.allSatisfy({ found.members(of: $0.id, "tags")?.count == 2 })
            else { throw Server.Failure(description: "the page is not complete") }
          }
        }.seconds)
    }
    return [
      target("cached read", 0.0015, reads), target("insert of one object", 0.003, inserts),
      target("clone of \(grouped(objects)) objects", 3 * Double(objects) / 100_000, clones),
      target("page of 50 objects with links, not cached", 0.005, pages),
    ]
  }

  private static func target(_ title: String, _ limit: Double, _ seconds: [Double]) -> Target {
    let median = Measuring.median(seconds)
    return Target(
      title: title + ", 0.5 ms more per round trip", limit: "≤ " + duration(limit), figure: duration(median),
      verdict: median <= limit ? .met : .missed)
  }
}

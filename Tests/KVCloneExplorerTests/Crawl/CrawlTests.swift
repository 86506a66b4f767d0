import Foundation
import KVClone
import KVCloneCore
import KVCloneDemo
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

struct CrawlTests {
  /// The parts of paths that a crawl of the demo store must reach.
  private static let areas = [
    "/entities/Photo", "/entities/Photo/explain", "/objects/Photo/#", "/objects/Photo/#/raw",
    "/objects/Photo/#/history",
    "/objects/Photo/#/blob/image", "/clone/Photo/#", "/time", "/time/transactions/#", "/compare", "/compare/Photo/#",
    "/rollback/one", "/branches", "/branches/spring", "/branches/spring/publish", "/branches/spring/update",
    "/branches/spring/delete", "/rollback/%#base", "/drafts", "/model", "/graph/Photo/#", "/store", "/store/check",
  ]

  /// Fills a store with the demo project, a clone of it, and two snapshots with changes between them.
  private func fill(_ store: ObjectStore) async throws -> (changed: String, deleted: String) {
    try await store.setTracksHistory(true)
    // Most photos have an empty image.
    let images = Array(repeating: LibraryHistory.oldCover, count: 3)
    let (project, photos) = try await store.write { tx in
      let project = try DemoModel.insertProject(images, into: &tx)
      return (project, try tx.fetch(FetchRequest("Photo")))
    }
    var options = CloneOptions()
    options.recordsProvenance = true
    try await store.clone([project], options: options)
    try await store.createSnapshot(named: "one")
    let names = try await store.write { tx in
      try tx.insert("Tag", ["name": .string("<b>&\u{202E}\"'")])
      try tx.set(photos[1].id, "title", .string("a, \"b\"\nc"))
      try tx.set(photos[1].id, "image", .binary(LibraryHistory.newCover))
      let names = try (tx.name(of: photos[1].id), tx.name(of: photos[2].id))
      try tx.delete(photos[2].id)
      return names
    }
    try await store.createSnapshot(named: "two")
    let branch = try await store.branches.create("spring")
    try await branch.write { tx in
      try tx.set(photos[1].id, "title", .string("of the branch"))
      try tx.set(photos[1].id, "image", .binary(LibraryHistory.oldCover))
      try tx.insert("Tag", ["name": .string("new")])
    }
    try await store.write { tx in try tx.set(photos[1].id, "title", .string("of the store")) }
    return names
  }

  private func crawl(_ store: ObjectStore, allowsWrites: Bool) async throws {
    let (changed, deleted) = try await fill(store)
    let client = ExplorerClient(store) { options in options.allowsWrites = allowsWrites }
    let job = try #require(await client.post("/store/check").header("Location"))
    _ = try await client.wait(for: "The check found no issue.", at: job)
    var crawler = Crawler(client)
    try await crawler.crawl([
      "/", "/objects/\(changed)", "/?at=one", "/objects/\(deleted)?at=one", "/clone/\(deleted)?at=one", job,
    ])
    #expect(crawler.problems.isEmpty, "\(crawler.problems.prefix(20).joined(separator: "\n"))")
    for area in Self.areas {
      #expect(crawler.shapes.keys.contains { $0.hasPrefix(area + "?") }, "\(area) has no links to it")
    }
    for format in ["json", "csv"] {
      #expect(crawler.shapes.keys.contains { $0.hasPrefix("/objects/Photo/#.\(format)?at") }, "\(format)")
    }
  }

  @Test("every link of the demo store's pages leads to a page, a document or a file")
  func links() async throws {
    let files = try TestStore(DemoModel.model)
    try await crawl(files.store, allowsWrites: true)
  }

  @Test("every link of the pages works without writes, and without pages of a file")
  func memory() async throws {
    let store = try ObjectStore.create(in: MemoryStorage(), model: DemoModel.model)
    defer { store.close() }
    try await crawl(store, allowsWrites: false)
  }

  @Test("the crawler notices rows of different lengths, but not commas in quotes")
  func columns() {
    #expect(Crawler.columnCounts(of: Array("a,b\n\"1,\n\"\"\",2\n,\n".utf8)) == [2, 2, 2])
    #expect(Crawler.columnCounts(of: Array("a,b\n1\n".utf8)) == [2, 1])
  }
}

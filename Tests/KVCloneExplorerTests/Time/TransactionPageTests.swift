import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

struct TransactionPageTests {
  @Test("the history leads to the objects of each transaction, and deleted ones to the snapshot before it")
  func changes() async throws {
    let library = try LibraryHistory(options: .tracking())
    let client = ExplorerClient(library.store)
    let commit = try #require(try library.store.history().last { $0.deletedCount == 1 }?.commit)
    let target = "/time/transactions/\(commit)"
    #expect(await client.page("/time").contains("href=\"\(target)\""))
    let page = await client.page(target)
    let deleted = library.name(library.deleted)
    #expect(page.contains("href=\"/objects/\(deleted)?at=first\"") && !page.contains("href=\"/objects/\(deleted)\""))
    for id in [library.kept, library.inserted] { #expect(page.contains("href=\"/objects/\(library.name(id))\"")) }
    let json = try await client.json(target)
    let changes = try #require(json["changes"] as? [[String: Any]])
    #expect(changes.first?["change"] as? String == "deleted" && changes.first?["object"] as? String == deleted)
    let updated = changes.first { $0["object"] as? String == library.name(library.kept) }
    #expect((updated?["properties"] as? [String])?.contains("cover") == true)
    #expect(json["next"] is NSNull)
  }

  @Test("pages of a transaction list every change once, in any size of pages", arguments: [1, 2, 7, 100])
  func pages(_ limit: Int) async throws {
    let files = try TestStore(snapshotModel, options: .tracking())
    let old = try files.store.insert("Book", count: 12)
    try await files.store.write { tx in
      for id in old.prefix(4) { try tx.delete(id) }
      for number in 0..<9 {
        try tx.insert("Tag", ["name": .string("tag \(number)")])
        try tx.insert("Page", ["text": .string("page \(number)")])
      }
      for id in old.suffix(5) { try tx.set(id, "title", .string("new")) }
    }
    let client = ExplorerClient(files.store)
    let commit = try #require(try files.store.history().last?.commit)
    var found: [String] = []
    var after: String?
    repeat {
      let json = try await client.json(
        "/time/transactions/\(commit)?limit=\(limit)" + (after.map { "&after=\($0)" } ?? ""))
      let changes = try #require(json["changes"] as? [[String: Any]])
      #expect((1...limit).contains(changes.count))
      found += changes.compactMap { change in
        (change["change"] as? String).flatMap { kind in (change["object"] as? String).map { "\(kind) \($0)" } }
      }
      after = json["next"] as? String
    } while after != nil && found.count < 100
    #expect(found.count == 4 + 18 + 5 && Set(found).count == found.count)
    let kinds = found.map { String($0.prefix { $0 != " " }) }
    #expect(
      kinds == Array(repeating: "deleted", count: 4) + Array(repeating: "inserted", count: 18)
        + Array(repeating: "updated", count: 5))
  }

  @Test("objects that were deleted since have no link")
  func deletedSince() async throws {
    let files = try TestStore(snapshotModel, options: .tracking())
    let id = try files.store.insert("Book", ["title": .string("short-lived")])
    let commit = try #require(try files.store.history().last?.commit)
    try await files.store.write { tx in try tx.delete(id) }
    let page = await ExplorerClient(files.store).page("/time/transactions/\(commit)")
    #expect(page.contains("deleted since") && !page.contains("/objects/Book/\(id.serial)"))
  }

  @Test(
    "other numbers and positions are refused",
    arguments: [
      ("0", 404), ("x", 404), ("-1", 404), ("18446744073709551615", 400), ("LAST?after=x", 400),
      ("LAST?after=0-1", 400), ("LAST?after=0-0-99999999999999999999", 400), ("LAST?limit=0", 400),
      ("LAST?after=4294967295-1-1", 200), ("LAST?after=4294967295-65535-72057594037927935", 400), ("LAST", 200),
    ])
  func refused(_ target: String, _ status: Int) async throws {
    let files = try TestStore(snapshotModel, options: .tracking())
    try files.store.insert("Book", ["title": .string("x")])
    // Creating the store is a commit, too.
    let last = try #require(try files.store.history().last?.commit)
    let path = target.replacingOccurrences(of: "LAST", with: "\(last)")
    let response = await ExplorerClient(files.store).send("GET", "/time/transactions/\(path)")
    #expect(response.status == status, "\(response.text.prefix(2000))")
  }

  @Test("without a history, a transaction has no page")
  func withoutHistory() async throws {
    let files = try TestStore(snapshotModel)
    try files.store.insert("Book", ["title": .string("x")])
    #expect(await ExplorerClient(files.store).send("GET", "/time/transactions/1").status == 409)
  }
}

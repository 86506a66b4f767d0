import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct TimelineTests {
  @Test("a store without snapshots and history explains both")
  func empty() async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    let page = await client.page("/time")
    #expect(page.contains("The store has no snapshots.") && page.contains("The store records no history."))
    let json = try await client.json("/time")
    #expect((json["snapshots"] as? [Any])?.isEmpty == true && json["tracksHistory"] as? Bool == false)
    #expect(await client.page("/time.csv").split(separator: "\n").count == 1)
  }

  @Test("snapshots are listed newest first, with links to browse, compare and roll back")
  func snapshots() async throws {
    let library = try LibraryHistory()
    let page = await ExplorerClient(library.store).page("/time")
    let first = try #require(page.range(of: "/?at=first"))
    let second = try #require(page.range(of: "/?at=second"))
    #expect(second.lowerBound < first.lowerBound)
    for link in [
      "/compare?from=second&amp;to=", "/compare?from=first&amp;to=second", "/rollback/first", "/rollback/second",
    ] {
      #expect(page.contains(link), "\(link)")
    }
    // Without writes, nothing is offered that cannot run.
    #expect(!page.contains("method=\"post\"") && !page.contains("/delete"))
  }

  @Test("the JSON document has the members of the tool's list")
  func document() async throws {
    let library = try LibraryHistory()
    try await library.store.snapshot(named: "first").hold(tag: "backup")
    let json = try await ExplorerClient(library.store).json("/time?retained=first")
    let snapshots = try #require(json["snapshots"] as? [[String: Any]])
    #expect(snapshots.map { $0["name"] as? String } == ["second", "first"])
    #expect(snapshots[1]["holds"] as? [String] == ["backup"])
    #expect(snapshots[1]["objects"] as? Int == 7)
    #expect(snapshots[1]["retainedBytes"] as? UInt64 == (try library.store.snapshot(named: "first").retainedBytes()))
  }

  @Test("retained bytes that there is no time for are counted for the requested snapshot only")
  func retainedBytes() throws {
    let library = try LibraryHistory()
    var request = Timeline.Request(limit: 10, hasTime: { false })
    #expect(try Timeline(library.store, request).entries.allSatisfy { $0.retainedBytes == nil })
    request.counted = "first"
    let entries = try Timeline(library.store, request).entries
    #expect(entries.map { $0.retainedBytes != nil } == [false, true])
  }

  @Test("pages of snapshots and of transactions lose none and repeat none")
  func paging() async throws {
    let files = try TestStore(snapshotModel, options: .tracking(author: "a<b>"))
    for number in 0..<23 {
      try files.store.insert("Book", ["number": .integer(Int64(number))])
      try await files.store.createSnapshot(named: "s\(number)")
    }
    let client = ExplorerClient(files.store)
    var names: [String] = []
    var next: Int? = nil
    repeat {
      let json = try await client.json("/time?limit=5" + (next.map { "&before=\($0)" } ?? ""))
      names += (json["snapshots"] as? [[String: Any]] ?? []).compactMap { $0["name"] as? String }
      next = json["next"] as? Int
    } while next != nil
    #expect(names == (0..<23).reversed().map { "s\($0)" })
    var commits: [Int] = []
    repeat {
      let json = try await client.json("/time?limit=4" + (next.map { "&commits=\($0)" } ?? ""))
      commits += (json["transactions"] as? [[String: Any]] ?? []).compactMap { $0["commit"] as? Int }
      next = json["nextCommit"] as? Int
    } while next != nil
    #expect(commits == (try files.store.history().map { Int($0.commit) }.reversed()))
    #expect(await client.page("/time").contains("a&lt;b&gt;"))
  }

  @Test("a snapshot is created by a form, not without writes, and no page deletes one")
  func forms() async throws {
    let files = try TestStore(snapshotModel)
    let reader = ExplorerClient(files.store)
    #expect(await reader.post("/time", "name=monday").status == 403)
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    let created = await client.post("/time", "name=monday")
    #expect(created.status == 303 && created.header("Location") == "/time")
    #expect(try files.store.snapshots().map(\.name) == ["monday"])
    #expect(await client.post("/time", "name=monday").status == 409)
    #expect(!(await client.page("/time").contains("/delete")))
    #expect(await client.post("/time/monday/delete").status == 404)
    #expect(try files.store.snapshots().map(\.name) == ["monday"])
  }

  @Test(
    "hostile names of snapshots are refused as text",
    arguments: ["%3Cscript%3E", "..%2F..%2Fetc", "a%00b", "%E2%80%AEgpj", "auto-x", "x%27%22onload=", ""])
  func hostileNames(_ name: String) async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    let created = await client.post("/time", "name=\(name)")
    #expect(created.status == 400 && !created.text.contains("<script>"))
    var targets = ["/compare?from=\(name)&to=x", "/compare?from=&to=\(name)x"]
    if !name.isEmpty { targets.append("/rollback/\(name)") }
    for target in targets {
      let response = await client.send("GET", target)
      #expect(response.status == 404, "\(target)")
      #expect(!response.text.contains("<script>") && !response.text.contains("\u{202E}"), "\(target)")
    }
  }

  @Test(
    "names that look like formats and relative paths have working links", arguments: ["a.json", "b.csv", "..", "."])
  func pathNames(_ name: String) async throws {
    let files = try TestStore(snapshotModel)
    try files.store.insert("Book", ["title": .string("x")])
    try await files.store.createSnapshot(named: name)
    let client = ExplorerClient(files.store)
    let page = await client.page("/time")
    let start = try #require(page.range(of: "href=\"/rollback/"))
    let target = page[start.upperBound...].prefix { $0 != "\"" }
    #expect(await client.page("/rollback/\(target)").contains("Roll back to \(name)"))
  }
}

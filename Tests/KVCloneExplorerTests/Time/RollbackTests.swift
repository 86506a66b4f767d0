import Dispatch
import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct RollbackTests {
  @Test("a plan lists what would change, and changes nothing")
  func plan() async throws {
    let library = try LibraryHistory()
    let before = try library.store.lines()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let page = await client.page("/rollback/first")
    #expect(page.contains("method=\"post\"") && page.contains("Kept for undo"))
    for id in [library.kept, library.deleted, library.inserted] { #expect(page.contains(library.name(id))) }
    let json = try await client.json("/rollback/first")
    #expect(json["committed"] as? Bool == false && json["checked"] as? Bool == true)
    #expect(json["recreated"] as? Int == 1 && json["deleted"] as? Int == 1)
    #expect(try library.store.lines() == before)
    #expect(try library.store.snapshots().count == 2)
  }

  @Test("without writes, the plan comes from the comparison, and nothing can be run")
  func readOnly() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store)
    let page = await client.page("/rollback/first")
    #expect(!page.contains("method=\"post\"") && page.contains("kvclone explore --write"))
    let json = try await client.json("/rollback/first")
    #expect(json["checked"] as? Bool == false && json["recreated"] as? Int == 1)
    let before = try library.store.lines()
    #expect(await client.post("/rollback/first").status == 403)
    #expect(try library.store.lines() == before)
  }

  @Test("a rollback restores the state, and its undo link the state before it")
  func runAndUndo() async throws {
    let library = try LibraryHistory()
    let store = library.store
    let (present, first) = (try store.lines(), try store.lines(ofSnapshot: "first"))
    #expect(present != first)
    let client = ExplorerClient(store) { $0.allowsWrites = true }
    let run = await client.post("/rollback/first")
    #expect(run.status == 303)
    #expect(try store.lines() == first)
    let target = try #require(run.header("Location"))
    let page = await client.page(target)
    let start = try #require(page.range(of: "href=\"/rollback/auto-"))
    let undo = "/rollback/auto-" + page[start.upperBound...].prefix { $0 != "\"" }
    #expect(await client.page(undo).contains("Roll back to auto-"))
    #expect(await client.post(undo).status == 303)
    #expect(try store.lines() == present)
    try checked(store)
    let json = try await client.json(target)
    #expect((json["counts"] as? [Any])?.isEmpty == true)
  }

  @Test("snapshots with names like parts of paths have their pages", arguments: [".", "..", "a.json", "a.csv", "done"])
  func names(_ name: String) async throws {
    let files = try TestStore(snapshotModel)
    try files.store.insert("Book", ["title": .string("old")])
    try await files.store.createSnapshot(named: name)
    try files.store.insert("Book", ["title": .string("new")])
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    let timeline = await client.page("/time")
    let link = try #require(timeline.firstMatch(of: /href="(\/rollback\/[^"]+)"/)).1
    #expect(await client.page(String(link)).contains("Roll back to \(name)"))
    #expect(try await client.json("\(link).json")["snapshot"] as? String == name)
    let result = try #require(await client.post(String(link)).header("Location"))
    #expect(await client.page(result).contains("Rolled back to \(name)"))
    #expect(await client.page("/?at=\(name)").contains(name))
    #expect(await client.page("/compare?from=\(name)&to=").contains("Changes from \(name) to present"))
  }

  @Test("chosen objects return to the snapshot, and others stay")
  func objects() async throws {
    let library = try LibraryHistory()
    let store = library.store
    let client = ExplorerClient(store) { $0.allowsWrites = true }
    let name = library.name(library.kept)
    let page = await client.page("/rollback/first?object=\(name.replacing("/", with: "%2F"))")
    #expect(page.contains("<input type=\"hidden\" name=\"object\" value=\"\(name)\">"))
    let run = await client.post("/rollback/first", "object=\(name.replacing("/", with: "%2F"))")
    #expect(run.status == 303)
    let ids = [library.kept, library.deleted, library.inserted]
    let (title, exist) = try await store.read { tx in (try tx.value(ids[0], "title"), try ids.map { try tx.exists($0) })
    }
    #expect(title == .string("The old & quick title") && exist == [true, false, true])
  }

  @Test("objects that the snapshot does not show, and too many of them, are refused")
  func badObjects() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    #expect(await client.post("/rollback/first", "object=Book%2F99").status == 404)
    #expect(await client.post("/rollback/first", "object=%3Cscript%3E").status == 400)
    let many = Array(repeating: "object=Book%2F1", count: 101).joined(separator: "&")
    #expect(await client.post("/rollback/first", many).status == 400)
    #expect(await client.send("GET", "/rollback/first/done").status == 404)
    #expect(await client.send("GET", "/rollback/first/done?undo=missing").status == 404)
  }

  @Test("while another transaction holds the write lock, the plan is omitted, or refused if it was requested")
  func writeLock() async throws {
    let library = try LibraryHistory()
    let client = ExplorerClient(library.store) { $0.allowsWrites = true }
    let (isHeld, isRead) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let store = library.store
    let writer = Thread {
      try? store.write { _ in
        isHeld.signal()
        isRead.wait()
      }
    }
    writer.start()
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        isHeld.wait()
        continuation.resume()
      }
    }
    defer { isRead.signal() }
    let page = await client.page("/rollback/first")
    #expect(page.contains("holds the write lock") && page.contains("plan=1"))
    #expect(try await client.json("/rollback/first")["checked"] as? Bool == false)
    let refused = await client.send("GET", "/rollback/first.json?plan=1")
    #expect(refused.status == 503 && refused.text.contains("\"busy\"") && refused.header("Retry-After") != nil)
    let one = library.name(library.kept).replacing("/", with: "%2F")
    #expect(await client.page("/rollback/first?object=\(one)").contains("holds the write lock"))
  }

  @Test("a plan of many objects runs on request only, because it holds the write lock")
  func manyObjects() async throws {
    let files = try TestStore(snapshotModel)
    try await files.store.createSnapshot(named: "empty")
    _ = try files.store.insert("Tag", count: RollbackPage.maximumUnrequested + 1)
    let client = ExplorerClient(files.store) { $0.allowsWrites = true }
    #expect(try await client.json("/rollback/empty")["checked"] as? Bool == false)
    #expect(await client.page("/rollback/empty").contains("plan=1"))
    #expect(try await client.json("/rollback/empty?plan=1")["checked"] as? Bool == true)
  }
}

extension ObjectStore {
  /// The objects of a dump of the store, or of a snapshot, without its first line, which contains the commit.
  fileprivate func lines(ofSnapshot name: String? = nil) throws -> [Substring] {
    var bytes: [UInt8] = []
    let sink: (RawSpan) -> Void = { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    if let name { _ = try snapshot(named: name).dump(to: sink) } else { _ = try dump(to: sink) }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix(#"{"kvclone""#) }
  }
}

import Foundation
import KVClone
import KVCloneCore
import KVCloneOperations
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

@Suite(.bounded) struct StoreJobTests {
  @Test("a check runs in the background, and its page shows the result in all formats")
  func check() async throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 3000)
    let client = ExplorerClient(files.store)
    #expect(await client.page("/store/check").contains("Start a check"))
    let start = await client.post("/store/check", "data=1")
    #expect(start.status == 303)
    let target = try #require(start.header("Location"))
    _ = try await client.wait(for: "The check found no issue.", at: target)
    let json = try await client.json(target)
    #expect(json["state"] as? String == "finished" && json["ok"] as? Bool == true && json["objects"] as? Int == 3000)
    #expect(await client.page(target + ".csv") == "kind,object,property,page,derived,message\n")
    #expect(await client.page("/store/check").contains(target))
  }

  @Test("a corrupted store is reported with links to its objects", .needsDataFile(.bytes))
  func damaged() async throws {
    let fixture = try CheckFixture()
    let item = fixture.items[3]
    try fixture.tamper(fixture.table(of: item), fixture.key(item)) { $0[$0.count - 1] ^= 0xFF }
    let client = ExplorerClient(fixture.store)
    let target = try #require(await client.post("/store/check").header("Location"))
    let page = try await client.wait(for: "The check found issues", at: target)
    #expect(page.contains("kvclone salvage") || page.contains("kvclone repair"))
    let json = try await client.json(target)
    let damages = try #require(json["damages"] as? [[String: Any]])
    let object = try #require(damages.compactMap { $0["object"] as? String }.first)
    #expect(json["ok"] as? Bool == false && page.contains("href=\"/objects/\(object)\""))
    // The rest of the explorer still works.
    _ = await client.page("/store")
  }

  @Test("sizes are measured in the background, and shown afterwards", .needsDataFile(.statistics))
  func sizes() async throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 100)
    let client = ExplorerClient(files.store)
    let target = try #require(await client.post("/store/sizes").header("Location"))
    let page = try await client.wait(for: "<svg viewBox", at: target)
    #expect(page.contains("/entities/Book"))
    #expect(try await client.json(target)["entities"] != nil)
  }

  @Test("one job runs at a time: the same one is shown, another one is refused", .needsDataFile(.statistics))
  func oneAtATime() throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 20_000)
    let jobs = StoreJobs()
    let first = try jobs.start(.check(readsData: true), files.store)
    // It may have ended since, on a fast machine.
    if jobs.job(first)?.isRunning == true, let second = try? jobs.start(.check(readsData: true), files.store) {
      #expect(second == first || jobs.job(first)?.isRunning == false)
    }
    jobs.cancelAll()
    #expect(throws: ExplorerError.self) { try jobs.start(.sizes, files.store) }
  }

  @Test("a cancelled check ends as cancelled, without issues", arguments: [true, false])
  func cancellation(_ hasPages: Bool) async throws {
    let files = try TestStore(snapshotModel)
    let memory = try ObjectStore.create(in: MemoryStorage(), model: snapshotModel)
    defer { memory.close() }
    let store = hasPages ? files.store : memory
    _ = try store.insert("Book", count: 3000)
    let cancellation = Cancellation()
    cancellation.cancel()
    do throws(StoreError) {
      _ = try await CheckReport.of(store, CheckOptions(), progress: { _ in }, cancellation: cancellation)
      Issue.record("nothing was thrown")
    } catch {
      #expect(error.kind == .cancelled)
    }
  }

  @Test("a check reports the objects that it has checked")
  func progress() async throws {
    let files = try TestStore(snapshotModel)
    _ = try files.store.insert("Book", count: 5000)
    let seen = ContractBox<[Int]>([])
    let report = try await CheckReport.of(
      files.store, CheckOptions(),
      progress: { progress in if progress.phase == .objects { seen.change { $0.append(progress.completed) } } },
      cancellation: Cancellation())
    #expect(report.isClean && seen.value == [1024, 2048, 3072, 4096])
  }

  @Test(
    "jobs that do not exist, or have a malformed number, are not found",
    arguments: ["1", "x", "-1", "99999999999999999999"])
  func missing(_ number: String) async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    #expect(await client.send("GET", "/store/check/\(number)").status == 404)
    #expect(await client.send("GET", "/store/sizes/\(number)").status == 404)
  }

  @Test("links and requests of other sites start nothing", arguments: ["check", "sizes"])
  func starts(_ kind: String) async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    for method in ["HEAD", "GET"] {
      #expect(await client.send(method, "/store/\(kind)?run=1").status == (kind == "check" ? 200 : 303))
    }
    #expect(await client.send("POST", "/store/\(kind)").status == 403)
    #expect(await client.send("POST", "/store/\(kind)", [("Origin", "http://evil.example")]).status == 403)
    #expect(client.explorer.jobs.all.isEmpty)
  }

  @Test("a job is cancelled by a form, not by a link")
  func cancel() async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    let target = try #require(await client.post("/store/check").header("Location"))
    #expect(await client.page("/store/check").contains("<form action=\"/store/check\" method=\"post\">"))
    #expect(await client.send("GET", target + "/cancel").status == 405)
    #expect(await client.send("POST", target + "/cancel").status == 403)
    let cancelled = await client.post(target + "/cancel")
    #expect(cancelled.status == 303 && cancelled.header("Location") == target)
    #expect(await client.post("/store/check/99/cancel").status == 404)
    #expect(await client.post("/store/sizes/1/cancel").status == 404)
  }

  @Test("only the latest results are kept")
  func limit() async throws {
    let files = try TestStore(snapshotModel)
    let client = ExplorerClient(files.store)
    var last = ""
    for _ in 0..<12 {
      last = try #require(await client.post("/store/check").header("Location"))
      _ = try await client.wait(for: "The check found no issue.", at: last)
    }
    #expect(last == "/store/check/12" && client.explorer.jobs.all.count == 8)
    #expect(await client.send("GET", "/store/check/1").status == 404)
  }
}

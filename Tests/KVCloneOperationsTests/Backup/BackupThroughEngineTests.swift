import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Backups of a store that has no data file, entry by entry.
@Suite("Backups through the engine") struct BackupThroughEngineTests {
  private struct Fixture {
    let store: ObjectStore
    let root: String

    init() throws {
      root = try temporaryDirectory()
      store = try ObjectStore.create(in: MemoryStorage(), model: CheckFixture.model)
      try store.setTracksHistory(true)
      try change(0)
    }

    /// Inserts, changes and deletes objects with long lists and blobs.
    func change(_ round: Int) throws {
      try store.write { tx in
        let old = try tx.fetchIDs(FetchRequest("Item"))
        try tx.delete(Array(old.prefix(20)))
        for item in old.dropFirst(20).prefix(20) { try tx.set(item, "title", .string("changed \(round)")) }
        let items = try (0..<150).map { number in
          try tx.insert(
            "Item",
            [
              "number": .decimal(Decimal(number + 1000 * round)), "title": .string("item"),
              "photo": number % 50 == 0 ? .binary(Data(repeating: UInt8(round), count: 70_000 + number)) : nil,
            ])
        }
        let folder = try tx.insert("Folder", ["code": .string("\(round)")], relationships: ["items": items])
        try tx.setMembers(folder, "sorted", items.reversed())
      }
    }

    func path(_ name: String) -> String { root + "/" + name }

    func remove() {
      store.close()
      try? FileManager.default.removeItem(atPath: root)
    }
  }

  @Test(arguments: BackupOptions.Verification.allCases)
  func aBackupIsTheStore(_ verification: BackupOptions.Verification) throws {
    let fixture = try Fixture()
    defer { fixture.remove() }
    try fixture.store.createSnapshot(named: "a")
    try fixture.change(1)
    let phases = Mutex<Set<OperationProgress.Phase>>([])
    let result = try fixture.store.backup(
      to: fixture.path("full"), options: BackupOptions(verification: verification),
      progress: { news in phases.withLock { _ = $0.insert(news.phase) } })
    #expect(try result.commit == fixture.store.info().commit && result.entryCount == nil)
    let seen = phases.withLock { $0 }
    #expect(seen.isSuperset(of: [.copy, .sync, .verify]))
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path("full")) == ["data.mdb"])
    try Increments.expectSame(fixture.store, [fixture.path("full")], in: fixture.root)
    let opened = try ObjectStore.open(at: fixture.path("full"))
    defer { opened.close() }
    #expect(opened.uuid == fixture.store.uuid)
    try checked(opened)
  }

  @Test func incrementsContinueABackup() throws {
    let fixture = try Fixture()
    defer { fixture.remove() }
    try fixture.store.createSnapshot(named: "a")
    try fixture.store.backup(to: fixture.path("full"))
    try fixture.change(1)
    try fixture.store.createSnapshot(named: "b")
    let first = try fixture.store.backup(to: fixture.path("i1"), options: BackupOptions(since: "a"))
    #expect((first.entryCount ?? 0) > 150 && first.since == "a")
    try fixture.change(2)
    try fixture.store.backup(to: fixture.path("i2"), options: BackupOptions(since: "b"))
    try Increments.expectSame(fixture.store, ["full", "i1", "i2"].map(fixture.path), in: fixture.root)
  }

  @Test func aCancelledBackupLeavesNothing() throws {
    let fixture = try Fixture()
    defer { fixture.remove() }
    let cancellation = Cancellation()
    cancellation.cancel()
    expectError(.cancelled) { _ = try fixture.store.backup(to: fixture.path("full"), cancellation: cancellation) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).isEmpty)
  }
}

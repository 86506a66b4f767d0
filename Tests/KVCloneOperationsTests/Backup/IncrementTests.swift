import Foundation
import KVCloneLMDB
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// A store with a backup, a snapshot before it, and changes after it.
final class IncrementFixture {
  let fixture: BackupFixture
  var store: ObjectStore { fixture.store }
  var root: String { fixture.root }

  private var changes = 0

  init(_ options: StoreOptions = StoreOptions()) throws {
    fixture = try BackupFixture(options)
    try store.createSnapshot(named: "a")
    try store.backup(to: path("full"))
  }

  func path(_ name: String) -> String { root + "/" + name }

  func increment(_ name: String, since: String, _ cancellation: Cancellation? = nil) throws {
    try store.backup(to: path(name), options: BackupOptions(since: since), cancellation: cancellation)
  }

  func expectSame(_ names: String..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    try Increments.expectSame(store, names.map(path), in: root, sourceLocation: sourceLocation)
  }

  /// Inserts, changes and deletes objects, in lists of all kinds.
  func change() throws {
    let folder = fixture.folder
    changes += 1
    try store.write { tx in
      let items = try tx.members(folder, "items")
      try tx.delete(Array(items.prefix(40)))
      for item in items[50..<80] { try tx.set(item, "title", .string("changed")) }
      try tx.set(items[100], "photo", .binary(Data(repeating: 3, count: 70_000)))
      try tx.set(items[300], "photo", nil)
      // A shared blob: its reference count increases.
      try tx.set(items[90], "photo", try tx.value(items[400], "photo"))
      let tag = try #require(try tx.fetchIDs(FetchRequest("Tag")).first)
      var born: [ObjectID] = []
      for number in 0..<300 {
        born.append(
          try tx.insert(
            "Item", ["number": .decimal(Decimal(number + 10_000 * changes)), "title": .string("new")],
            relationships: ["folder": [folder], "tags": [tag], "favorite": [tag]]))
      }
      try tx.set(born[0], "photo", .binary(Data(repeating: 9, count: 1_100_000)))
      try tx.set(born[1], "photo", try tx.value(items[500], "photo"))
      try tx.link(folder, "sorted", Array(born.prefix(200)), at: 3)
      try tx.setMembers(items[60], "related", born + Array(items[60..<90]))
    }
    try store.write { tx in
      let items = try tx.members(folder, "items")
      try tx.delete([items[items.count - 1]])
    }
  }
}

@Suite("Increments")
struct IncrementTests {
  @Test("a backup and an increment are the store", arguments: [false, true])
  func roundTrip(usesCommitLog: Bool) throws {
    var options = StoreOptions()
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    options.tracksHistory = true
    let fixture = try IncrementFixture(options)
    try fixture.change()
    let before = try fixture.fixture.names()
    let result = try fixture.store.backup(to: fixture.path("i"), options: BackupOptions(since: "a"))
    #expect(try result.commit == fixture.store.info().commit)
    #expect(result.since == "a" && (result.entryCount ?? 0) > 300)
    #expect(try byteCount(ofFile: fixture.path("i") + "/data.mdb") == Int(result.byteCount))
    #expect(result.byteCount == UInt64(result.pageCount) * 4096)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.path("i")) == ["data.mdb"])
    #expect(try BackupFixture.mode(fixture.path("i")) == 0o700)
    #expect(try BackupFixture.mode(fixture.path("i") + "/data.mdb") == 0o600)
    #expect(try fixture.fixture.names() == before + ["i"])
    try checked(fixture.store)
    try fixture.expectSame("full", "i")
  }

  @Test("nothing changed, and a chain in which each begins where the last one ended")
  func chain() throws {
    let fixture = try IncrementFixture()
    try fixture.increment("none", since: "a")
    try fixture.expectSame("full", "none")
    try fixture.change()
    try fixture.store.createSnapshot(named: "b")
    try fixture.increment("i1", since: "a")
    try fixture.expectSame("full", "i1")
    try fixture.store.deleteSnapshot(named: "a")
    try fixture.change()
    try fixture.store.createSnapshot(named: "c")
    try fixture.increment("i2", since: "b")
    try fixture.expectSame("full", "i1", "i2")
    try fixture.store.rollback(to: try fixture.store.snapshot(named: "b"))
    try fixture.increment("i3", since: "c")
    try fixture.expectSame("full", "i1", "i2", "i3")
    // An increment since an older snapshot can be applied, too, over newer contents.
    try fixture.increment("i4", since: "b")
    try fixture.expectSame("full", "i1", "i4")
    try fixture.expectSame("full", "i1", "i2", "i4")
    try fixture.expectSame("full", "i1", "i2", "i3", "i4")
  }

  @Test("a backup that was made some time after the snapshot, and snapshots that are deleted in between")
  func laterBackup() throws {
    let fixture = try IncrementFixture()
    try fixture.store.createSnapshot(named: "b")
    try fixture.change()
    try fixture.store.createSnapshot(named: "c")
    try fixture.change()
    try fixture.store.backup(to: fixture.path("later"))
    try fixture.store.deleteSnapshots(named: ["a", "c"])
    try fixture.change()
    try fixture.increment("i", since: "b")
    try fixture.expectSame("later", "i")
  }

  @Test("uploads that began before the snapshot, however they end")
  func uploads() throws {
    let fixture = try BackupFixture()
    let store = fixture.store
    let items = try store.members(fixture.folder, "items")
    var staged: [StagedBlob?] = []
    for number in 0..<5 {
      staged.append(
        try store.stageBlob { try $0.append(Data(repeating: UInt8(number), count: 1_500_000 + number)) })
    }
    try store.createSnapshot(named: "a")
    try store.backup(to: fixture.root + "/full")
    func use(_ number: Int) throws {
      let data = try #require(staged[number])
      try store.write { tx in try tx.setData(items[number + 20], "photo", data) }
      try checked(store)
    }
    try use(0)
    try use(1)
    // No object refers to it any more, and no snapshot shows it.
    try store.set(items[21], "photo", nil)
    try checked(store)
    staged[2] = nil
    try use(4)
    try store.createSnapshot(named: "b")
    try store.set(items[24], "photo", nil)
    try checked(store)
    try store.backup(to: fixture.root + "/later")
    // Removes the discarded upload.
    staged.append(try store.stageBlob { try $0.append(Data(count: 1_200_000)) })
    try store.backup(to: fixture.root + "/i", options: BackupOptions(since: "a"))
    try Increments.expectSame(store, [fixture.root + "/full", fixture.root + "/i"], in: fixture.root)
    try Increments.expectSame(store, [fixture.root + "/later", fixture.root + "/i"], in: fixture.root)
    try use(3)
    try store.backup(to: fixture.root + "/j", options: BackupOptions(since: "b"))
    try Increments.expectSame(store, [fixture.root + "/later", fixture.root + "/j"], in: fixture.root)
    try store.deleteSnapshots(named: ["a", "b"])
    try checked(store)
    try store.expectNoPreviousStates()
  }

  @Test("what the backup had after the snapshot, of another past of the store, is not in the result")
  func otherPast() throws {
    let fixture = try IncrementFixture()
    let other = fixture.path("other")
    try ObjectStore.restore(from: fixture.path("full"), to: other)
    do {
      let store = try ObjectStore.open(at: other)
      defer { store.close() }
      try store.write { tx in
        for item in try tx.members(fixture.fixture.folder, "items").prefix(200) {
          try tx.set(item, "title", .string("another past"))
          try tx.set(item, "photo", .binary(Data(repeating: 5, count: 3000)))
        }
        try tx.delete(Array(try tx.members(fixture.fixture.folder, "items").suffix(250)))
        for _ in 0..<20 { try tx.insert("Folder", relationships: ["parent": [fixture.fixture.folder]]) }
      }
      try store.backup(to: fixture.path("otherFull"))
    }
    for _ in 0..<4 { try fixture.change() }
    try fixture.increment("i", since: "a")
    try fixture.expectSame("otherFull", "i")
  }

  @Test("an increment is no store, and says so")
  func noStore() throws {
    let fixture = try IncrementFixture()
    try fixture.change()
    try fixture.increment("i", since: "a")
    let path = fixture.path("i")
    let error = expectError(.incrementalBackup) { _ = try ObjectStore.open(at: path) }
    #expect(error?.message.contains("restore") == true)
    expectError(.incrementalBackup) { _ = try ObjectStore.check(at: path) }
    var options = StoreOptions()
    options.isReadOnly = true
    expectError(.incrementalBackup) { _ = try ObjectStore.open(at: path, options: options) }
    try fixture.expectSame("full", "i")
  }

  @Test("backups of different chains are rejected, with what is missing")
  func brokenChains() throws {
    let fixture = try IncrementFixture()
    try fixture.change()
    try fixture.store.createSnapshot(named: "b")
    try fixture.increment("i1", since: "a")
    try fixture.change()
    try fixture.increment("i2", since: "b")
    try fixture.store.backup(to: fixture.path("later"))
    let stranger = try IncrementFixture()
    try stranger.increment("s", since: "a")
    try fixture.store.deleteSnapshot(named: "a")
    try fixture.store.createSnapshot(named: "a")
    try fixture.increment("i3", since: "a")
    let names = try fixture.fixture.names()
    func refused(_ sources: [String], _ words: String..., sourceLocation: SourceLocation = #_sourceLocation) {
      let error = expectError(.brokenChain, sourceLocation: sourceLocation) {
        _ = try ObjectStore.restore(
          from: sources.map { $0.hasPrefix("/") ? $0 : fixture.path($0) }, to: fixture.path("r"))
      }
      for word in words {
        #expect(error?.message.contains(word) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
      }
    }
    refused(["i1"], "snapshot a", "increment")
    refused(["i1", "i2"], "snapshot a")
    refused(["full", "i2"], "snapshot b", "no such snapshot")
    refused(["full", "i2", "i1"], "snapshot b")
    refused(["full", "i1", "i2", "i1"], "twice")
    refused(["full", "i3"], "snapshot a", "another snapshot")
    refused(["later", "i1"], "order")
    refused(["full", "later"], "full backup")
    refused(["full", "i1", "later"], "full backup")
    refused(["full", stranger.path("s")], fixture.store.uuid.uuidString, stranger.store.uuid.uuidString)
    expectError(.storeNotFound) { _ = try ObjectStore.restore(from: [], to: fixture.path("r")) }
    expectError(.storeNotFound) {
      _ = try ObjectStore.restore(from: [fixture.path("full"), fixture.path("no")], to: fixture.path("r"))
    }
    expectError(.storeExists) {
      _ = try ObjectStore.restore(from: [fixture.path("full"), fixture.path("i1")], to: fixture.path("i2"))
    }
    expectError(.snapshotNotFound) { try fixture.increment("x", since: "nothing") }
    #expect(try fixture.fixture.names() == names)
  }

  @Test("a cancelled one leaves nothing", .needsDataFile(.lockFile))
  func cancellation() throws {
    let fixture = try IncrementFixture()
    try fixture.change()
    try fixture.increment("i", since: "a")
    let names = try fixture.fixture.names()
    let sources = ["full", "i"].map(fixture.path)
    for phase in [OperationProgress.Phase.check, .copy, .gather, .apply, .sync, .verify] {
      let cancellation = Cancellation()
      let seen = Atomic(false)
      let progress: @Sendable (OperationProgress) -> Void = {
        if $0.phase != phase { return }
        seen.store(true, ordering: .relaxed)
        cancellation.cancel()
      }
      if ![.check, .apply].contains(phase) {
        expectError(.cancelled) {
          _ = try fixture.store.backup(
            to: fixture.path("b"), options: BackupOptions(since: "a"), progress: progress, cancellation: cancellation)
        }
        let isSeen = seen.load(ordering: .relaxed)
        #expect(isSeen, "\(phase)")
      }
      if phase == .gather { continue }
      let another = Cancellation()
      expectError(.cancelled) {
        _ = try ObjectStore.restore(
          from: sources, to: fixture.path("b"), progress: { if $0.phase == phase { another.cancel() } },
          cancellation: another)
      }
      #expect(try fixture.fixture.names() == names)
    }
    let environment = try fixture.store.engine.requireFiles(for: "a test").environment
    #expect(try environment.activeReaders().isEmpty)
    try fixture.expectSame("full", "i")
  }

  /// A process that is killed between the two would leave the file permanently, because no later backup has this name.
  @Test("the temporary file for sorting is removed before the backup gets its name")
  func scratchFile() throws {
    let fixture = try IncrementFixture()
    try fixture.change()
    let root = fixture.root
    let counts = Mutex<[OperationProgress.Phase: Int]>([:])
    try fixture.store.backup(to: fixture.path("i"), options: BackupOptions(since: "a")) { news in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
      counts.withLock { $0[news.phase] = names.count { $0.hasPrefix(".i.") } }
    }
    let found = counts.withLock { $0 }
    #expect(found[.gather] == 2)
    #expect(found[.sync] == 1)
    #expect(found[.verify] == 1)
  }

  @Test("while others write, it is the state of one commit")
  func hot() throws {
    let fixture = try IncrementFixture()
    let store = fixture.store
    let isDone = Atomic(false)
    let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let thread = Thread {
      var round = 0
      while !isDone.load(ordering: .relaxed) {
        round += 1
        try? store.write { tx in
          for tag in try tx.fetchIDs(FetchRequest("Tag")) {
            try tx.set(tag, "name", .string("\(tag.serial) of \(round)"))
          }
          try tx.insert("Item", ["photo": .binary(Data(count: 20_000 + round * 100))])
        }
        if round % 3 == 0 { _ = try? store.createSnapshot(named: "w\(round)") }
        if round == 1 { begun.signal() }
      }
      ended.signal()
    }
    thread.start()
    begun.wait()
    for number in 0..<4 { try fixture.increment("i\(number)", since: "a") }
    isDone.store(true, ordering: .relaxed)
    ended.wait()
    for number in 0..<4 {
      let path = fixture.path("r\(number)")
      try ObjectStore.restore(from: [fixture.path("full"), fixture.path("i\(number)")], to: path)
      let names = try BackupFixture.look(path) { restored in
        try restored.objects("Tag").map { try restored.value($0, "name") }
      }
      let rounds = Set(
        names.compactMap { name -> Substring? in
          guard case .string(let text)? = name else { return nil }
          return text.split(separator: " ").last
        })
      #expect(rounds.count == 1, "\(rounds)")
    }
    try fixture.increment("last", since: "a")
    try fixture.expectSame("full", "last")
  }

  @Test("its size follows the number of changes", .needsDataFile(.sizes))
  func size() throws {
    let fixture = try IncrementFixture()
    let full = try fixture.store.info().fileBytes
    try fixture.store.set(fixture.fixture.folder, "title", .string("changed"))
    let result = try fixture.store.backup(to: fixture.path("i"), options: BackupOptions(since: "a"))
    // Mostly the model, and a page for each table.
    #expect(result.byteCount < 100_000 && result.byteCount * 10 < full)
    #expect((result.entryCount ?? 0) < 60)
    try fixture.expectSame("full", "i")
  }
}

import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Operations on whole stores with branches.
@Suite("Branches: operations")
struct BranchOperationTests {
  /// A store with two branches, and a directory for copies.
  private final class Fixture {
    let branches: BranchFixture
    let root: String
    let book: ObjectID
    var store: ObjectStore { branches.store }

    init(_ kind: StorageKind = .lmdb) throws {
      branches = try BranchFixture(kind)
      root = try temporaryDirectory()
      try branches.store.setTracksHistory(true)
      book = try BranchFixture.fill(branches.store, "first")
      for name in ["draft", "other"] {
        let branch = try branches.store.branches.create(name)
        try BranchFixture.change(branch, book)
        try branch.createSnapshot(named: "of-\(name)")
        try branch.write { tx in try tx.set(book, "title", .string(name)) }
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { root + "/" + name }

    /// The content of the store and of each branch.
    static func texts(_ store: ObjectStore) throws -> [String: String] {
      var texts = ["": try BranchFixture.text(store)]
      for branch in try store.branches.list() {
        texts[branch.name] = try BranchFixture.text(try store.branches.open(branch.name))
      }
      return texts
    }
  }

  private static func expectSame(
    _ store: ObjectStore, at path: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let copy = try ObjectStore.open(at: path)
    defer { copy.close() }
    #expect(try Fixture.texts(copy) == Fixture.texts(store), sourceLocation: sourceLocation)
    #expect(try copy.check().issues.map(\.message) == [], sourceLocation: sourceLocation)
    // The branches of the copy can be used.
    let branch = try copy.branches.open("draft")
    try branch.write { tx in try tx.insert("Tag", ["name": .string("in the copy")]) }
    try copy.branches.delete("other")
    #expect(try copy.check().issues.map(\.message) == [], sourceLocation: sourceLocation)
  }

  @Test("B9: a backup contains branches, and so does a restored store", arguments: StorageKind.allCases)
  func backup(_ kind: StorageKind) throws {
    let fixture = try Fixture(kind)
    let result = try fixture.store.backup(
      to: fixture.path("backup"), options: BackupOptions(verification: .everything))
    #expect(result.omittedBranches.isEmpty)
    try ObjectStore.restore(from: fixture.path("backup"), to: fixture.path("restored"))
    try Self.expectSame(fixture.store, at: fixture.path("restored"))
    try Self.expectSame(fixture.store, at: fixture.path("backup"))
  }

  @Test("B9: a backup without branches has nothing of them, and begins no chain", arguments: StorageKind.allCases)
  func backupWithoutBranches(_ kind: StorageKind) throws {
    let fixture = try Fixture(kind)
    let store = fixture.store
    try store.createSnapshot(named: "start")
    _ = try store.delete([fixture.book])
    let result = try store.backup(
      to: fixture.path("backup"), options: BackupOptions(verification: .everything, includesBranches: false))
    #expect(result.omittedBranches.map(\.name) == ["draft", "other"])
    #expect(result.omittedBranches.allSatisfy { $0.changedObjectCount > 40 })
    try store.write { tx in try tx.insert("Tag", ["name": .string("later")]) }
    try store.backup(to: fixture.path("increment"), options: BackupOptions(since: "start"))
    expectError(.brokenChain) {
      try ObjectStore.restore(from: [fixture.path("backup"), fixture.path("increment")], to: fixture.path("x"))
    }
    expectError(.incrementalBackup) {
      try store.backup(to: fixture.path("y"), options: BackupOptions(since: "start", includesBranches: false))
    }
    let copy = try ObjectStore.open(at: fixture.path("backup"))
    defer { copy.close() }
    #expect(try copy.branches.list().isEmpty)
    #expect(try BranchFixture.overlays(copy).isEmpty)
    #expect(try copy.snapshots().map(\.name) == ["start"])
    try copy.deleteSnapshot(named: "start")
    let session = try copy.readSession()
    #expect(try session.storage.entryCount(copy.schema.tables.preimages) == 0)
    #expect(try session.storage.entryCount(copy.schema.tables.blobs) == 0)
    // Numbers are not used again.
    let numbers = try store.branches.list().map(\.number)
    try copy.branches.create("new")
    #expect(try copy.branches.list().allSatisfy { !numbers.contains($0.number) })
  }

  @Test("B9: increments have each changed branch whole", arguments: StorageKind.allCases)
  func increments(_ kind: StorageKind) throws {
    let fixture = try Fixture(kind)
    let store = fixture.store
    let upload = try store.stageBlob { writer in try writer.append(Data(repeating: 5, count: 2_000_000)) }
    try store.createSnapshot(named: "a")
    try store.backup(to: fixture.path("full"))
    let draft = try store.branches.open("draft")
    let book = fixture.book
    let uploaded = try BranchFixture.fill(draft, "uploaded")
    try draft.write { tx in
      try tx.setData(uploaded, "cover", upload)
      try tx.delete([book])
    }
    try store.branches.create("new", from: try store.snapshot(named: "a"))
    try store.createSnapshot(named: "b")
    let first = try store.backup(to: fixture.path("i1"), options: BackupOptions(since: "a"))
    #expect((first.entryCount ?? 0) > 40)
    try Increments.expectSame(store, [fixture.path("full"), fixture.path("i1")], in: fixture.root)
    try store.branches.delete("draft")
    try store.branches.create("draft")
    let unchanged = try store.backup(to: fixture.path("i2"), options: BackupOptions(since: "b"))
    #expect((unchanged.entryCount ?? 0) < (first.entryCount ?? 0))
    // Both from the increment before, and from the full backup.
    try Increments.expectSame(
      store, [fixture.path("full"), fixture.path("i1"), fixture.path("i2")], in: fixture.root)
    try store.backup(to: fixture.path("i3"), options: BackupOptions(since: "a"))
    try Increments.expectSame(store, [fixture.path("full"), fixture.path("i3")], in: fixture.root)
  }

  @Test("B9: the first branch may come with an increment, and the last one may go with it")
  func incrementsAroundBranches() throws {
    let test = try TestStore(snapshotModel)
    let store = test.store
    let book = try BranchFixture.fill(store, "first")
    try store.createSnapshot(named: "a")
    try store.backup(to: test.root + "/full")
    let branch = try store.branches.create("draft")
    try BranchFixture.change(branch, book)
    try store.createSnapshot(named: "b")
    try store.backup(to: test.root + "/i1", options: BackupOptions(since: "a"))
    try Increments.expectSame(store, [test.root + "/full", test.root + "/i1"], in: test.root)
    try store.branches.delete("draft")
    try store.backup(to: test.root + "/i2", options: BackupOptions(since: "b"))
    try Increments.expectSame(
      store, [test.root + "/full", test.root + "/i1", test.root + "/i2"], in: test.root)
  }

  @Test("B9: random changes of the store and of branches are restored from increments", arguments: PropertySeeds.seeds)
  func incrementProperty(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let test = try TestStore(snapshotModel)
    let store = test.store
    try store.setTracksHistory(true)
    _ = try BranchFixture.fill(store, "first")
    try store.createSnapshot(named: "s0")
    try store.backup(to: test.root + "/b0")
    var chain = [test.root + "/b0"]
    var snapshots = ["s0"]
    for round in 1...12 {
      for step in 0..<Int.random(in: 1...8, using: &generator) {
        try Self.change(store, "\(round)-\(step)", &generator)
      }
      let since = snapshots[snapshots.count - 1]
      if Bool.random(using: &generator) {
        try store.createSnapshot(named: "s\(round)")
        snapshots.append("s\(round)")
      }
      let path = test.root + "/b\(round)"
      try store.backup(to: path, options: BackupOptions(since: since))
      try Increments.expectSame(store, chain + [path], in: test.root, "seed \(seed), round \(round)")
      if snapshots[snapshots.count - 1] != since { chain.append(path) }
      #expect(try store.check().issues.map(\.message) == [], "seed \(seed), round \(round)")
    }
  }

  /// Changes the store or a branch, or creates or deletes a branch or a snapshot of one.
  private static func change(_ store: ObjectStore, _ name: String, _ generator: inout SeededGenerator) throws {
    let branches = try store.branches.list()
    switch Int.random(in: 0..<8, using: &generator) {
    case 0 where branches.count < 3:
      let snapshot = try store.snapshots().randomElement(using: &generator)
      try store.branches.create(
        "branch-\(name)",
        from: Bool.random(using: &generator) ? snapshot.map { try store.snapshot(named: $0.name) } : nil)
    case 1: if let branch = branches.randomElement(using: &generator) { try store.branches.delete(branch.name) }
    case 2:
      if let branch = branches.randomElement(using: &generator) {
        try store.branches.open(branch.name).createSnapshot(named: "of-\(name)")
      }
    default:
      let target = try branches.randomElement(using: &generator).map { try store.branches.open($0.name) } ?? store
      let place = Bool.random(using: &generator) ? store : target
      let books = try place.read { tx in try tx.fetchIDs(FetchRequest("Book")) }
      let chosen = books.randomElement(using: &generator)
      if let chosen, Bool.random(using: &generator) {
        _ =
          Bool.random(using: &generator)
          ? try place.delete([chosen])
          : try place.write { tx in
            try tx.set(chosen, "cover", .binary(Data(repeating: 9, count: 4_000)))
            return 1
          }
      } else {
        try BranchFixture.fill(place, name, cover: Int.random(in: 100...9_000, using: &generator))
      }
    }
  }

  @Test("B9: compacting and reflink copies keep branches")
  func copies() throws {
    let fixture = try Fixture()
    try fixture.store.reflinkCopy(to: fixture.path("copy"))
    try Self.expectSame(fixture.store, at: fixture.path("copy"))
  }

  @Test("B9: statistics count the space of each branch, and snapshots without bases")
  func statistics() throws {
    let fixture = try Fixture()
    let store = fixture.store
    let deep = try store.deepStatistics()
    #expect(Set(deep.branches.map(\.name)) == ["draft", "blobs of draft", "other", "blobs of other"])
    for name in ["draft", "other"] {
      let record = try BranchFixture.record(store, name)
      let use = try #require(deep.branches.first { $0.name == name })
      #expect(use.byteCount >= record.byteCount && use.count >= record.entryCount)
      let blobs = try #require(deep.branches.first { $0.name == "blobs of \(name)" })
      #expect(blobs.byteCount > 8_000 && blobs.byteCount < 30_000)
    }
    let total = deep.spaceUsage.reduce(0) { $0 + $1.byteCount }
    #expect(total == UInt64(deep.summary.pageCount * deep.summary.pageSize))
    #expect(!deep.spaceUsage.contains { $0.kind == .unknown })
    let cheap = try store.statistics()
    #expect(cheap.pageCount == deep.summary.pageCount && cheap.tables == deep.summary.tables)
    #expect(cheap.tables.contains { $0.name == "overlays" } && cheap.tables.contains { $0.name == "branches" })
    #expect(cheap.snapshotCount == 0 && deep.summary.snapshotCount == 0)
    #expect(try store.info().snapshotCount == 0)
    try store.createSnapshot(named: "one")
    #expect(try store.info().snapshotCount == 1)
    #expect(try store.branches.open("draft").info().snapshotCount == 1)
  }

  @Test("B9: salvage leaves branches behind, and reports their names and changes")
  func salvage() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let store = try ObjectStore.create(at: root + "/store", model: snapshotModel)
    let book = try BranchFixture.fill(store, "first")
    try BranchFixture.change(try store.branches.create("draft"), book)
    try store.createSnapshot(named: "one")
    let changes = try #require(try store.branches.list().first).changedObjectCount
    let content = try BranchFixture.text(store)
    store.close()
    let report = try ObjectStore.salvage(from: root + "/store", to: root + "/salvaged")
    #expect(report.branches.map(\.name) == ["draft"] && report.branches.first?.changedObjectCount == changes)
    #expect(report.snapshotCount == 1 && report.isComplete)
    let salvaged = try ObjectStore.open(at: root + "/salvaged")
    defer { salvaged.close() }
    #expect(try BranchFixture.text(salvaged) == content)
    #expect(try salvaged.branches.list().isEmpty)
    #expect(try salvaged.readSession().storage.entryCount(salvaged.schema.tables.blobs) == 1)
    try BranchFixture.change(try salvaged.branches.create("again"), book)
    #expect(try salvaged.check().isClean)
  }
}

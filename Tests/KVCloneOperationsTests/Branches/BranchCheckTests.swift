import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations

/// Checks and repairs of stores with branches, and the blobs that several views describe.
@Suite("Branches: check")
struct BranchCheckTests {
  private static func issues(_ store: ObjectStore) throws -> [IntegrityIssue] {
    try store.check(CheckOptions(readData: true)).issues
  }

  /// A store with a branch on which objects of all kinds were changed.
  private static func fixture(_ kind: StorageKind) throws -> (BranchFixture, branch: ObjectStore, book: ObjectID) {
    let fixture = try BranchFixture(kind)
    try fixture.store.setTracksHistory(true)
    let book = try BranchFixture.fill(fixture.store, "first")
    let branch = try fixture.store.branches.create("draft")
    try BranchFixture.change(branch, book)
    return (fixture, branch, book)
  }

  @Test(
    "B9: changes of all kinds on branches, their snapshots and the store are sound", arguments: StorageKind.allCases)
  func sound(_ kind: StorageKind) throws {
    let (fixture, branch, book) = try Self.fixture(kind)
    #expect(try Self.issues(fixture.store).isEmpty)
    try branch.createSnapshot(named: "one")
    try branch.delete([book])
    try fixture.store.write { tx in try tx.set(book, "title", .string("later")) }
    try fixture.store.createSnapshot(named: "two")
    _ = try fixture.store.delete([book])
    let other = try fixture.store.branches.create("other", from: try fixture.store.snapshot(named: "two"))
    try BranchFixture.change(other, book)
    #expect(try Self.issues(fixture.store).map(\.message) == [])
    try branch.deleteSnapshot(named: "one")
    try fixture.store.branches.delete("draft")
    #expect(try Self.issues(fixture.store).map(\.message) == [])
    try fixture.store.branches.delete("other")
    try fixture.store.deleteSnapshot(named: "two")
    #expect(try Self.issues(fixture.store).map(\.message) == [])
    #expect(try fixture.remains() == [:])
  }

  @Test("damaged entries of each table of a branch are reported with its name", arguments: StorageKind.allCases)
  func damagedEntries(_ kind: StorageKind) throws {
    let (fixture, branch, _) = try Self.fixture(kind)
    try branch.createSnapshot(named: "one")
    _ = try branch.delete([try branch.read { tx in try tx.fetchIDs(FetchRequest("Page")) }[0]])
    let entries = try BranchFixture.overlays(fixture.store)
    let number = try BranchFixture.record(fixture.store, "draft").number
    var tables: Set<TableCode> = []
    for (key, value) in entries.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      let table = try OverlayKey.table(of: key.span.bytes)
      guard tables.insert(table).inserted else { continue }
      var damaged = value
      damaged[damaged.count - 1] ^= 1
      try BranchFixture.plant(fixture.store, .overlays, key, damaged)
      let found = try Self.issues(fixture.store)
      #expect(found.count == 1 && found.first?.branch == "draft", "\(table): \(found.map(\.message))")
      #expect(found.first?.kind == .branch && found.first?.isDerived == false)
      if table.rootCode != nil { #expect(found.first?.object != nil) }
      try BranchFixture.plant(fixture.store, .overlays, key, value)
    }
    #expect(tables.isSuperset(of: [.links, .blobInfo, .indexes, .changes, .preimages, .snapshots, .metadata]))
    #expect(number > 0 && tables.contains { $0.rootCode != nil })
    #expect(try Self.issues(fixture.store).isEmpty)
  }

  @Test(
    "entries in the wrong place, without a branch, and malformed keys are reported", arguments: StorageKind.allCases)
  func misplacedEntries(_ kind: StorageKind) throws {
    let (fixture, _, _) = try Self.fixture(kind)
    let store = fixture.store
    let layer = try BranchFixture.record(store, "draft").present.code
    let entries = try BranchFixture.overlays(store)
    let one = try #require(entries.first { (try? OverlayKey.table(of: $0.key.span.bytes)) == .indexes })
    let key = try OverlayKey.key(of: one.key.span.bytes).withUnsafeBytes { Array($0) }
    let value = ValueEnvelope.encode([], seed: ValueEnvelope.seed(tableCode: .operations, key: key))
    for (number, table, kind) in [
      (layer, TableCode.operations, IntegrityIssue.Kind.malformedKey), (layer + 7, .operations, .branch),
    ] {
      let place = OverlayKey.encode(layer: number, table: table, key: key.span.bytes)
      try BranchFixture.plant(store, layer: number, table, key, value)
      let found = try Self.issues(store)
      #expect(found.contains { $0.kind == kind && $0.branch == (number == layer ? "draft" : nil) })
      try BranchFixture.plant(store, .overlays, place, nil)
      #expect(try Self.issues(store).isEmpty)
    }
    try BranchFixture.plant(store, .overlays, [0, 0, 0, 1], [1])
    #expect(try Self.issues(store).map(\.kind) == [.malformedKey])
  }

  @Test("wrong numbers in the description of a branch are reported", arguments: StorageKind.allCases)
  func wrongNumbers(_ kind: StorageKind) throws {
    let (fixture, _, _) = try Self.fixture(kind)
    let store = fixture.store
    let tables = try #require(try fixture.tables())
    let right = try BranchFixture.record(store, "draft")
    func put(_ value: BranchValue) throws {
      var storage = StorageTransaction(try store.engine.beginWrite(label: "test", timeout: .seconds(5)))
      try BranchRecords.put(value, "draft", tables, in: &storage)
      try storage.commit()
    }
    let changes: [(inout BranchValue) -> Void] = [
      { $0.entryCount += 1 }, { $0.byteCount -= 1 }, { $0.changedObjectCount += 1 }, { $0.objectCounts[0].count += 1 },
      { $0.lastCommit = 1 << 40 }, { $0.layers[0].baseEpoch += 1 },
    ]
    for change in changes {
      var wrong = right
      change(&wrong)
      try put(wrong)
      let found = try Self.issues(store)
      #expect(found.contains { $0.branch == "draft" && $0.kind == .branch }, "\(found.map(\.message))")
      expectError(.corrupted) { try store.repair() }
    }
    try put(right)
    #expect(try Self.issues(store).isEmpty)
  }

  @Test("a damaged base is reported with the branch, which can be deleted", arguments: StorageKind.allCases)
  func damagedBase(_ kind: StorageKind) throws {
    let (fixture, branch, _) = try Self.fixture(kind)
    let store = fixture.store
    try store.createSnapshot(named: "younger")
    let base = Array(try BranchFixture.record(store, "draft").present.baseName.utf8)
    try BranchFixture.plant(store, .snapshots, base, [1, 2, 3])
    let found = try Self.issues(store)
    #expect(found.map(\.kind) == [.snapshot, .branch] && found.last?.branch == "draft")
    let reopened = BranchEngine(
      store.engine, try #require(try fixture.tables()), name: "draft",
      number: try BranchFixture.record(store, "draft").number, store.schema.orderedLists)
    let error = expectError(.corrupted) { _ = try reopened.beginRead() }
    #expect(error?.message.contains("draft") == true)
    _ = branch
    try store.branches.delete("draft")
    #expect(try store.branches.list().isEmpty)
    #expect(try BranchFixture.overlays(store).isEmpty)
  }

  @Test("derived data of a branch is repaired on the branch", arguments: StorageKind.allCases)
  func repair(_ kind: StorageKind) throws {
    let (fixture, branch, _) = try Self.fixture(kind)
    let store = fixture.store
    let before = try BranchFixture.text(branch)
    let content = try BranchFixture.text(store)
    let layer = try BranchFixture.record(store, "draft").present.code
    // An entry of an object for a value that it does not have.
    let entries = try BranchFixture.overlays(store)
    let one = try #require(entries.first { (try? OverlayKey.table(of: $0.key.span.bytes)) == .indexes })
    var key = try OverlayKey.key(of: one.key.span.bytes).withUnsafeBytes { Array($0) }
    key[key.count - 9] ^= 1
    let value = ValueEnvelope.encode([], seed: ValueEnvelope.seed(tableCode: .indexes, key: key))
    try branch.plantThroughBranch(.indexes, key, value)
    #expect(try BranchFixture.record(store, "draft").present.code == layer)
    let found = try Self.issues(store)
    #expect(found.map(\.kind) == [.staleIndexEntry] && found.first?.branch == "draft" && found.first?.isDerived == true)
    let report = try store.repair()
    #expect(report.after.isClean && report.indexEntryCount == 1 && report.commit != nil)
    #expect(try BranchFixture.text(branch) == before)
    #expect(try BranchFixture.text(store) == content)
  }

  // MARK: Blobs

  @Test(
    "B6: chunks stay as long as the store or a layer describes the blob, and go with the last description",
    arguments: StorageKind.allCases, [true, false])
  func sharedBlob(_ kind: StorageKind, storeFirst: Bool) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    _ = try store.branches.create("draft")
    let book = try BranchFixture.fill(store, "later")
    guard case .blob(let blob) = try store.value(book, "cover") else {
      Issue.record("the cover is no blob")
      return
    }
    // As a layer that is kept after a publish.
    let key = ShortKey.blobInfo(blob.id).array
    let info = try #require(try store.readSession().storage.blobInfo(store.readSession().blobTables, blob.id))
    try BranchFixture.plant(
      store, layer: try BranchFixture.record(store, "draft").present.code, .blobInfo, key,
      info.encoded(seed: ValueEnvelope.seed(tableCode: .blobInfo, key: key)))
    func chunks() throws -> UInt64 { try fixture.remains()["blobs"] ?? 0 }
    #expect(try chunks() == 1)
    if storeFirst {
      _ = try store.delete([book])
      #expect(try chunks() == 1)
      try store.branches.delete("draft")
    } else {
      try store.branches.delete("draft")
      #expect(try chunks() == 1)
      _ = try store.delete([book])
    }
    #expect(try chunks() == 0)
    #expect(try Self.issues(store).isEmpty)
  }

  @Test("B6: chunks that only a preimage in a layer describes stay with it", arguments: StorageKind.allCases)
  func blobOfSnapshotOfBranch(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let branch = try fixture.store.branches.create("draft")
    let book = try BranchFixture.fill(branch, "new")
    try branch.createSnapshot(named: "one")
    _ = try branch.delete([book])
    #expect(try fixture.remains()["blobs"] == 1)
    #expect(try Self.issues(fixture.store).isEmpty)
    let shown = try branch.snapshot(named: "one")
    let object = try #require(try shown.read { tx in try tx.fetchIDs(FetchRequest("Book")) }.first)
    #expect(try shown.read { tx in try tx.data(object, "cover") } == Data(repeating: 7, count: 5_000))
    try branch.deleteSnapshot(named: "one")
    #expect(try fixture.remains()["blobs"] == nil)
    #expect(try Self.issues(fixture.store).isEmpty)
  }
}

extension ObjectStore {
  /// Puts an entry as a transaction on this branch would.
  fileprivate func plantThroughBranch(_ code: TableCode, _ key: [UInt8], _ value: [UInt8]) throws {
    var storage = StorageTransaction(try engine.beginWrite(label: "test", timeout: .seconds(5)))
    let table = try storage.makeTables([code])[0]
    try storage.put(table, key.span.bytes, value.span.bytes)
    try storage.commit()
  }
}

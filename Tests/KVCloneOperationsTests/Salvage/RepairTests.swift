import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// `repair` rebuilds derived data, and changes nothing else.
@Suite struct RepairTests {
  /// Repairs, and expects that the store is sound afterwards and that no object has changed.
  private func repaired(_ fixture: CheckFixture, _ location: SourceLocation = #_sourceLocation) throws -> RepairReport {
    let lines = try SalvageFixture.lines(fixture.store)
    let report = try fixture.store.repair()
    #expect(!report.before.isClean && report.before.issues.allSatisfy(\.isDerived), sourceLocation: location)
    #expect(report.after.issues == [], sourceLocation: location)
    #expect(try SalvageFixture.lines(fixture.store) == lines, sourceLocation: location)
    try checked(fixture.store, sourceLocation: location)
    return report
  }

  @Test func aSoundStoreIsLeftAlone() throws {
    let fixture = try CheckFixture()
    let commit = try fixture.store.info().commit
    let report = try fixture.store.repair()
    #expect(report.commit == nil && report.after.isClean)
    #expect(try fixture.store.info().commit == commit)
  }

  @Test func indexEntriesAreMended() throws {
    let fixture = try CheckFixture()
    let table = fixture.tables.indexes
    let keys = try fixture.entries(table).map(\.key)
    try fixture.delete(table, keys[0])
    try fixture.tamper(table, keys[1]) { $0[3] ^= 1 }
    try fixture.plant { session in
      // Entries of a missing object, of other values, and one that is not a key.
      var stale = keys[2]
      stale[stale.count - 1] ^= 0x40
      try IndexEntries.put(stale, in: &session)
      var other = keys[3]
      other[4] ^= 1
      try IndexEntries.put(other, in: &session)
      try IndexEntries.put([1], in: &session)
    }
    let commit = try fixture.store.info().commit
    #expect(try fixture.store.repair(isDryRun: true).commit == nil)
    let report = try repaired(fixture)
    #expect(report.commit == commit + 1 && report.indexEntryCount == 6)
    #expect(try fixture.entries(table).map(\.key) == keys)
  }

  @Test func largeValuesThatSnapshotsShowStay() throws {
    let test = try TestStore(snapshotModel)
    let cover = Data(repeating: 1, count: 5000)
    let shown = try test.store.insert("Book", ["title": "one", "cover": .binary(cover)])
    let other = try test.store.insert("Book", ["title": "two", "cover": .binary(Data(repeating: 2, count: 6000))])
    let snapshot = try test.store.createSnapshot(named: "before")
    try test.store.set(shown, "cover", nil)
    // Another blob has a wrong reference count.
    let serial = try test.store.read { tx -> UInt64 in
      guard case .blob(let blob)? = try tx.value(other, "cover") else { return 0 }
      return blob.id
    }
    let tables = BlobTables(blobs: test.store.schema.tables.blobs, blobinfo: test.store.schema.tables.blobinfo)
    var session = try test.store.writeSession(label: "plant")
    try session.storage.addReferences(tables, serial)
    try WriteTransaction(session).commit(test.store)
    #expect(try test.store.check().issues.map(\.kind) == [.blobCount])
    let report = try test.store.repair()
    #expect(report.after.isClean)
    #expect(try snapshot.read { tx in try tx.data(shown, "cover") } == cover)
    #expect(try test.store.data(other, "cover")?.count == 6000)
    try checked(test.store)
  }

  @Test func hiddenListsAreRebuilt() throws {
    let fixture = try CheckFixture()
    let favorites = try fixture.referrers("Item", "favorite", of: fixture.tag)
    let prefix = ShortKey.linkPrefix(owner: favorites.owner, relationship: favorites.relationship).array
    let before = try fixture.entries(fixture.tables.links)
    for entry in before where entry.key.starts(with: prefix) {
      try fixture.tamper(fixture.tables.links, entry.key) { $0[9] ^= 1 }
    }
    let related = try fixture.referrers("Item", "related", of: fixture.folder)
    try fixture.plant { session in _ = try session.storage.removeUnordered(related, fixture.items[2]) }
    _ = try repaired(fixture)
    #expect(try fixture.entries(fixture.tables.links) == before)
  }

  @Test func countsOfLargeValuesAreMended() throws {
    let fixture = try CheckFixture()
    let key = ShortKey.blobInfo(fixture.blob.id).array
    try fixture.tamper(fixture.tables.blobinfo, key, sealed: true) { $0[16] = 7 }
    try fixture.plant { session in
      let bytes = [UInt8](repeating: 1, count: 100)
      let chunk = ShortKey.blobChunk(900, chunk: 0).array
      var value = [UInt8](repeating: 0, count: 8) + bytes
      value.seal(fixture.tables.blobs, chunk)
      try session.storage.put(fixture.tables.blobs, chunk.span.bytes, value.span.bytes)
      try Metadata.put(&session.storage, fixture.tables.metadata, MetadataKey.blobSerial, CounterValue(1000))
    }
    _ = try repaired(fixture)
    #expect(try fixture.entries(fixture.tables.blobs).count == 1)
  }

  @Test func derivedAttributesAreMended() throws {
    let files = try TestStore(DerivedModel.model)
    let album = try files.store.write { tx in
      let album = try tx.insert("Album", ["title": .string("one")])
      for size in 0..<5 { try tx.insert("Photo", ["size": .integer(Int64(size))], relationships: ["album": [album]]) }
      return album
    }
    let lines = try SalvageFixture.lines(files.store)
    var session = try files.store.writeSession(label: "plant")
    let entity = try session.load(album)
    let field = try #require(entity.storedAttribute("total")?.field)
    session.scratch.setInteger64(field, 99)
    try session.store(album, entity)
    try WriteTransaction(session).commit(files.store)
    #expect(try files.store.check().issues.map(\.kind) == [.derivedMismatch])
    #expect(try files.store.repair().after.isClean)
    #expect(try SalvageFixture.lines(files.store) == lines)
    try checked(files.store)
  }

  @Test func damageToObjectsIsRefused() throws {
    let fixture = try CheckFixture()
    try fixture.delete(fixture.tables.indexes, try fixture.entries(fixture.tables.indexes)[0].key)
    try fixture.tamper(record: fixture.items[5], sealed: false) { $0[40] ^= 1 }
    let commit = try fixture.store.info().commit
    let damages = try fixture.store.check().issues
    let error = expectError(.corrupted) { try fixture.store.repair() }
    #expect(error?.message.contains("salvage") == true && error?.object == "Thing/\(fixture.items[5].serial)")
    #expect(try fixture.store.info().commit == commit)
    #expect(try fixture.store.check().issues == damages)
  }

  @Test func snapshotsStayWhatTheyWere() throws {
    let fixture = try CheckFixture()
    let keys = try fixture.entries(fixture.tables.indexes).map(\.key)
    let snapshot = try fixture.store.write { tx in try tx.createSnapshot(named: "one") }
    try fixture.store.set(fixture.items[3], "number", .decimal(77))
    try fixture.delete(fixture.tables.indexes, keys[0])
    _ = snapshot
    _ = try repaired(fixture)
    // The contents of hidden lists in the snapshot can no longer be determined.
    let favorites = try fixture.referrers("Item", "favorite", of: fixture.tag)
    try fixture.plant { session in _ = try session.storage.removeUnordered(favorites, fixture.items[2]) }
    let error = expectError(.corrupted) { try fixture.store.repair() }
    #expect(error?.message.contains("snapshots") == true)
    try fixture.store.deleteSnapshot(named: "one")
    _ = try repaired(fixture)
  }

  @Test func eachKindOfDamageIsOfOneSubject() {
    let derived = IntegrityIssue.Kind.allCases.filter { $0.subject == .derived }
    #expect(Set(derived) == [.missingIndexEntry, .indexEntry, .staleIndexEntry, .derivedMismatch])
    #expect(IntegrityIssue.Kind.allCases.count { $0.subject == .either } == 7)
  }
}

/// The samples of the article work.
@Suite struct SalvageArticleTests {
  @Test func theSamplesAreThoseThatAreTested() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appending(path: "Sources/KVClone/Documentation.docc/Salvage.md"), encoding: .utf8)
    let tested = try String(contentsOfFile: #filePath, encoding: .utf8)
    let samples = article.components(separatedBy: "```swift\n").dropFirst()
    #expect(samples.count == 2)
    for sample in samples {
      for line in sample.components(separatedBy: "```")[0].split(separator: "\n") { #expect(tested.contains(line)) }
    }
  }

  @Test(.needsDataFile(.salvage)) func theSamplesRun() throws {
    let fixture = try CheckFixture()
    let store = fixture.store
    var printed: [String] = []
    func print(_ items: Any...) { printed.append(items.map { "\($0)" }.joined(separator: " ")) }
    try fixture.delete(fixture.tables.indexes, try fixture.entries(fixture.tables.indexes)[0].key)
    do {
      let report = try store.repair()
      print(report.before.issues.count, "repaired,", report.after.issues.count, "left")
    }
    try fixture.tamper(fixture.tables.blobs, try fixture.entries(fixture.tables.blobs)[0].key) { $0[70] ^= 1 }
    store.close()
    let (damaged, new) = (fixture.files.path, fixture.files.root + "/new")
    let report = try ObjectStore.salvage(from: damaged, to: new)
    for loss in report.losses { print(loss.kind, loss.object ?? "", loss.property ?? "", loss.message) }
    try fixture.files.reopen()
    let item = "Item/\(fixture.items[0].serial)"
    #expect(printed == ["1 repaired, 0 left", "value \(item) photo some or all of its 5000 bytes are lost"])
  }
}

extension IntegrityIssue.Kind {
  /// All kinds of this version.
  fileprivate static let allCases: [Self] = [
    .page, .pageLeak, .table, .metadata, .counter, .layout, .malformedKey, .unreadableTable, .history, .snapshot,
    .record, .abstractEntity, .value, .derivedMismatch, .danglingLink, .wrongDestination, .oneSidedLink, .list,
    .orphanList, .missingBlob, .blob, .blobCount, .orphanBlob, .missingIndexEntry, .indexEntry, .staleIndexEntry,
    .duplicateValues,
  ]
}

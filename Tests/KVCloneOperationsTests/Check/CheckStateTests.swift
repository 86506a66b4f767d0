import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The check of preimages, which are stored for snapshots.
@Suite struct CheckStateTests {
  /// A flipped bit in a preimage was reported without its object (found by `Tools/faults --class flipped-bit`).
  @Test func aDamagedPreviousStateNamesItsObject() throws {
    let fixture = try CheckFixture()
    try fixture.store.createSnapshot(named: "before")
    try fixture.store.set(fixture.items[3], "title", "changed")
    try fixture.store.delete([fixture.items[4]])
    let table = fixture.tables.preimages
    var codes: Set<UInt16> = []
    for entry in try fixture.entries(table) where !SavedKeysKey.isOne(entry.key.span.bytes) {
      let code = try PreimageKey.table(of: entry.key.span.bytes)
      codes.insert(code.rawValue)
      try fixture.tamper(table, entry.key) { $0[$0.count - 1] ^= 1 }
      let damages = try fixture.store.check().issues.filter { $0.kind == .snapshot }
      #expect(damages.count == 1)
      // An item's lists and entries are deleted with it, and its partners' lists change.
      #expect(damages.first?.object?.contains("/") == true, "table \(code): \(damages)")
      if code.rootCode != nil {
        let id = try NumberKey.objectID(try PreimageKey.key(of: entry.key.span.bytes))
        #expect(damages.first?.object?.hasSuffix("/\(id.serial)") == true, "\(id): \(damages)")
      }
      try fixture.tamper(table, entry.key) { $0[$0.count - 1] ^= 1 }
    }
    #expect(codes.count >= 3)
    try fixture.expect()
  }

  /// Lists of an entity that a migration removed were not checked, although snapshots read them.
  @Test func aDamagedListOfARemovedEntityIsFound() throws {
    let item = EntityDescription("Item") { AttributeDescription("title", .string) }
    let box = EntityDescription("Box") { RelationshipDescription("items", toMany: "Item", ordered: true) }
    let test = try TestStore(ManagedObjectModel(name: "Boxes", versionIdentifier: "1", entities: [item, box]))
    try test.store.write { tx in
      var items: [ObjectID] = []
      for _ in 0..<40 { items.append(try tx.insert("Item")) }
      try tx.insert("Box", relationships: ["items": items])
    }
    try test.store.createSnapshot(named: "before")
    test.store.close()
    try test.migrate(
      to: ManagedObjectModel(name: "Boxes", versionIdentifier: "2", entities: [item]))
    try test.reopen()
    let clean = try test.store.check()
    #expect(clean.issues == [])
    let table = test.store.schema.tables.links
    var session = try test.store.writeSession(label: "plant")
    var found: (key: [UInt8], value: [UInt8])?
    try session.forEachEntry(table) { (key, value) throws(StoreError) in
      guard let link = try? LinkKey(copy key), link.owner.rootCode == 2 else { return true }
      found = (key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) })
      return false
    }
    var entry = try #require(found)
    entry.value[entry.value.count - 1] ^= 1
    try session.storage.put(table, entry.key.span.bytes, entry.value.span.bytes)
    try WriteTransaction(session).commit(test.store)
    let damages = try test.store.check().issues
    #expect(damages.map(\.kind) == [.list] && damages.first?.property == "items", "\(damages)")
    #expect(damages.first?.object?.hasSuffix("/1") == true)
  }

  /// An object of an entity that a migration removed remains for the snapshots that show it, with the reference to its
  /// clone source; `check` reported that this object did not exist (found by `Tools/faults --class backup`).
  @Test(.needsDataFile(.statistics)) func theOriginOfARemovedEntitysCloneIsNoDamage() throws {
    let item = EntityDescription("Item") { AttributeDescription("title", .string) }
    let box = EntityDescription("Box") { AttributeDescription("label", .string) }
    let test = try TestStore(ManagedObjectModel(name: "Boxes", versionIdentifier: "1", entities: [item, box]))
    let source = try test.store.write { try $0.insert("Box") }
    var options = CloneOptions()
    options.recordsProvenance = true
    _ = try test.store.clone([source], options: options)
    try test.store.createSnapshot(named: "before")
    test.store.close()
    try test.migrate(
      to: ManagedObjectModel(name: "Boxes", versionIdentifier: "2", entities: [item]))
    try test.reopen()
    let migrated = try test.store.check()
    #expect(migrated.issues == [])
    // It is deleted with the last snapshot, together with its object.
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    let swept = try test.store.check()
    #expect(swept.issues == [])
    let tables = try test.store.statistics().tables
    #expect(tables.first { $0.name == "provenance" }?.entryCount ?? 0 == 0)
  }

  /// A scan filtered records by the entity in their headers before it verified their checksums: an object was missing
  /// without an error (found by `Tools/faults --class flipped-bit`).
  @Test func aScanMeetsEveryFlippedBitOfARecordsHeader() throws {
    let fixture = try CheckFixture()
    let item = fixture.items[2]
    func scan() throws { try fixture.store.read { try $0.forEachObject(of: "Item") { _ in true } } }
    for place in 16 * 8..<20 * 8 {
      try fixture.tamper(record: item, sealed: false) { $0[place / 8] ^= 1 << UInt8(place % 8) }
      let report = try fixture.store.check()
      #expect(report.issues.map(\.object) == ["Thing/\(item.serial)"])
      expectError(.corrupted) { try scan() }
      expectError(.corrupted) { _ = try fixture.store.read { try $0.count(entity: "Item") } }
      try fixture.tamper(record: item, sealed: false) { $0[place / 8] ^= 1 << UInt8(place % 8) }
    }
    try fixture.expect()
  }
}

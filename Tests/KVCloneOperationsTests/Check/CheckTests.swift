import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// `check` finds nothing in a sound store, and every injected fault of the metadata, the records and the file.
@Suite struct CheckTests {
  @Test func aSoundStoreIsClean() throws {
    let fixture = try CheckFixture()
    for readData in [false, true] {
      let report = try fixture.store.check(CheckOptions(readData: readData))
      #expect(report.isClean, "\(report.issues)")
      #expect(report.objectCount == 24)
      #expect(report.pageCount > 2 || !TestStore.hasDataFile)
      #expect(!report.isTruncated)
    }
  }

  @Test func listsOfAllSizesAreClean() throws {
    let fixture = try CheckFixture()
    try fixture.store.write { tx in
      for count in [0, 1, 16, 17, 128, 129, 1500, 9000] {
        var items: [ObjectID] = []
        for _ in 0..<count { items.append(try tx.insert("Item")) }
        let folder = try tx.insert("Folder", relationships: ["items": items, "sorted": items.reversed()])
        if count > 0, count < 1000 { try tx.setMembers(items[0], "related", items + [folder]) }
      }
    }
    try fixture.expect()
    let big = try #require(try fixture.store.objects("Folder").last)
    try fixture.store.write { tx in
      let members = try tx.members(big, "sorted")
      for member in members.prefix(8000) { try tx.unlink(big, "sorted", [member]) }
      try tx.delete([big])
    }
    try fixture.expect()
  }

  @Test func clonesAndDeletedObjectsAreClean() throws {
    let fixture = try CheckFixture()
    try fixture.store.write { tx in
      for folder in [fixture.folder] + (try tx.members(fixture.folder, "children")) { try tx.set(folder, "code", nil) }
      for item in fixture.items { try tx.set(item, "number", nil) }
      var options = CloneOptions()
      options.excludedRelationshipNames = ["tags", "favorite"]
      options.passingExclusionList = true
      _ = try tx.clone([fixture.folder], options: options)
    }
    try fixture.expect()
    try fixture.store.delete([fixture.folder, fixture.tag])
    try fixture.expect(options: CheckOptions(readData: true))
  }

  @Test func brokenModelRulesAreNoDamage() throws {
    let fixture = try CheckFixture()
    try fixture.plant { session in
      let entity = try session.load(fixture.tag)
      try IndexEntries.remove(fixture.tag, entity, in: &session)
      let index = try #require(entity.attributeIndex["name"])
      session.scratch.setNull(try #require(entity.attributes[index].field))
      try session.store(fixture.tag, entity)
    }
    try fixture.expect()
  }

  // MARK: Records

  @Test func everyChangedByteOfARecordIsFound() throws {
    let fixture = try CheckFixture()
    let id = fixture.items[5]
    let sound = try fixture.bytes(try fixture.table(of: id), fixture.key(id))
    for offset in stride(from: 0, to: sound.count, by: 7) {
      try fixture.tamper(record: id, sealed: false) {
        $0 = sound; $0[offset] ^= 0x40
      }
      try fixture.expect("record Thing/\(id.serial) -")
    }
    try fixture.tamper(record: id, sealed: false) { $0 = Array(sound.prefix(10)) }
    try fixture.expect("record Thing/\(id.serial) -")
    try fixture.tamper(record: id, sealed: false) { $0 = sound }
    try fixture.expect()
  }

  @Test func recordsThatNameNoLayoutOfTheirsAreFound() throws {
    let fixture = try CheckFixture()
    let id = fixture.items[5]
    try fixture.tamper(record: id) { $0[16] = 0xEE }
    try fixture.expect("record Thing/\(id.serial) -")
  }

  @Test func recordsOfAnotherTableAreFound() throws {
    let fixture = try CheckFixture()
    let id = ObjectID(rootCode: fixture.folder.rootCode, serial: 3)
    let tag = try fixture.bytes(try fixture.table(of: fixture.tag), fixture.key(fixture.tag))
    try fixture.tamper(record: id) { $0 = tag }
    try fixture.expect("record Thing/3 -")
  }

  @Test func valuesOfAWrongFormAreFound() throws {
    let fixture = try CheckFixture()
    let layout = try fixture.store.schema.entity("Item").layout
    let schema = fixture.store.schema
    func field(_ name: String) throws -> Int {
      let entity = try schema.entity("Item")
      let index = try #require(entity.attributeIndex[name])
      return try #require(entity.attributes[index].field)
    }
    let isDone = layout.offset(try field("isDone"))
    try fixture.tamper(record: fixture.items[5]) { $0[isDone] = 2 }
    let due = layout.offset(try field("due"))
    try fixture.tamper(record: fixture.items[6]) { $0[due] = 1 }
    let title = try field("title")
    try fixture.edit(fixture.items[7]) { record, _ in
      let bytes: [UInt8] = [0xC3, 0x28]
      try bytes.withUnsafeBytes { try record.setVariable(title, $0) }
    }
    let offset = fixture.items.map(\.serial)
    try fixture.expect(
      "value Item/\(offset[5]) isDone", "value Item/\(offset[6]) due", "value Item/\(offset[7]) title")
  }

  @Test func objectsOfAbstractEntitiesAreFound() throws {
    let fixture = try CheckFixture()
    let name = MetadataKey.bytes(MetadataKey.model(1))
    try fixture.tamper(fixture.tables.metadata, name, sealed: true) { value in
      var entities = CheckFixture.model.entities
      for index in entities.indices where entities[index].name == "Folder" { entities[index].isAbstract = true }
      let model = ManagedObjectModel(name: "Check", entities: entities)
      let old = (try? CheckFixture.model.encodedJSON()).map { String(decoding: $0, as: UTF8.self) } ?? ""
      let new = (try? model.encodedJSON()).map { String(decoding: $0, as: UTF8.self) } ?? ""
      func quoted(_ text: String) -> String { text.replacingOccurrences(of: "\"", with: "\\\"") }
      let text = String(decoding: value[8...], as: UTF8.self)
      value = value[..<8] + Array(text.replacingOccurrences(of: quoted(old), with: quoted(new)).utf8)
    }
    try fixture.files.reopen()
    try fixture.expect(
      "abstractEntity Folder/\(fixture.folder.serial) -", "abstractEntity Folder/\(fixture.folder.serial + 1) -")
  }

  // MARK: Metadata

  @Test func damagedMetadataIsFound() throws {
    for name in [MetadataKey.format, MetadataKey.catalog, MetadataKey.model(1), MetadataKey.layout(1)] {
      let fixture = try CheckFixture()
      try fixture.tamper(fixture.tables.metadata, MetadataKey.bytes(name)) { $0[$0.count - 1] ^= 1 }
      try fixture.expect("metadata - -")
      try fixture.delete(fixture.tables.metadata, MetadataKey.bytes(name))
      try fixture.expect("metadata - -")
    }
  }

  @Test func countersThatAreBehindAreFound() throws {
    let fixture = try CheckFixture()
    let metadata = fixture.tables.metadata
    let names = [MetadataKey.serial(rootCode: fixture.folder.rootCode), MetadataKey.blobSerial]
    for name in names {
      let key = MetadataKey.bytes(name)
      let sound = try fixture.bytes(metadata, key)
      try fixture.tamper(metadata, key, sealed: true) { $0[8] -= 1 }
      try fixture.expect("counter - -")
      try fixture.delete(metadata, key)
      try fixture.expect("counter - -")
      try fixture.plant { session in try session.storage.put(metadata, key.span.bytes, sound.span.bytes) }
      try fixture.expect()
    }
    try fixture.tamper(record: fixture.tag) { $0[9] = 1 }
    try fixture.expect("counter Tag/\(fixture.tag.serial) -")
  }

  @Test func layoutsOfOtherTypesAreFoundAndNeverUsed() throws {
    let fixture = try CheckFixture()
    let entity = try fixture.store.schema.entity("Tag")
    let name = MetadataKey.layout(entity.layout.id)
    // Every kind becomes another one, and the fields are sorted again.
    let kinds: [FieldKind: FieldKind] = [.string: .toMany, .toMany: .string]
    let fields = entity.layout.fields.map {
      RecordLayout.Field(propertyCode: $0.propertyCode, kind: kinds[$0.kind] ?? $0.kind)
    }
    let layout = RecordLayout(id: entity.layout.id, entityCode: entity.code, fields: fields)
    try fixture.plant { session in try Metadata.put(&session.storage, fixture.tables.metadata, name, layout) }
    let report = try fixture.store.check()
    #expect(report.issues.first?.kind == .layout)
    // Opening the store now would read records by the wrong fields.
    let error = #expect(throws: StoreError.self) { try fixture.files.reopen() }
    #expect(error?.kind == .corrupted)
  }

  @Test func keysOfAWrongFormAreFound() throws {
    let fixture = try CheckFixture()
    let tables = [
      fixture.tables.links, fixture.tables.blobs, fixture.tables.blobinfo, fixture.tables.indexes,
      try fixture.table(of: fixture.tag), try fixture.table(of: fixture.folder),
    ]
    for table in tables {
      for key in [[0], [1, 2, 3, 4, 5], [UInt8](repeating: 0xFF, count: 9)] {
        try fixture.plant { session in try session.storage.put(table, key.span.bytes, [1, 2, 3].span.bytes) }
        let report = try fixture.store.check()
        #expect(report.issues.count { $0.kind == .malformedKey } == 1)
        // A list or blob that ends at this key cannot be read to its end.
        #expect(report.issues.allSatisfy { [.malformedKey, .list, .blob].contains($0.kind) })
        try fixture.delete(table, key)
        try fixture.expect()
      }
    }
    try fixture.plant { session in
      let key: [UInt8] = [0xFF, 0xFE]
      try session.storage.put(fixture.tables.metadata, key.span.bytes, key.span.bytes)
    }
    try fixture.expect("malformedKey - -")
  }

  // MARK: The whole check

  @Test func itEndsAtTheMaximum() throws {
    let fixture = try CheckFixture()
    for item in fixture.items { try fixture.tamper(record: item, sealed: false) { $0[30] ^= 1 } }
    let report = try fixture.store.check(CheckOptions(maximumIssues: 7))
    #expect(report.issues.count == 7)
    #expect(report.isTruncated)
    #expect(try fixture.store.check().issues.count == fixture.items.count)
  }

  @Test(.needsDataFile(.bytes)) func leakedPagesAreFound() throws {
    let fixture = try CheckFixture()
    fixture.store.close()
    let path = fixture.files.path + "/data.mdb"
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    // MDB_meta: the last page's number at 120 and the commit's at 128, after the page's header of 16.
    func number(_ offset: Int) -> UInt64 {
      bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    let meta = number(144) > number(4096 + 144) ? 0 : 4096
    let last = number(meta + 136)
    bytes[meta + 136] += 1
    let needed = (Int(last) + 2) * 4096
    if bytes.count < needed { bytes += [UInt8](repeating: 0, count: needed - bytes.count) }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    try fixture.files.reopen()
    try fixture.expect("pageLeak - -")
  }
}

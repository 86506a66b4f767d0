import Foundation
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

private let formatModel = ManagedObjectModel("Format") {
  EntityDescription("Item", unique: [["code"]]) {
    AttributeDescription("code", .integer32)
    AttributeDescription("name", .string)
    AttributeDescription("data", .binary)
    RelationshipDescription("items", toMany: "Item", inverse: "owners")
    RelationshipDescription("owners", toMany: "Item", inverse: "items")
    RelationshipDescription("others", toMany: "Item", ordered: true)
  }
  EntityDescription("Special", parent: "Item") { AttributeDescription("extra", .date) }
  EntityDescription("Separate") { AttributeDescription("name", .string) }
}

@Suite("What a store writes into its file")
struct StoreFormatTests {
  let test: TestStore
  var store: ObjectStore { test.store }
  let ids: [ObjectID]

  init() throws {
    test = try TestStore(formatModel)
    ids = try test.store.insert("Item", count: 40)
    try test.store.write { [ids] tx in
      try tx.setMembers(ids[0], "items", ids)
      try tx.setMembers(ids[1], "others", ids)
      try tx.set(ids[2], "data", .binary(Data(repeating: 7, count: 5000)))
      try tx.set(ids[3], "code", 3)
      try tx.insert("Special", ["extra": .date(Date(timeIntervalSinceReferenceDate: 1))])
    }
  }

  @Test("ids hold the root entity's code and the serial")
  func identifiers() throws {
    #expect(ids.map(\.serial) == Array(1...40))
    #expect(Set(ids.map(\.rootCode)).count == 1)
    let special = try #require(try store.objects("Special").first)
    #expect(special.rootCode == ids[0].rootCode && special.serial == 41)
    #expect(try store.insert("Separate").rootCode != ids[0].rootCode)
  }

  @Test("lists move into chunks above 16 members and back below 8; referrers are always there")
  func lists() throws {
    func entries() throws -> Int { try store.rows(store.schema.tables.links).count }
    let before = try entries()
    try store.setMembers(ids[10], "items", Array(ids[..<16]))
    #expect(try entries() == before)
    try store.link(ids[10], "items", [ids[16]])
    #expect(try entries() == before + 1)
    try store.unlink(ids[10], "items", Array(ids[..<9]))
    #expect(try store.count(ids[10], "items") == 8 && entries() == before + 1)
    try store.unlink(ids[10], "items", [ids[9]])
    #expect(try store.count(ids[10], "items") == 7 && entries() == before)
    try checked(store)
  }

  @Test("values of all tables carry a checksum seeded with table and key, and a change of any byte is noticed")
  func damage() throws {
    let tables = store.schema.tables
    let item = try #require(tables.objects[ids[0].rootCode])
    for table in [tables.metadata, tables.links, tables.blobs, tables.blobinfo, tables.indexes, item] {
      let rows = try store.rows(table)
      #expect(!rows.isEmpty)
      // Every row of the tables that describe the store; only the first and last ones of the others.
      let isLong = rows.count > 20
      for (key, value) in isLong ? [rows[0], rows[rows.count - 1]] : rows {
        for offset in Set([0, 7, 8, value.count / 2, value.count - 1]) where offset < value.count {
          var damaged = value
          damaged[offset] ^= 0x10
          try store.overwrite(table, key, damaged)
          let report = try store.check(CheckOptions(readData: true))
          #expect(!report.issues.isEmpty, "table \(table.code), byte \(offset) of \(value.count)")
        }
        try store.overwrite(table, key, value)
      }
    }
    try checked(store)
  }

  @Test("a value moved to another key is noticed")
  func swappedValues() throws {
    let table = try #require(store.schema.tables.objects[ids[0].rootCode])
    let rows = try store.rows(table)
    try store.overwrite(table, rows[20].key, rows[21].value)
    expectError(.corrupted) { _ = try store.value(ids[20], "name") }
    #expect(try store.value(ids[21], "name") == nil)
    #expect(try !store.check().issues.isEmpty)
  }

  @Test("corruption is a typed error of every read and every change, and never a trap")
  func damagedRecord() throws {
    let table = try #require(store.schema.tables.objects[ids[0].rootCode])
    let (key, value) = try store.rows(table)[5]
    for length in [0, 1, 8, 20, value.count - 1] {
      try store.overwrite(table, key, Array(value[..<length]))
      expectError(.corrupted) { _ = try store.object(ids[5]) }
      expectError(.corrupted) { _ = try store.members(ids[5], "items") }
      expectError(.corrupted) { try store.set(ids[5], "name", "x") }
      expectError(.corrupted) { try store.link(ids[5], "items", [ids[6]]) }
      expectError(.corrupted) { try store.delete([ids[5]]) }
      expectError(.corrupted) { _ = try store.objects("Item") }
    }
    try store.overwrite(table, key, value)
    try checked(store)
  }

  @Test("a file of a newer format is refused, unless it says that this library can read it", .needsDataFile(.bytes))
  func newerFormat() throws {
    for (minimum, isReadable) in [(FormatLimits.formatVersion + 1, false), (FormatLimits.formatVersion, true)] {
      let record = FormatRecord(
        version: FormatLimits.formatVersion + 1, minimumReaderVersion: minimum, storeUUID: store.uuid, created: 0)
      let key = MetadataKey.bytes(MetadataKey.format)
      try store.overwrite(store.schema.tables.metadata, key, record.encoded())
      store.close()
      if isReadable {
        try test.reopen()
        #expect(try store.info().objectCount == 41)
      } else {
        expectError(.newerFormat) { _ = try test.openAgain() }
        try test.patched(key, FormatRecord(storeUUID: store.uuid, created: 0).encoded())
      }
    }
  }

  @Test("an LMDB file of someone else is no store")
  func foreignFile() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let environment = try LMDBEnvironment.create(at: root + "/s", tables: ["a"], options: LMDBOptions())
    environment.close()
    expectError(.invalidStore) { _ = try ObjectStore.open(at: root + "/s") }
  }
}

extension TestStore {
  /// Overwrites a value of the metadata of a closed store, and opens it.
  fileprivate func patched(_ key: [UInt8], _ value: [UInt8]) throws {
    let environment = try LMDBEnvironment.open(at: path, options: LMDBOptions())
    let table = try environment.openTables([TableCode.metadata.name ?? ""], create: false)[0]
    var transaction = try environment.beginWrite()
    try transaction.put(table, key.span.bytes, value.span.bytes)
    try transaction.commit()
    environment.close()
    try reopen()
  }
}

extension ObjectStore {
  /// All rows of a table.
  fileprivate func rows(_ table: StorageTable) throws -> [(key: [UInt8], value: [UInt8])] {
    try read { tx in
      try tx._withSession { (session) throws(StoreError) in
        var rows: [(key: [UInt8], value: [UInt8])] = []
        let first: [UInt8] = [0]
        try session.storage.scanToEnd(of: table, from: first.span.bytes) { (key, value) throws(StoreError) in
          rows.append((key.withUnsafeBytes { Array($0) }, value.withUnsafeBytes { Array($0) }))
          return true
        }
        return rows
      }
    }
  }

}

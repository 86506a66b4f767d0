import Foundation
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

private let versionModel = ManagedObjectModel("Versions") {
  EntityDescription("Item", unique: [["name"]]) {
    AttributeDescription("name", .string)
    AttributeDescription("data", .binary)
    RelationshipDescription("items", toMany: "Item", inverse: "owners")
    RelationshipDescription("owners", toMany: "Item", inverse: "items")
  }
}

/// The treatment of files with unknown versions: the tables of `Format.md`, "Versions".
@Suite("Files of other format versions", .needsDataFile(.bytes))
struct FormatVersionTests {
  private let test: TestStore
  private let ids: [ObjectID]
  private let formatKey = MetadataKey.bytes(MetadataKey.format)

  init() throws {
    test = try TestStore(versionModel)
    ids = try test.store.insert("Item", count: 30)
    try test.store.setMembers(ids[0], "items", ids)
    try test.store.set(ids[1], "data", .binary(Data(repeating: 7, count: 3_000)))
  }

  @Test("a minimum reader version above ours is refused: to open, to open read-only, to check; nothing is written")
  func newerMinimum() throws {
    try patch { try $0.put(formatKey, format(version: 8, minimum: 8)) }
    let before = try file()
    expectError(.newerFormat) { _ = try test.openAgain() }
    expectError(.newerFormat) { _ = try test.openAgain(model: versionModel) }
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    expectError(.newerFormat) { _ = try test.openAgain(options: readOnly) }
    let error = expectError(.newerFormat) { _ = try ObjectStore.check(at: test.path) }
    #expect(error?.message.contains("format 8") == true)
    expectError(.storeExists) { _ = try ObjectStore.create(at: test.path, model: versionModel) }
    #expect(try file() == before)
  }

  @Test("a version that this library has forgotten is refused with what to do; nothing is written", arguments: [1, 2])
  func olderVersion(version: UInt32) throws {
    try patch { try $0.put(formatKey, format(version: version, minimum: version)) }
    let before = try file()
    expectError(.olderFormat) { _ = try test.openAgain(model: versionModel) }
    var readOnly = StoreOptions()
    readOnly.isReadOnly = true
    expectError(.olderFormat) { _ = try test.openAgain(options: readOnly) }
    expectError(.olderFormat) { _ = try ObjectStore.check(at: test.path) }
    let error = expectError(.olderFormat) { _ = try test.openAgain() }
    #expect(error?.message.contains("format \(version)") == true)
    #expect(error?.message.contains("kvclone dump") == true)
    #expect(try file() == before)
  }

  @Test("info returns the current version of the file, and not that at opening")
  func raisedVersion() throws {
    let before = try test.store.info().formatVersion
    #expect(before == 3)
    try test.store.createSnapshot(named: "first")
    let after = try test.store.info().formatVersion
    #expect(after == 5)
  }

  @Test("the newer format's own value may be longer, and refuses all the same")
  func longerFormatValue() throws {
    try patch { try $0.put(formatKey, format(version: 8, minimum: 8) + [1, 2, 3]) }
    expectError(.newerFormat) { _ = try test.openAgain() }
  }

  @Test("a newer version that keeps the minimum is read and written, and what we do not know of it stays")
  func newerVersion() throws {
    let longer = format(version: 8, minimum: 3) + [1, 2, 3]
    try patch { patcher in
      try patcher.put(formatKey, longer)
      try patcher.put(Array("future".utf8), [9, 9])
      try patcher.put(Array("future-0001".utf8), [])
    }
    let known = try patch { try $0.value(formatKey) }
    try test.reopen()
    #expect(try test.store.info().formatVersion == 8)
    // Every kind of write: objects, lists, blobs, a clone, an adopted model.
    try test.store.insert("Item", ["name": "new", "data": .binary(Data(repeating: 8, count: 2_000))])
    try test.store.unlink(ids[0], "items", Array(ids[5..<28]))
    try test.store.delete([ids[1]])
    _ = try test.store.clone([ids[2]], options: CloneOptions())
    var entities = versionModel.entities
    entities[0].userInfo["adopted"] = "yes"
    try test.reopen(model: ManagedObjectModel(name: "Versions", entities: entities))
    try checked(test.store)
    #expect(try ObjectStore.damages(of: test).isEmpty)
    try patch { patcher in
      let format = try patcher.value(formatKey)
      #expect(format == known)
      let future = try patcher.value(Array("future".utf8))
      #expect(future?.suffix(2) == [9, 9])
      #expect(try patcher.value(Array("future-0001".utf8))?.count == 8)
    }
  }

  @Test(
    "an unknown table is left alone; check tells of it, unless a newer version wrote the file",
    arguments: [3, 4, 5, 6, 7, 8])
  func unknownTable(version: UInt32) throws {
    try patch { try $0.put(formatKey, format(version: version, minimum: 3)) }
    test.store.close()
    let environment = try LMDBEnvironment.open(at: test.path, options: LMDBOptions())
    let future = try environment.openTables(["future"], create: true)[0]
    var transaction = try environment.beginWrite()
    let (key, value): ([UInt8], [UInt8]) = ([1, 2], [3, 4, 5])
    try transaction.put(future, key.span.bytes, value.span.bytes)
    try transaction.commit()
    environment.close()
    try test.reopen()
    try test.store.insert("Item", ["name": "new"])
    try test.store.delete([ids[0]])
    let expected: [IntegrityIssue.Kind] = version <= FormatLimits.formatVersion ? [.table] : []
    #expect(try test.store.check().issues.map(\.kind) == expected)
    #expect(try ObjectStore.damages(of: test) == expected)
    test.store.close()
    let again = try LMDBEnvironment.open(at: test.path, options: LMDBOptions())
    defer { again.close() }
    let table = try again.openTables(["future"], create: false)[0]
    #expect(try again.beginRead().bytes(table, key) == value)
  }

  @Test("unknown keys of the model's document are ignored")
  func unknownDocumentKey() throws {
    let key = MetadataKey.bytes(MetadataKey.model(1))
    try patch { patcher in
      let stored = try #require(try patcher.value(key)).dropFirst(8)
      try patcher.put(key, Array(#"{"future":{"a":1},"#.utf8) + stored.dropFirst())
    }
    try test.reopen()
    try test.reopen(model: versionModel)
    #expect(try test.store.info().objectCount == 30)
    try checked(test.store)
  }

  @Test("a longer value, a flag or a kind that format 3 does not have is corruption, not misread")
  func unknownBytes() throws {
    let commit = MetadataKey.bytes(MetadataKey.commitCounter)
    let layout = MetadataKey.bytes(MetadataKey.layout(1))
    let sound = try patch { (commit: try $0.value(commit), layout: try $0.value(layout)) }
    let counter = Array(try #require(sound.commit).dropFirst(8))
    let fields = Array(try #require(sound.layout).dropFirst(8))
    var flagged = fields
    flagged[11] = 1
    var newKind = fields
    newKind[10] = 16
    for (key, payload) in [(commit, counter + [0]), (layout, flagged), (layout, newKind), (layout, fields + [0])] {
      try patch { try $0.put(key, payload) }
      let kinds = try damagesOrError()
      #expect(!kinds.isEmpty)
      try patch { patcher in
        try patcher.put(commit, counter)
        try patcher.put(layout, fields)
      }
    }
    try test.reopen()
    try checked(test.store)
  }

  // MARK: Patching a closed store's metadata

  /// Returns the issues of the file, or the error of opening it.
  private func damagesOrError() throws -> [String] {
    test.store.close()
    return try ObjectStore.check(at: test.path).issues.map(\.message)
  }

  private func file() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: test.path + "/data.mdb")) }

  private func format(version: UInt32, minimum: UInt32) -> [UInt8] {
    let record = FormatRecord(
      version: version, minimumReaderVersion: minimum, storeUUID: test.store.uuid, created: 0)
    return Array(record.encoded().dropFirst(8))
  }

  @discardableResult
  private func patch<Result>(_ body: (Patcher) throws -> Result) throws -> Result {
    test.store.close()
    let environment = try LMDBEnvironment.open(at: test.path, options: LMDBOptions())
    defer { environment.close() }
    return try body(
      Patcher(environment: environment, table: try environment.openTables(["metadata"], create: false)[0]))
  }

  private struct Patcher {
    let environment: LMDBEnvironment
    let table: LMDBTable

    /// Writes a value with its checksum.
    func put(_ key: [UInt8], _ payload: [UInt8]) throws {
      let value =
        key == MetadataKey.bytes(MetadataKey.format)
        ? FormatRecord.sealed(payload)
        : BytesValue(payload).encoded(seed: ValueEnvelope.seed(tableCode: .metadata, key: key))
      var transaction = try environment.beginWrite()
      try transaction.put(table, key.span.bytes, value.span.bytes)
      try transaction.commit()
    }

    /// Returns the value with its checksum.
    func value(_ key: [UInt8]) throws -> [UInt8]? {
      try environment.beginRead().bytes(table, key)
    }
  }
}

extension ObjectStore {
  /// Returns the issues of the closed store, which stays closed.
  fileprivate static func damages(of test: TestStore) throws -> [IntegrityIssue.Kind] {
    test.store.close()
    return try check(at: test.path).issues.map(\.kind)
  }
}

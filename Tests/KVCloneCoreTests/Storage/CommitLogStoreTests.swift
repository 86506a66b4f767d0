import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

private let logModel = ManagedObjectModel("Log") {
  EntityDescription("Note") {
    AttributeDescription("name", .string)
    AttributeDescription("data", .binary)
    RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true, deleteRule: .cascade)
    RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
  }
  EntityDescription("Item") {
    AttributeDescription("number", .integer64)
    RelationshipDescription("note", toOne: "Note", inverse: "items")
  }
  EntityDescription("Tag") { RelationshipDescription("notes", toMany: "Note", inverse: "tags") }
}

/// Objects, clones, large values and history, in a store with durability by the commit log.
@Suite("A store with a commit log")
struct CommitLogStoreTests {
  private static func options(_ usesCommitLog: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.journalMode = usesCommitLog ? .writeAheadLog : .copyOnWrite
    options.walSizeLimit = 0
    options.tracksHistory = true
    return options
  }

  private static func dump(_ store: ObjectStore) throws -> Data {
    var data = Data()
    _ = try store.dump { span in span.withUnsafeBytes { data.append(contentsOf: $0) } }
    return data
  }

  /// Without the first line, which names the store.
  private static func objects(_ dump: Data) -> [Substring] {
    Array(String(decoding: dump, as: UTF8.self).split(separator: "\n").dropFirst())
  }

  private static func isInUse(_ path: String) throws -> Bool {
    let log = try Data(contentsOf: URL(fileURLWithPath: path + "/commit.log"))
    return log[40] == 1
  }

  /// The same work for every store: small and large commits, rejected changes, clones, deletes.
  private static func work(_ test: TestStore, round: Int) throws {
    let store = test.store
    let tags = try store.insert("Tag", count: 3)
    let note = try store.insert("Note", ["name": .string("note \(round)")], relationships: ["tags": tags])
    try checked(store)
    let items = try store.insert("Item", count: 12)
    try store.setMembers(note, "items", items)
    for (index, item) in items.enumerated().prefix(6) { try store.set(item, "number", .integer(Int64(index))) }
    try checked(store)
    for size in [500, 100_000, 1_200_000] {
      try store.set(note, "data", .binary(Data(repeating: UInt8(truncatingIfNeeded: size), count: size)))
      try checked(store)
    }
    let clones = try store.clone([note])
    try checked(store)
    #expect(clones.roots.count == 1)
    #expect(throws: CancellationError.self) {
      try store.write { tx in
        _ = try tx.insert("Note")
        throw CancellationError()
      }
    }
    try store.write { tx in try tx.delete([items[0], items[11]]) }
    if round % 2 == 1 { try store.write { tx in try tx.delete([note]) } }
    try checked(store)
  }

  @Test("holds what one without it holds, after each reopening", .needsDataFile(.log))
  func sameContent() throws {
    let plain = try TestStore(logModel, options: Self.options(false))
    let logged = try TestStore(logModel, options: Self.options(true))
    for round in 0..<3 {
      try Self.work(plain, round: round)
      try Self.work(logged, round: round)
      #expect(try Self.isInUse(logged.path))
      #expect(try plain.store.history().count == logged.store.history().count)
      let dump = try Self.dump(logged.store)
      let different = zip(Self.objects(dump), Self.objects(try Self.dump(plain.store))).first { $0 != $1 }
      #expect(different == nil, "round \(round)")
      // Without the option, and without the log.
      logged.store.close()
      // Both, because the serial of an undone insertion is reused after reopening.
      try plain.reopen(options: Self.options(false))
      #expect(try !Self.isInUse(logged.path))
      if round == 1 { try FileManager.default.removeItem(atPath: logged.path + "/commit.log") }
      #expect(try ObjectStore.check(at: logged.path).issues.isEmpty)
      try logged.reopen(options: Self.options(false))
      try checked(logged.store)
      let isSame = try Self.dump(logged.store) == dump
      #expect(isSame, "round \(round)")
      if round == 0 { try Self.work(logged, round: 7) }
      if round == 0 { try Self.work(plain, round: 7) }
      try plain.reopen(options: Self.options(false))
      try logged.reopen(options: Self.options(true))
    }
  }

  /// The directory of an open store, copied: the files that a killed process leaves.
  @Test("is recovered from its two files", .needsDataFile(.log))
  func recovery() throws {
    let test = try TestStore(logModel, options: Self.options(true))
    for round in 0..<2 {
      try Self.work(test, round: round)
      let copy = test.root + "/copy\(round).kvclone"
      try FileManager.default.createDirectory(
        atPath: copy, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      for name in ["data.mdb", "commit.log"] {
        try FileManager.default.copyItem(atPath: test.path + "/" + name, toPath: copy + "/" + name)
      }
      let expected = try Self.dump(test.store)
      let store = try ObjectStore.open(at: copy, options: Self.options(round == 0))
      defer { store.close() }
      try checked(store)
      let isSame = try Self.dump(store) == expected
      #expect(isSame, "round \(round)")
      #expect(try store.history().count == test.store.history().count)
      _ = try store.insert("Note", ["name": .string("next")])
      try checked(store)
    }
  }

  @Test("a log of another store is refused as no store", .needsDataFile(.log))
  func foreignLog() throws {
    let stores = try (0..<2).map { _ in try TestStore(logModel, options: Self.options(true)) }
    try Self.work(stores[0], round: 0)
    for round in 0..<2 { try Self.work(stores[1], round: round) }
    let log = try Data(contentsOf: URL(fileURLWithPath: stores[1].path + "/commit.log"))
    stores[0].store.close()
    let data = try Data(contentsOf: URL(fileURLWithPath: stores[0].path + "/data.mdb"))
    try log.write(to: URL(fileURLWithPath: stores[0].path + "/commit.log"))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: stores[0].path + "/commit.log")
    expectError(.invalidStore) { _ = try ObjectStore.open(at: stores[0].path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: stores[0].path + "/data.mdb")) == data)
  }
}

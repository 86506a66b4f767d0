import Foundation
import KVCloneLMDB
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

private let roomModel = ManagedObjectModel("Room") {
  EntityDescription("Folder") {
    AttributeDescription("name", .string)
    RelationshipDescription("items", toMany: "Item", inverse: "folder")
  }
  EntityDescription("Item") {
    AttributeDescription("text", .string)
    AttributeDescription("data", .binary)
    RelationshipDescription("folder", toOne: "Folder", inverse: "items")
  }
}

/// A store with a map so small that writes reach its end.
@Suite("Full maps and disks", .serialized)
final class StorageRoomTests {
  private static let mebibyte = 1 << 20
  let root: String
  let environment: LMDBEnvironment
  let engine: LMDBEngine
  let store: ObjectStore
  /// The same store with an engine that does not report its free space.
  let blind: ObjectStore

  init() throws {
    root = try temporaryDirectory()
    var options = LMDBOptions()
    options.mapSize = 8 * Self.mebibyte
    environment = try LMDBEnvironment.create(at: root + "/store", tables: [], options: options)
    engine = LMDBEngine(environment)
    store = try ObjectStore.create(in: engine, model: roomModel)
    blind = try Self.open(FaultyEngine(engine, hidesRoom: true))
  }

  deinit {
    store.close()
    try? FileManager.default.removeItem(atPath: root)
  }

  @Test("a clone in its own transaction that fills the map is retried with a larger map")
  func again() throws {
    let folder = try fill()
    let mapSize = try environment.info().mapSize
    try expectClone(try blind.clone([folder]), of: folder)
    #expect(try environment.info().mapSize == 2 * mapSize)
  }

  @Test("whichever call fills the map, clones, a staged upload and snapshot operations succeed")
  func anyCall() throws {
    let folder = try store.insert("Folder", ["name": "f"])
    try store.setMembers(folder, "items", try store.insert("Item", count: 20))
    let faulty = FaultyEngine(engine, kind: .mapFull)
    let store = try Self.open(faulty)
    let data = Data(repeating: 7, count: 5000)
    let kept = try store.createSnapshot(named: "kept")
    let writes: [@Sendable () throws -> Void] = [
      { _ = try store.clone([folder]) },
      { _ = try store.stageBlob { writer in try writer.append(data) } },
      {
        try store.createSnapshot(named: "one", expiresAt: Date(timeIntervalSinceNow: -1))
        try store.deleteSnapshot(named: "one")
      },
      { try store.createAutomaticSnapshot() },
      {
        try kept.hold(tag: "test")
        try kept.release(tag: "test")
      },
      { try store.rollback(to: kept) },
      { try store.rollback(to: kept, objects: [folder]) },
    ]
    for write in writes {
      var number = 0
      repeat {
        number += 1
        faulty.arm(number)
        try write()
      } while faulty.fired != nil
      #expect(number > 10)
    }
    faulty.arm(nil)
    try expectSound()
  }

  @Test("a rollback past an import that fills the map gets there")
  func rollback() throws {
    let snapshot = try store.createSnapshot(named: "empty")
    let mapSize = try environment.info().mapSize
    let text = String(repeating: "x", count: 900)
    for _ in 0..<110 where try engine.facts().freeMapBytes > 400_000 {
      try store.write { tx in for _ in 0..<50 { try tx.insert("Item", ["text": .string(text)]) } }
    }
    let result = try store.rollback(to: snapshot)
    #expect(result.deletedCount > 3000)
    #expect(try store.objects("Item").isEmpty)
    #expect(try environment.info().mapSize > mapSize)
    try store.rollback(to: try store.snapshot(named: try #require(result.automaticSnapshot?.name)))
    #expect(try store.objects("Item").count == result.deletedCount)
    try store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try expectSound()
  }

  @Test("a clone that is known not to fit makes the map larger beforehand")
  func beforehand() throws {
    let folder = try fill()
    let mapSize = try environment.info().mapSize
    var options = CloneOptions()
    try expectClone(try store.clone([folder], options: options), of: folder)
    let grown = try environment.info().mapSize
    #expect(grown > mapSize)
    #expect(grown % LMDBLimits.pageSize == 0)
    options.blobs = .copy
    let item = try store.insert("Item", ["data": .binary(Data(count: 2 * Self.mebibyte))])
    for _ in 0..<6 { _ = try store.clone([item], options: options) }
    #expect(try store.blobCount() == 7)
    try expectSound()
  }

  @Test("many copies of few objects, or of many, make the map as large as they need", arguments: [1, 1200])
  func copies(_ objectCount: Int) throws {
    let text = String(repeating: "x", count: Self.mebibyte / objectCount)
    let items = try store.write { tx in
      try (0..<objectCount).map { _ in try tx.insert("Item", ["text": .string(text)]) }
    }
    var options = CloneOptions()
    options.count = 60
    #expect(try store.clone(items, options: options).objectCount == 60 * objectCount)
    #expect(try environment.info().mapSize > 60 * Self.mebibyte)
    try expectSound()
  }

  @Test("while a reader keeps the map from growing, a clone is refused before its first byte; it works afterwards")
  func besideReader() throws {
    let folder = try fill()
    let commit = try store.info().commit
    try store.read { [store, blind] tx in
      expectError(.mapFull) { _ = try store.clone([folder]) }
      expectError(.mapFull) { _ = try blind.clone([folder]) }
      let count = try tx.count(folder, "items")
      #expect(count == 4200)
    }
    #expect(try store.info().commit == commit)
    try expectSound()
    try expectClone(try store.clone([folder]), of: folder)
  }

  @Test("a caller's closure runs once, and the caller may run it again")
  func closure() throws {
    var runs = 0
    let text = String(repeating: "y", count: 900)
    func insert() throws {
      try store.write { tx in
        runs += 1
        for _ in 0..<9000 { try tx.insert("Item", ["text": .string(text)]) }
      }
    }
    expectError(.mapFull) { try insert() }
    #expect(runs == 1)
    #expect(try store.objects("Item").isEmpty)
    try insert()
    #expect(runs == 2)
    #expect(try store.objects("Item").count == 9000)
    try expectSound()
  }

  @Test("a blob that cannot fit is rejected before its first byte, and fits the next time")
  func largeValue() throws {
    let item = try store.insert("Item")
    let data = Data(count: 40 * Self.mebibyte)
    let mapSize = try environment.info().mapSize
    try store.write { tx in
      try tx.set(item, "text", "before")
      expectError(.mapFull) { try tx.set(item, "data", .binary(data)) }
      // Nothing was written, so the transaction remains usable.
      try tx.set(item, "text", "after")
    }
    #expect(try store.value(item, "text") == "after")
    #expect(try store.blobCount() == 0)
    #expect(try environment.info().mapSize >= mapSize + data.count)
    try store.set(item, "data", .binary(data))
    #expect(try store.data(item, "data") == data)
    try expectSound()
  }

  @Test("values of one transaction that do not fit together are refused by LMDB, and fit the next time")
  func severalValues() throws {
    let items = try store.insert("Item", count: 3)
    let data = Data(count: 3 * Self.mebibyte)
    let write = { [store] in
      try store.write { tx in
        for item in items { try tx.set(item, "data", .binary(data)) }
      }
    }
    expectError(.mapFull) { try write() }
    #expect(try store.blobCount() == 0)
    try write()
    #expect(try store.blobCount() == 3)
    try expectSound()
  }

  @Test("what a transaction has replaced is room for what follows")
  func replaced() throws {
    let item = try store.insert("Item")
    // Commits that leave reusable pages, which LMDB needs for the list of pages that a transaction frees.
    for number in 0..<3 { try store.set(item, "text", .string("\(number)")) }
    let mapSize = try environment.info().mapSize
    try store.write { tx in
      for byte in 0..<12 {
        try tx.set(item, "data", .binary(Data(repeating: UInt8(byte), count: 2 * Self.mebibyte)))
      }
    }
    #expect(try store.data(item, "data") == Data(repeating: 11, count: 2 * Self.mebibyte))
    #expect(try environment.info().mapSize == mapSize)
    try expectSound()
  }

  @Test("a transaction that is open when its store is closed continues, with blobs and clones")
  func closing() throws {
    let item = try store.insert("Item")
    let data = Data(count: 2 * Self.mebibyte)
    var options = CloneOptions()
    options.blobs = .copy
    try store.write { [store] tx in
      store.close()
      try tx.set(item, "data", .binary(data))
      _ = try tx.clone([item], options: options)
    }
    expectError(.closed) { _ = try store.insert("Item") }
    let again = try ObjectStore.open(at: root + "/store")
    defer { again.close() }
    #expect(try again.blobCount() == 2)
    #expect(try again.data(item, "data") == data)
  }

  @Test("a blob needs no reader slot")
  func readers() throws {
    var options = StoreOptions()
    options.maximumReaders = 3
    let store = try ObjectStore.create(at: root + "/readers", model: roomModel, options: options)
    defer { store.close() }
    let item = try store.insert("Item")
    let engine = try #require(store.engine as? LMDBEngine)
    try store.read { _ in
      try store.read { _ in
        try store.read { _ in
          expectError(.readersFull) { try store.read { _ in } }
          try store.write { tx in
            try tx.set(item, "data", .binary(Data(count: 2 * Self.mebibyte)))
          }
          // All reader slots are taken, so the free pages cannot be counted and nothing is rejected.
          try engine.makeRoom(for: 1 << 45)
        }
      }
    }
    #expect(try store.check().issues.isEmpty)
  }

  @Test("pages that can be used again are room")
  func reuse() throws {
    let item = try store.insert("Item")
    let data = Data(count: 5 * Self.mebibyte)
    try store.set(item, "data", .binary(data))
    try store.set(item, "data", nil)
    // Makes the last commit's pages old enough to be reused.
    try store.set(item, "text", "later")
    let facts = try engine.facts()
    #expect(facts.freeMapBytes < UInt64(data.count))
    let mapSize = try environment.info().mapSize
    try store.read { [store] _ in try store.set(item, "data", .binary(Data(count: 4 * Self.mebibyte))) }
    #expect(try environment.info().mapSize == mapSize)
    try expectSound()
  }

  @Test("alternating clones and deletes reuse the same pages")
  func rounds() throws {
    let folder = try fill()
    var pageCounts: [Int] = []
    var commits: [UInt64] = []
    for _ in 0..<6 {
      var options = CloneOptions()
      // Makes the plan count bytes: it does not for so few objects.
      options.maxBytes = .max
      let clone = try store.clone([folder], options: options).root
      try store.write { tx in
        let items = try tx.members(clone, "items")
        try tx.delete([clone] + items)
      }
      pageCounts.append(try environment.info().lastPage)
      commits.append(try store.read { tx in try tx.session.counter(MetadataKey.commitCounter) })
    }
    #expect(pageCounts[5] < pageCounts[1] + 64)
    #expect(pageCounts[5] < pageCounts[0] * 11 / 10)
    // A clone, a delete, and a commit between the delete and the next clone.
    #expect(commits[5] - commits[4] == 3)
    try expectSound()
  }

  @Test("the disk is looked at too")
  func disk() throws {
    let facts = try engine.facts()
    let pages = UInt64(facts.pageCount * facts.pageSize)
    #expect(facts.freeMapBytes + pages == UInt64(8 * Self.mebibyte))
    #expect(facts.freeDiskBytes > 0)
    if facts.freeDiskBytes < 1 << 45 {
      let mapSize = try environment.info().mapSize
      expectError(.diskFull) { try engine.makeRoom(for: .max) }
      _ = try store.write { tx in
        expectError(.diskFull) { try tx.session.makeRoom(for: .max) }
      }
      #expect(try environment.info().mapSize == mapSize)
    }
    // No transaction is open, so the map grows at once.
    try engine.makeRoom(for: UInt64(20 * Self.mebibyte))
    #expect(try engine.facts().freeMapBytes >= UInt64(20 * Self.mebibyte))
  }

  /// Creates a folder of about 4.5 MiB: the rest of the map has no room for another one.
  private func fill() throws -> ObjectID {
    try store.write { tx in
      let folder = try tx.insert("Folder", ["name": "large"])
      let text = String(repeating: "x", count: 900)
      for _ in 0..<4200 { try tx.insert("Item", ["text": .string(text)], relationships: ["folder": [folder]]) }
      return folder
    }
  }

  private static func open(_ engine: any StorageEngine) throws -> ObjectStore {
    try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
  }

  private func expectClone(_ result: CloneResult, of folder: ObjectID) throws {
    #expect(result.objectCount == 4201)
    #expect(try store.count(result.root, "items") == 4200)
    #expect(try store.count(folder, "items") == 4200)
    try expectSound()
  }

  private func expectSound() throws {
    let damages = try store.check().issues
    #expect(damages.isEmpty, "\(damages.prefix(3).map(\.message))")
    #expect(try environment.auditPages().isConsistent)
  }
}

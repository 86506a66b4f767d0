import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Migrations with other processes that have the store open, or open it later.
@Suite("Migrations and others")
struct MigrationNeighbourTests {
  static let model = ManagedObjectModel("Notes", version: "1") {
    EntityDescription("Note", indexes: [FetchIndexDescription("x", [.init("x")])]) {
      AttributeDescription("x", .integer32)
      AttributeDescription("image", .binary)
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes", ordered: true)
      RelationshipDescription("best", toOne: "Tag")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("notes", toMany: "Note", inverse: "tags")
    }
  }

  struct Change: CustomTestStringConvertible {
    let testDescription: String
    let next: ManagedObjectModel

    init(_ name: String, _ change: (inout ModelDraft) -> Void) {
      testDescription = name
      next = MigrationNeighbourTests.model.next("2", change)
    }
  }

  static let changes = [
    Change("a removed relationship") { draft in
      draft.remove("tags", from: "Note")
      draft.remove("notes", from: "Tag")
    },
    Change("another type") { draft in draft.attribute("Note", "x") { $0.type = .string } },
    Change("without the order") { draft in draft.relationship("Note", "tags") { $0.isOrdered = false } },
    Change("another root") { draft in
      draft.entities.append(EntityDescription("Root", abstract: true) {})
      draft["Tag"].superentityName = "Root"
    },
    Change("a removed entity") { draft in
      draft.remove("tags", from: "Note")
      draft.remove("best", from: "Note")
      draft.remove(entity: "Tag")
    },
    Change("an added attribute") { draft in
      draft["Note"].attributes.append(AttributeDescription("y", .string, default: "why"))
    },
  ]

  @discardableResult
  private static func fill(_ store: ObjectStore) throws -> (notes: [ObjectID], tags: [ObjectID]) {
    try store.write { tx in
      var tags: [ObjectID] = []
      for number in 0..<40 { tags.append(try tx.insert("Tag", ["name": .string("tag \(number)")])) }
      var notes: [ObjectID] = []
      for number in 0..<20 {
        notes.append(
          try tx.insert(
            "Note", ["x": .integer(Int64(number)), "image": .binary(Data(repeating: UInt8(number), count: 3000))],
            relationships: ["tags": number % 2 == 0 ? tags.reversed() : [tags[number]], "best": [tags[number]]]))
      }
      return (notes, tags)
    }
  }

  @Test("readers and writers with the old version get an error to reopen the store", arguments: changes)
  func oldSession(_ change: Change) throws {
    let inner = MemoryStorage()
    let old = try ObjectStore.create(in: inner, model: Self.model)
    let (notes, tags) = try Self.fill(old)
    let pinned = try old.pinnedSnapshot()
    _ = try StoreMigrator.migrate(inner, path: "m", to: change.next, MigrationOptions(), StoreOptions())
    // Reads that began before are unaffected.
    let names = try pinned.read { tx in try tx.members(notes[0], "tags").map { try tx.object($0)["name"] } }
    #expect(names.count == 40 && names.first == "tag 39")
    let found = FetchRequest("Note", predicate: try QueryPredicate(format: "x > 3 AND ANY tags.name == 'tag 1'"))
    let calls: [(String, () throws -> Void)] = [
      ("object", { _ = try old.object(notes[0]) }),
      ("members", { try old.read { tx in _ = try tx.members(notes[0], "tags") } }),
      ("fetch", { _ = try old.read { tx in try tx.fetchIDs(found) } }),
      ("count", { _ = try old.read { tx in try tx.count(FetchRequest("Tag")) } }),
      ("data", { _ = try old.read { tx in try tx.readData(notes[1], "image") { _ in } } }),
      ("set", { try old.write { tx in try tx.set(notes[0], "x", .integer(99)) } }),
      ("delete", { _ = try old.write { tx in try tx.delete([tags[0]]) } }),
      ("clone", { _ = try old.clone([notes[0]]) }),
      ("snapshot", { _ = try old.createSnapshot(named: "s") }),
    ]
    for (name, call) in calls {
      let error = expectError(.incompatibleModel) { try call() }
      #expect(error != nil, "\(name)")
    }
    let new = try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions())
    #expect(new.model.modelHash == change.next.modelHash)
    try checked(new)
    let count = try new.read { tx in try tx.count(FetchRequest("Note")) }
    #expect(count == 20)
  }

  @Test("a concurrent migration waits, and finds the work done; until then the old version is read")
  func secondMigration() throws {
    let test = try TestStore(Self.model)
    let (notes, _) = try Self.fill(test.store)
    test.store.close()
    let peer = try PeerProcess("migrate", [test.location])
    #expect(peer.hear() == "migrating")
    let reader = try test.openAgain()
    #expect(reader.model.versionIdentifier == "1")
    #expect(try reader.object(notes[3])["x"] == 3)
    var impatient = StoreOptions()
    impatient.busyTimeout = .milliseconds(50)
    reader.close()
    let next = Self.model.next("2") { $0.attribute("Note", "x") { $0.type = .string } }
    expectError(.busy) { try test.migrate(to: next, options: impatient) }
    try peer.tell("go on")
    var patient = StoreOptions()
    patient.busyTimeout = .unreached
    let report = try test.migrate(to: next, options: patient)
    #expect(report.rewrittenCount == 0 && report.snapshot == nil)
    #expect(peer.hear() == "rewritten 20")
    #expect(try peer.finish() == 0)
    try test.reopen()
    #expect(test.store.model.modelHash == next.modelHash)
    #expect(try test.store.object(notes[3])["x"] == "3")
    try checked(test.store)
  }

  @Test("an old name never leads to an object that came later")
  func oldNames() throws {
    let test = try TestStore(Self.model)
    let (notes, tags) = try Self.fill(test.store)
    let uris = try test.store.read { tx in try tags.map { try tx.uri(of: $0) } }
    try test.store.delete([tags[5], notes[5]])
    test.store.close()
    // The tags become labels, and another entity takes their name; then that entity moves to another root.
    let two = Self.model.next("2") { draft in
      draft.rename(entity: "Tag", to: "Label")
      draft.entities.append(EntityDescription("Tag") { AttributeDescription("colour", .string) })
    }
    let three = two.next("3") { $0["Tag"].superentityName = "Note" }
    var later: [ObjectID] = []
    for version in [two, three] {
      try test.migrate(to: version)
      let store = try test.openAgain()
      defer { store.close() }
      later += try store.insert("Tag", count: 50)
      try store.read { tx in
        for (tag, uri) in zip(tags, uris) {
          let name = "Tag/\(tag.serial)"
          guard tag != tags[5] else {
            expectError(.objectNotFound) { _ = try tx.objectID(named: uri) }
            continue
          }
          let found = [try tx.objectID(named: uri), try tx.objectID(named: name)]
          #expect(found == [tag, tag])
          let entity = try tx.entityName(of: tag)
          #expect(entity == "Label")
        }
      }
      try checked(store)
    }
    #expect(Set(later).isDisjoint(with: tags))
  }

  @Test("a copy finishes what a migration left, but for what snapshots show", arguments: [true, false])
  func finishing(takesSnapshot: Bool) throws {
    let test = try TestStore(Self.model)
    let (notes, _) = try Self.fill(test.store)
    test.store.close()
    let next = Self.model.next("2") { draft in
      draft["Note"].attributes.append(AttributeDescription("y", .string, default: "why"))
      draft.remove("image", from: "Note")
    }
    try test.migrate(
      to: next, migration: MigrationOptions(takesSnapshot: takesSnapshot))
    let store = try test.openAgain()
    defer { store.close() }
    try store.set(notes[0], "y", "because")
    let options = BackupOptions(finishesMigration: true)
    let copy = test.path + "-copy"
    defer { for suffix in ["", "-2", "-3"] { try? FileManager.default.removeItem(atPath: copy + suffix) } }
    let result = try store.backup(to: copy, options: options)
    #expect(result.renewedCount == (takesSnapshot ? 0 : 19) && result.keptCount == (takesSnapshot ? 19 : 0))
    try Self.compare(store, with: copy)
    if takesSnapshot {
      let shown = try #require(try store.snapshots().first)
      try store.deleteSnapshot(named: shown.name)
      // The preimage of the note that was written afterwards is deleted; the other records still have their images.
      let freed = try store.backup(to: copy + "-2", options: options)
      #expect(freed.renewedCount == 19 && freed.keptCount == 0)
      try Self.compare(store, with: copy + "-2")
    }
    let done = try ObjectStore.open(at: takesSnapshot ? copy + "-2" : copy)
    defer { done.close() }
    let again = try done.backup(to: copy + "-3", options: options)
    #expect(again.renewedCount == 0 && again.keptCount == 0)
    #expect(try done.blobCounts() == BlobCounts())
    expectError(.incrementalBackup) {
      try store.backup(to: copy + "-4", options: BackupOptions(since: "x", finishesMigration: true))
    }
  }

  private static func compare(_ store: ObjectStore, with path: String) throws {
    let copy = try ObjectStore.open(at: path)
    defer { copy.close() }
    try checked(copy)
    #expect(try lines(copy, nil) == lines(store, nil))
    for snapshot in try store.snapshots() {
      #expect(try lines(copy, snapshot.name) == lines(store, snapshot.name))
    }
  }

  private static func lines(_ store: ObjectStore, _ snapshot: String?) throws -> [UInt8] {
    var bytes: [UInt8] = []
    let sink = { (span: RawSpan) in span.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    if let snapshot {
      _ = try store.snapshot(named: snapshot).dump(to: sink)
    } else {
      _ = try store.dump(to: sink)
    }
    return bytes
  }
}

import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Clones from snapshots as operations: keys, provenance, hooks, transactions, blobs, adopted models.
@Suite("Clone from a snapshot: the call")
struct CloneSnapshotCallTests {
  private static let blob = AttributeValue.binary(Data((0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }))

  let test: CloneStore

  init() throws { test = try CloneStore(CloneSnapshotTests.model) }

  /// Inserts a note with two items that share one blob.
  private func shared() throws -> ObjectID {
    try test.store.write { tx in
      let note = try tx.insert("Note", ["image": Self.blob])
      let first = try tx.insert("Item", ["name": "0", "image": Self.blob])
      let second = try tx.clone(object: first)
      try tx.setMembers(note, "items", [first, second])
      return note
    }
  }

  private func blobs() throws -> (described: UInt64, chunks: UInt64) {
    let session = try test.store.readSession()
    let tables = session.schema.tables
    return (try session.storage.entryCount(tables.blobinfo), try session.storage.entryCount(tables.blobs))
  }

  private func image(_ id: ObjectID) throws -> AttributeValue? {
    try test.store.read { try $0.data(id, "image") }.map { .binary($0) }
  }

  @Test("blobs: shared while they exist, described again when they do not, copied on request")
  func largeValues() throws {
    let note = try shared()
    let one = try test.snapshot("one")
    #expect(try blobs() == (2, 4))
    let alive = try test.clone([note], from: one)
    #expect(alive.blobsShared == 3 && alive.bytesShared == 4_500_000)
    #expect(try blobs() == (2, 4))
    try test.delete([note, alive.root])
    #expect(try blobs() == (0, 4))
    let two = try test.snapshot("two")
    let back = try test.clone([note], from: one)
    #expect(back.blobsShared == 3 && back.bytesShared == 4_500_000 && back.bytesCopied == 0)
    #expect(try blobs() == (2, 4))
    // Deleted and restored; the later snapshot never showed them.
    try test.delete([back.root])
    try test.expectClean()
    let again = try test.clone([note], from: one, .with { $0.count = 3 })
    #expect(again.blobsShared == 9 && again.bytesShared == 13_500_000)
    try test.delete(Array(again.roots.dropFirst()))
    let copied = try test.clone([note], from: one, .with { $0.blobs = .copy })
    #expect(copied.blobsShared == 0 && copied.bytesCopied == 4_500_000)
    #expect(try blobs() == (5, 10))
    try test.store.deleteSnapshot(named: one.name)
    try test.expectClean()
    for root in [again.roots[0], copied.root] {
      for id in try [root] + test.members(root, "items") { #expect(try image(id) == Self.blob) }
    }
    #expect(try two.read { try $0.count(entity: "Note") } == 0)
    try test.delete([again.roots[0], copied.root])
    try test.expectClean()
    try test.store.deleteSnapshot(named: two.name)
    try test.expectClean()
    #expect(try blobs() == (0, 0))
    let session = try test.store.readSession()
    #expect(try session.storage.entryCount(session.schema.tables.preimages) == 0)
  }

  @Test("a clone that is deleted after its snapshot releases its blobs")
  func lastReferrer() throws {
    let note = try shared()
    let one = try test.snapshot("one")
    try test.delete([note])
    let back = try test.clone([note], from: one)
    try test.store.deleteSnapshot(named: "one")
    try test.expectClean()
    #expect(try image(back.root) == Self.blob)
    try test.delete([back.root])
    #expect(try blobs() == (0, 0))
    try test.expectClean()
  }

  @Test("R33 a clone remembers its source and the snapshot's commit", .tags(.r33))
  func provenance() throws {
    let note = try shared()
    let snapshot = try test.snapshot()
    try test.delete([note])
    let result = try test.clone([note], from: snapshot, .with { $0.recordsProvenance = true })
    let entry = try #require(try test.store.read { try $0.provenance(of: result.root) })
    #expect(entry.source == note && entry.sourceStore == nil)
    #expect(try entry.sourceCommit == snapshot.info.commit && entry.cloneCommit == test.commit)
  }

  @Test("R31 a key belongs to one snapshot, and needs it no longer", .tags(.r31))
  func keys() throws {
    let note = try shared()
    let (one, two) = (try test.snapshot("one"), try test.snapshot("two"))
    let options = CloneOptions.with { $0.idempotencyKey = "k" }
    let first = try test.clone([note], from: one, options)
    #expect(try test.store.planClone([note], from: one, options: options).isRepeated)
    try test.expectRefusal(.idempotencyKeyReused, [note], from: two, options)
    try test.expectRefusal(.idempotencyKeyReused, [note], options)
    _ = try test.store.clone([note], options: .with { $0.idempotencyKey = "other" })
    try test.expectRefusal(.idempotencyKeyReused, [note], from: one, .with { $0.idempotencyKey = "other" })
    try test.store.deleteSnapshot(named: "one")
    try test.delete([first.root])
    let again = try test.store.clone([note], from: one, options: options)
    #expect(again.isRepeated && again.roots == first.roots && again.deletedRoots == first.roots)
    let inside = try test.store.write { tx in try tx.clone([note], from: one, options: options) }
    #expect(inside.isRepeated)
  }

  @Test("R30 hooks: the one reads the snapshot, the other gets sources that are deleted", .tags(.r30))
  func hooks() throws {
    let note = try shared()
    let items = try test.members(note, "items")
    let snapshot = try test.snapshot()
    try test.store.write { tx in
      try tx.set(items[0], "name", "changed")
      try tx.delete([note])
    }
    let pairs = Mutex<[ObjectID: ObjectID]>([:])
    let options = CloneOptions.with {
      $0.willClone = { edge, source in
        if edge.relationship == "items" {
          let name = try source.value(edge.source, "name")
          #expect(name == "0")
        }
        return edge.source == items[1] ? .skip : edge.rule
      }
      $0.didClone = { tx, source, clone in
        pairs.withLock { $0[source] = clone }
        if try tx.entityName(of: clone) == "Note" { try tx.set(clone, "name", "back") }
      }
    }
    let result = try test.clone([note], from: snapshot, options)
    #expect(result.objectCount == 2)
    #expect(try test.value(result.root, "name") == "back")
    #expect(Set(pairs.withLock { $0 }.keys) == [note, items[0]])
    #expect(try test.members(result.root, "items") == [pairs.withLock { $0[items[0]] }])
  }

  @Test("in a caller's transaction: what that has done is what the clone meets")
  func transaction() throws {
    let note = try shared()
    let tag = try test.insert("Tag")
    let items = try test.members(note, "items")
    try test.set(tag, "items", items)
    let snapshot = try test.snapshot()
    let root = try test.store.write { tx in
      try tx.delete([note])
      let first = try tx.clone([note], from: snapshot)
      #expect(first.affectedObjectIDs == [tag])
      try tx.delete([tag])
      let second = try tx.clone([note], from: snapshot)
      #expect(second.affectedObjectCount == 0)
      try tx.delete([first.root])
      return second.root
    }
    try test.expectClean()
    #expect(try test.count("Item") == 2 && image(root) == Self.blob)
    // A snapshot that the transaction has deleted, or created itself.
    expectError(.snapshotNotFound) {
      try test.store.write { tx in
        let info = try tx.createSnapshot(named: "inside")
        _ = try tx.clone([root], from: Snapshot(info, test.store))
      }
    }
    expectError(.snapshotNotFound) {
      try test.store.write { tx in
        try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in try snapshots.delete(["before"]) }
        _ = try tx.clone([note], from: snapshot)
      }
    }
    try test.expectClean()
  }

  @Test("from asynchronous code, and cancelled")
  func asynchronous() async throws {
    let note = try shared()
    let snapshot = try await test.store.createSnapshot(named: "before")
    try await test.store.write { tx in _ = try tx.delete([note]) }
    let result = try await test.store.clone([note], from: snapshot)
    #expect(result.objectCount == 3)
    let store = test.store
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.clone([note], from: snapshot)
    }
    await #expect(throws: CloneError.self) { try await task.value }
  }

  @Test("a commit between plan and lock: the clone is planned again")
  func overtaken() throws {
    let note = try shared()
    let badge = try test.insert("Badge")
    let item = try test.members(note, "items")[0]
    try test.set(item, "badge", [badge])
    let snapshot = try test.snapshot()
    try test.delete([note])
    let rounds = Mutex(0)
    let store = test.store
    let options = CloneOptions.with {
      $0.progress = { progress in
        // The destination has been read; the lock is not yet acquired.
        guard progress.phase == .wait else { return }
        let round = rounds.withLock { rounds in
          rounds += 1
          return rounds
        }
        if round == 1 { _ = try? store.write { tx in try tx.delete([badge]) } }
      }
    }
    let result = try store.clone([note], from: snapshot, options: options)
    #expect(rounds.withLock { $0 } >= 2 && result.affectedObjectCount == 0)
    try test.expectClean()
    // The snapshot itself is deleted, and the preimages that only it shows.
    try test.delete([result.root])
    let last = CloneOptions.with {
      $0.progress = { progress in
        if progress.phase == .wait { try? store.deleteSnapshot(named: "before") }
      }
    }
    expectError(.snapshotNotFound) { _ = try store.clone([note], from: snapshot, options: last) }
    try test.expectClean()
  }

  @Test("derived attributes: followed, and unique, before the commit has computed them (R17, R24)")
  func derived() throws {
    let test = try CloneStore(
      ManagedObjectModel("Disk") {
        EntityDescription("Folder", unique: [["key"]]) {
          AttributeDescription("name", .string)
          AttributeDescription("key", .string, derivation: "canonical:(name)")
          AttributeDescription("fileCount", .integer32, derivation: "files.@count")
          RelationshipDescription("files", toMany: "File", inverse: "folder", deleteRule: .cascade)
        }
        EntityDescription("File") {
          AttributeDescription(
            "siblings", .integer32, userInfo: ["followParent": "fileCount", "withoutParent": "blank"])
          RelationshipDescription("folder", toOne: "Folder", inverse: "files")
        }
      })
    let folder = try test.insert("Folder", ["name": "Äpfel"])
    for _ in 0..<3 { try test.insert("File", ["siblings": 0], ["folder": [folder]]) }
    let snapshot = try test.snapshot()
    try test.store.write { tx in try tx.set(folder, "name", "apfel") }
    try test.expectRefusal(.uniquenessConflict, [folder], from: snapshot, entity: "Folder", property: "key")
    try test.delete([folder])
    let result = try test.clone([folder], from: snapshot)
    #expect(try test.value(result.root, "fileCount") == 3 && test.value(result.root, "key") == "apfel")
    for file in try test.members(result.root, "files") { #expect(try test.value(file, "siblings") == 3) }
  }

  // MARK: Adopted models

  private static func model(adopted: Bool) -> ManagedObjectModel {
    let rules = adopted ? ["exclude": "yes"] : [:]
    return ManagedObjectModel("Library") {
      EntityDescription("Book", indexes: adopted ? [FetchIndexDescription("byTitle", [.init("title")])] : []) {
        AttributeDescription("title", .string)
        AttributeDescription("size", .integer64, max: adopted ? 10 : nil)
        AttributeDescription("draft", .string, userInfo: rules)
        RelationshipDescription("pages", toMany: "Page", inverse: "book")
      }
      EntityDescription("Page") { RelationshipDescription("book", toOne: "Book", inverse: "pages") }
    }
  }

  @Test("the model has been adopted since: its rules, bounds and fetch indexes are those of now")
  func adopted() throws {
    let test = try TestStore(Self.model(adopted: false))
    let (book, large) = try test.store.write { tx in
      let book = try tx.insert("Book", ["title": "a", "draft": "d", "size": 1])
      try tx.insert("Page", [:], relationships: ["book": [book]])
      return (book, try tx.insert("Book", ["size": 11]))
    }
    try test.store.createSnapshot(named: "before")
    try test.store.write { tx in _ = try tx.delete([book, large]) }
    try test.reopen(model: Self.model(adopted: true))
    let snapshot = try test.store.snapshot(named: "before")
    let found = Mutex(0)
    let options = CloneOptions.with {
      $0.willClone = { edge, source in
        let count = try source.count(FetchRequest("Book", predicate: QueryPredicate(format: "title == 'a'")))
        found.withLock { $0 = count }
        return edge.rule
      }
    }
    let result = try test.store.clone([book], from: snapshot, options: options)
    #expect(found.withLock { $0 } == 1 && result.objectCount == 2)
    #expect(try test.store.read { try $0.value(result.root, "draft") } == nil)
    #expect(try test.store.read { try $0.value(result.root, "title") } == "a")
    let plan = try test.store.planClone([large], from: snapshot)
    #expect(plan.errors.map(\.kind) == [.invalidValue] && plan.errors.first?.property == "size")
    let error = #expect(throws: CloneError.self) { try test.store.clone([large], from: snapshot) }
    #expect(error?.kind == .invalidValue)
    try checked(test.store)
  }
}

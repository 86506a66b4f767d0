import Foundation
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// Model versions and indexes of stores with branches.
@Suite("Branches: migration")
struct BranchMigrationTests {
  private static func model(
    isTitleOptional: Bool = true, isIndexed: Bool = false, extra: Bool = false, isUnique: Bool = false,
    rule: DeleteRule = .nullify, derivation: String? = nil
  ) -> ManagedObjectModel {
    ManagedObjectModel("Versions") {
      EntityDescription(
        "Note", unique: isUnique ? [["number"]] : [],
        indexes: isIndexed ? [FetchIndexDescription("byTitle", [.init("title")])] : []
      ) {
        AttributeDescription("title", .string, optional: isTitleOptional, default: "none")
        AttributeDescription("number", .integer64)
        if extra { AttributeDescription("extra", .string) }
        if let derivation { AttributeDescription("derived", .string, derivation: derivation) }
        RelationshipDescription("folder", toOne: "Folder", inverse: "notes")
      }
      EntityDescription("Folder") {
        AttributeDescription("name", .string)
        RelationshipDescription("notes", toMany: "Note", inverse: "folder", deleteRule: rule)
      }
    }
  }

  private static func fill(_ store: ObjectStore) throws -> [ObjectID] {
    try store.write { tx in
      let folder = try tx.insert("Folder", ["name": .string("all")])
      return try (0..<30).map { number in
        try tx.insert(
          "Note", ["title": .string("note \(number)"), "number": .integer(Int64(number))],
          relationships: ["folder": [folder]])
      }
    }
  }

  private static func change(_ branch: ObjectStore, _ notes: [ObjectID]) throws {
    try branch.write { tx in
      try tx.set(notes[1], "title", .string("changed"))
      try tx.delete([notes[2]])
      try tx.insert("Note", ["title": .string("added")])
    }
  }

  @Test("B9: a migration that touches objects or their rules is refused, and names the branches")
  func refused() throws {
    let test = try TestStore(Self.model())
    let notes = try Self.fill(test.store)
    let branch = try test.store.branches.create("draft")
    try Self.change(branch, notes)
    try test.store.branches.create("empty")
    for wanted in [Self.model(isTitleOptional: false), Self.model(isUnique: true)] {
      test.store.close()
      let error = expectError(.incompatibleModel) { _ = try test.migrate(to: wanted) }
      #expect(error?.message.contains("draft, empty") == true)
      try test.reopen()
      #expect(try test.store.branches.list().count == 2)
      #expect(try test.store.check().isClean)
    }
    try test.store.branches.delete("draft")
    try test.store.branches.delete("empty")
    test.store.close()
    _ = try test.migrate(to: Self.model(isTitleOptional: false))
    try test.reopen()
    #expect(try test.store.check().isClean)
  }

  @Test("B9: a migration that touches no object takes branches along")
  func takenAlong() throws {
    let test = try TestStore(Self.model())
    let notes = try Self.fill(test.store)
    let branch = try test.store.branches.create("draft")
    try Self.change(branch, notes)
    let before = try branch.read { tx in try tx.fetchIDs(FetchRequest("Note")) }
    test.store.close()
    _ = try test.migrate(to: Self.model(extra: true))
    try test.reopen()
    let opened = try test.store.branches.open("draft")
    #expect(try opened.read { tx in try tx.fetchIDs(FetchRequest("Note")) } == before)
    try opened.write { tx in
      try tx.set(notes[1], "extra", .string("new"))
      try tx.set(notes[5], "extra", .string("new"))
      try tx.insert("Note", ["extra": .string("more")])
    }
    #expect(try opened.value(notes[1], "title") == .string("changed"))
    #expect(try test.store.value(notes[1], "extra") == nil)
    #expect(try test.store.check().issues.map(\.message) == [])
  }

  @Test("B9: dropped fetch indexes are dropped on branches, and newer ones do not serve them")
  func fetchIndexes() throws {
    let test = try TestStore(Self.model(isIndexed: true))
    let notes = try Self.fill(test.store)
    let branch = try test.store.branches.create("draft")
    try Self.change(branch, notes)
    func entries() throws -> Int {
      try BranchFixture.overlays(test.store).keys.filter {
        (try? OverlayKey.table(of: $0.span.bytes)) == .indexes
      }.count
    }
    #expect(try entries() == 4)
    let size = try BranchFixture.record(test.store, "draft").byteCount
    try test.reopen(model: Self.model())
    #expect(try entries() == 0)
    #expect(try BranchFixture.record(test.store, "draft").byteCount < size)
    #expect(try test.store.check().issues.map(\.message) == [])
    try test.reopen(model: Self.model(isIndexed: true))
    let opened = try test.store.branches.open("draft")
    try Self.change(opened, Array(notes.dropFirst(10)))
    let request = FetchRequest("Note", predicate: try QueryPredicate(format: "title == 'note 25'"))
    #expect(try opened.read { tx in try tx.fetchIDs(request) } == [notes[25]])
    #expect(try test.store.check().issues.map(\.message) == [])
  }

  @Test("B9: increments have branches that have lost a fetch index")
  func fetchIndexIncrement() throws {
    let test = try TestStore(Self.model(isIndexed: true))
    let notes = try Self.fill(test.store)
    try Self.change(try test.store.branches.create("draft"), notes)
    try test.store.createSnapshot(named: "a")
    try test.store.backup(to: test.root + "/full")
    try test.reopen(model: Self.model())
    try test.store.backup(to: test.root + "/i1", options: BackupOptions(since: "a"))
    try Increments.expectSame(test.store, [test.root + "/full", test.root + "/i1"], in: test.root)
  }

  @Test("a new expression of a derived attribute is refused while branches exist, and the store stays usable")
  func derivations() throws {
    let test = try TestStore(Self.model(derivation: "uppercase:(title)"))
    let notes = try Self.fill(test.store)
    try Self.change(try test.store.branches.create("draft"), notes)
    test.store.close()
    let other = Self.model(derivation: "lowercase:(title)")
    let error = expectError(.incompatibleModel) { try test.reopen(model: other) }
    #expect(error?.message.contains("draft") == true)
    try test.reopen()
    #expect(try test.store.check().issues.map(\.message) == [])
    try test.store.branches.delete("draft")
    try test.reopen(model: other)
    #expect(try test.store.value(notes[0], "derived") == .string("note 0"))
  }
}

import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Review findings about manipulated incremental backups.
@Suite("Increments without an entry")
struct IncrementMissingEntryTests {
  private static let model = ManagedObjectModel("Notes", version: "1") {
    EntityDescription("A", abstract: true) {}
    EntityDescription("B", abstract: true) {}
    EntityDescription("Note", parent: "A") {
      AttributeDescription("name", .string)
      AttributeDescription("image", .binary)
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes")
      RelationshipDescription("best", toOne: "Tag")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("notes", toMany: "Note", inverse: "tags", ordered: true)
    }
    EntityDescription("Old") {
      AttributeDescription("image", .binary)
      RelationshipDescription("friends", toMany: "Old", inverse: "friends")
    }
  }

  private static func filled() throws -> TestStore {
    let test = try TestStore(model)
    try test.store.write { tx in
      let tags = try (0..<30).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
      for number in 0..<20 {
        try tx.insert(
          "Note", ["name": .string("\(number)"), "image": .binary(Data(repeating: UInt8(number), count: 3000))],
          relationships: ["tags": tags, "best": [tags[number]]])
      }
      let olds = try (0..<30).map { _ in
        try tx.insert("Old", ["image": .binary(Data(repeating: 1, count: 2000))])
      }
      try tx.setMembers(olds[0], "friends", Array(olds.dropFirst()))
    }
    return test
  }

  private static func migrate(_ test: TestStore, to model: ManagedObjectModel) throws -> MigrationReport {
    test.store.close()
    defer { try? test.reopen() }
    return try test.migrate(to: model)
  }

  @Test("objects of a removed entity go with the last snapshot that shows them, between backup and increment")
  func purged() throws {
    let test = try Self.filled()
    let report = try Self.migrate(test, to: Self.model.next("2") { $0.remove(entity: "Old") })
    try test.store.createSnapshot(named: "a")
    try test.store.backup(to: test.root + "/full")
    try test.store.deleteSnapshot(named: try #require(report.snapshot))
    try checked(test.store)
    try test.store.backup(to: test.root + "/i", options: BackupOptions(since: "a"))
    try Increments.expectSame(test.store, [test.root + "/full", test.root + "/i"], in: test.root)
  }

  static let second: [(name: String, change: @Sendable (inout ModelDraft) -> Void)] = [
    ("another entity at the top", { $0.entities.append(EntityDescription("New") {}) }),
    ("under another root", { $0["Note"].superentityName = "B" }),
    (
      "constraint, mandatory, attribute",
      { draft in
        draft["Tag"].uniquenessConstraints = [["name"]]
        draft.attribute("Note", "name") { ($0.isOptional, $0.defaultValue) = (false, "x") }
        draft["Tag"].attributes.append(AttributeDescription("y", .string, default: "why"))
      }
    ),
  ]

  @Test("an increment over the second migration of a store is refused, or can be restored", arguments: 0..<3)
  func secondMigration(_ number: Int) throws {
    let test = try Self.filled()
    let two = Self.model.next("2") { $0["Tag"].attributes.append(AttributeDescription("x", .string)) }
    _ = try Self.migrate(test, to: two)
    try test.store.createSnapshot(named: "a")
    try test.store.backup(to: test.root + "/full")
    _ = try Self.migrate(test, to: two.next("3", Self.second[number].change))
    do {
      try test.store.backup(to: test.root + "/i", options: BackupOptions(since: "a"))
    } catch {
      #expect(error.kind == .incompatibleModel)
      return
    }
    try Increments.expectSame(
      test.store, [test.root + "/full", test.root + "/i"], in: test.root, Self.second[number].name)
  }

  @Test("an upload ends between two snapshots, and the younger one, which alone shows it, is deleted")
  func uploadBetween() throws {
    let test = try Self.filled()
    let note = try #require(try test.store.objects("Note").first)
    let staged = try test.store.stageBlob { try $0.append(Data(repeating: 7, count: 1_500_000)) }
    try test.store.createSnapshot(named: "a")
    try test.store.write { tx in try tx.setData(note, "image", staged) }
    try test.store.createSnapshot(named: "b")
    try test.store.set(note, "image", nil)
    try checked(test.store)
    try test.store.deleteSnapshot(named: "b")
    try checked(test.store)
    try test.store.backup(to: test.root + "/full")
    try ObjectStore.restore(from: test.root + "/full", to: test.root + "/restored")
  }
}

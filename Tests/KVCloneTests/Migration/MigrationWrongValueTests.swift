import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Review findings about migrations with unusual values.
@Suite("Migrations with wrong values")
struct MigrationWrongValueTests {
  @discardableResult
  private static func migrate(
    _ test: TestStore, to model: ManagedObjectModel, _ options: MigrationOptions = MigrationOptions()
  ) throws -> MigrationReport {
    test.store.close()
    let report = try test.migrate(to: model, migration: options)
    try test.reopen()
    return report
  }

  // MARK: Derived attributes

  private static let cart = ManagedObjectModel("Cart", version: "1") {
    EntityDescription("Cart") {
      AttributeDescription("count", .integer64, derivation: "items.@count")
      AttributeDescription("total", .integer64, derivation: "items.@sum.price")
      RelationshipDescription("items", toMany: "Item", inverse: "cart")
    }
    EntityDescription("Item") {
      AttributeDescription("price", .integer32)
      AttributeDescription("name", .string)
      AttributeDescription("folded", .string, derivation: "lowercase:(name)")
      RelationshipDescription("cart", toOne: "Cart", inverse: "items")
    }
    EntityDescription("Special", parent: "Item") {}
  }

  private static func filledCart() throws -> (TestStore, ObjectID) {
    let test = try TestStore(cart)
    let id = try test.store.write { tx in
      let items = [
        try tx.insert("Item", ["price": 2, "name": "A"]), try tx.insert("Item", ["name": "B"]),
        try tx.insert("Special", ["price": 40, "name": "C"]),
      ]
      return try tx.insert("Cart", relationships: ["items": items])
    }
    let (count, total) = (try test.store.value(id, "count"), try test.store.value(id, "total"))
    #expect(count == 3)
    #expect(total == 42)
    return (test, id)
  }

  @Test("a sum of values that the migration fills in")
  func filledSum() throws {
    let (test, id) = try Self.filledCart()
    try Self.migrate(
      test,
      to: Self.cart.next("2") { $0.attribute("Item", "price") { ($0.isOptional, $0.defaultValue) = (false, 5) } })
    let found1 = try test.store.value(id, "total")
    #expect(found1 == 47)
    try checked(test.store)
  }

  @Test("a count of members that go with their entity")
  func removedMembers() throws {
    let (test, id) = try Self.filledCart()
    try Self.migrate(test, to: Self.cart.next("2") { $0.remove(entity: "Special") })
    let found2 = try test.store.members(id, "items").count
    #expect(found2 == 2)
    let found3 = try test.store.value(id, "count")
    #expect(found3 == 2)
    try checked(test.store)
  }

  @Test("what a derived attribute is made of is another property by now")
  func otherSource() throws {
    let (test, id) = try Self.filledCart()
    try Self.migrate(
      test,
      to: Self.cart.next("2") { draft in
        draft.attribute("Item", "price") { ($0.name, $0.renamingIdentifier) = ("oldPrice", "price") }
        draft["Item"].attributes.append(AttributeDescription("price", .integer32, default: 1))
      })
    let found4 = try test.store.value(id, "total")
    #expect(found4 == 3)
    try checked(test.store)
  }

  @Test("derived attributes of objects that a mapping model makes")
  func mappedDerived() throws {
    let (test, _) = try Self.filledCart()
    let next = Self.cart.next("2") { $0["Item"].attributes.append(AttributeDescription("note", .string)) }
    let mapping = MappingModel([
      EntityMapping(from: "Item", to: "Item", attributes: [PropertyMapping("note", .constant("new"))])
    ])
    try Self.migrate(test, to: next, MigrationOptions(mappings: [mapping]))
    let items = try test.store.objects("Item")
    #expect(items.count == 2)
    let folded = try items.map { try test.store.value($0, "folded") }
    #expect(folded == [.string("a"), .string("b")])
    try checked(test.store)
  }

  @Test("two objects are the same by a new derived attribute that has to be unique")
  func uniqueDerived() throws {
    let model = ManagedObjectModel("Tags", version: "1") {
      EntityDescription("Tag") { AttributeDescription("name", .string) }
    }
    let test = try TestStore(model)
    for name in ["Red", "red"] { try test.store.insert("Tag", ["name": .string(name)]) }
    let next = model.next("2") { draft in
      draft["Tag"].attributes.append(AttributeDescription("folded", .string, derivation: "lowercase:(name)"))
      draft["Tag"].uniquenessConstraints = [["folded"]]
    }
    test.store.close()
    expectError(.notUnique) { _ = try test.migrate(to: next) }
    try test.reopen()
    try checked(test.store)
  }

  @Test("two objects have equal values, behind many with equal prefixes")
  func duplicatesBehindLongTexts() throws {
    let model = ManagedObjectModel("Tags", version: "1") {
      EntityDescription("Tag") { AttributeDescription("name", .string) }
    }
    let test = try TestStore(model)
    let start = String(repeating: "a", count: 500)
    try test.store.write { tx in
      for number in 0..<130 { try tx.insert("Tag", ["name": .string(start + String(number))]) }
      for _ in 0..<2 { try tx.insert("Tag", ["name": "z"]) }
    }
    test.store.close()
    expectError(.notUnique) {
      _ = try test.migrate(to: model.next("2") { $0["Tag"].uniquenessConstraints = [["name"]] })
    }
    try test.reopen()
  }

  // MARK: Defaults

  @Test("an attribute that an entity below declares again with a default of its own")
  func redeclared() throws {
    let model = ManagedObjectModel("Kinds", version: "1") {
      EntityDescription("Base") { AttributeDescription("name", .string) }
      EntityDescription("Sub", parent: "Base") {}
    }
    let test = try TestStore(model)
    let id = try test.store.insert("Sub")
    try Self.migrate(
      test,
      to: model.next("2") { draft in
        draft["Base"].attributes.append(AttributeDescription("kind", .string))
        draft["Sub"].attributes.append(AttributeDescription("kind", .string, optional: false, default: "sub"))
      })
    let found5 = try test.store.value(id, "kind")
    #expect(found5 == "sub")
    try test.store.set(id, "name", "x")
  }

  @Test("a composite that is nil, and gets an element with a default", arguments: [true, false])
  func nilComposite(isNew: Bool) throws {
    let street = AttributeDescription("street", .string, optional: false)
    let zip = AttributeDescription("zip", .integer32)
    let model = ManagedObjectModel("People", version: "1") {
      EntityDescription("Person") {
        AttributeDescription("name", .string)
        AttributeDescription("home", .composite, elements: isNew ? [street] : [street, zip])
      }
    }
    let test = try TestStore(model)
    let id = try test.store.insert("Person")
    try Self.migrate(
      test,
      to: model.next("2") {
        $0.attribute("Person", "home") {
          $0.elements = [street, AttributeDescription("zip", .integer32, optional: false, default: 1)]
        }
      })
    let found6 = try test.store.value(id, "home")
    #expect(found6 == nil)
    try test.store.set(id, "name", "x")
  }

  // MARK: Several versions

  @Test("what no one can infer counts, too, for objects that an earlier step makes by a mapping model")
  func refusedAfterMapping() throws {
    let one = ManagedObjectModel("Chain", version: "Chain 1") {
      EntityDescription("Note") { AttributeDescription("text", .string) }
    }
    let two = one.next("Chain 2") { $0["Note"].attributes.append(AttributeDescription("x", .string)) }
    let three = two.next("Chain 3") { draft in draft.attribute("Note", "text") { $0.type = .binary } }
    let test = try TestStore(one)
    try test.store.insert("Note", ["text": "keep me"])
    let mapping = MappingModel(
      [EntityMapping(from: "Note", to: "Note")], sourceModelPath: "Chain 1.xcdatamodel",
      destinationModelPath: "Chain 2.xcdatamodel")
    test.store.close()
    expectError(.mappingRequired) {
      _ = try test.migrate(
        to: three, migration: MigrationOptions(versions: [one, two, three], mappings: [mapping]))
    }
    try test.reopen()
  }

  @Test("other processes get an error when an entity has moved under another root without properties")
  func movedBetweenEmptyRoots() throws {
    let one = ManagedObjectModel("Roots", version: "1") {
      EntityDescription("A", abstract: true) {}
      EntityDescription("B", abstract: true) {}
      EntityDescription("Leaf", parent: "A") { AttributeDescription("x", .integer32) }
    }
    let two = one.next("2") { $0["Leaf"].attributes.append(AttributeDescription("y", .integer32)) }
    let three = two.next("3") { $0["Leaf"].superentityName = "B" }
    let inner = MemoryStorage()
    let first = try ObjectStore.create(in: inner, model: one)
    let leaf = try first.insert("Leaf", ["x": 1])
    _ = try StoreMigrator.migrate(inner, path: "m", to: two, MigrationOptions(), StoreOptions())
    let old = try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions())
    _ = try StoreMigrator.migrate(inner, path: "m", to: three, MigrationOptions(), StoreOptions())
    expectError(.incompatibleModel) { _ = try old.object(leaf) }
    expectError(.incompatibleModel) { try old.insert("Leaf", ["x": 2]) }
    let new = try StoreOpening.assemble(inner, path: "m", model: nil, options: StoreOptions())
    try checked(new)
  }

  // MARK: Snapshots

  private static let notes = ManagedObjectModel("Notes", version: "1") {
    EntityDescription("Note") {
      AttributeDescription("name", .string)
      AttributeDescription("x", .integer32)
      RelationshipDescription("tags", toMany: "Tag", inverse: "notes", ordered: true)
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("notes", toMany: "Note", inverse: "tags")
    }
    EntityDescription("Root", abstract: true) {}
    EntityDescription("Old") { AttributeDescription("text", .string) }
  }

  private static func filledNotes() throws -> (test: TestStore, note: ObjectID, tags: [ObjectID]) {
    let test = try TestStore(notes)
    let (note, tags) = try test.store.write { tx in
      let tags = try (0..<40).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
      try tx.insert("Old", ["text": "old"])
      return (try tx.insert("Note", ["name": "n", "x": 5], relationships: ["tags": tags]), tags)
    }
    return (test, note, tags)
  }

  @Test("a store returns to the version of a snapshot, whose properties have other codes then")
  func rollbackAfterReturn() throws {
    let (test, note, tags) = try Self.filledNotes()
    let two = Self.notes.next("2") { draft in
      draft.remove("x", from: "Note")
      draft.remove("tags", from: "Note")
      draft.remove("notes", from: "Tag")
    }
    let name = try #require(try Self.migrate(test, to: two).snapshot)
    try Self.migrate(test, to: Self.notes.next("3") { _ in })
    try test.store.set(note, "name", "changed")
    do {
      try test.store.rollback(to: try test.store.snapshot(named: name))
    } catch let error as StoreError {
      #expect(error.kind == .incompatibleModel)
      return
    }
    let found7 = try test.store.value(note, "x")
    #expect(found7 == 5)
    let found8 = try test.store.members(note, "tags")
    #expect(found8 == tags)
    try checked(test.store)
  }

  @Test("back and forth over a record that still references a blob of a removed attribute")
  func rollbackTwice() throws {
    let model = ManagedObjectModel("Images", version: "1") {
      EntityDescription("Note") {
        AttributeDescription("name", .string)
        AttributeDescription("image", .binary)
      }
    }
    let test = try TestStore(model)
    let note = try test.store.insert("Note", ["image": .binary(Data(repeating: 1, count: 5000))])
    try Self.migrate(test, to: model.next("2") { $0.remove("image", from: "Note") })
    try test.store.createSnapshot(named: "a")
    try test.store.set(note, "name", "changed")
    let back = try test.store.rollback(to: try test.store.snapshot(named: "a"))
    try checked(test.store)
    let automatic = try #require(back.automaticSnapshot)
    try test.store.rollback(to: try test.store.snapshot(named: automatic.name))
    let found9 = try test.store.value(note, "name")
    #expect(found9 == "changed")
    try checked(test.store)
  }

  @Test("an object is restored whose record referenced a blob of a removed attribute")
  func objectComesBack() throws {
    let model = ManagedObjectModel("Images", version: "1") {
      EntityDescription("Note") {
        AttributeDescription("name", .string)
        AttributeDescription("image", .binary)
      }
    }
    let test = try TestStore(model)
    let note = try test.store.insert(
      "Note", ["name": "n", "image": .binary(Data(repeating: 1, count: 5000))])
    try Self.migrate(test, to: model.next("2") { $0.remove("image", from: "Note") })
    try test.store.createSnapshot(named: "a")
    try test.store.delete([note])
    try test.store.rollback(to: try test.store.snapshot(named: "a"), objects: [note])
    let found10 = try test.store.value(note, "name")
    #expect(found10 == "n")
    try checked(test.store)
  }

  @Test("a clone from a snapshot is refused where something is stored otherwise by now, and never lacks it")
  func clonesOtherVersion() throws {
    let (test, note, _) = try Self.filledNotes()
    let name = try #require(
      try Self.migrate(
        test,
        to: Self.notes.next("2") { draft in
          draft.attribute("Note", "x") { $0.type = .string }
          draft.relationship("Note", "tags") { $0.isOrdered = false }
        }
      ).snapshot)
    let snapshot = try test.store.snapshot(named: name)
    let error = expectError(.incompatibleModel) {
      _ = try test.store.clone([note], from: snapshot, options: CloneOptions())
    }
    #expect(error?.entity == "Note" && error?.property == "x")
    try checked(test.store)
  }

  @Test("a clone from a snapshot is refused where objects have come under another root since")
  func clonesMoved() throws {
    let (test, note, _) = try Self.filledNotes()
    let report = try Self.migrate(test, to: Self.notes.next("2") { $0["Tag"].superentityName = "Root" })
    let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
    let error = expectError(.incompatibleModel) {
      _ = try test.store.clone([note], from: snapshot, options: CloneOptions())
    }
    #expect(error?.entity == "Tag")
    try checked(test.store)
  }

  @Test("objects of a removed root entity are reported as deleted")
  func removedInDifference() throws {
    let (test, _, _) = try Self.filledNotes()
    let report = try Self.migrate(test, to: Self.notes.next("2") { $0.remove(entity: "Old") })
    let snapshot = try test.store.snapshot(named: try #require(report.snapshot))
    let gone = try test.store.diff(from: snapshot).filter { $0.kind == .deleted }
    #expect(gone.map(\.entityName) == ["Old"])
  }
}

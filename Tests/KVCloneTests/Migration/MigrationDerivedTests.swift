import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Derived attributes with unchanged expressions and migrated sources.
@Suite("Migrations and derived attributes")
struct MigrationDerivedTests {
  private static let old = ManagedObjectModel("Shop", version: "1") {
    EntityDescription("Shelf") {
      AttributeDescription("name", .string)
      AttributeDescription("label", .string, derivation: "uppercase:(name)")
      AttributeDescription("least", .integer32, derivation: "books.@min.price")
      AttributeDescription("total", .integer32, derivation: "books.@sum.price")
      AttributeDescription("changed", .date, derivation: "now()")
      RelationshipDescription("books", toMany: "Book", inverse: "shelf")
    }
    EntityDescription("Book") {
      AttributeDescription("price", .integer32)
      RelationshipDescription("shelf", toOne: "Shelf", inverse: "books")
    }
    EntityDescription("Comic", parent: "Book") {}
  }

  private func filled() throws -> TestStore {
    let test = try TestStore(Self.old)
    try test.store.write { tx in
      let shelf = try tx.insert("Shelf")
      for (entity, price) in [("Comic", 1), ("Book", 2), ("Book", 3)] {
        try tx.insert(entity, ["price": .integer(Int64(price))], relationships: ["shelf": [shelf]])
      }
    }
    return test
  }

  /// Returns the values of the shelf after a migration, and checks the store.
  private func shelf(
    after test: TestStore, to model: ManagedObjectModel, _ mappings: [MappingModel] = []
  ) throws -> ManagedObject {
    test.store.close()
    try test.migrate(to: model, migration: MigrationOptions(mappings: mappings))
    try test.reopen()
    try checked(test.store)
    return try #require(try test.store.read { tx in try tx.fetch(FetchRequest("Shelf")).first })
  }

  @Test func ofValuesThatGetADefault() throws {
    let test = try filled()
    let before = try test.store.read { tx in try tx.fetch(FetchRequest("Shelf")).first }
    let model = Self.old.next("2") { draft in
      draft.attribute("Shelf", "name") { attribute in
        attribute.isOptional = false
        attribute.defaultValue = "none"
      }
    }
    let shelf = try shelf(after: test, to: model)
    #expect(shelf["label"] == "NONE" && shelf["least"] == 1)
    // The migration did not change the shelf.
    #expect(shelf["changed"] == before?["changed"] && shelf["changed"] != nil)
  }

  @Test func ofMembersThatGoWithTheirEntity() throws {
    let shelf = try shelf(after: try filled(), to: Self.old.next("2") { $0.remove(entity: "Comic") })
    #expect(shelf["least"] == 2 && shelf["total"] == 5)
  }

  @Test func ofValuesInAnotherType() throws {
    let model = Self.old.next("2") { $0.attribute("Book", "price") { $0.type = .integer64 } }
    let shelf = try shelf(after: try filled(), to: model)
    #expect(shelf["least"] == 1 && shelf["total"] == 6)
  }

  @Test func thatHaveTypesWhichNoValueFromBeforeHas() throws {
    let model = Self.old.next("2") { draft in
      draft.attribute("Shelf", "changed") { ($0.type, $0.derivationExpression) = (.integer32, "books.@count") }
      draft.attribute("Shelf", "total") { ($0.type, $0.derivationExpression) = (.string, "lowercase:(name)") }
      draft.attribute("Shelf", "name") { attribute in
        attribute.isOptional = false
        attribute.defaultValue = "None"
      }
    }
    let shelf = try shelf(after: try filled(), to: model)
    #expect(shelf["changed"] == 3 && shelf["total"] == "none" && shelf["label"] == "NONE")
  }

  @Test func ofObjectsThatAMappingModelMakes() throws {
    let model = Self.old.next("2") {
      $0["Book"].attributes.append(AttributeDescription("isbn", .string, optional: false))
    }
    let isbn = PropertyMapping("isbn", .constant("none"))
    let mapping = MappingModel([
      EntityMapping(from: "Book", to: "Book", attributes: [isbn, PropertyMapping("price", .constant(7))]),
      EntityMapping(from: "Comic", to: "Comic", attributes: [isbn]), EntityMapping(from: "Shelf", to: "Shelf"),
    ])
    let shelf = try shelf(after: try filled(), to: model, [mapping])
    #expect(shelf["least"] == 1 && shelf["total"] == 15 && shelf["changed"] != nil)
  }
}

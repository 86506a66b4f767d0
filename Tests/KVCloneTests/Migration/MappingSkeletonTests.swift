import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Generated source of mapping models, for versions between which no migration can be inferred.
@Suite("Skeletons of mapping models")
struct MappingSkeletonTests {
  private static let old = ManagedObjectModel("Shop", version: "Shop 1") {
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      AttributeDescription("alias", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription("Product", abstract: true) { AttributeDescription("price", .double) }
    EntityDescription("Book", parent: "Product") {
      AttributeDescription("title", .string)
      AttributeDescription("size", .composite, elements: [AttributeDescription("pages", .integer32)])
      RelationshipDescription("author", toOne: "Author", inverse: "books")
      RelationshipDescription("shops", toMany: "Shop")
    }
    EntityDescription("Comic", parent: "Book") {}
    EntityDescription("Shop") {}
    EntityDescription("Paper") { AttributeDescription("date", .date) }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
  }

  private static let new = ManagedObjectModel("Shop", version: "Shop 2") {
    // A name that is used again, by something new.
    EntityDescription("Writer", renamingIdentifier: "Author") {
      AttributeDescription("pen", .string, renamingIdentifier: "alias")
      AttributeDescription("alias", .string)
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription("Product", abstract: true) { AttributeDescription("price", .integer64) }
    EntityDescription("Book", parent: "Product") {
      AttributeDescription("title", .string, optional: false)
      AttributeDescription("isbn", .string, optional: false)
      AttributeDescription(
        "size", .composite,
        elements: [AttributeDescription("pages", .integer32), AttributeDescription("weight", .float, optional: false)])
      RelationshipDescription("author", toOne: "Writer", inverse: "books")
      RelationshipDescription("shop", toOne: "Shop", renamingIdentifier: "shops")
    }
    EntityDescription("Comic", parent: "Book") {}
    EntityDescription("Shop") {}
    EntityDescription("Paper", abstract: true) { AttributeDescription("date", .date) }
    EntityDescription("Daily", parent: "Paper") {}
  }

  private static let skeleton = #"""
    // Shop 1 → Shop 2: the mapping of each entity.
    // Complete the entries marked FILL IN. Unlisted properties keep their values, or get their defaults.
    let mapping = MappingModel(
      [
        EntityMapping(
          from: "Author", to: "Writer",
          attributes: [
            // alias is new; the earlier property with this name was renamed or removed.
            PropertyMapping("alias", nil)
          ]),
        EntityMapping(
          from: "Book", to: "Book",
          attributes: [
            // FILL IN. Product.price: type Double → Integer 64: not all values of type Double can be converted to type Integer 64.
            // The earlier value is .source("price").
            PropertyMapping("price", .unsupported("FILL IN Book.price")),
            // FILL IN. Book.title: optional true → false: objects in which it is nil would have no value; give it a default value, or set it before the migration.
            // The earlier value is .source("title").
            PropertyMapping("title", .unsupported("FILL IN Book.title")),
            // FILL IN. Book.isbn: added, String: objects would have no value for a new mandatory attribute; give it a default value.
            PropertyMapping("isbn", .unsupported("FILL IN Book.isbn")),
            // FILL IN. Book.size.weight: added, Float: objects would have no value for a new mandatory attribute; give it a default value.
            // The earlier value is .source("size").
            PropertyMapping("size", .unsupported("FILL IN Book.size")),
          ],
          relationships: [
            // FILL IN. Book.shop: to-many true → false: it is ambiguous which of several members to keep.
            // The earlier value is .destinationInstancesForRelationship("shops", of: .source("shops")).
            PropertyMapping("shop", .unsupported("FILL IN Book.shop"))
          ]),
        EntityMapping(
          from: "Comic", to: "Comic",
          attributes: [
            // FILL IN. Product.price: type Double → Integer 64: not all values of type Double can be converted to type Integer 64.
            // The earlier value is .source("price").
            PropertyMapping("price", .unsupported("FILL IN Comic.price")),
            // FILL IN. Book.title: optional true → false: objects in which it is nil would have no value; give it a default value, or set it before the migration.
            // The earlier value is .source("title").
            PropertyMapping("title", .unsupported("FILL IN Comic.title")),
            // FILL IN. Book.isbn: added, String: objects would have no value for a new mandatory attribute; give it a default value.
            PropertyMapping("isbn", .unsupported("FILL IN Comic.isbn")),
            // FILL IN. Book.size.weight: added, Float: objects would have no value for a new mandatory attribute; give it a default value.
            // The earlier value is .source("size").
            PropertyMapping("size", .unsupported("FILL IN Comic.size")),
          ],
          relationships: [
            // FILL IN. Book.shop: to-many true → false: it is ambiguous which of several members to keep.
            // The earlier value is .destinationInstancesForRelationship("shops", of: .source("shops")).
            PropertyMapping("shop", .unsupported("FILL IN Comic.shop"))
          ]),
        EntityMapping(from: "Shop", to: "Shop"),
        // FILL IN: Paper is now abstract; name a concrete entity, such as Daily.
        EntityMapping(from: "Paper", to: "FILL IN: an entity for Paper"),
        // Draft was removed, and its objects are deleted; name an entity to keep them.
        EntityMapping(from: "Draft", to: nil),
      ], sourceModelPath: "Shop 1", destinationModelPath: "Shop 2")
    """#

  @Test func itIsWhatItWas() {
    let text = MappingModel.skeleton(from: Self.old, to: Self.new)
    #expect(text == Self.skeleton + "\n", "\(text)")
  }

  @Test(arguments: [true, false])
  func itCompilesAndIsDoneWhenItIsFilledIn(isFilledIn: Bool) throws {
    let test = try TestStore(Self.old)
    try test.store.write { tx in
      let shops = [try tx.insert("Shop"), try tx.insert("Shop")]
      let author = try tx.insert("Author", ["name": "Jane", "alias": "A Lady"])
      for (number, entity) in ["Book", "Comic", "Book"].enumerated() {
        try tx.insert(
          entity, ["title": "t", "price": .double(Double(number)), "size": .composite(["pages": 7])],
          relationships: ["author": [author], "shops": shops])
      }
      try tx.insert("Paper")
      try tx.insert("Draft", ["text": "gone"])
    }
    test.store.close()
    let plan = try test.planMigration(to: Self.new)
    #expect(plan.steps.first?.mappingSkeleton == Self.skeleton + "\n")
    var mapping = Self.pasted
    if isFilledIn {
      mapping = Self.filledIn(mapping)
    } else {
      let error = expectError(.invalidMapping) {
        try test.migrate(to: Self.new, migration: MigrationOptions(mappings: [mapping]))
      }
      #expect(error?.message.contains("FILL IN") == true, "\(error?.message ?? "")")
      try test.reopen()
      #expect(test.store.model.modelHash == Self.old.modelHash)
      return
    }
    let report = try test.migrate(
      to: Self.new, migration: MigrationOptions(mappings: [mapping]))
    #expect(report.createdCount == 7)
    try test.reopen()
    try checked(test.store)
    try test.store.read { tx in
      let writer = try #require(try tx.fetch(FetchRequest("Writer")).first)
      #expect(writer["pen"] == "A Lady" && writer["alias"] == nil && writer["name"] == "Jane")
      #expect(try tx.members(writer.id, "books").count == 3)
      let books = try tx.fetch(FetchRequest("Book"))
      #expect(books.map { $0["price"] } == [.integer(0), .integer(2), .integer(1)])
      #expect(books.allSatisfy { $0["title"] == "t" && $0["isbn"] == "none" })
      #expect(try books.allSatisfy { try tx.toOne($0.id, "shop") != nil })
      #expect(try tx.count(entity: "Daily") == 1)
    }
  }

  /// Returns the mapping with all marks filled in.
  private static func filledIn(_ mapping: MappingModel) -> MappingModel {
    var mapping = mapping
    for index in mapping.entityMappings.indices {
      for (name, expression) in [
        ("price", MappingExpression.source("price")), ("title", .source("title")),
        ("isbn", .constant(.string("none"))),
        ("size", .constant(.composite(["pages": .integer(1), "weight": .float(1)]))),
      ] {
        guard let place = mapping.entityMappings[index].attributeMappings.firstIndex(where: { $0.name == name }) else {
          continue
        }
        mapping.entityMappings[index].attributeMappings[place].valueExpression = expression
      }
      for place in mapping.entityMappings[index].relationshipMappings.indices {
        mapping.entityMappings[index].relationshipMappings[place].valueExpression =
          .destinationInstancesForRelationship("shops", of: .source("shops"))
      }
      if mapping.entityMappings[index].sourceEntityName == "Paper" {
        mapping.entityMappings[index].destinationEntityName = "Daily"
      }
    }
    return mapping
  }

  private static var pasted: MappingModel {
    // begin
    // Shop 1 → Shop 2: the mapping of each entity.
    // Complete the entries marked FILL IN. Unlisted properties keep their values, or get their defaults.
    let mapping = MappingModel(
      [
        EntityMapping(
          from: "Author", to: "Writer",
          attributes: [
            // alias is new; the earlier property with this name was renamed or removed.
            PropertyMapping("alias", nil)
          ]),
        EntityMapping(
          from: "Book", to: "Book",
          attributes: [
            // FILL IN. Product.price: type Double → Integer 64: not all values of type Double can be converted to type Integer 64.
            // The earlier value is .source("price").
            PropertyMapping("price", .unsupported("FILL IN Book.price")),
            // FILL IN. Book.title: optional true → false: objects in which it is nil would have no value; give it a default value, or set it before the migration.
            // The earlier value is .source("title").
            PropertyMapping("title", .unsupported("FILL IN Book.title")),
            // FILL IN. Book.isbn: added, String: objects would have no value for a new mandatory attribute; give it a default value.
            PropertyMapping("isbn", .unsupported("FILL IN Book.isbn")),
            // FILL IN. Book.size.weight: added, Float: objects would have no value for a new mandatory attribute; give it a default value.
            // The earlier value is .source("size").
            PropertyMapping("size", .unsupported("FILL IN Book.size")),
          ],
          relationships: [
            // FILL IN. Book.shop: to-many true → false: it is ambiguous which of several members to keep.
            // The earlier value is .destinationInstancesForRelationship("shops", of: .source("shops")).
            PropertyMapping("shop", .unsupported("FILL IN Book.shop"))
          ]),
        EntityMapping(
          from: "Comic", to: "Comic",
          attributes: [
            // FILL IN. Product.price: type Double → Integer 64: not all values of type Double can be converted to type Integer 64.
            // The earlier value is .source("price").
            PropertyMapping("price", .unsupported("FILL IN Comic.price")),
            // FILL IN. Book.title: optional true → false: objects in which it is nil would have no value; give it a default value, or set it before the migration.
            // The earlier value is .source("title").
            PropertyMapping("title", .unsupported("FILL IN Comic.title")),
            // FILL IN. Book.isbn: added, String: objects would have no value for a new mandatory attribute; give it a default value.
            PropertyMapping("isbn", .unsupported("FILL IN Comic.isbn")),
            // FILL IN. Book.size.weight: added, Float: objects would have no value for a new mandatory attribute; give it a default value.
            // The earlier value is .source("size").
            PropertyMapping("size", .unsupported("FILL IN Comic.size")),
          ],
          relationships: [
            // FILL IN. Book.shop: to-many true → false: it is ambiguous which of several members to keep.
            // The earlier value is .destinationInstancesForRelationship("shops", of: .source("shops")).
            PropertyMapping("shop", .unsupported("FILL IN Comic.shop"))
          ]),
        EntityMapping(from: "Shop", to: "Shop"),
        // FILL IN: Paper is now abstract; name a concrete entity, such as Daily.
        EntityMapping(from: "Paper", to: "FILL IN: an entity for Paper"),
        // Draft was removed, and its objects are deleted; name an entity to keep them.
        EntityMapping(from: "Draft", to: nil),
      ], sourceModelPath: "Shop 1", destinationModelPath: "Shop 2")
    // end
    return mapping
  }

  @Test func whatCompilesIsTheSkeleton() throws {
    let lines = try String(contentsOfFile: #filePath, encoding: .utf8).split(
      separator: "\n", omittingEmptySubsequences: false)
    let begin = try #require(lines.firstIndex { $0.hasSuffix("// begin") })
    let end = try #require(lines.firstIndex { $0.hasSuffix("// end") })
    let pasted = lines[(begin + 1)..<end].map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
    #expect(pasted.joined(separator: "\n") == Self.skeleton)
  }

  @Test func namesAreWrittenAsLiterals() {
    let odd = "a\"b\\c\nd\u{202E}\u{2028}"
    let source = ManagedObjectModel("M", version: "1") { EntityDescription(odd) { AttributeDescription("x", .double) } }
    let destination = ManagedObjectModel("M", version: "a/b") {
      EntityDescription(odd) { AttributeDescription("x", .integer16) }
    }
    let text = MappingModel.skeleton(from: source, to: destination)
    #expect(text.contains(#"from: "a\"b\\c\nd\u{202E}\u{2028}", to: "a\"b\\c\nd\u{202E}\u{2028}","#), "\(text)")
    // A version's name that is not a valid path is omitted.
    #expect(text.hasSuffix("  ])\n"))
    #expect(text.split(whereSeparator: \.isNewline).allSatisfy { !$0.contains("\u{2028}") })
    let colliding = ManagedObjectModel("M", version: "1") {
      EntityDescription("A") {}
      EntityDescription("AToB") {}
    }
    let renamed = ManagedObjectModel("M", version: "2") {
      EntityDescription("BToC", renamingIdentifier: "A") {}
      EntityDescription("C", renamingIdentifier: "AToB") {}
    }
    let names = MappingModel.skeleton(from: colliding, to: renamed)
    #expect(names.contains(#"EntityMapping(from: "AToB", to: "C", name: "AToBToC 2"),"#), "\(names)")
  }

  @Test("every refusal of real models is marked", .enabled(if: Corpus.root != nil, "\(Corpus.missing)"))
  func corpus() throws {
    var marks = 0
    for bundle in Corpus.modelBundles() {
      let versions = try ManagedObjectModel.loadVersions(contentsOf: bundle).map(\.model)
      for (old, new) in zip(versions, versions.dropFirst()) {
        let refusals = ModelDifference(from: old, to: new).refusals
        if refusals.isEmpty { continue }
        let text = MappingModel.skeleton(from: old, to: new)
        for refusal in refusals {
          let place = refusal.property.map { "FILL IN. \(refusal.entity).\($0): " } ?? "FILL IN: \(refusal.entity) is"
          let isStored = ([refusal.entity] + new.subentities(of: refusal.entity)).contains { name in
            ModelMatching(from: old, to: new).entities[name].flatMap { old.entity(named: $0) }?.isAbstract == false
          }
          #expect(text.contains(place) == isStored, "\(bundle) \(new.versionIdentifier): \(place)")
          marks += isStored ? 1 : 0
        }
      }
    }
    #expect(marks > 20)
  }
}

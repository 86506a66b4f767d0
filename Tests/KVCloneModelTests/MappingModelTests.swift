import KVCloneModel
import Testing

/// Mapping models written in Swift, resolved against two versions.
struct MappingModelTests {
  private let source = ManagedObjectModel("Library", version: "1") {
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription("Book") {
      AttributeDescription("title", .string)
      AttributeDescription("price", .double)
      AttributeDescription("cache", .string).with { $0.isTransient = true }
      RelationshipDescription("author", toOne: "Author", inverse: "books")
    }
    EntityDescription("Draft") { AttributeDescription("text", .string) }
    EntityDescription("Base", abstract: true) { AttributeDescription("x", .string) }
  }

  private let destination = ManagedObjectModel("Library", version: "2") {
    EntityDescription("Author") {
      AttributeDescription("name", .string)
      RelationshipDescription("books", toMany: "Book", inverse: "author")
    }
    EntityDescription("Book") {
      AttributeDescription("heading", .string).with { $0.renamingIdentifier = "title" }
      AttributeDescription("price", .double)
      AttributeDescription("isbn", .string)
      AttributeDescription("cache", .string)
      AttributeDescription("now", .date).with { $0.derivationExpression = "now()" }
      RelationshipDescription("writer", toOne: "Author", inverse: "books").with { $0.renamingIdentifier = "author" }
    }
    EntityDescription("Shelf") { AttributeDescription("name", .string) }
  }

  private func resolve(_ mappings: EntityMapping...) throws(MappingModelError) -> [EntityMapping] {
    try MappingModel(mappings).resolved(from: source, to: destination).entityMappings
  }

  private func error(_ mappings: EntityMapping...) -> MappingModelError? {
    do {
      _ = try MappingModel(mappings).resolved(from: source, to: destination)
      return nil
    } catch { return error }
  }

  @Test func whatIsNotWrittenIsInferred() throws {
    let resolved = try resolve(
      EntityMapping(from: "Author", to: "Author"), EntityMapping(from: "Book", to: "Book"),
      EntityMapping(from: nil, to: "Shelf"), EntityMapping(from: "Draft", to: nil),
      EntityMapping(from: "Author", to: "Author", name: "Mine", policy: "Mine"))
    #expect(resolved.map(\.name) == ["AuthorToAuthor", "BookToBook", "Shelf", "Draft", "Mine"])
    #expect(resolved.map(\.mappingType) == [.copy, .transform, .add, .remove, .custom])
    #expect(resolved[0].attributeMappings == [PropertyMapping("name", .source("name"))])
    #expect(
      resolved[0].relationshipMappings
        == [PropertyMapping("books", .destinationInstancesForRelationship("books", of: .source("books")))])
    #expect(
      resolved[1].attributeMappings
        == [PropertyMapping("heading", .source("title")), PropertyMapping("price", .source("price"))])
    #expect(
      resolved[1].relationshipMappings
        == [PropertyMapping("writer", .destinationInstancesForRelationship("author", of: .source("author")))])
    #expect(resolved[2].attributeMappings.isEmpty && resolved[3].attributeMappings.isEmpty)
    let again = try MappingModel(resolved).resolved(from: source, to: destination)
    #expect(again.entityMappings == resolved)
  }

  @Test func whatIsWrittenStays() throws {
    let made = MappingExpression.destinationInstances(mapping: "Authors", of: .source("author"))
    let book = EntityMapping(
      from: "Book", to: "Book",
      attributes: [
        PropertyMapping("isbn", .constant("none")), try PropertyMapping("price", format: "$source.price * %d", [100]),
        PropertyMapping("heading", nil), PropertyMapping("cache"), PropertyMapping("now"),
      ], relationships: [PropertyMapping("writer", made, userInfo: ["k": "v"])], mapsUnlistedProperties: false)
    let resolved = try resolve(book, EntityMapping(from: "Author", to: "Author", name: "Authors"))[0]
    let product = try MappingExpression(format: "$source.price * 100")
    // Transient and derived attributes keep their defaults.
    #expect(
      resolved.attributeMappings
        == [
          .init("isbn", .constant("none")), .init("price", product), .init("heading", nil), .init("cache", nil),
          .init("now", nil),
        ])
    #expect(resolved.relationshipMappings == book.relationshipMappings)
  }

  /// Equal entities are copied only if the mapping specifies nothing else.
  @Test func moreThanNamesIsATransformation() throws {
    let predicate = try QueryPredicate(format: "name == 'A'")
    let resolved = try resolve(
      EntityMapping(from: "Author", to: "Author", name: "1", where: .matching(predicate)),
      EntityMapping(from: "Author", to: "Author", name: "2", attributes: [PropertyMapping("name", .constant("x"))]),
      EntityMapping(from: "Author", to: "Author", name: "3", attributes: [PropertyMapping("name", .source("name"))]),
      EntityMapping(from: "Author", to: "Author", name: "4", type: .transform))
    #expect(resolved.map(\.mappingType) == [.transform, .transform, .copy, .transform])
  }

  @Test func whatDoesNotFitIsAnError() {
    let author = EntityMapping(from: "Author", to: "Author")
    #expect(error(author, author) == .duplicateMapping("AuthorToAuthor"))
    #expect(error(EntityMapping(from: nil, to: nil, name: "N")) == .noEntity(mapping: "N"))
    #expect(
      error(EntityMapping(from: "Shelf", to: "Shelf", name: "N"))
        == .unknownEntity(mapping: "N", entity: "Shelf", .source))
    #expect(
      error(EntityMapping(from: "Draft", to: "Draft", name: "N"))
        == .unknownEntity(mapping: "N", entity: "Draft", .destination))
    #expect(
      error(EntityMapping(from: "Author", to: "Author", name: "N", type: .add)) == .typeMismatch(mapping: "N", .add))
    #expect(error(EntityMapping(from: nil, to: "Shelf", name: "N", type: .copy)) == .typeMismatch(mapping: "N", .copy))
    func property(_ attributes: [PropertyMapping], _ relationships: [PropertyMapping] = []) -> MappingModelError? {
      error(
        EntityMapping(from: "Author", to: "Author", name: "N", attributes: attributes, relationships: relationships))
    }
    #expect(property([.init("age")]) == .unknownProperty(mapping: "N", property: "age"))
    #expect(property([.init("books")]) == .unknownProperty(mapping: "N", property: "books"))
    #expect(property([], [.init("name")]) == .unknownProperty(mapping: "N", property: "name"))
    #expect(property([.init("name"), .init("name", nil)]) == .duplicateProperty(mapping: "N", property: "name"))
    let unknown = MappingExpression.destinationInstances(mapping: "Gone", of: .source("books"))
    #expect(property([], [.init("books", unknown)]) == .unknownMapping(mapping: "N", property: "books", named: "Gone"))
    let nested = MappingExpression.destinationInstancesForRelationship("books", of: unknown)
    #expect(property([], [.init("books", nested)])?.kind == .unknownMapping)
    #expect(property([.init("name", .policy("x:", [.sourceObject]))]) == .noPolicy(mapping: "N", property: "name"))
    let errors: [MappingModelError] = [
      .duplicateMapping("A"), .noEntity(mapping: "A"), .unknownEntity(mapping: "A", entity: "E", .source),
      .typeMismatch(mapping: "A", .add), .unknownProperty(mapping: "A", property: "p"),
      .duplicateProperty(mapping: "A", property: "p"), .unknownMapping(mapping: "A", property: "p", named: "B"),
      .noPolicy(mapping: "A", property: "p"),
    ]
    #expect(errors.allSatisfy { $0.mapping == "A" && $0.description.contains("A") && $0.description.contains(";") })
    #expect(Set(errors.map(\.kind)).count == errors.count)
    #expect(errors.filter { $0.property == "p" }.count == 4)
  }

  @Test func whatIsLeftBehindIsNamed() {
    let mapping = MappingModel([EntityMapping(from: "Author", to: "Author")])
    #expect(mapping.unmappedEntities(of: source) == ["Book", "Draft"])
  }

  @Test func expressionsAreShownAsXcodeDoes() throws {
    #expect(MappingExpression.source("author.name").description == "$source.author.name")
    #expect(MappingExpression.constant(nil).description == "nil")
    #expect(MappingExpression.automatic.description == "automatic")
    #expect(
      MappingExpression.policy("a:b:", [.sourceObject, .constant("x")]).description
        == "FUNCTION($entityPolicy, \"a:b:\", $source, \"x\")")
    #expect(
      MappingExpression.destinationInstancesForRelationship("books", of: .source("books")).description
        == "FUNCTION($manager, \"destinationInstancesForSourceRelationshipNamed:sourceInstances:\", \"books\","
        + " $source.books)")
    #expect(throws: QueryFormatError.self) { try MappingExpression(format: "$source.") }
    let model = MappingModel([], sourceModelPath: "A/B.xcdatamodeld/B 2.xcdatamodel", destinationModelPath: "B 3")
    #expect(model.sourceVersionName == "B 2" && model.destinationVersionName == "B 3")
    #expect(MappingModel([]).sourceVersionName == nil)
  }
}

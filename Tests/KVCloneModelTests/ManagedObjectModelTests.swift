import Testing

@testable import KVCloneModel

struct ManagedObjectModelTests {
  static let notes = ManagedObjectModel("Notes") {
    EntityDescription("Base", abstract: true, unique: [["id"]], userInfo: ["a": "base", "b": "base"]) {
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "UUID", "x": "base"])
      AttributeDescription("created", .date)
      RelationshipDescription("owner", toOne: "Owner", inverse: "things")
    }
    EntityDescription("Note", parent: "Base", userInfo: ["b": "note"]) {
      AttributeDescription("title", .string, optional: false, default: "Untitled")
      AttributeDescription("id", .uuid, optional: false, userInfo: ["x": "note"])
      RelationshipDescription("items", toMany: "Item", inverse: "note", ordered: true, deleteRule: .cascade)
    }
    EntityDescription("Item", parent: "Base") { RelationshipDescription("note", toOne: "Note", inverse: "items") }
    EntityDescription("Special", parent: "Note") { AttributeDescription("extra", .integer16, default: 3) }
    EntityDescription("Owner", unique: [["name"]]) {
      AttributeDescription("name", .string)
      AttributeDescription("place", .composite, composite: "Point")
      RelationshipDescription("things", toMany: "Base", inverse: "owner")
      RelationshipDescription("friend", toOne: "Owner", inverse: "friend")
    }
    CompositeAttributeDescription("Point") {
      AttributeDescription("lat", .double)
      AttributeDescription("lng", .double)
    }
    FetchRequestTemplate("all", entity: "Note")
  }

  @Test func theExampleIsValid() throws {
    #expect(try Self.notes.validate() == [])
    #expect(Self.notes.fetchRequestTemplates.map(\.name) == ["all"])
    #expect(Self.notes.versionIdentifier == "Notes")
  }

  @Test func inheritanceIsKnownInBothDirections() {
    let model = Self.notes
    #expect(model.superentities(of: "Special") == ["Note", "Base"])
    #expect(model.superentities(of: "Base") == [])
    #expect(model.directSubentities(of: "Base") == ["Note", "Item"])
    #expect(model.subentities(of: "Base") == ["Note", "Special", "Item"])
    #expect(model.rootEntity(of: "Special") == "Base")
    #expect(model.rootEntity(of: "Owner") == "Owner")
    #expect(model.rootEntity(of: "Nobody") == nil)
    #expect(model.entity("Special", isKindOf: "Base"))
    #expect(!model.entity("Base", isKindOf: "Special"))
    #expect(model.entity(named: "Note")?.attributes.count == 2)
  }

  /// R22: userInfo is inherited; a subentity's key takes precedence.
  @Test func propertiesDeclaredAgainKeepTheirPlaceAndMergeAnnotations() {
    let model = Self.notes
    #expect(model.attributes(of: "Special").map(\.name) == ["id", "created", "title", "extra"])
    let id = model.attribute("id", of: "Special")
    #expect(id?.userInfo == ["rebuild": "UUID", "x": "note"])
    #expect(id?.isOptional == false)
    #expect(id?.cloneRule().rebuild == .uuid)
    #expect(model.attribute("id", of: "Item")?.userInfo["x"] == "base")
    #expect(model.relationships(of: "Special").map(\.name) == ["owner", "items"])
    #expect(model.userInfo(of: "Special") == ["a": "base", "b": "note"])
    #expect(model.uniquenessConstraints(of: "Special") == [["id"]])
  }

  @Test func compositesAreFilledIn() {
    #expect(Self.notes.attribute("place", of: "Owner")?.elements.map(\.name) == ["lat", "lng"])
  }

  @Test func inversesAreMutualOrNone() throws {
    let model = Self.notes
    #expect(model.inverse(of: "items", in: "Note")?.relationship.name == "note")
    #expect(model.inverse(of: "items", in: "Special")?.entityName == "Item")
    #expect(model.inverse(of: "owner", in: "Special")?.entityName == "Owner")
    #expect(model.inverse(of: "friend", in: "Owner")?.relationship.name == "friend")
    let oneSided = ManagedObjectModel("M") {
      EntityDescription("A") {
        RelationshipDescription("x", toOne: "B", inverse: "back")
        RelationshipDescription("y", toOne: "B", inverse: "back")
        RelationshipDescription("z", toOne: "B")
      }
      EntityDescription("B") { RelationshipDescription("back", toMany: "A", inverse: "x") }
    }
    #expect(oneSided.inverse(of: "x", in: "A") != nil)
    #expect(oneSided.inverse(of: "y", in: "A") == nil)
    #expect(oneSided.inverse(of: "z", in: "A") == nil)
    #expect(try oneSided.validate().map(\.kind) == [.oneSidedInverse, .missingInverse])
  }

  @Test func anInverseMayLieAboveOrBelowTheDestination() {
    let model = ManagedObjectModel("M") {
      EntityDescription("Base") { RelationshipDescription("tag", toOne: "Tag", inverse: "members") }
      EntityDescription("Sub", parent: "Base") {}
      EntityDescription("Other") { RelationshipDescription("tag", toOne: "Tag", inverse: "members") }
      EntityDescription("Tag") {
        RelationshipDescription("members", toMany: "Sub", inverse: "tag", inverseEntity: "Base")
      }
    }
    #expect(model.inverse(of: "members", in: "Tag")?.entityName == "Base")
    #expect(model.inverse(of: "tag", in: "Base")?.relationship.name == "members")
    #expect(model.inverse(of: "tag", in: "Sub") != nil)
    #expect(model.inverse(of: "tag", in: "Other") == nil)
  }

  @Test func theStoredFormLeavesOutDefaultsAndToleratesMore() throws {
    let model = Self.notes
    let stored = try model.encodedJSON()
    #expect(try ManagedObjectModel(encodedJSON: stored) == model)
    let minimal = try ManagedObjectModel("M") { EntityDescription("A") { AttributeDescription("a", .string) } }
      .encodedJSON()
    #expect(
      String(decoding: minimal, as: UTF8.self)
        == #"{"entities":[{"attributes":[{"name":"a","type":"String"}],"name":"A"}],"name":"M"}"#)
    let extended = #"{"name":"M","later":{"x":[1]},"entities":[{"name":"A","new":true}]}"#
    #expect(try ManagedObjectModel(encodedJSON: Array(extended.utf8)).entities.map(\.name) == ["A"])
  }

  @Test func theShownFormListsInheritedPropertiesSorted() throws {
    let shown = try Self.notes.shownJSON()
    #expect(shown.contains(#""name":"Item","parent":"Base","relationships":[{"deleteRule":"Nullify""#))
    #expect(shown.contains(#""default":"Untitled""#))
    #expect(shown.contains(#""default":null"#))
    #expect(shown.contains(#""parent":null"#))
    #expect(shown.contains(#""uniquenessConstraints":[["id"]]"#))
  }
}

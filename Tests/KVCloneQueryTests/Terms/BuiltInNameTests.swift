import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

/// `objectID` and `length` have Core Data's meaning, unless the model has properties of these names.
@Suite("Predicates: names that the language has itself")
struct BuiltInNameTests {
  private static let model = ManagedObjectModel("Names") {
    CompositeAttributeDescription("Spot") { AttributeDescription("x", .integer32) }
    EntityDescription("Link") {
      AttributeDescription("length", .string)
      RelationshipDescription("objectID", toOne: "Target", inverse: "links")
    }
    EntityDescription("Place") { AttributeDescription("objectID", .composite, composite: "Spot") }
    EntityDescription("Number") { AttributeDescription("objectID", .integer32) }
    EntityDescription("Target") {
      AttributeDescription("length", .integer32)
      RelationshipDescription("links", toMany: "Link", inverse: "objectID")
      RelationshipDescription("others", toMany: "Target", inverse: "others")
    }
  }

  private let test: TestStore

  init() throws { test = try TestStore(Self.model) }

  private func find(_ entity: String, _ text: String, _ object: ObjectID? = nil) throws -> [ObjectID] {
    let predicate = try QueryPredicate(format: text, arguments: object.map { [.object($0)] } ?? [])
    return try test.store.read { try $0.fetchIDs(FetchRequest(entity, predicate: predicate)) }
  }

  @Test("a property of the model comes first: a relationship, a composite, an attribute")
  func properties() throws {
    let target = try test.store.insert("Target", ["length": 5])
    let link = try test.store.insert("Link", ["length": "abc"], relationships: ["objectID": [target]])
    let place = try test.store.insert("Place", ["objectID": .composite(["x": 4])])
    let number = try test.store.insert("Number", ["objectID": 3])
    #expect(try find("Link", "objectID == %@", target) == [link])
    #expect(try find("Link", "objectID == %@", link).isEmpty)
    #expect(try find("Link", "objectID.length == 5") == [link])
    #expect(try find("Target", "ANY links.objectID == %@", target) == [target])
    #expect(try find("Place", "objectID.x == 4") == [place])
    #expect(try find("Number", "objectID == 3") == [number])
    #expect(try find("Link", "length.length == 3") == [link])
    try checked(test.store)
  }

  @Test("members have an objectID as single objects do")
  func members() throws {
    let one = try test.store.insert("Target")
    let other = try test.store.insert("Target", relationships: ["others": [one]])
    for text in ["ANY others.objectID == %@", "others.objectID CONTAINS %@", "%@ IN others.objectID"] {
      #expect(try find("Target", text, one) == [other], "\(text)")
    }
    #expect(try find("Target", "NONE others.objectID == %@", one) == [one])
    try checked(test.store)
  }
}

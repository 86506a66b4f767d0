import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

private let ruleModel = ManagedObjectModel("Rules") {
  EntityDescription("Person") {
    AttributeDescription("home", .composite, composite: "Address")
    AttributeDescription("visit", .composite, transient: true, composite: "Address")
    AttributeDescription("mood", .string, transient: true)
    RelationshipDescription("friend", toOne: "Person", inverse: "friendOf", deleteRule: .cascade)
    RelationshipDescription("friendOf", toMany: "Person", inverse: "friend", deleteRule: .deny)
  }
  CompositeAttributeDescription("Address") {
    AttributeDescription("city", .string)
    AttributeDescription("point", .composite, composite: "Point")
  }
  CompositeAttributeDescription("Point") {
    AttributeDescription("x", .double)
    AttributeDescription("y", .double)
  }
}

@Suite("Composites, transient values, and deny in circles")
struct PropertyRuleTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(ruleModel) }

  @Test("an inner composite is set and read by its path, and nil empties it alone")
  func innerComposite() throws {
    let id = try store.insert("Person", ["home": ["city": "Rome"]])
    try store.set(id, "home.point", ["x": 1.0])
    #expect(try store.value(id, "home") == ["city": "Rome", "point": ["x": 1.0]])
    #expect(try store.object(id)["home.point"] == ["x": 1.0])
    try store.set(id, "home.point", ["y": 2.0])
    #expect(try store.value(id, "home.point") == ["y": 2.0], "elements that are not given become nil")
    try store.set(id, "home.point", nil)
    #expect(try store.value(id, "home") == ["city": "Rome"])
    try store.set(id, "home", nil)
    #expect(try store.value(id, "home.city") == nil)
    expectError(.wrongType) { try store.set(id, "home.point", 1) }
    expectError(.unknownProperty) { try store.set(id, "home.nothing", ["x": 1.0]) }
    try checked(store)
  }

  @Test("R20 transient values, composites too, live as long as the transaction", .tags(.r20))
  func transients() throws {
    let id = try store.write { tx in
      let id = try tx.insert("Person", ["visit": ["city": "Oslo", "point": ["x": 1.0]], "mood": "good"])
      try tx.set(id, "visit.point.y", 2.0)
      let visit = try tx.value(id, "visit")
      #expect(visit == ["city": "Oslo", "point": ["x": 1.0, "y": 2.0]])
      let point = try tx.value(id, "visit.point")
      #expect(point == ["x": 1.0, "y": 2.0])
      let object = try tx.object(id)
      #expect(object["visit"] == visit && object["mood"] == "good")
      let clone = try tx.clone(object: id)
      let handed = try tx.value(clone, "visit")
      #expect(handed == visit)
      try tx.set(id, "visit", nil)
      let emptied = try tx.value(id, "visit")
      #expect(emptied == nil)
      return id
    }
    #expect(try store.value(id, "visit") == nil)
    #expect(try store.value(id, "mood") == nil)
    try checked(store)
  }

  @Test("deny counts no object that goes in the same call, in circles too")
  func denyInCircles() throws {
    // 0 → 1 → 2 → 0: each cascades to the next, and denies while the previous one exists.
    let ring = try store.insert("Person", count: 3)
    for index in 0..<3 { try store.setToOne(ring[index], "friend", ring[(index + 1) % 3]) }
    let outside = try store.insert("Person", relationships: ["friend": [ring[1]]])
    let error = expectError(.deleteDenied) { try store.delete([ring[0]]) }
    #expect(error?.object == "Person/2" && error?.property == "friendOf")
    #expect(try store.objects("Person").count == 4)
    // It cascades into the ring, so all of them are deleted.
    #expect(try store.delete([outside]) == 4)
    let alone = try store.insert("Person")
    try store.setToOne(alone, "friend", alone)
    #expect(try store.delete([alone]) == 1)
    try checked(store)
  }
}

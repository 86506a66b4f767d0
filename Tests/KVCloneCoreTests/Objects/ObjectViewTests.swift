import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let viewModel = ManagedObjectModel("Views") {
  CompositeAttributeDescription("Place") {
    AttributeDescription("latitude", .double)
    AttributeDescription("town", .string)
  }
  EntityDescription("Thing") {
    AttributeDescription("name", .string)
    AttributeDescription("small", .integer16)
    AttributeDescription("middle", .integer32)
    AttributeDescription("large", .integer64)
    AttributeDescription("ratio", .double)
    AttributeDescription("weight", .float)
    AttributeDescription("price", .decimal)
    AttributeDescription("flag", .boolean)
    AttributeDescription("day", .date)
    AttributeDescription("key", .uuid)
    AttributeDescription("link", .uri)
    AttributeDescription("data", .binary)
    AttributeDescription("place", .composite, composite: "Place")
    AttributeDescription("passing", .string, transient: true)
    RelationshipDescription("box", toOne: "Box", inverse: "things")
  }
  EntityDescription("Toy", parent: "Thing") { AttributeDescription("age", .integer16) }
  EntityDescription("Box") {
    AttributeDescription("name", .string)
    RelationshipDescription("things", toMany: "Thing", inverse: "box")
  }
}

/// Views of objects in the storage's memory.
@Suite("Object views")
struct ObjectViewTests {
  private let test: TestStore

  init() throws { test = try TestStore(viewModel) }

  private static let values: [String: AttributeValue?] = [
    "name": "naïve, and longer than what fits into a word", "small": -7, "middle": 70_000, "large": .integer(1 << 40),
    "ratio": 0.25, "weight": .float(1.5), "price": .decimal(Decimal(1234) / 100), "flag": true,
    "day": .date(Date(timeIntervalSinceReferenceDate: 12.5)), "key": .uuid(UUID()),
    "link": .uri("https://example.org/a"),
    "data": .binary(Data([1, 2, 3])), "place": .composite(["latitude": 48.5, "town": "Ulm"]),
  ]

  /// The value of a view under a name, read with a key of each type that might fit.
  private func seen(_ view: ObjectView, _ name: String, _ entity: String) throws -> AttributeValue? {
    let store = test.store
    switch name {
    case "small":
      let small = try view.value(try store.attribute(entity, name, as: Int16.self))
      let int = try view.value(try store.attribute(entity, name, as: Int.self))
      let int32 = try view.value(try store.attribute(entity, name, as: Int32.self))
      #expect(int == small.map { Int($0) } && int32 == small.map { Int32($0) })
      return small?.attributeValue
    case "middle": return try view.value(try store.attribute(entity, name, as: Int32.self))?.attributeValue
    case "large": return try view.value(try store.attribute(entity, name, as: Int64.self))?.attributeValue
    case "ratio", "place.latitude":
      return try view.value(try store.attribute(entity, name, as: Double.self))?.attributeValue
    case "weight": return try view.value(try store.attribute(entity, name, as: Float.self))?.attributeValue
    case "price": return try view.value(try store.attribute(entity, name, as: Decimal.self))?.attributeValue
    case "flag": return try view.value(try store.attribute(entity, name, as: Bool.self))?.attributeValue
    case "day": return try view.value(try store.attribute(entity, name, as: Date.self))?.attributeValue
    case "key": return try view.value(try store.attribute(entity, name, as: UUID.self))?.attributeValue
    case "link": return try view.value(try store.attribute(entity, name, as: URL.self))?.attributeValue
    case "data": return try view.value(try store.attribute(entity, name, as: BinaryValue.self))?.attributeValue
    case "name", "place.town", "passing":
      let key = try store.attribute(entity, name, as: String.self)
      let text = try view.value(key)
      let bytes = try view.withUTF8(key) { bytes in bytes.withUnsafeBytes { Array($0) } }
      #expect(bytes == text.map { Array($0.utf8) })
      return text?.attributeValue
    default: return try view.value(try store.attribute(entity, name, as: AttributeValue.self))
    }
  }

  private static let names = values.keys.sorted() + ["place.latitude", "place.town", "passing"]

  @Test("a view shows what a copy has, of objects of the entity and of one below it, with values and without")
  func sameAsCopies() throws {
    let ids = try test.store.write { tx in
      [
        try tx.insert("Thing", Self.values), try tx.insert("Thing"), try tx.insert("Toy", Self.values),
        try tx.insert("Toy", ["age": 3]),
      ]
    }
    try test.store.read { tx in
      for id in ids {
        let object = try tx.object(id)
        try tx.withObject(id) { view in
          #expect(view.id == id && view.name == object.name && view.entityName == object.entityName)
          #expect(view.commit == object.commit)
          for name in Self.names {
            let stored = try object.value(name)
            let byName = try view.value(name)
            #expect(byName == stored, "\(name)")
            let seen = try seen(view, name, "Thing")
            #expect(seen == stored, "\(name) of \(object.name)")
          }
          let copy = view.managedObject()
          #expect(copy.id == id && copy["name"] == object["name"])
        }
      }
      let age = try test.store.attribute("Toy", "age", as: Int.self)
      let seen1 = try tx.withObject(ids[3]) { try $0.value(age) }
      #expect(seen1 == 3)
    }
  }

  @Test("a transaction's own changes are seen, transient values too")
  func ownChanges() throws {
    let passing = try test.store.attribute("Thing", "passing", as: String.self)
    let name = try test.store.attribute("Thing", "name", as: String.self)
    try test.store.write { tx in
      let box = try tx.insert("Box")
      let id = try tx.insert("Thing", ["passing": "by", "name": "a"], relationships: ["box": [box]])
      let seen = try tx.withObject(id) { view in
        (try view.value(passing), try view.value(name), view.toOne("box"), try view.value("passing"))
      }
      #expect(seen == ("by", "a", box, .string("by")))
      let seen2 = try tx.withObject(box) { $0.count("things") }
      #expect(seen2 == 1)
      try tx.set(id, "passing", nil)
      let seen3 = try tx.withObject(id) { try $0.value(passing) }
      #expect(seen3 == nil)
    }
    try checked(test.store)
  }

  @Test("objects come as a request, or the entity, has them; a body ends it, or throws")
  func many() throws {
    struct Stop: Error {}
    try test.store.write { tx in
      for number in 0..<20 {
        try tx.insert(number % 3 == 0 ? "Toy" : "Thing", ["middle": .integer(Int64(number * 7 % 20))])
      }
    }
    let middle = try test.store.attribute("Thing", "middle", as: Int.self)
    let request = FetchRequest(
      "Thing", predicate: try QueryPredicate(format: "middle > 4"),
      sortDescriptors: [QuerySortDescriptor(key: "middle", ascending: false)])
    try test.store.read { tx in
      var seen: [Int?] = []
      try tx.forEachView(matching: request) { view in
        seen.append(try view.value(middle))
        return true
      }
      #expect(seen == (5..<20).reversed().map { $0 })
      var ids: [ObjectID] = []
      try tx.forEachView(matching: request) { view in
        ids.append(view.id)
        return ids.count < 4
      }
      #expect(ids == Array(try tx.fetchIDs(request).prefix(4)))
      let prepared = try test.store.prepare(
        FetchRequest("Thing", predicate: try QueryPredicate(format: "middle == $middle")))
      for number in 0..<20 {
        var views: [ObjectID] = []
        try tx.forEachView(matching: prepared, ["middle": .integer(number)]) { view in
          let value = try view.value(middle)
          #expect(value == number)
          views.append(view.id)
          return true
        }
        #expect(views == (try tx.fetchIDs(prepared, ["middle": .integer(number)])) && views.count == 1)
      }
      for includes in [true, false] {
        var (views, objects): ([String], [String]) = ([], [])
        try tx.forEachView(of: "Thing", includesSubentities: includes) { view in
          views.append(view.name)
          return true
        }
        try tx.forEachObject(of: "Thing", includesSubentities: includes) { object in
          objects.append(object.name)
          return true
        }
        #expect(views == objects && !views.isEmpty)
      }
      #expect(throws: Stop.self) { try tx.forEachView(matching: request) { _ in throw Stop() } }
      #expect(throws: Stop.self) { try tx.forEachView(of: "Thing") { _ in throw Stop() } }
      #expect(throws: Stop.self) { try tx.withObject(ids[0]) { _ in throw Stop() } }
    }
  }

  @Test("keys that cannot be are refused when they are made, values that cannot be when they are read")
  func errors() throws {
    let store = test.store
    #expect(expectError(.unknownEntity) { _ = try store.attribute("No", "name", as: String.self) }?.entity == "No")
    let unknown = expectError(.unknownProperty) { _ = try store.attribute("Thing", "no", as: String.self) }
    #expect(unknown?.entity == "Thing" && unknown?.property == "no")
    expectError(.unknownProperty) { _ = try store.attribute("Thing", "box", as: String.self) }
    expectError(.unknownProperty) { _ = try store.attribute("Thing", "place.no", as: String.self) }
    let wrong = expectError(.wrongType) { _ = try store.attribute("Thing", "name", as: Int.self) }
    #expect(wrong?.property == "name" && wrong?.message.contains("String") == true)
    let ids = try store.write { tx in (try tx.insert("Thing", ["large": .integer(70_000)]), try tx.insert("Box")) }
    let small = try store.attribute("Thing", "large", as: Int16.self)
    let name = try store.attribute("Thing", "name", as: String.self)
    try store.read { tx in
      let error = expectError(.wrongType) { _ = try tx.withObject(ids.0) { try $0.value(small) } }
      #expect(error?.object == "Thing/1" && error?.property == "large")
      // A box has a name too, but not that of a thing.
      expectError(.unknownProperty) { _ = try tx.withObject(ids.1) { try $0.value(name) } }
      expectError(.unknownProperty) { _ = try tx.withObject(ids.1) { try $0.withUTF8(name) { _ in } } }
      expectError(.objectNotFound) {
        try tx.withObject(ObjectID(rootCode: ids.0.rootCode, serial: 99)) { _ in }
      }
      expectError(.objectNotFound) { try tx.withObject(ObjectID(rootCode: 77, serial: 1)) { _ in } }
    }
  }

  @Test("a key goes by the attribute's name in another store, and in the same one opened again")
  func otherStores() throws {
    let key = try test.store.attribute("Thing", "name", as: String.self)
    let large = try test.store.attribute("Thing", "large", as: Int.self)
    let other = try TestStore(
      ManagedObjectModel("Other") {
        EntityDescription("Before") { AttributeDescription("large", .string) }
        EntityDescription("Thing") {
          AttributeDescription("large", .string)
          AttributeDescription("name", .string)
        }
      })
    let id = try other.store.write { tx in try tx.insert("Thing", ["large": "wide", "name": "there"]) }
    try other.store.read { tx in
      let seen4 = try tx.withObject(id) { try $0.value(key) }
      #expect(seen4 == "there")
      expectError(.wrongType) { _ = try tx.withObject(id) { try $0.value(large) } }
    }
    let here = try test.store.write { tx in try tx.insert("Toy", ["name": "here", "large": 5]) }
    try test.reopen()
    try test.store.read { tx in
      let seen5 = try tx.withObject(here) { try $0.value(key) }
      #expect(seen5 == "here")
      let seen6 = try tx.withObject(here) { try $0.value(large) }
      #expect(seen6 == 5)
    }
  }

  @Test("a damaged record is not looked at")
  func damage() throws {
    let id = try test.store.write { tx in try tx.insert("Thing", ["name": "whole"]) }
    var session = try test.store.writeSession(label: "damage")
    let table = try test.store.schema.entity("Thing").table
    let key = ShortKey.object(id)
    var bytes = try #require(try session.storage.get(table, key.bytes)?.withUnsafeBytes { Array($0) })
    bytes[bytes.count - 1] ^= 1
    try session.storage.put(table, key.bytes, bytes.span.bytes)
    try WriteTransaction(session).commit(test.store)
    try test.store.read { tx in
      var looked = false
      expectError(.corrupted) { try tx.withObject(id) { _ in looked = true } }
      expectError(.corrupted) {
        try tx.forEachView(of: "Thing") { _ in
          looked = true
          return true
        }
      }
      #expect(!looked)
    }
  }
}

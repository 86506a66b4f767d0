import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

/// The model of the tests of fetch requests: attributes of every type, nested composites, inheritance, and
/// relationships of every shape. No predicate uses `key`, which names the object in the expectations of a test.
let fetchModel = ManagedObjectModel("Fetch") {
  CompositeAttributeDescription("Geo") {
    AttributeDescription("lat", .double)
    AttributeDescription("lon", .double)
  }
  CompositeAttributeDescription("Place") {
    AttributeDescription("city", .string)
    AttributeDescription("zip", .integer32)
    AttributeDescription("geo", .composite, composite: "Geo")
  }
  EntityDescription("Thing", abstract: true, indexes: thingIndexes) {
    AttributeDescription("key", .string)
    AttributeDescription("name", .string)
    AttributeDescription("title", .string)
    AttributeDescription("small", .integer16)
    AttributeDescription("medium", .integer32)
    AttributeDescription("big", .integer64)
    AttributeDescription("ratio", .double)
    AttributeDescription("weight", .float)
    AttributeDescription("price", .decimal)
    AttributeDescription("flag", .boolean)
    AttributeDescription("day", .date)
    AttributeDescription("uid", .uuid)
    AttributeDescription("link", .uri)
    AttributeDescription("data", .binary)
    AttributeDescription("archive", .transformable)
    AttributeDescription("place", .composite, composite: "Place")
    RelationshipDescription("parent", toOne: "Thing", inverse: "children")
    RelationshipDescription("children", toMany: "Thing", inverse: "parent", ordered: true)
    RelationshipDescription("tags", toMany: "Tag", inverse: "things")
    RelationshipDescription("best", toOne: "Tag")
    RelationshipDescription("seen", toMany: "Thing")
  }
  EntityDescription("Item", parent: "Thing", indexes: [fetchIndex("rank", "-name"), fetchIndex("name")]) {
    AttributeDescription("rank", .integer32)
  }
  EntityDescription("Special", parent: "Item") { AttributeDescription("extra", .string) }
  EntityDescription("Box", parent: "Thing") { AttributeDescription("label", .string) }
  EntityDescription("Tag", indexes: [fetchIndex("-points", "score"), fetchIndex("group", "name"), fetchIndex("score")])
  {
    AttributeDescription("key", .string)
    AttributeDescription("name", .string)
    AttributeDescription("points", .integer32)
    AttributeDescription("score", .double)
    RelationshipDescription("group", toOne: "Group", inverse: "tags")
    RelationshipDescription("things", toMany: "Thing", inverse: "tags")
  }
  EntityDescription("Group", indexes: [fetchIndex("name", "budget")]) {
    AttributeDescription("key", .string)
    AttributeDescription("name", .string)
    AttributeDescription("budget", .decimal)
    RelationshipDescription("tags", toMany: "Tag", inverse: "group", ordered: true)
    RelationshipDescription("owner", toOne: "Item")
  }
}

/// An index for every type, in both directions, alone and combined; `key` has none.
private let thingIndexes = [
  fetchIndex("name"), fetchIndex("~name"), fetchIndex("-~title"), fetchIndex("title", "-small"), fetchIndex("-small"),
  fetchIndex("medium"), fetchIndex("-big"), fetchIndex("ratio"), fetchIndex("-weight", "name"), fetchIndex("price"),
  fetchIndex("-price", "small"), fetchIndex("flag", "-day"), fetchIndex("day"), fetchIndex("-uid"), fetchIndex("link"),
  fetchIndex("data"), fetchIndex("archive", "small"), fetchIndex("place.city", "place.zip"),
  fetchIndex("-place.geo.lat"), fetchIndex("parent", "name"), fetchIndex("-best"), fetchIndex("flag", "name", "small"),
]

func decimalValue(_ text: String) -> AttributeValue { .decimal(Decimal(string: text) ?? .nan) }

extension QueryArgument {
  static func day(_ seconds: Double) -> QueryArgument { .value(.date(Date(timeIntervalSinceReferenceDate: seconds))) }
}

/// A store of `fetchModel`; tests identify its objects by their keys.
final class FetchStore {
  private let test: TestStore
  private var ids: [String: ObjectID] = [:]
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(fetchModel) }

  // MARK: Objects

  /// Inserts an object with this `key`.
  @discardableResult
  func add(
    _ key: String, _ values: [String: AttributeValue?] = [:], _ links: [String: [String]] = [:],
    of entity: String = "Item"
  ) throws -> ObjectID {
    let values = values.merging(["key": .string(key)]) { first, _ in first }
    let id = try store.insert(entity, values, relationships: links.mapValues { $0.map { self[$0] } })
    ids[key] = id
    return id
  }

  /// The id of the object with this key, or an id without an object.
  subscript(_ key: String) -> ObjectID { ids[key] ?? ObjectID(rawValue: 0) }

  func object(_ key: String) -> QueryArgument { .object(self[key]) }

  func name(_ key: String) throws -> String { try store.read { try $0.name(of: self[key]) } }

  // MARK: Requests

  /// Returns the keys of the objects that a predicate finds, by ascending id.
  ///
  /// Checks that all kinds of requests agree, that NOT finds the other objects, and that the printed predicate is
  /// equivalent.
  func find(
    _ format: String, _ arguments: QueryArgument..., in entity: String = "Thing",
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> String {
    let predicate = try QueryPredicate(format: format, arguments: arguments)
    let printed = predicate.predicateFormat
    #expect(try QueryPredicate(format: printed) == predicate, "\(printed)", sourceLocation: sourceLocation)
    let found = try find(FetchRequest(entity, predicate: predicate), sourceLocation: sourceLocation)
    let rest = try find(FetchRequest(entity, predicate: .not(predicate)), sourceLocation: sourceLocation)
    let all = try store.read { try $0.fetchIDs(FetchRequest(entity)) }
    #expect((found + rest).sorted() == all, "NOT (\(printed))", sourceLocation: sourceLocation)
    return try keys(found)
  }

  /// Returns the keys of the objects that a request finds, in its order.
  func ask(_ request: FetchRequest, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
    try keys(try find(request, sourceLocation: sourceLocation))
  }

  private func find(_ request: FetchRequest, sourceLocation: SourceLocation) throws -> [ObjectID] {
    try store.read { tx in
      let found = try tx.fetchIDs(request)
      #expect(try tx.fetch(request).map(\.id) == found, sourceLocation: sourceLocation)
      #expect(try tx.count(request) == found.count, sourceLocation: sourceLocation)
      var visited: [ObjectID] = []
      try tx.forEachObject(matching: request) { object in
        visited.append(object.id)
        return true
      }
      #expect(visited == found, sourceLocation: sourceLocation)
      #expect(!(try tx.explain(request)).isEmpty, sourceLocation: sourceLocation)
      for use in RequestPlanner.IndexUse.all {
        #expect(try tx.ids(request, use) == found, "indexes: \(use)", sourceLocation: sourceLocation)
        #expect(try tx.count(request, use) == found.count, "indexes: \(use)", sourceLocation: sourceLocation)
      }
      return found
    }
  }

  private func keys(_ found: [ObjectID]) throws -> String {
    let names = Dictionary(uniqueKeysWithValues: ids.map { ($0.value, $0.key) })
    return found.map { names[$0] ?? "?" }.joined(separator: " ")
  }

  /// Returns the keys of all objects that a predicate finds in a transaction.
  func keys(_ format: String, _ arguments: QueryArgument..., in tx: borrowing WriteTransaction) throws -> String {
    let predicate = try QueryPredicate(format: format, arguments: arguments)
    let objects = try tx.fetch(FetchRequest("Thing", predicate: predicate))
    return objects.map { object in
      if case .string(let key)? = object["key"] { key } else { "?" }
    }.joined(separator: " ")
  }

  // MARK: Rejections

  /// Expects that all kinds of requests reject a predicate, whether or not the entity has objects.
  func expectRefusal(
    _ kind: StoreError.Kind, _ format: String, _ arguments: QueryArgument..., in asked: String = "Thing",
    entity: String? = nil, property: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let predicate = try QueryPredicate(format: format, arguments: arguments)
    let request = FetchRequest(asked, predicate: predicate)
    expectRefusal(kind, request, entity: entity, property: property, sourceLocation: sourceLocation)
  }

  func expectRefusal(
    _ kind: StoreError.Kind, _ request: FetchRequest, entity: String? = nil, property: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let ways: [(borrowing ReadTransaction) throws -> Void] = [
      { _ = try $0.fetch(request) }, { _ = try $0.fetchIDs(request) }, { _ = try $0.count(request) },
      { try $0.forEachObject(matching: request) { _ in true } }, { _ = try $0.explain(request) },
    ]
    var places: Set<String> = []
    for way in ways {
      let error = expectError(kind, sourceLocation: sourceLocation) { try store.read(way) }
      if let entity, error?.entity != entity { places.insert("entity \(error?.entity ?? "nil") instead of \(entity)") }
      if let property, error?.property?.split(separator: ".").contains(Substring(property)) != true {
        places.insert("property \(error?.property ?? "nil") instead of \(property)")
      }
      #expect(error?.message.isEmpty == false, sourceLocation: sourceLocation)
    }
    #expect(places.isEmpty, "\(request.predicate?.predicateFormat ?? "")", sourceLocation: sourceLocation)
  }
}

extension RequestPlanner.IndexUse {
  static let all: [Self] = [.never, .always, .whereCheaper]
}

/// Requests with indexes, or without.
extension ObjectReading where Self: ~Copyable {
}

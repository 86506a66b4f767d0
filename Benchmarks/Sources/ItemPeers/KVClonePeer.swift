import BenchmarkSupport
import Foundation
import KVClone

/// The graph in a KVClone store, through the public interface.
package struct KVClonePeer: Contestant {
  package static let title = "KVClone"

  private static let model = ManagedObjectModel("Items") {
    EntityDescription(
      "Item",
      indexes: [
        FetchIndexDescription("byCode", [.init("code")]), FetchIndexDescription("byRank", [.init("rank")]),
      ]
    ) {
      AttributeDescription("name", .string)
      AttributeDescription("code", .integer64)
      AttributeDescription("rank", .integer32)
      AttributeDescription("price", .double)
      AttributeDescription("flag", .boolean)
      AttributeDescription("created", .date)
      AttributeDescription("note", .string)
      RelationshipDescription("list", toOne: "List", inverse: "items")
      RelationshipDescription("tags", toMany: "Tag", inverse: "items")
    }
    EntityDescription("List") {
      AttributeDescription("title", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "list")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "tags")
    }
  }

  package let store: ObjectStore
  /// The root codes of the ids of each entity.
  private let itemCode, listCode, tagCode: UInt16
  let requests: ItemRequests
  let attributes: ItemAttributes

  /// The number of objects per transaction while a store is filled.
  private static let itemsPerTransaction = 100_000

  package init(making graph: ItemGraph, in folder: String) throws {
    var options = StoreOptions()
    // A write-ahead log as in the SQLite peer: both make commits durable with one sync of a log.
    options.journalMode = .writeAheadLog
    store = try ObjectStore.create(at: folder, model: Self.model, options: options)
    requests = try ItemRequests(store)
    attributes = try ItemAttributes(store)
    (itemCode, listCode, tagCode) = try store.write { transaction in
      var (list, tag) = (UInt16(0), UInt16(0))
      for number in 1...ItemGraph.listCount {
        list = try transaction.insert("List", ["title": .string("List \(number)")]).rootCode
      }
      for number in 1...ItemGraph.tagCount {
        tag = try transaction.insert("Tag", ["name": .string("Tag \(number)")]).rootCode
      }
      let first = graph.item(1)
      let item = try transaction.insert(
        "Item", first.item.values,
        relationships: [
          "list": [ObjectID(rootCode: list, serial: UInt64(first.list))],
          "tags": first.tags.map { ObjectID(rootCode: tag, serial: UInt64($0)) },
        ])
      return (item.rootCode, list, tag)
    }
    for start in stride(from: 2, through: graph.itemCount, by: Self.itemsPerTransaction) {
      let end = min(start + Self.itemsPerTransaction, graph.itemCount + 1)
      try store.write { transaction in
        for id in start..<end { try insert(graph.item(id), &transaction) }
      }
    }
  }

  func item(_ number: Int) -> ObjectID { ObjectID(rootCode: itemCode, serial: UInt64(number)) }
  func list(_ number: Int) -> ObjectID { ObjectID(rootCode: listCode, serial: UInt64(number)) }
  func tag(_ number: Int) -> ObjectID { ObjectID(rootCode: tagCode, serial: UInt64(number)) }

  package func insert(_ new: LinkedItem, _ transaction: inout WriteTransaction) throws {
    let id = try transaction.insert(
      "Item", new.item.values, relationships: ["list": [list(new.list)], "tags": new.tags.map(tag)])
    guard id.serial == UInt64(new.item.id) else {
      throw PeerFailure("KVClone gave item \(new.item.id) the serial \(id.serial)")
    }
  }

  package func close() { store.close() }
}

/// The attributes of items, looked up once, like the columns of statements.
struct ItemAttributes: Sendable {
  let name, note: AttributeKey<String>
  let code, rank: AttributeKey<Int>
  let price: AttributeKey<Double>
  let flag: AttributeKey<Bool>
  let created: AttributeKey<Date>

  init(_ store: ObjectStore) throws {
    name = try store.attribute("Item", "name")
    note = try store.attribute("Item", "note")
    code = try store.attribute("Item", "code")
    rank = try store.attribute("Item", "rank")
    price = try store.attribute("Item", "price")
    flag = try store.attribute("Item", "flag")
    created = try store.attribute("Item", "created")
  }
}

/// The requests of the tasks, prepared once like the SQLite peer's statements; each use binds values.
struct ItemRequests: Sendable {
  let code, rank, match: PreparedRequest

  init(_ store: ObjectStore) throws {
    func prepare(_ format: String) throws -> PreparedRequest {
      try store.prepare(FetchRequest("Item", predicate: try QueryPredicate(format: format)))
    }
    code = try prepare("code == $code")
    rank = try prepare("rank >= $low AND rank < $high")
    match = try prepare("price < $price AND flag == YES")
  }

  static func code(_ value: Int) -> QueryVariables { ["code": .integer(value)] }

  static func ranks(_ range: Range<Int>) -> QueryVariables {
    ["low": .integer(range.lowerBound), "high": .integer(range.upperBound)]
  }

  static func matches(below price: Double) -> QueryVariables { ["price": .double(price)] }

  func first(_ count: Int, by attribute: String) -> FetchRequest {
    FetchRequest("Item", sortDescriptors: [QuerySortDescriptor(key: attribute)], fetchLimit: count)
  }
}

extension Item {
  var values: [String: AttributeValue?] {
    [
      "name": .string(name), "code": .integer(Int64(code)), "rank": .integer(Int64(rank)), "price": .double(price),
      "flag": .boolean(flag), "created": .date(Date(timeIntervalSinceReferenceDate: created)), "note": .string(note),
    ]
  }

  init(_ object: ObjectView, _ attributes: ItemAttributes) throws {
    guard let name = try object.value(attributes.name), let code = try object.value(attributes.code),
      let rank = try object.value(attributes.rank), let price = try object.value(attributes.price),
      let flag = try object.value(attributes.flag), let created = try object.value(attributes.created),
      let note = try object.value(attributes.note)
    else { throw PeerFailure("\(object.name) lacks an attribute") }
    self.init(
      id: Int(object.id.serial), name: name, code: code, rank: rank, price: price, flag: flag,
      created: created.timeIntervalSinceReferenceDate, note: note)
  }
}

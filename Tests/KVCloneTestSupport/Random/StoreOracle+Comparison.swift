import Foundation
import KVClone
package import KVCloneCore
import KVCloneQuery

/// A difference between a store and its oracle.
package struct StoreDifference: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

extension StoreOracle {
  private func shown(_ value: AttributeValue?) -> String { value.map { "\($0)" } ?? "nil" }

  /// Compares the whole store: objects, values, members in order, counts, blobs.
  package func compare(_ tx: borrowing ReadTransaction) throws {
    var seen: Set<ObjectID> = []
    for entity in ["Named", "Tag", "Note"] {
      try tx.forEachObject(of: entity) { object in
        seen.insert(object.id)
        guard let expected = objects[object.id] else { throw StoreDifference("\(object.name) should be gone") }
        guard object.entityName == expected.entity else { throw StoreDifference("\(object.name) is another entity") }
        for attribute in model.attributes(of: expected.entity) where attribute.name != "data" {
          let value =
            attribute.isDerived ? derived(object.id, attribute.name) : expected.values[attribute.name]
          guard object[attribute.name] == value else {
            throw StoreDifference(
              "\(object.name).\(attribute.name) is \(shown(object[attribute.name])), not \(shown(value))")
          }
        }
        return true
      }
    }
    guard seen == Set(objects.keys) else { throw StoreDifference("objects are missing") }
    for (id, object) in objects {
      guard try tx.provenance(of: id)?.source == sources[id] else {
        throw StoreDifference("what \(object.entity)/\(id.serial) was cloned from")
      }
      for relationship in model.relationships(of: object.entity) {
        let members = try tx.members(id, relationship.name)
        let isCounted = try tx.count(id, relationship.name) == members.count
        guard isCounted, members == object.links[relationship.name] ?? [] else {
          throw StoreDifference("\(object.entity)/\(id.serial).\(relationship.name)")
        }
      }
      guard model.attribute("data", of: object.entity) != nil else { continue }
      let data = try tx.data(id, "data").map { AttributeValue.binary($0) }
      guard data == object.values["data"] else { throw StoreDifference("\(object.entity)/\(id.serial).data") }
    }
  }
}

/// Fetches, with and without indexes, and their expected results.
extension StoreOracle {
  /// Fetches some objects by every index, without an index, and as counts.
  package func compareFetches(_ tx: borrowing ReadTransaction, _ random: inout SeededGenerator) throws {
    let person = ids("Person").randomElement(using: &random)
    let code = (objects.keys.sorted().randomElement(using: &random)).flatMap { objects[$0]?.integer("code") }
    let from = code ?? Int64(random.below(20_000))
    let to = from + Int64(random.below(4000))
    try compare(tx, "Named", "code == %@", [.value(.integer(from))]) { $0.integer("code") == from }
    try compare(tx, "Named", "code >= %@ AND code < %@", [.value(.integer(from)), .value(.integer(to))]) {
      ($0.integer("code") ?? -1) >= from && ($0.integer("code") ?? .max) < to
    }
    try compare(tx, "Named", "code == nil") { $0.values["code"] == nil }
    let name = AttributeValue.string(String(repeating: "n", count: random.below(40)))
    try compare(tx, "Named", "name == %@", [.value(name)]) { $0.values["name"] == name }
    try compare(tx, "Named", "name BEGINSWITH 'no'") { $0.values["name"] == .string("nobody") }
    let motto = Int64(random.below(20))
    try compare(tx, "Club", "motto >= %@", [.value(.integer(motto))]) { ($0.integer("motto") ?? -1) >= motto }
    let text = ids("Note").randomElement(using: &random).flatMap { objects[$0]?.values["text"] } ?? .string("note 1")
    try compare(tx, "Note", "text == %@", [.value(text)]) { $0.values["text"] == text }
    try compare(tx, "Employee", "badge <= 1") { ($0.integer("badge") ?? .max) <= 1 }
    if let person {
      try compare(tx, "Note", "author == %@", [.object(person)]) { $0.links["author"] == [person] }
      try compare(tx, "Person", "boss == %@", [.object(person)]) { $0.links["boss"] == [person] }
      try compare(tx, "Club", "motto == %@ AND sponsor == %@", [.value(.integer(motto)), .object(person)]) {
        $0.integer("motto") == motto && $0.links["sponsor"] == [person]
      }
    }
    if model.attribute("noteCount", of: "Person") != nil {
      let count = random.below(4)
      try compare(tx, "Person", "noteCount == %@", [.value(.integer(Int64(count)))]) {
        $0.links["notes"]?.count ?? 0 == count
      }
    }
    let sorted = FetchRequest(
      "Named", sortDescriptors: [.init(key: "name"), .init(key: "code", ascending: false)])
    guard try tx.ids(sorted, .always) == tx.ids(sorted, .never) else { throw StoreDifference("sorted by name, code") }
  }

  private func compare(
    _ tx: borrowing ReadTransaction, _ entity: String, _ format: String, _ arguments: [QueryArgument] = [],
    _ isWanted: (Object) -> Bool
  ) throws {
    let request = FetchRequest(entity, predicate: try QueryPredicate(format: format, arguments: arguments))
    let expected = ids(entity).filter { objects[$0].map(isWanted) ?? false }
    for use in [RequestPlanner.IndexUse.always, .never] {
      let found = try tx.ids(request, use).sorted()
      guard found == expected else {
        throw StoreDifference("\(entity) where \(format) \(arguments): \(found) for \(expected), indexes \(use)")
      }
    }
    guard try tx.count(request, .always) == expected.count else {
      throw StoreDifference("the number of \(entity) where \(format) \(arguments)")
    }
  }
}

extension StoreOracle.Object {
  fileprivate func integer(_ name: String) -> Int64? {
    if case .integer(let number)? = values[name] { number } else { nil }
  }
}

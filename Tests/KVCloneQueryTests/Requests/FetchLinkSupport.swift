import Foundation
import KVClone
import KVCloneTestSupport

@testable import KVCloneCore
@testable import KVCloneQuery

/// Relationships of every kind to objects that have indexes: their own, inherited ones that are shared with objects
/// without the relationship, and those of descendants.
let linkModel = ManagedObjectModel("Links") {
  EntityDescription("Holder", abstract: true, indexes: [fetchIndex("label")]) {
    AttributeDescription("label", .string)
  }
  EntityDescription(
    "Bag", parent: "Holder", unique: [["code"]],
    indexes: [fetchIndex("title"), fetchIndex("~title"), fetchIndex("size", "kind"), fetchIndex("owner")]
  ) {
    AttributeDescription("code", .string)
    AttributeDescription("title", .string)
    AttributeDescription("kind", .string)
    AttributeDescription("size", .double)
    AttributeDescription("note", .string)
    RelationshipDescription("items", toMany: "Item", inverse: "bag", ordered: true)
    RelationshipDescription("owner", toOne: "Tag", inverse: "bags")
  }
  EntityDescription("Sack", parent: "Bag", indexes: [fetchIndex("cloth")]) { AttributeDescription("cloth", .string) }
  EntityDescription("Crate", parent: "Holder") {}
  EntityDescription("Item", indexes: [fetchIndex("rank")]) {
    AttributeDescription("rank", .integer32)
    AttributeDescription("note", .string)
    RelationshipDescription("bag", toOne: "Bag", inverse: "items")
    RelationshipDescription("spare", toOne: "Bag")
    RelationshipDescription("tags", toMany: "Tag", inverse: "items")
    RelationshipDescription("marks", toMany: "Tag", inverse: "marked", ordered: true)
    RelationshipDescription("twin", toOne: "Item", inverse: "twin")
    RelationshipDescription("friends", toMany: "Item", inverse: "friends")
  }
  EntityDescription("Special", parent: "Item", indexes: [fetchIndex("extra")]) {
    AttributeDescription("extra", .string)
    RelationshipDescription("chief", toOne: "Tag", inverse: "specials")
  }
  EntityDescription("Tag", indexes: [fetchIndex("name"), fetchIndex("-points", "name")]) {
    AttributeDescription("name", .string)
    AttributeDescription("points", .integer32)
    AttributeDescription("note", .string)
    RelationshipDescription("items", toMany: "Item", inverse: "tags")
    RelationshipDescription("marked", toMany: "Item", inverse: "marks", ordered: true)
    RelationshipDescription("specials", toMany: "Special", inverse: "chief")
    RelationshipDescription("bags", toMany: "Bag", inverse: "owner")
  }
}

/// Random conditions on linked objects, and random changes of these.
struct LinkGenerator {
  private(set) var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

  // MARK: Conditions

  private static let texts = ["title", "label", "kind", "code", "note"]

  /// Returns a condition on an item.
  mutating func condition(depth: Int = 2) -> String {
    switch depth > 0 ? random.below(9) : 8 {
    case 0, 1: "(\(condition(depth: depth - 1)) AND \(condition(depth: depth - 1)))"
    case 2: "(\(condition(depth: depth - 1)) OR \(condition(depth: depth - 1)))"
    case 3: "NOT (\(condition(depth: depth - 1)))"
    default: comparison()
    }
  }

  private mutating func comparison() -> String {
    let one = pick(["bag", "bag", "bag", "spare"])
    let many = pick(["tags", "tags", "marks"])
    let word = pick(["ANY", "ANY", "ANY", "ALL", "NONE"])
    switch random.below(13) {
    case 0, 1, 2: return textTest("\(one).\(pick(Self.texts))")
    case 3: return numberTest("\(one).size")
    case 4: return "canonical:(bag.title) \(pick(["==", "<"])) \(text(hasNil: false))"
    case 5, 6: return "\(word) " + textTest("\(many).name")
    case 7: return "\(word) " + numberTest("\(many).points")
    case 8: return "\(pick(["ANY friends", "twin"])).rank \(pick(["==", "<", "!="])) \(random.below(5))"
    case 9: return "\(many).name CONTAINS \(text(hasNil: true))"
    case 10: return "\(text(hasNil: true)) IN \(many).name"
    case 11: return "\(text(hasNil: true)) == bag.title"
    default:
      let inner = "\(textTest("$t.name")) AND \(numberTest("$t.points"))"
      let count = pick(["> 0", ">= 1", "!= 0", "== 1", "== 0", "< 2", "> -1", "> 1"])
      return "SUBQUERY(\(many), $t, \(random.chance(in: 2) ? inner : textTest("$t.name"))).@count \(count)"
    }
  }

  private mutating func textTest(_ path: String) -> String {
    switch random.below(8) {
    case 0: "\(path) IN {\(text(hasNil: true)), \(text(hasNil: true)), \(text(hasNil: true))}"
    case 1: "\(path) BEGINSWITH \(text(hasNil: false))"
    case 2: "\(path) ==[cd] \(text(hasNil: false))"
    case 3: "\(path) \(pick(["!=", "<", "<=", ">", ">="])) \(text(hasNil: true))"
    case 4: "\(path) BETWEEN {\(text(hasNil: false)), \(text(hasNil: false))}"
    default: "\(path) == \(text(hasNil: true))"
    }
  }

  private mutating func numberTest(_ path: String) -> String {
    let value = random.chance(in: 6) ? "nil" : "\(random.below(5))"
    return "\(path) \(pick(["==", "==", "!=", "<", ">=", ">"])) \(value)"
  }

  private mutating func text(hasNil: Bool) -> String {
    hasNil && random.chance(in: 6) ? "nil" : "'\(pick(Self.words))'"
  }

  // MARK: Changes

  private static let words = ["a", "A", "ä", "b", "ab", "ba", ""]

  private mutating func word() -> AttributeValue? { random.chance(in: 5) ? nil : .string(pick(Self.words)) }

  /// Inserts, changes, links and deletes some objects.
  mutating func change(_ tx: inout WriteTransaction, count: Int) throws {
    for _ in 0..<count {
      switch random.below(10) {
      case 0...3: try insert(&tx)
      case 4...5: try set(&tx)
      case 6...8: try link(&tx)
      default:
        let ids = try tx.fetchIDs(FetchRequest(pick(["Item", "Tag", "Bag", "Crate"])))
        if ids.count > 3, let id = ids.randomElement(using: &random) { try tx.delete([id]) }
      }
    }
  }

  private mutating func insert(_ tx: inout WriteTransaction) throws {
    let entity = pick(["Item", "Item", "Item", "Special", "Bag", "Sack", "Crate", "Tag", "Tag"])
    switch entity {
    case "Tag": try tx.insert(entity, ["name": word(), "points": .integer(Int64(random.below(5)))])
    case "Item", "Special":
      let bag = try tx.fetchIDs(FetchRequest("Bag")).randomElement(using: &random)
      let tags = try tx.fetchIDs(FetchRequest("Tag")).shuffled(using: &random).prefix(random.below(4))
      try tx.insert(
        entity, ["rank": .integer(Int64(random.below(5)))],
        relationships: ["bag": bag.map { [$0] } ?? [], "tags": Array(tags), "marks": tags.reversed()])
    default:
      var values = ["label": word()]
      if entity != "Crate" {
        for name in ["title", "kind", "note"] { values[name] = word() }
        values["size"] = random.chance(in: 5) ? nil : .double(Double(random.below(5)))
        // Unique.
        if random.chance(in: 4), let code = word() {
          let predicate = try QueryPredicate(format: "code == %@", arguments: [.value(code)])
          if try tx.count(FetchRequest("Bag", predicate: predicate)) == 0 { values["code"] = code }
        }
      }
      try tx.insert(entity, values)
    }
  }

  private mutating func set(_ tx: inout WriteTransaction) throws {
    let entity = pick(["Bag", "Tag"])
    guard let id = try tx.fetchIDs(FetchRequest(entity)).randomElement(using: &random) else { return }
    try tx.set(id, entity == "Tag" ? "name" : pick(["title", "kind", "label"]), word())
  }

  private mutating func link(_ tx: inout WriteTransaction) throws {
    let (items, bags, tags) = (
      try tx.fetchIDs(FetchRequest("Item")), try tx.fetchIDs(FetchRequest("Bag")), try tx.fetchIDs(FetchRequest("Tag"))
    )
    guard let item = items.randomElement(using: &random) else { return }
    let some = Array(items.shuffled(using: &random).prefix(random.below(4)))
    switch random.below(8) {
    case 0: try tx.setToOne(item, "bag", random.chance(in: 4) ? nil : bags.randomElement(using: &random))
    case 1: try tx.setToOne(item, "spare", bags.randomElement(using: &random))
    case 2: try tx.setToOne(item, "twin", items.randomElement(using: &random))
    case 3: try tx.setMembers(item, "friends", some)
    case 4: try tx.setMembers(item, "tags", Array(tags.shuffled(using: &random).prefix(random.below(4))))
    case 5: try tx.setMembers(item, "marks", Array(tags.shuffled(using: &random).prefix(random.below(4))))
    case 6: if let bag = bags.randomElement(using: &random) { try tx.setMembers(bag, "items", some) }
    default: if let tag = tags.randomElement(using: &random) { try tx.setMembers(tag, "items", some) }
    }
  }
}

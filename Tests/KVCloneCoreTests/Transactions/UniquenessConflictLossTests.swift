import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

private let reviewModel = ManagedObjectModel("Conflicts") {
  EntityDescription("Place", unique: [["code"], ["name"]]) {
    AttributeDescription("code", .integer64)
    AttributeDescription("name", .string)
    RelationshipDescription("next", toOne: "Place", inverse: "previous", deleteRule: .cascade)
    RelationshipDescription("previous", toOne: "Place", inverse: "next")
    RelationshipDescription("below", toMany: "Place", inverse: "above", deleteRule: .cascade)
    RelationshipDescription("above", toOne: "Place", inverse: "below")
    RelationshipDescription("shared", toMany: "Thing", inverse: "places", deleteRule: .cascade)
    RelationshipDescription("held", toMany: "Thing", inverse: "holders", ordered: true, deleteRule: .deny)
    RelationshipDescription("own", toMany: "Thing", deleteRule: .cascade)
    RelationshipDescription("main", toOne: "Thing", deleteRule: .cascade)
    RelationshipDescription("kind", toOne: "Thing", inverse: "kindOf", deleteRule: .cascade)
    RelationshipDescription("near", toMany: "Place")
    RelationshipDescription("pal", toOne: "Place")
  }
  EntityDescription("Harbor", parent: "Place") {}
  EntityDescription("Thing") {
    RelationshipDescription("places", toMany: "Place", inverse: "shared")
    RelationshipDescription("holders", toMany: "Place", inverse: "held")
    RelationshipDescription("kindOf", toMany: "Place", inverse: "kind")
  }
  EntityDescription("Log") {
    RelationshipDescription("about", toMany: "Place")
    RelationshipDescription("harbors", toMany: "Harbor")
  }
}

/// Faults of conflict resolution that a review found, each in the smallest form that showed it.
@Suite("Uniqueness conflicts: what must not go with the one that goes")
struct UniquenessConflictLossTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(reviewModel) }

  static let merging: [MergePolicy] = [.mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite]

  /// The things of a place, one for each relationship that is preserved when another place replaces it.
  private func insertThings(_ tx: inout WriteTransaction) throws -> [String: [ObjectID]] {
    var things: [String: [ObjectID]] = [:]
    for name in ["shared", "held", "own", "main", "kind"] { things[name] = [try tx.insert("Thing")] }
    return things
  }

  @Test("merged links do not cascade from the new object that is replaced", arguments: merging)
  func takenFromNew(_ policy: MergePolicy) throws {
    let stored = try store.insert("Place", ["code": 1])
    let things = try store.merge(policy) { tx in
      let things = try insertThings(&tx)
      try tx.insert("Place", ["code": 1], relationships: things)
      return things
    }
    for (name, things) in things { #expect(try store.members(stored, name) == things, "\(name)") }
    #expect(try store.objects("Place") == [stored])
    try checked(store)
  }

  @Test(
    "what was taken over does not cascade from the stored object that goes",
    arguments: [MergePolicy.mergeByPropertyObjectTrump, .overwrite])
  func takenFromStored(_ policy: MergePolicy) throws {
    let things = try store.write { tx in
      let things = try insertThings(&tx)
      try tx.insert("Place", ["code": 1], relationships: things)
      return things
    }
    let other = try store.insert("Place", ["code": 2])
    try store.merge(policy) { try $0.set(other, "code", 1) }
    for name in ["shared", "held", "own"] { #expect(try store.members(other, name) == things[name], "\(name)") }
    for name in ["main", "kind"] {
      // Targets that the policy does not transfer are deleted by the cascade rule.
      let isTaken = policy == .mergeByPropertyObjectTrump
      #expect(try store.members(other, name) == (isTaken ? things[name] : []), "\(name)")
      for thing in things[name] ?? [] { #expect(try store.exists(thing) == isTaken) }
    }
    #expect(try store.objects("Place") == [other])
    try checked(store)
  }

  @Test("the one that stays does not cascade from the new one that goes, by way of others")
  func keptBehindNew() throws {
    let first = try store.merge(.rollback) { tx in
      let first = try tx.insert("Place", ["code": 1, "name": "first"])
      let last = try tx.insert("Place", ["code": 1])
      let between = try tx.insert("Place", relationships: ["above": [last]])
      try tx.link(between, "below", [first])
      return first
    }
    #expect(try store.objects("Place") == [first] && store.value(first, "name") == "first")
    #expect(try store.toOne(first, "above") == nil)
    try checked(store)
  }

  @Test("the one that stays does not cascade from the stored one that goes, by way of others")
  func keptBehindStored() throws {
    // A ring of targets that the policy does not transfer: the remaining object has its own.
    let (holder, kept, end) = try store.write { tx in
      let end = try tx.insert("Place", ["name": "end"])
      let kept = try tx.insert("Place", ["code": 2, "name": "kept"], relationships: ["next": [end]])
      let between = try tx.insert("Place", relationships: ["next": [kept]])
      return (try tx.insert("Place", ["code": 1], relationships: ["next": [between]]), kept, end)
    }
    try store.merge(.overwrite) { try $0.set(kept, "code", 1) }
    #expect(try store.objects("Place") == [end, kept] && !store.exists(holder))
    #expect(try store.value(kept, "code") == 1 && store.toOne(kept, "next") == end)
    #expect(try store.toOne(kept, "previous") == nil)
    try checked(store)
  }

  @Test("a batch answers ids of objects that are there after the commit", arguments: merging)
  func batch(_ policy: MergePolicy) throws {
    let result = try store.merge(policy) { tx in
      try tx.batchInsert(
        "Place", [["code": 1], ["name": "b"], ["code": 1, "name": "b"], ["name": "c"], ["code": 1]],
        resultType: .objectIDs)
    }
    let places = try store.objects("Place")
    // The second overwrites the first's code too, with nil.
    #expect(places.count == (policy == .overwrite ? 3 : 2) && result.objectIDs.count == 5)
    #expect(result.objectIDs.allSatisfy { places.contains($0) }, "\(result.objectIDs), \(places)")
    #expect(result.objectIDs[1] == result.objectIDs[0] && result.objectIDs[2] == result.objectIDs[0])
    try checked(store)
  }

  @Test("an object that took another's place, and then went too, is not known as a target any more")
  func knownTarget() throws {
    let stored = try store.insert("Place", ["name": "b"])
    try store.merge(.overwrite) { tx in
      let first = try tx.insert("Place", ["code": 1])
      let last = try tx.insert("Place", ["code": 1, "name": "b"])
      try tx.insert("Log", relationships: ["about": [last]])
      #expect(try tx.resolveConstraintConflicts() == [last: stored, first: stored])
      expectError(.objectNotFound) { try tx.insert("Log", relationships: ["about": [first]]) }
      try tx.insert("Log", relationships: ["about": [stored]])
    }
    for log in try store.objects("Log") { #expect(try store.members(log, "about") == [stored]) }
    #expect(try store.objects("Log").count == 2 && store.objects("Place") == [stored])
    try checked(store)
  }

  @Test("links between the two go, and one that leads to the other does not count as set")
  func betweenTheTwo() throws {
    let (kept, third) = (try store.insert("Place", ["code": 1]), try store.insert("Place"))
    try store.merge(.mergeByPropertyStoreTrump) { tx in
      let gone = try tx.insert("Place", ["code": 1], relationships: ["near": [kept, third], "pal": [third]])
      try tx.link(gone, "near", [gone])
      try tx.link(kept, "near", [gone])
      try tx.link(kept, "pal", [gone])
    }
    #expect(try store.members(kept, "near") == [third] && store.toOne(kept, "pal") == third)
    #expect(try store.objects("Place") == [kept, third])
    try checked(store)
  }

  @Test("a link that the one that stays does not fit goes")
  func misfit() throws {
    let kept = try store.insert("Place", ["code": 1])
    let log = try store.merge(.overwrite) { tx in
      let gone = try tx.insert("Harbor", ["code": 1])
      return try tx.insert("Log", relationships: ["about": [gone], "harbors": [gone]])
    }
    #expect(try store.members(log, "about") == [kept] && store.members(log, "harbors").isEmpty)
    try checked(store)
  }

  @Test("an object that was reverted to its stored state is reverted again after merging another object's values")
  func returnsTwice() throws {
    let ids = try store.write { tx in
      [
        try tx.insert("Place", ["code": 1]), try tx.insert("Place", ["code": 2]), try tx.insert("Place", ["name": "b"]),
        try tx.insert("Place", ["name": "z"]),
      ]
    }
    try store.merge(.mergeByPropertyStoreTrump) { tx in
      try tx.set(ids[1], "code", 1)
      try tx.set(ids[2], "name", "z")
      // Merged into the second as soon as that has its code again, which then gets the third's name.
      try tx.insert("Place", ["code": 2, "name": "b"])
    }
    #expect(try store.objects("Place") == ids)
    #expect(try store.value(ids[1], "code") == 2 && store.value(ids[1], "name") == nil)
    #expect(try store.value(ids[2], "code") == nil && store.value(ids[2], "name") == "b")
    try checked(store)
  }

  @Test("immediate resolution continues until no conflict is left")
  func atOnce() throws {
    let ids = try (1...4).map { try store.insert("Place", ["code": .integer($0)]) }
    try store.merge(.rollback) { tx in
      for (index, id) in ids.dropLast().enumerated() { try tx.set(id, "code", .integer(Int64(index) + 2)) }
      try tx.resolveConstraintConflicts()
      for (index, id) in ids.enumerated() { #expect(try tx.value(id, "code") == .integer(Int64(index) + 1)) }
    }
    try checked(store)
  }

  @Test("settling at once computes derived attributes before and after")
  func derivedAtOnce() throws {
    let words = try TestStore(mergeModel)
    let milk = try words.store.insert("Word", ["text": "Milk"])
    let bread = try words.store.insert("Word", ["text": "Bread"])
    try words.store.merge(.mergeByPropertyStoreTrump) { tx in
      let new = try tx.insert("Word", ["text": "MILK"])
      #expect(try tx.resolveConstraintConflicts() == [new: milk])
      try tx.set(bread, "text", "milk")
      try tx.resolveConstraintConflicts()
      #expect(try tx.value(bread, "text") == "Bread" && tx.value(bread, "folded") == "bread")
    }
    try checked(words.store)
  }

  @Test("after a save, ids lead to the objects that stayed, when hooks make the conflict too")
  func saveWithHooks() throws {
    let stored = try store.insert("Place", ["name": "red"])
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      guard case .string(let name)? = try tx.value(id, "name"), name != name.lowercased() else { return }
      try tx.set(id, "name", .string(name.lowercased()))
    }
    try store.register(hooks, for: "Place")
    var context = EditingContext(store)
    let temporary = try context.insert("Place", ["name": "RED", "code": 7])
    let result = try context.save(mergePolicy: .mergeByPropertyObjectTrump)
    #expect(try result.id(of: temporary) == stored && store.value(stored, "code") == 7)
    #expect(try store.objects("Place") == [stored])
    try checked(store)
  }
}

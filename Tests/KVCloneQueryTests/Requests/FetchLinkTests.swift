import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

/// Conditions on linked objects, answered by the index of another entity.
@Suite("Fetch requests: over the indexes of linked objects")
struct FetchLinkTests {
  let test: TestStore
  let bags: [ObjectID]
  let tags: [ObjectID]

  init() throws {
    test = try TestStore(linkModel)
    (bags, tags) = try test.store.write { tx in
      var (bags, tags): ([ObjectID], [ObjectID]) = ([], [])
      for number in 0..<50 {
        let values: [String: AttributeValue?] = [
          "code": .string("c\(number)"), "title": number == 49 ? nil : .string("b\(number)"),
          "label": .string("l\(number % 10)"), "kind": .string(number % 2 == 0 ? "even" : "odd"),
          "size": .double(Double(number % 25)),
        ]
        tags.append(try tx.insert("Tag", ["name": .string("t\(number)"), "points": .integer(Int64(number))]))
        bags.append(try tx.insert(number % 5 == 0 ? "Sack" : "Bag", values, relationships: ["owner": [tags[number]]]))
        try tx.insert("Crate", ["label": .string("l\(number % 10)")])
      }
      for number in 0..<2000 {
        try tx.insert(
          number % 4 == 0 ? "Special" : "Item", ["rank": .integer(Int64(number % 500))],
          relationships: [
            "bag": number % 100 == 99 ? [] : [bags[number % 50]], "spare": [bags[number % 50]],
            "tags": [tags[number % 50], tags[(number + 1) % 50]], "marks": [tags[number % 50]],
          ])
      }
      return (bags, tags)
    }
  }

  /// Runs the request with and without indexes, and returns the steps of its plan.
  private func plan(
    _ format: String, _ arguments: [QueryArgument] = [], in entity: String = "Item", sort: [QuerySortDescriptor] = [],
    limit: Int = 0, includesSubentities: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [String] {
    let request = FetchRequest(
      entity, predicate: try QueryPredicate(format: format, arguments: arguments), sortDescriptors: sort,
      fetchLimit: limit, includesSubentities: includesSubentities)
    return try test.store.read { tx in
      let expected = try tx.ids(request, .never)
      for use in RequestPlanner.IndexUse.all {
        #expect(try tx.ids(request, use) == expected, "\(format): \(use)", sourceLocation: sourceLocation)
        #expect(try tx.count(request, use) == expected.count, "\(format)", sourceLocation: sourceLocation)
      }
      return try tx.explain(request)
    }
  }

  @Test(
    "linked objects are looked up, and their lists gone along",
    arguments: [
      ("bag.title == 'b7'", "look up Bag in the index title (about 1 object); follow items to about 40 objects"),
      ("'b7' == bag.title", "look up Bag in the index title (about 1 object); follow items to about 40 objects"),
      ("bag.title == 'x'", "look up Bag in the index title (about 0 objects); follow items to about 0 objects"),
      (
        "bag.code == 'c7'",
        "look up Bag in the uniqueness constraint code (about 1 object); follow items to about 40 objects"
      ),
      (
        "bag.title IN {'b7', 'b8'}",
        "look up Bag in the index title (about 2 objects); follow items to about 80 objects"
      ),
      (
        "bag.title BEGINSWITH 'b4'",
        "look up Bag in the index title (about 10 objects); follow items to about 400 objects"
      ),
      (
        "bag.title ==[cd] 'B7'",
        "look up Bag in the index ~title (about 1 object); follow items to about 40 objects"
      ),
      (
        "bag.size > 23 AND note == nil",
        "look up Bag in the index size_kind (about 2 objects); follow items to about 60 objects"
      ),
      (
        "bag.kind == 'odd' AND bag.size == 3",
        "look up Bag in the index size_kind (about 1 object); follow items to about 40 objects"
      ),
      (
        "ANY tags.name == 't3'",
        "look up Tag in the index name (about 1 object); follow items to about 80 objects"
      ),
      (
        "ANY tags.name IN {'t3', 't4'}",
        "look up Tag in the index name (about 2 objects); follow items to about 160 objects"
      ),
      (
        "tags.name CONTAINS 't3'",
        "look up Tag in the index name (about 1 object); follow items to about 80 objects"
      ),
      ("'t3' IN tags.name", "look up Tag in the index name (about 1 object); follow items to about 80 objects"),
      (
        "ANY tags.points < 2",
        "look up Tag in the index -points_name (about 2 objects); follow items to about 160 objects"
      ),
      (
        "ANY marks.name == 't3'",
        "look up Tag in the index name (about 1 object); follow marked to about 40 objects"
      ),
      (
        "SUBQUERY(tags, $t, $t.name == 't3').@count > 0",
        "look up Tag in the index name (about 1 object); follow items to about 80 objects"
      ),
      (
        "SUBQUERY(tags, $t, $t.name == 't3' AND $t.note == nil).@count >= 1",
        "look up Tag in the index name (about 1 object); follow items to about 80 objects"
      ),
      // Objects of Crate have entries in the same index.
      (
        "bag.label == 'l1'",
        "look up Bag in the index label (about 10 objects); follow items to about 200 objects"
      ),
      ("ANY tags.name == nil", "look up Tag in the index name (about 0 objects); follow items to about 0 objects"),
    ])
  func linked(_ format: String, _ first: String) throws {
    let steps = try plan(format)
    #expect(steps.first == first)
    #expect(steps[1].hasPrefix("filter by "))
    #expect(steps.last == "in the order of ids")
  }

  @Test(
    "what an index of linked objects does not tell, or for too many objects",
    arguments: [
      // For items without a bag the title is nil, too.
      "bag.title == nil", "bag.title IN {'b7', nil}", "bag.title != 'b7'", "NOT bag.title == 'b7'",
      "bag.note == 'x'", "bag.size >= 0", "bag.kind == 'odd'", "bag.title CONTAINS 'b7'", "spare.title == 'b7'",
      "ALL tags.name == 't3'", "NONE tags.name == 't3'", "NOT ANY tags.name == 't3'", "ANY tags.note == 'x'",
      "ANY tags.points > 1", "SUBQUERY(tags, $t, $t.name == 't3').@count == 0",
      "SUBQUERY(tags, $t, $t.name == 't3').@count < 2", "SUBQUERY(tags, $t, $t.name == 't3').@count > -1",
      "SUBQUERY(tags, $t, $t.name == 't3' OR $t.note == nil).@count > 0", "ANY bag.owner.bags.title == 'b7'",
      "bag.title == 'b7' OR note == 'x'", "bag.title == note", "bag.title == 'b7' OR bag.title == nil",
    ])
  func scanned(_ format: String) throws {
    let first = try #require(try plan(format).first)
    #expect(first == "scan all objects of Item and its sub-entities (at most 2000 objects)")
  }

  @Test("among several sources, the one with the fewest objects is used, for each branch of an OR too")
  func choice() throws {
    #expect(try plan("bag.title == 'b7' AND rank == 7")[0] == "search the index rank by rank (about 4 objects)")
    #expect(try plan("bag.title == 'b7' AND rank < 400")[0].hasPrefix("look up Bag in the index title"))
    #expect(try plan("bag.title == 'b7' AND ANY tags.name == 't7'")[0].hasPrefix("look up Bag in the index title"))
    let either = try plan("bag.title == 'b7' OR ANY tags.name == 't3' OR rank == 1")
    #expect(either[0] == "merge the results of 3 searches (about 124 objects)")
    #expect(
      either[1] == "  look up Bag in the index title (about 1 object); follow items to about 40 objects")
    let owner = try plan("bag.owner == %@", [.object(tags[7])])
    #expect(owner[0] == "look up Bag in the index owner (about 1 object); follow items to about 40 objects")
    let sorted = try plan("bag.title == 'b7'", sort: [QuerySortDescriptor(key: "rank")], limit: 100)
    #expect(sorted[0] == "look up Bag in the index title (about 1 object); follow items to about 40 objects")
    // The index of the sort order returns the first results sooner.
    let early = try plan("bag.title BEGINSWITH 'b'", sort: [QuerySortDescriptor(key: "rank")], limit: 3)
    #expect(early[0].hasPrefix("scan the index rank"))
  }

  @Test("sub-entities on both sides")
  func inheritance() throws {
    let first = "look up Bag in the index title (about 1 object); follow items to about 40 objects"
    #expect(try plan("bag.title == 'b8'", in: "Special")[0] == first)
    #expect(try plan("bag.title == 'b8'", includesSubentities: false)[0] == first)
    #expect(
      try plan("ANY specials.note == 'x'", in: "Tag")[0].hasPrefix(
        "scan all objects of Tag"))
    try test.store.write { tx in
      let ids = try tx.fetchIDs(FetchRequest("Special", fetchLimit: 3))
      for id in ids {
        try tx.set(id, "extra", "x")
        try tx.setToOne(id, "chief", tags[0])
      }
      for _ in 0..<100 { try tx.insert("Tag") }
    }
    #expect(
      try plan("ANY specials.extra == 'x'", in: "Tag")[0]
        == "look up Special in the index extra (about 3 objects); follow chief to about 3 objects")
  }

  @Test("a prepared request chooses by its values")
  func prepared() throws {
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: "bag.title == $title"))
    let prepared = try test.store.prepare(request)
    let (few, none) = try test.store.read { tx in
      (try tx.explain(prepared, ["title": "b7"])[0], try tx.explain(prepared, ["title": nil])[0])
    }
    #expect(few.hasPrefix("look up Bag in the index title (about 1 object)"))
    #expect(none.hasPrefix("scan all objects of Item"))
    #expect(try test.store.read { try $0.count(prepared, ["title": "b7"]) } == 40)
    #expect(try test.store.read { try $0.count(prepared, ["title": nil]) } == 40)
  }

  @Test("the transaction's own changes and deletions are visible")
  func pendingChanges() throws {
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: "bag.title == 'new'"))
    let tagged = FetchRequest("Item", predicate: try QueryPredicate(format: "ANY tags.name == 't3'"))
    try test.store.write { tx in
      let before = try tx.fetchIDs(tagged)
      let none = try tx.fetchIDs(request)
      #expect(before.count == 80 && none.isEmpty)
      try tx.set(bags[7], "title", "new")
      let moved = try tx.fetchIDs(request)
      #expect(moved.count == 40)
      let item = try tx.insert("Item", relationships: ["bag": [bags[7]], "tags": [tags[3]]])
      let (inBag, withTag) = (try tx.fetchIDs(request), try tx.fetchIDs(tagged))
      #expect(inBag == moved + [item])
      #expect(withTag == before + [item])
      let sack = try tx.insert("Sack", ["title": "new"], relationships: ["items": [item, before[0]]])
      let inBoth = try tx.fetchIDs(request)
      #expect(inBoth == ([before[0]] + moved + [item]).sorted())
      try tx.delete([bags[7]])
      let inSack = try tx.fetchIDs(request)
      #expect(inSack == [before[0], item])
      let way = try tx.explain(request)[0]
      #expect(way == "look up Bag in the index title (about 1 object); follow items to about 2 objects")
      try tx.unlink(sack, "items")
      try tx.delete([tags[3]])
      let (left, untagged) = (try tx.fetchIDs(request), try tx.fetchIDs(tagged))
      #expect(left.isEmpty && untagged.isEmpty)
    }
    try checked(test.store)
  }

  @Test("an entry of a missing object is corruption")
  func damage() throws {
    let table = try test.store.schema.entity("Bag").table
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: "bag.title == 'b7'"))
    var storage = StorageTransaction(try test.store.engine.beginWrite(label: "test", timeout: .seconds(5)))
    try storage.delete(table, ShortKey.object(bags[7]).array.span.bytes)
    try storage.commit()
    expectError(.corrupted) { _ = try test.store.read { try $0.fetchIDs(request) } }
  }
}

/// Every plan must find the same objects as a full scan. Objects that an index path misses show here, because only the
/// objects on that path are evaluated.
@Suite("Fetch requests: random graphs, over the indexes of linked objects and without")
struct FetchLinkPropertyTests {
  @Test("random conditions", arguments: FetchPropertyTests.seeds)
  func random(_ seed: UInt64) throws {
    let test = try TestStore(linkModel)
    var generator = LinkGenerator(seed: seed)
    var ways = 0
    for _ in 0..<3 {
      try test.store.write { tx in
        try generator.change(&tx, count: 60)
        for _ in 0..<40 { ways += try ask(&generator, tx, seed) }
      }
      try checked(test.store)
      try test.store.read { tx in
        for _ in 0..<40 { ways += try ask(&generator, tx, seed) }
      }
    }
    #expect(ways > 20, "hardly any condition was answered over linked objects, seed \(seed)")
  }

  /// Returns the number of plans that used indexes of linked objects.
  private func ask(
    _ generator: inout LinkGenerator, _ tx: borrowing some ObjectReading & ~Copyable, _ seed: UInt64
  ) throws -> Int {
    let format = generator.condition()
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: format))
    let expected = try tx.ids(request, .never)
    var ways = 0
    for use in [RequestPlanner.IndexUse.always, .whereCheaper] {
      let steps = try tx.plan(request, use)
      let found = try tx.ids(request, use)
      if found != expected { Issue.record("seed \(seed): \(format): \(found), not \(expected), by \(steps)") }
      let count = try tx.count(request, use)
      if count != expected.count { Issue.record("seed \(seed): \(format): \(count), not \(expected.count)") }
      if steps.contains(where: { $0.contains("; follow ") }) { ways += 1 }
    }
    return ways
  }
}

import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Conditions that identify an object may use a lookup, which must find the same objects as a scan.
@Suite("Fetch rules: lookups and transactions")
struct FetchLookupRuleTests {
  let f: FetchStore

  init() throws {
    f = try FetchStore()
    try f.add("t", ["name": "t"], of: "Tag")
    try f.add("p", ["name": "p", "small": 3], of: "Special")
    try f.add("q", ["name": "q", "small": 2], of: "Box")
    try f.add("a", ["name": "a", "small": 1], ["parent": ["q"], "best": ["t"], "seen": ["p"]])
    try f.add("b", ["name": "b", "small": 1], ["parent": ["p"], "best": ["t"], "tags": ["t"]], of: "Special")
    try f.add("c", ["name": "c", "small": 2], ["parent": ["q"], "tags": ["t"]], of: "Box")
    try f.add("gone")
    try f.store.delete([f["gone"]])
  }

  /// Returns `text` in forms that only a scan can evaluate.
  static func scans(_ text: String) -> [String] {
    [
      "NOT NOT (\(text))", "(\(text)) OR FALSEPREDICATE", "TERNARY(\(text), 1, 2) == 1",
      "NOT (NOT (\(text)) OR key == '')",
    ]
  }

  static let lookups = [
    "SELF == %@", "%@ == SELF", "parent == %@", "%@ == parent", "SELF IN {%@}", "parent IN {%@}", "SELF IN {%@, NULL}",
    "SELF == %@ AND small == 1", "small == 1 AND parent == %@", "parent == %@ OR small == 3", "parent.parent == %@",
    "SELF == %@ OR SELF == NULL", "SELF != %@", "parent != %@", "NOT (parent == %@)", "ANY seen == %@", "%@ IN seen",
    "ANY children == %@", "children CONTAINS %@", "parent == %@ AND name < 'c'", "ANY tags == %@", "ANY tags IN {%@}",
    "tags CONTAINS %@", "%@ IN tags", "ANY tags == %@ OR small == 3", "objectID == %@", "parent.objectID == %@",
  ]

  @Test("an object is looked up as it would be found", arguments: lookups)
  func lookup(_ text: String) throws {
    for key in ["a", "b", "c", "p", "q", "t", "gone", "nobody"] {
      for entity in ["Thing", "Item", "Special", "Box"] {
        for includesSubentities in [true, false] {
          for (limit, sorted) in [(0, false), (1, false), (0, true), (1, true)] {
            let keys =
              sorted ? [QuerySortDescriptor(key: "small"), QuerySortDescriptor(key: "name", ascending: false)] : []
            func found(_ text: String) throws -> [ObjectID] {
              let predicate = try QueryPredicate(format: text, f.object(key))
              return try f.store.read {
                try $0.fetchIDs(
                  FetchRequest(
                    entity, predicate: predicate, sortDescriptors: keys, fetchLimit: limit,
                    includesSubentities: includesSubentities))
              }
            }
            let expected = try found(text)
            for scan in Self.scans(text) {
              #expect(try found(scan) == expected, "\(scan), \(key), \(entity), \(includesSubentities), \(limit)")
            }
          }
        }
      }
    }
  }

  @Test(
    "who is linked to an object is found from there, by whichever relationship",
    arguments: ["ANY tags == %@", "ANY tags IN {%@}", "tags CONTAINS %@", "%@ IN tags"])
  func members(_ text: String) throws {
    let predicate = try QueryPredicate(format: text, f.object("t"))
    let steps = try f.store.read { try $0.explain(FetchRequest("Thing", predicate: predicate)) }
    #expect(steps[0] == "read the members of things of 1 object (about 2 objects)")
    #expect(try f.find(text, f.object("t")) == "b c")
  }

  @Test("of many members, an index has the first ones in order")
  func manyMembers() throws {
    try f.store.write { tx in
      for number in 0..<1200 {
        try tx.insert("Box", ["name": .string("n\(number)"), "key": "n"], relationships: ["parent": [f["q"]]])
      }
    }
    let request = FetchRequest(
      "Thing", predicate: try QueryPredicate(format: "parent == %@", f.object("q")),
      sortDescriptors: [QuerySortDescriptor(key: "name")], fetchLimit: 2)
    let steps = try f.store.read { try $0.explain(request) }
    #expect(steps[0].hasPrefix("search the index parent_name by parent"), "\(steps)")
    #expect(try f.ask(request) == "a c")
  }

  @Test("a list of objects gives each once, by ascending id or sorted")
  func lists() throws {
    let keys = ["c", "a", "gone", "a", "nobody", "p"]
    let list = QueryArgument.list(keys.map { f.object($0) })
    #expect(try f.find("SELF IN %@", list) == "p a c")
    #expect(try f.find("SELF IN %@", list, in: "Item") == "p a")
    #expect(try f.find("SELF IN %@ AND small < 3", list) == "a c")
    #expect(try f.find("SELF IN %@", .list([])) == "")
    #expect(try f.find("SELF IN %@", .list([nil])) == "")
    #expect(try f.find("parent IN %@", .list([f.object("q"), f.object("p"), f.object("q")])) == "a b c")
    #expect(try f.find("parent IN %@", .list([f.object("q"), nil])) == "p q a c")
    let sorted = FetchRequest(
      "Thing", predicate: try QueryPredicate(format: "SELF IN %@", list),
      sortDescriptors: [QuerySortDescriptor(key: "name", ascending: false)], fetchLimit: 2)
    #expect(try f.ask(sorted) == "p c")
  }

  @Test("relationships without an inverse, with several members, of another entity")
  func toOne() throws {
    #expect(try f.find("best == %@", f.object("t")) == "a b")
    #expect(try f.find("best.name == 't'") == "a b")
    #expect(try f.find("ANY tags == %@", f.object("t")) == "b c")
    #expect(try f.find("tags CONTAINS %@ AND parent == %@", f.object("t"), f.object("q")) == "c")
    #expect(try f.find("parent == %@", f.object("q"), in: "Special") == "")
    #expect(try f.find("parent == %@", f.object("q"), in: "Box") == "c")
  }

  private struct Refusal: Error {}

  @Test("a write transaction finds its own changes, and other transactions do not")
  func uncommitted() throws {
    #expect(throws: Refusal.self) {
      try f.store.write { tx in
        try tx.set(f["a"], "small", 9)
        #expect(try f.keys("small == 9", in: tx) == "a")
        #expect(try f.keys("small == 1", in: tx) == "b")
        let new = try tx.insert("Item", ["key": "new", "small": 9], relationships: ["parent": [f["q"]]])
        #expect(try f.keys("small == 9", in: tx) == "a new")
        #expect(try f.keys("parent == %@", f.object("q"), in: tx) == "a c new")
        #expect(try f.keys("SELF == %@", .object(new), in: tx) == "new")
        #expect(try f.keys("ANY children.key == 'new'", in: tx) == "q")
        try tx.setToOne(new, "parent", f["p"])
        #expect(try f.keys("parent == %@", f.object("q"), in: tx) == "a c")
        #expect(try f.keys("parent == %@", f.object("p"), in: tx) == "b new")
        try tx.link(f["a"], "tags", [f["t"]])
        #expect(try f.keys("tags.@count > 0", in: tx) == "a b c")
        try tx.delete([f["b"], f["q"]])
        #expect(try f.keys("TRUEPREDICATE", in: tx) == "p a c new")
        #expect(try f.keys("SELF == %@", f.object("b"), in: tx) == "")
        #expect(try f.keys("parent == NULL", in: tx) == "p a c")
        #expect(try tx.count(FetchRequest("Thing")) == 4)
        #expect(
          try tx.fetchIDs(FetchRequest("Thing", sortDescriptors: [QuerySortDescriptor(key: "small")])).last == new)
        let before = try f.store.read { try $0.fetchIDs(FetchRequest("Thing")) }
        #expect(before.count == 5)
        throw Refusal()
      }
    }
    #expect(try f.find("small == 9") == "")
    #expect(try f.find("parent == %@", f.object("q")) == "a c")
  }

  @Test("a visitor may stop, and its errors are passed on")
  func visitors() throws {
    try f.store.read { tx in
      var seen: [ObjectID] = []
      try tx.forEachObject(matching: FetchRequest("Thing")) { object in
        seen.append(object.id)
        return seen.count < 2
      }
      #expect(seen == [f["p"], f["q"]])
    }
    #expect(throws: Refusal.self) {
      try f.store.read { tx in try tx.forEachObject(matching: FetchRequest("Thing")) { _ in throw Refusal() } }
    }
  }
}

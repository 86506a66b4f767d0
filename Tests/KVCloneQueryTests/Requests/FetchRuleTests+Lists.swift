import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@Suite("Fetch rules: lists")
struct FetchListRuleTests {
  let f: FetchStore

  /// Groups `g` (t and u) and `h` (nothing). `a` has t, u and w, `b` has u, `c` has no tags; b and c are a's children.
  init() throws {
    f = try FetchStore()
    try f.add("g", ["name": "G", "budget": 10], of: "Group")
    try f.add("h", ["name": "H"], of: "Group")
    try f.add("t", ["name": "Ann", "points": 1, "score": 0.5], ["group": ["g"]], of: "Tag")
    try f.add("u", ["name": "Bob", "points": 2, "score": 1.5], ["group": ["g"]], of: "Tag")
    try f.add("w", ["name": nil, "points": nil], of: "Tag")
    try f.add("a", ["name": "a", "small": 1], ["tags": ["t", "u", "w"], "best": ["t"]])
    try f.add("b", ["name": "b", "small": 2], ["tags": ["u"], "parent": ["a"], "best": ["t"]])
    try f.add("c", ["name": "c", "small": 3], ["parent": ["a"]], of: "Box")
  }

  @Test("ANY is some value, ALL every one, NONE no one, and SOME is ANY")
  func quantifiers() throws {
    #expect(try f.find("ANY tags.points == 2") == "a b")
    #expect(try f.find("SOME tags.points == 2") == "a b")
    #expect(try f.find("ALL tags.points == 2") == "b c")
    #expect(try f.find("NONE tags.points == 2") == "c")
    #expect(try f.find("NOT ANY tags.points == 2") == "c")
    #expect(try f.find("ANY tags.points != 2") == "a")
    #expect(try f.find("ALL tags.points > 0") == "b c")
    #expect(try f.find("ANY tags.name BEGINSWITH[c] 'b'") == "a b")
    #expect(try f.find("ANY tags.points IN {1, 5}") == "a")
    #expect(try f.find("ANY tags.points BETWEEN {2, 3}") == "a b")
    #expect(try f.find("ANY tags.points == small") == "a b")
    #expect(try f.find("ANY tags.points > small") == "a")
    #expect(try f.find("ANY children.name == 'c'") == "a")
    #expect(try f.find("ANY tags == %@", f.object("w")) == "a")
    #expect(try f.find("ALL tags == %@", f.object("u")) == "b c")
    #expect(try f.find("ANY tags == best") == "a")
    #expect(try f.find("ANY tags == NULL") == "")
  }

  @Test("a text is compared in the same way with all of a list, UUIDs and texts that are written as UUIDs")
  func textsNextToOthers() throws {
    let uuid = UUID()
    let text = uuid.uuidString
    #expect(try f.find("%@ IN {'\(text)', uid}", .string(text)) == "a b c")
    #expect(try f.find("%@ BETWEEN {'\(text)', '\(text)'}", .string(text)) == "a b c")
    #expect(try f.find("%@ IN {%@, '\(text)', NULL}", .string(text), .value(.uuid(UUID()))) == "a b c")
    #expect(try f.find("%@ IN {%@, NULL}", .string(text), .value(.uuid(UUID()))) == "")
    #expect(try f.find("%@ IN {'none', %@}", .string("none"), .value(.uuid(uuid))) == "a b c")
    #expect(try f.find("{'\(text)', uid} CONTAINS %@", .string(text)) == "a b c")
    #expect(try f.find("{%@, '\(text)', NULL} CONTAINS %@", .value(.uuid(UUID())), .string(text)) == "a b c")
  }

  @Test("a key path through a to-many relationship gives one value for each path, nil ones included")
  func values() throws {
    #expect(try f.find("ANY tags.points == NULL") == "a")
    #expect(try f.find("ANY tags.score == NULL") == "a")
    #expect(try f.find("tags.@count == 3") == "a")
    #expect(try f.find("count(tags.points) == 3") == "a")
    // a reaches t and u through its children's tags, and u only once, through b.
    #expect(try f.find("count(children.tags.name) == 1") == "a")
    #expect(try f.find("count(tags.things) == 4") == "a")
    #expect(try f.find("count(tags.things.tags) == 10") == "a")
    #expect(try f.find("count(parent.tags) == 3") == "b c")
    #expect(try f.find("ANY parent.tags.name == 'Ann'") == "b c")
  }

  @Test("members behind an empty to-one relationship give none")
  func emptyToOne() throws {
    #expect(try f.find("count(tags.group.name) == 2") == "a")
    #expect(try f.find("ANY tags.group.name == NULL") == "")
    #expect(try f.find("ALL tags.group.name == 'G'") == "a b c")
    #expect(try f.find("ANY parent.tags.name != 'x'") == "b c")
    #expect(try f.find("ALL parent.tags.name == 'x'") == "a")
    #expect(try f.find("parent.tags.@count == 0") == "a")
    #expect(try f.find("ANY tags.group.owner.name == NULL") == "")
  }

  @Test("@count counts nil, the others leave it out")
  func operators() throws {
    #expect(try f.find("tags.@count == 0") == "c")
    #expect(try f.find("tags.@sum.points == 3") == "a")
    #expect(try f.find("tags.@sum.points == 0") == "c")
    #expect(try f.find("tags.@avg.points == 1.5") == "a")
    #expect(try f.find("tags.@avg.points == NULL") == "c")
    #expect(try f.find("tags.@min.points == 1") == "a")
    #expect(try f.find("tags.@max.points == 2") == "a b")
    #expect(try f.find("tags.@min.points == NULL") == "c")
    #expect(try f.find("tags.@max.points == NULL") == "c")
    #expect(try f.find("tags.@max.name == 'Bob'") == "a b")
    #expect(try f.find("tags.@min.name == 'Ann'") == "a")
    #expect(try f.find("tags.@sum.score == 2") == "a")
    #expect(try f.find("tags.@sum.score == 0") == "c")
    #expect(try f.find("tags.group.@sum.budget == 20") == "a")
    #expect(try f.find("tags.@sum.group.budget == 20") == "a")
    #expect(try f.find("children.@count == 2") == "a")
    #expect(try f.find("children.@sum.small == 5") == "a")
    #expect(try f.find("children.@count + tags.@count == 5") == "a")
    #expect(try f.find("children.@max.small > small") == "a")
    try f.add("v", [:], ["things": ["c"]], of: "Tag")
    #expect(try f.find("tags.@count == 1 AND tags.@sum.points == 0 AND tags.@avg.points == NULL") == "c")
    #expect(try f.find("tags.@min.score == NULL AND tags.@max.name == NULL") == "c")
  }

  @Test("sums of integers are exact, regardless of intermediate values, and nil beyond 64 bits")
  func sums() throws {
    try f.add("p", ["small": 0])
    try f.add("q", ["big": .integer(.max), "price": decimalValue("0.1")], ["parent": ["p"]])
    try f.add("r", ["big": 1, "price": decimalValue("0.2")], ["parent": ["p"]])
    #expect(try f.find("key == 'p' AND children.@sum.big == NULL") == "p")
    #expect(try f.find("children.@sum.big > 0 OR children.@sum.big < 0") == "")
    #expect(try f.find("children.@avg.big == 4611686018427387904") == "p")
    try f.add("s", ["big": -2, "price": decimalValue("-0.3")], ["parent": ["p"]])
    #expect(try f.find("children.@sum.big == 9223372036854775806") == "p")
    try f.add("t", ["big": .integer(-.max)], ["parent": ["p"]])
    #expect(try f.find("key == 'p' AND children.@sum.big == -1 AND children.@avg.big == -0.25") == "p")
    #expect(try f.find("key == 'p' AND children.@sum.price == 0") == "p")
    try f.add("u", ["price": decimalValue("0.3")], ["parent": ["p"]])
    #expect(try f.find("children.@sum.price == 0.3") == "p")
    #expect(try f.find("children.@max.big == 9223372036854775807") == "p")
  }

  @Test("membership")
  func membership() throws {
    #expect(try f.find("tags.points CONTAINS 1") == "a")
    #expect(try f.find("1 IN tags.points") == "a")
    #expect(try f.find("small IN tags.points") == "a b")
    #expect(try f.find("best IN tags") == "a")
    #expect(try f.find("tags CONTAINS best") == "a")
    #expect(try f.find("tags CONTAINS %@", f.object("u")) == "a b")
    #expect(try f.find("%@ IN tags", f.object("u")) == "a b")
    #expect(try f.find("{1, 2} CONTAINS small") == "a b")
    #expect(try f.find("%@ CONTAINS name", ["a", "c"]) == "a c")
    #expect(try f.find("SELF IN parent.children") == "b c")
    #expect(try f.find("'Ann' IN tags.name") == "a")
    #expect(try f.find("'ANN' IN[c] tags.name") == "a")
    #expect(try f.find("NULL IN tags.name") == "a")
    #expect(try f.find("small IN {1.0, 2.5}") == "a")
    #expect(try f.find("best.points IN parent.tags.points") == "b c")
  }

  @Test("SUBQUERY gives the members for which its predicate holds")
  func subqueries() throws {
    #expect(try f.find("SUBQUERY(tags, $t, $t.points > 0).@count == 2") == "a")
    #expect(try f.find("SUBQUERY(tags, $t, $t.points > 5).@count == 0") == "a b c")
    #expect(try f.find("SUBQUERY(tags, $t, $t.name BEGINSWITH 'A').@count > 0") == "a")
    #expect(try f.find("SUBQUERY(tags, $t, $t.points > 0).@sum.points == 3") == "a")
    #expect(try f.find("ANY SUBQUERY(tags, $t, $t.points > 1).name == 'Bob'") == "a b")
    #expect(try f.find("best IN SUBQUERY(tags, $t, $t.points < 2)") == "a")
    #expect(try f.find("SUBQUERY(tags, $t, $t.group == NULL).@count == 1") == "a")
    #expect(try f.find("SUBQUERY(parent.tags, $t, $t.points == 1).@count == 1") == "b c")
  }

  @Test("a key path in a subquery starts at the tested object, a variable at the member")
  func scope() throws {
    #expect(try f.find("SUBQUERY(tags, $t, $t.points == small).@count == 1") == "a b")
    #expect(try f.find("SUBQUERY(tags, $t, $t == best).@count == 1") == "a")
    #expect(try f.find("SUBQUERY(children, $c, $c.small > small AND $c.parent == SELF).@count == 2") == "a")
    #expect(try f.find("SUBQUERY(parent.children, $c, $c != SELF).@count == 1") == "b c")
    #expect(
      try f.find(
        "SUBQUERY(children, $c, SUBQUERY($c.tags, $t, $t.points == $c.small AND small == 1).@count == 1).@count == 1")
        == "a")
    #expect(try f.find("SUBQUERY(tags, $t, SUBQUERY($t.things, $x, $x == SELF).@count == 1).@count == 3") == "a")
    #expect(try f.find("SUBQUERY(tags, $t, SUBQUERY($t.things, $x, $x != SELF).@count == 1).@count == 1") == "a b")
    #expect(try f.find("SUBQUERY(children, $c, ANY $c.tags.points == 2).@count == 1") == "a")
  }

  @Test("UNION, INTERSECT and MINUS make sets")
  func sets() throws {
    #expect(try f.find("count(tags UNION parent.tags) == 3") == "a b c")
    #expect(try f.find("count(tags INTERSECT parent.tags) == 1") == "b")
    #expect(try f.find("count(parent.tags MINUS tags) == 2") == "b")
    #expect(try f.find("count({1, 1.0, 2} UNION {2, 3}) == 3") == "a b c")
    #expect(try f.find("count({1, 1, 2} MINUS {2}) == 1") == "a b c")
    #expect(try f.find("count({1, 1, 2, 3} INTERSECT {1, 3, 4}) == 2") == "a b c")
    #expect(try f.find("count(tags.points UNION {NULL}) == 1") == "c")
    #expect(try f.find("count(tags.group.name UNION tags.group.name) == 1") == "a b")
    #expect(try f.find("best IN (parent.tags MINUS tags)") == "b")
    #expect(try f.find("small IN (tags.points UNION {3})") == "a b c")
  }

  @Test("an index takes one value of a list")
  func indexes() throws {
    #expect(try f.find("children[0].name == 'b'") == "a")
    #expect(try f.find("children[1] == %@", f.object("c")) == "a")
    #expect(try f.find("children[FIRST] == %@", f.object("b")) == "a")
    #expect(try f.find("children[LAST] == %@", f.object("c")) == "a")
    #expect(try f.find("children[SIZE] == 2") == "a")
    #expect(try f.find("children[5] == NULL") == "a b c")
    #expect(try f.find("tags.@distinctUnionOfObjects.points CONTAINS 2") == "a b")
    #expect(try f.find("ANY tags.@unionOfObjects.points == 1") == "a")
    #expect(try f.find("count(tags.@distinctUnionOfObjects.group) == 1 AND small == 2") == "b")
  }

  @Test("the most frequent values may be several, and are tested like any list")
  func mode() throws {
    let f = try FetchStore()
    try f.add("p")
    for (key, number) in [("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 3)] {
      try f.add(key, ["small": .integer(Int64(number))], ["parent": ["p"]])
    }
    #expect(try f.find("2 IN mode(children.small)") == "p")
    #expect(try f.find("ANY mode(children.small) == 1") == "p")
    #expect(try f.find("3 IN mode(children.small)") == "")
    #expect(try f.find("count(mode(children.small)) == 2") == "p")
  }
}

import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Invalid requests on empty entities: they are rejected before anything is read.
@Suite("Fetch rules: wrong requests")
struct FetchErrorRuleTests {
  let f: FetchStore

  init() throws { f = try FetchStore() }

  @Test("a name that the model does not have")
  func names() throws {
    f.expectRefusal(.unknownEntity, FetchRequest("Nothing"), entity: "Nothing")
    try f.expectRefusal(.unknownProperty, "nothing == 1", entity: "Thing", property: "nothing")
    try f.expectRefusal(.unknownProperty, "name == 'a' AND nothing == 1", entity: "Thing", property: "nothing")
    try f.expectRefusal(.unknownProperty, "FALSEPREDICATE AND nothing == 1", entity: "Thing", property: "nothing")
    try f.expectRefusal(.unknownProperty, "TRUEPREDICATE OR NOT (nothing == 1)", entity: "Thing", property: "nothing")
    try f.expectRefusal(.unknownProperty, "Name == 'a'", entity: "Thing", property: "Name")
    try f.expectRefusal(.unknownProperty, "parent.nothing == 1", entity: "Thing", property: "nothing")
    try f.expectRefusal(.unknownProperty, "ANY tags.nothing == 1", entity: "Tag", property: "nothing")
    try f.expectRefusal(.unknownProperty, "tags.@sum.nothing == 1", entity: "Tag", property: "nothing")
    try f.expectRefusal(.unknownProperty, "best.group.nothing == 1", entity: "Group", property: "nothing")
    try f.expectRefusal(.unknownProperty, "rank == 1", entity: "Thing", property: "rank")
    try f.expectRefusal(.unknownProperty, "extra == 'x'", in: "Item", entity: "Item", property: "extra")
    try f.expectRefusal(.unknownProperty, "ANY children.rank == 1", entity: "Thing", property: "rank")
    try f.expectRefusal(
      .unknownProperty, "SUBQUERY(tags, $t, $t.nothing == 1).@count > 0", entity: "Tag", property: "nothing")
    try f.expectRefusal(
      .unknownProperty, "SUBQUERY(tags, $t, points == 1).@count > 0", entity: "Thing", property: "points")
    try f.expectRefusal(.unknownProperty, "abs(nothing) == 1", entity: "Thing", property: "nothing")
  }

  @Test("an element that a composite does not have")
  func elements() throws {
    let predicate = try QueryPredicate(format: "place.nothing == 1")
    for kind in [StoreError.Kind.unknownProperty] {
      f.expectRefusal(kind, FetchRequest("Thing", predicate: predicate), entity: "Thing")
    }
    try f.expectRefusal(.unknownProperty, "place.geo.nothing == 1", entity: "Thing")
  }

  @Test(
    "types that do not go together",
    arguments: [
      "name == 1", "small == 'a'", "name < 1", "small CONTAINS 'a'", "name BEGINSWITH 1", "small LIKE '1'",
      "day == 1", "day < 'yesterday'", "uid == 'no uuid'", "uid == 1", "data == 'a'", "flag == 'YES'", "name == small",
      "day > small", "name + 1 == 2", "name * name == 2", "abs(name) == 1", "lowercase(small) == 'a'",
      "length(small) == 1",
      "parent == 1", "parent == 'a'", "parent < %@", "place < place", "place == 'Rome'", "name IN {1, 2}",
      "small IN {'a'}", "small IN name", "name BETWEEN {1, 2}", "day + day == day", "1 - day == 2",
      "tags.@sum.name == 1",
      "tags.@avg.name == 1", "tags CONTAINS 1", "SELF == 1", "best IN children", "floor(day) == 1",
      "name.size == 1",
    ])
  func types(_ text: String) throws {
    let predicate =
      text.contains("%@")
      ? try QueryPredicate(format: text, .object(ObjectID(rawValue: 1))) : try QueryPredicate(format: text)
    let error = refusal(FetchRequest("Thing", predicate: predicate))
    #expect(
      [.wrongType, .invalidPredicate, .unknownProperty].contains(error?.kind), "\(text): \(error?.message ?? "")")
  }

  @Test("a wrong type names the entity and the property")
  func places() throws {
    try f.expectRefusal(.wrongType, "name == 1", entity: "Thing", property: "name")
    try f.expectRefusal(.wrongType, "'a' == small", entity: "Thing", property: "small")
    try f.expectRefusal(.wrongType, "ANY tags.points == 'a'", property: "points")
    try f.expectRefusal(.wrongType, "parent.day == 1", entity: "Thing", property: "day")
    try f.expectRefusal(.wrongType, "uid == 'no uuid'", entity: "Thing", property: "uid")
    try f.expectRefusal(.wrongType, "place.city == 1", entity: "Thing")
    try f.expectRefusal(.wrongType, "SUBQUERY(tags, $t, $t.name == 1).@count > 0", property: "name")
  }

  @Test("a to-many key path without ANY")
  func toMany() throws {
    try f.expectRefusal(.invalidPredicate, "tags.name == 'a'", entity: "Thing", property: "tags")
    try f.expectRefusal(
      .invalidPredicate, "tags == %@", .object(ObjectID(rawValue: 1)), entity: "Thing", property: "tags")
    try f.expectRefusal(.invalidPredicate, "parent.children.small > 1", entity: "Thing", property: "children")
    try f.expectRefusal(.invalidPredicate, "tags.name BEGINSWITH 'a'", entity: "Thing", property: "tags")
    try f.expectRefusal(.invalidPredicate, "SUBQUERY(tags, $t, $t.things.name == 'a').@count > 0")
  }

  @Test(
    "what no predicate may say",
    arguments: [
      "name ==[l] 'a'", "name CONTAINS[cl] 'a'", "name == $name", "$x.name == 'a'", "ANY $x.tags.name == 'a'",
      "SUBQUERY(tags, $t, $u.name == 'a').@count > 0", "name MATCHES '('", "name MATCHES '[a'",
      "SUBQUERY(name, $t, $t == 'a').@count > 0", "name.@count == 1", "SUBQUERY(best, $t, $t.points == 1).@count > 0",
    ])
  func invalid(_ text: String) throws {
    let error = refusal(FetchRequest("Thing", predicate: try QueryPredicate(format: text)))
    #expect([.invalidPredicate, .wrongType].contains(error?.kind), "\(text): \(error?.message ?? "")")
  }

  @Test("a wrong sort key")
  func sorting() throws {
    func request(_ key: String, _ options: QueryComparison.Options = []) -> FetchRequest {
      FetchRequest("Thing", sortDescriptors: [QuerySortDescriptor(key: key, options: options)])
    }
    f.expectRefusal(.unknownProperty, request("nothing"), entity: "Thing", property: "nothing")
    f.expectRefusal(.unknownProperty, request("parent.nothing"), entity: "Thing", property: "nothing")
    f.expectRefusal(.unknownProperty, request("rank"), entity: "Thing", property: "rank")
    for key in ["tags", "tags.name", "place", "parent", "", "name.", ".name"] {
      let error = refusal(request(key))
      #expect([.invalidPredicate, .wrongType, .unknownProperty].contains(error?.kind), "\(key)")
    }
    #expect(refusal(request("name", .localeSensitive))?.kind == .invalidPredicate)
  }

  private func refusal(_ request: FetchRequest) -> StoreError? {
    do {
      let found = try f.store.read { try $0.fetchIDs(request) }
      Issue.record("found \(found.count) objects with \(request)")
    } catch let error as StoreError {
      return error
    } catch {
      Issue.record("\(error)")
    }
    return nil
  }
}

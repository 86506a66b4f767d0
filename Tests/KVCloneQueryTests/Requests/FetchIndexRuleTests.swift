import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let planModel = ManagedObjectModel("Plans") {
  EntityDescription(
    "Person", unique: [["code"], ["team", "number"]],
    indexes: [
      fetchIndex("age"), fetchIndex("-joined"), fetchIndex("city", "-age"), fetchIndex("~name"),
      fetchIndex("team", "joined"),
    ]
  ) {
    AttributeDescription("code", .string)
    AttributeDescription("number", .integer32)
    AttributeDescription("name", .string)
    AttributeDescription("city", .string)
    AttributeDescription("age", .integer16)
    AttributeDescription("joined", .date)
    AttributeDescription("note", .string)
    RelationshipDescription("team", toOne: "Team", inverse: "people")
  }
  EntityDescription("Pilot", parent: "Person", indexes: [fetchIndex("license")]) {
    AttributeDescription("license", .string)
  }
  EntityDescription("Team") {
    AttributeDescription("name", .string)
    RelationshipDescription("people", toMany: "Person", inverse: "team")
  }
}

/// The indexes that requests use, with results equal to those of a full scan.
@Suite("Fetch indexes: what requests use")
struct FetchIndexRuleTests {
  let test: TestStore
  let team: ObjectID

  init() throws {
    test = try TestStore(planModel)
    team = try test.store.write { tx in
      let teams = [try tx.insert("Team", ["name": "red"]), try tx.insert("Team", ["name": "blue"])]
      for number in 0..<400 {
        let attributes: [String: AttributeValue?] = [
          "code": .string("c\(number)"), "number": .integer(Int64(number)),
          "name": .string(number % 2 == 0 ? "Ångström" : "angel"),
          "city": .string(["Rome", "Oslo", "Bern", "Rome\0"][number % 4]),
          "age": number % 10 == 0 ? nil : .integer(Int64(number % 50)), "joined": day(Double(number * 7 % 400)),
        ]
        try tx.insert(
          number % 5 == 0 ? "Pilot" : "Person", attributes,
          relationships: number % 3 == 0 ? ["team": [teams[number % 2]]] : [:])
      }
      return teams[0]
    }
  }

  private func request(
    _ format: String?, _ arguments: [QueryArgument] = [], sort: [QuerySortDescriptor] = [], limit: Int = 0,
    offset: Int = 0, in entity: String = "Person", includesSubentities: Bool = true
  ) throws -> FetchRequest {
    FetchRequest(
      entity, predicate: try format.map { try QueryPredicate(format: $0, arguments: arguments) }, sortDescriptors: sort,
      fetchLimit: limit, fetchOffset: offset, includesSubentities: includesSubentities)
  }

  /// Runs the request with and without indexes, and returns the steps of its plan.
  private func plan(_ request: FetchRequest, sourceLocation: SourceLocation = #_sourceLocation) throws -> [String] {
    try test.store.read { tx in
      let expected = try tx.ids(request, .never)
      for use in RequestPlanner.IndexUse.all {
        let steps = try tx.plan(request, use)
        #expect(try tx.ids(request, use) == expected, "\(steps)", sourceLocation: sourceLocation)
        #expect(try tx.count(request, use) == expected.count, sourceLocation: sourceLocation)
      }
      return try tx.explain(request)
    }
  }

  @Test(
    "conditions that an index answers",
    arguments: [
      ("age == 7", "look up age in the index age, without planning (about 8 objects)", true),
      ("7 == age", "look up age in the index age, without planning (about 8 objects)", true),
      ("age == nil", "search the index age by age (about 40 objects)", true),
      ("age == 7.5", "search the index age by age in 0 ranges (about 0 objects)", true),
      ("age > 46", "search the index age by age (about 24 objects)", true),
      ("46 < age", "search the index age by age (about 24 objects)", true),
      ("age >= 46.5", "search the index age by age (about 24 objects)", false),
      ("age BETWEEN {46, 47}", "search the index age by age (about 16 objects)", true),
      ("age > 45 AND age < 47", "search the index age by age (about 8 objects)", true),
      ("age IN {1, 2, 2, 3}", "search the index age by age in 3 ranges (about 24 objects)", true),
      ("city == 'Bern' AND age < 5", "search the index city_-age by city, age (about 8 objects)", true),
      (
        "city == 'Bern' AND age == 2 AND note == nil", "search the index city_-age by city, age (about 4 objects)",
        false
      ),
      ("name ==[cd] 'ANGSTROM' AND age == 2", "search the index age by age (about 8 objects)", false),
      ("code == 'c7'", "look up code in the uniqueness constraint code, without planning (about 1 object)", false),
      (
        "code IN {'c7', 'c8', 'x'}", "search the uniqueness constraint code by code in 3 ranges (about 2 objects)",
        false
      ),
      ("joined > CAST(383, 'NSDate')", "search the index -joined by joined (about 16 objects)", true),
    ])
  func indexed(_ format: String, _ first: String, _ isExact: Bool) throws {
    // CAST is not a constant, so the date is passed as an argument.
    let isDate = format.contains("CAST")
    let format = isDate ? "joined > %@" : format
    let steps = try plan(request(format, isDate ? [.day(383)] : []))
    #expect(steps.first == first)
    #expect(steps[1].hasPrefix(isExact ? "no filter" : "filter by "), "\(steps[1])")
    #expect(steps.last == "in the order of ids")
  }

  @Test(
    "conditions that no index answers, or for too many objects",
    arguments: [
      "age != 7", "age > 1", "NOT age == 7", "age == 7 OR note == 'x'", "name == 'angel'", "name BEGINSWITH 'ang'",
      "name ==[c] 'angel'", "city LIKE 'B*'", "city CONTAINS 'er'", "note == 'x'", "number == 7", "age + 1 == 8",
      "team.name == 'red' AND age > 2", "code == nil", "code > 'c39'",
    ])
  func scanned(_ format: String) throws {
    let first = try #require(try plan(request(format)).first)
    #expect(first == "scan all objects of Person and its sub-entities (at most 400 objects)")
  }

  @Test("texts: what an index folds serves [cd] and canonical:(), and equality without options")
  func texts() throws {
    func isIndexed(_ format: String) throws -> Bool {
      _ = try plan(request(format))
      return try test.store.read { try $0.plan(request(format), .always) }.first?.hasPrefix("search the index ~name")
        == true
    }
    for format in [
      "name ==[cd] 'ANGSTRÖM'", "name BEGINSWITH[cd] 'ÅN'", "name <[cd] 'B'", "canonical:(name) == 'angstrom'",
      "canonical:(name) > 'angel'", "name == 'angel'", "name IN {'angel', 'Angel'}", "name IN[cd] {'ÂNGEL'}",
    ] { #expect(try isIndexed(format), "\(format)") }
    for format in ["name ==[c] 'angel'", "name BEGINSWITH 'ang'", "name < 'b'", "canonical:(name) ==[c] 'ANGEL'"] {
      #expect(try !isIndexed(format), "\(format)")
    }
  }

  @Test("a relationship's members are examined if they are fewer than an index has entries")
  func members() throws {
    let steps = try plan(request("team == %@ AND age > 45", [.object(team)]))
    #expect(steps[0] == "search the index age by age (about 32 objects)")
    #expect(
      try plan(request("team == %@", [.object(team)]))[0].hasPrefix(
        "read the members of people of 1 object (about "))
    let both = try plan(request("team == %@ AND joined > %@", [.object(team), .day(380)]))
    #expect(both[0].hasPrefix("search the index team_joined by team, joined"))
    let alone = try plan(request("team == %@ AND number == 6", [.object(team)]))
    #expect(alone[0] == "search the uniqueness constraint team,number by team, number (about 1 object)")
    #expect(try plan(request("SELF == %@ AND age == 3", [.object(team)]))[0] == "look up 1 object by id")
  }

  @Test("the branches of an OR are searched by themselves, and each object comes once")
  func or() throws {
    let steps = try plan(request("age == 7 OR (city == 'Bern' AND age == 2) OR code == 'c7'"))
    #expect(steps[0] == "merge the results of 3 searches (about 13 objects)")
    #expect(
      steps[1...3] == [
        "  search the index age by age (about 8 objects)",
        "  search the index city_-age by city, age (about 4 objects)",
        "  search the uniqueness constraint code by code (about 1 object)",
      ])
    let nested = try plan(request("note == nil AND (age == 7 OR age == nil)"))
    #expect(nested[0] == "merge the results of 2 searches (about 48 objects)")
  }

  @Test("an index's order serves sorted requests with a limit, from both ends; equal values come by ascending id")
  func order() throws {
    let up = [QuerySortDescriptor(key: "age")]
    let down = [QuerySortDescriptor(key: "age", ascending: false)]
    let forward = try plan(request(nil, sort: up, limit: 5))
    #expect(forward[0] == "scan the index age (about 5 objects)")
    #expect(forward[1] == "in index order: age ascending")
    #expect(
      try plan(request(nil, sort: down, limit: 5, offset: 3))[0]
        == "scan the index age, in reverse (about 8 objects)")
    let within = try plan(request("city == 'Bern'", sort: up, limit: 3))
    #expect(within[0] == "search the index city_-age by city, in reverse (about 3 objects)")
    let partly = try plan(request("city == 'Bern'", sort: down + [QuerySortDescriptor(key: "joined")], limit: 3))
    #expect(partly[0] == "search the index city_-age by city (about 3 objects)")
    #expect(partly[3] == "sort equal keys by joined ascending, then by id")
    for limit in [1, 5, 60, 0] {
      for offset in [0, 7] {
        for sort in [up, down, up + [QuerySortDescriptor(key: "joined", ascending: false)]] {
          for format in [nil, "age > 20", "age IN {3, nil, 8}", "city == 'Rome'", "note == nil", "name ==[cd] 'ANGEL'"]
          {
            for entity in ["Person", "Pilot"] {
              _ = try plan(request(format, sort: sort, limit: limit, offset: offset, in: entity))
            }
          }
        }
      }
    }
    let names = [
      QuerySortDescriptor(key: "name", ascending: false, options: [.caseInsensitive, .diacriticInsensitive])
    ]
    #expect(
      try plan(request(nil, sort: names, limit: 2))[0] == "scan the index ~name, in reverse (about 2 objects)")
    #expect(
      try plan(request(nil, sort: [QuerySortDescriptor(key: "name")], limit: 2))[0].hasPrefix("scan all objects"))
  }

  @Test("sub-entities: an inherited index serves them, their own does not serve those above")
  func inheritance() throws {
    #expect(try plan(request("age == 5", in: "Pilot")).prefix(2).map { $0.prefix(10) } == ["look up ag", "filter by "])
    #expect(try plan(request("age == 5", includesSubentities: false))[1].hasPrefix("filter by "))
    #expect(
      try plan(request("license == 'x'", in: "Pilot")).prefix(2) == [
        "look up license in the index license, without planning (about 0 objects)",
        "no filter: the search is exact for license == \"x\"",
      ])
    #expect(
      try plan(request("license == nil", in: "Pilot", includesSubentities: false))[0].hasPrefix(
        "search the index license"))
  }

  @Test("texts longer than a key are distinguished by their records")
  func cutTexts() throws {
    let long = String(repeating: "x", count: 600)
    let zeros = String(repeating: "\0", count: 300)
    try test.store.write { tx in
      for (number, tail) in ["c", "a", "b", "a", ""].enumerated() {
        try tx.insert(
          "Person", ["city": .string(long + tail), "name": .string(zeros + tail), "number": .integer(Int64(number))])
      }
    }
    for (format, count) in [
      ("city == %@", 2), ("city >= %@", 4), ("city < %@", 401), ("city > %@", 2), ("city BEGINSWITH %@", 2),
      ("city <= %@", 403),
    ] {
      let request = try request(format, [.value(.string(long + "a"))])
      _ = try plan(request)
      #expect(try test.store.read { try $0.count(request, .always) } == count, "\(format)")
    }
    for sort in [true, false] {
      for limit in [0, 3] {
        let keys = [
          QuerySortDescriptor(key: "city", ascending: sort), QuerySortDescriptor(key: "age", ascending: !sort),
        ]
        let request = try request("city BEGINSWITH 'x'", sort: keys, limit: limit)
        let steps = try test.store.read { try $0.plan(request, .always) }
        #expect(steps[0].hasPrefix("search the index city_-age by city"))
        _ = try plan(request)
      }
      _ = try plan(
        request(
          "canonical:(name) >= %@", [.value(.string(zeros))], sort: [QuerySortDescriptor(key: "name", ascending: sort)])
      )
    }
  }

  @Test("counting over an index alone reads no record; conditions that it does not cover are tested on records")
  func counting() throws {
    let store = test.store
    let key = ShortKey.object(try store.read { try $0.fetchIDs(request("age == 7"))[0] }).array
    let table = try store.schema.entity("Person").table
    var value: [UInt8] = []
    try store.read { tx in
      try tx._withSession { (session) throws(StoreError) in
        if let bytes = try session.storage.get(table, key.span.bytes) { value = bytes.withUnsafeBytes { Array($0) } }
      }
    }
    value[30] ^= 1
    try store.overwrite(table, key, value)
    #expect(try store.read { try $0.count(request("age == 7")) } == 8)
    #expect(try store.read { try $0.count(request("age == 7", limit: 3)) } == 3)
    expectError(.corrupted) { _ = try store.read { try $0.count(request("age == 7 AND note == nil")) } }
    expectError(.corrupted) { _ = try store.read { try $0.count(request("age == 7", in: "Pilot")) } }
  }
}

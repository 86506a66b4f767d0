import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

/// Relationships of every shape. Shared by the tests of links, of deletion, and of random operations.
let societyModel = ManagedObjectModel("Society") {
  EntityDescription("Named", abstract: true) { AttributeDescription("name", .string) }
  EntityDescription("Person", parent: "Named") {
    RelationshipDescription("spouse", toOne: "Person", inverse: "spouse")
    RelationshipDescription("friends", toMany: "Person", inverse: "friends")
    RelationshipDescription("boss", toOne: "Person", inverse: "reports")
    RelationshipDescription("reports", toMany: "Person", inverse: "boss", ordered: true)
    RelationshipDescription("next", toOne: "Person", inverse: "previous")
    RelationshipDescription("previous", toOne: "Person", inverse: "next")
    RelationshipDescription("clubs", toMany: "Club", inverse: "members", ordered: true)
    RelationshipDescription("tags", toMany: "Tag", inverse: "people")
    RelationshipDescription("desk", toOne: "Desk", inverse: "owner")
    RelationshipDescription("idol", toOne: "Named")
    RelationshipDescription("favourites", toMany: "Named", ordered: true)
    RelationshipDescription("seen", toMany: "Named")
  }
  EntityDescription("Employee", parent: "Person") { AttributeDescription("badge", .integer32) }
  EntityDescription("Club", parent: "Named") {
    RelationshipDescription("members", toMany: "Person", inverse: "clubs", ordered: true)
  }
  EntityDescription("Tag") { RelationshipDescription("people", toMany: "Person", inverse: "tags") }
  EntityDescription("Desk") { RelationshipDescription("owner", toOne: "Person", inverse: "desk") }
}

@Suite("Both sides of a relationship")
struct RelationshipTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(societyModel) }

  @Test("to-one and ordered to-many: setting either side sets the other")
  func oneToMany() throws {
    let ids = try store.insert("Person", count: 4)
    try store.setToOne(ids[1], "boss", ids[0])
    #expect(try store.members(ids[0], "reports") == [ids[1]])
    try store.setMembers(ids[0], "reports", [ids[3], ids[1], ids[2]])
    #expect(try store.members(ids[0], "reports") == [ids[3], ids[1], ids[2]])
    for id in ids[1...] { #expect(try store.toOne(id, "boss") == ids[0]) }
    #expect(try store.members(ids[1], "boss") == [ids[0]])
    #expect(try store.count(ids[0], "reports") == 3)
    try store.setToOne(ids[3], "boss", nil)
    #expect(try store.members(ids[0], "reports") == [ids[1], ids[2]])
    try checked(store)
  }

  @Test("a member that another owner takes leaves the previous one")
  func oneToManyTakesOver() throws {
    let ids = try store.insert("Person", count: 5)
    try store.setMembers(ids[0], "reports", [ids[2], ids[3]])
    try store.link(ids[1], "reports", [ids[3], ids[4]])
    #expect(try store.members(ids[0], "reports") == [ids[2]])
    #expect(try store.members(ids[1], "reports") == [ids[3], ids[4]])
    try store.setMembers(ids[0], "reports", [ids[4], ids[3], ids[2]])
    #expect(try store.members(ids[1], "reports").isEmpty)
    #expect(try store.toOne(ids[4], "boss") == ids[0])
    try checked(store)
  }

  @Test("one-to-one: previous partners on both sides are unlinked")
  func oneToOne() throws {
    let people = try store.insert("Person", count: 2)
    let desks = try store.insert("Desk", count: 2)
    try store.setToOne(people[0], "desk", desks[0])
    try store.setToOne(desks[1], "owner", people[1])
    try store.setToOne(people[0], "desk", desks[1])
    #expect(try store.toOne(people[0], "desk") == desks[1])
    #expect(try store.toOne(desks[1], "owner") == people[0])
    #expect(try store.toOne(people[1], "desk") == nil)
    #expect(try store.toOne(desks[0], "owner") == nil)
    try checked(store)
  }

  @Test("a relationship that is its own inverse: spouses")
  func spouses() throws {
    let ids = try store.insert("Person", count: 4)
    try store.setToOne(ids[0], "spouse", ids[1])
    try store.setToOne(ids[2], "spouse", ids[3])
    try store.setToOne(ids[0], "spouse", ids[3])
    #expect(try ids.map { try store.toOne($0, "spouse") } == [ids[3], nil, nil, ids[0]])
    try store.setToOne(ids[0], "spouse", ids[0])
    #expect(try ids.map { try store.toOne($0, "spouse") } == [ids[0], nil, nil, nil])
    try store.setToOne(ids[1], "spouse", ids[0])
    #expect(try ids.map { try store.toOne($0, "spouse") } == [ids[1], ids[0], nil, nil])
    try checked(store)
  }

  @Test("a relationship that is its own inverse: friends, oneself included")
  func friends() throws {
    let ids = try store.insert("Person", count: 4)
    try store.setMembers(ids[0], "friends", [ids[2], ids[0], ids[1]])
    #expect(try store.members(ids[0], "friends") == [ids[0], ids[1], ids[2]])
    #expect(try store.members(ids[1], "friends") == [ids[0]])
    try store.unlink(ids[2], "friends", [ids[0], ids[3]])
    #expect(try store.members(ids[0], "friends") == [ids[0], ids[1]])
    try store.setMembers(ids[0], "friends", [ids[3]])
    #expect(try ids.map { try store.members($0, "friends") } == [[ids[3]], [], [], [ids[0]]])
    try checked(store)
  }

  @Test("a chain of to-one relationships to the own entity, with rings")
  func chain() throws {
    let ids = try store.insert("Person", count: 3)
    for (index, id) in ids.enumerated() { try store.setToOne(id, "next", ids[(index + 1) % 3]) }
    #expect(try ids.map { try store.toOne($0, "previous") } == [ids[2], ids[0], ids[1]])
    try store.setToOne(ids[0], "next", ids[0])
    #expect(try ids.map { try store.toOne($0, "next") } == [ids[0], ids[2], nil])
    #expect(try ids.map { try store.toOne($0, "previous") } == [ids[0], nil, ids[1]])
    try checked(store)
  }

  @Test("many-to-many, ordered on both sides")
  func manyToMany() throws {
    let people = try store.insert("Person", count: 3)
    let clubs = try store.insert("Club", count: 2)
    try store.setMembers(clubs[0], "members", [people[2], people[0]])
    try store.setMembers(people[0], "clubs", [clubs[1], clubs[0]])
    #expect(try store.members(clubs[0], "members") == [people[2], people[0]])
    #expect(try store.members(clubs[1], "members") == [people[0]])
    #expect(try store.members(people[0], "clubs") == [clubs[1], clubs[0]])
    try store.unlink(clubs[0], "members")
    #expect(try store.members(people[0], "clubs") == [clubs[1]])
    #expect(try store.members(people[2], "clubs").isEmpty)
    try checked(store)
  }

  @Test("unordered members come by ascending id, once each")
  func unordered() throws {
    let people = try store.insert("Person", count: 3)
    let tag = try store.insert("Tag")
    try store.link(tag, "people", [people[2], people[0], people[2]])
    try store.link(tag, "people", [people[1], people[0]])
    #expect(try store.members(tag, "people") == people)
    expectError(.invalidIndex) { try store.link(tag, "people", [people[0]], at: 0) }
    try checked(store)
  }

  @Test("members of an ordered relationship are inserted and moved to a position")
  func positions() throws {
    let people = try store.insert("Person", count: 6)
    let club = try store.insert("Club")
    func members() throws -> [Int] { try store.members(club, "members").map { Int($0.serial - people[0].serial) } }
    try store.setMembers(club, "members", Array(people[0...3]))
    try store.link(club, "members", [people[5], people[4]], at: 1)
    #expect(try members() == [0, 5, 4, 1, 2, 3])
    try store.link(club, "members", [people[0]], at: 3)
    #expect(try members() == [5, 4, 1, 0, 2, 3])
    try store.link(club, "members", [people[3], people[5]], at: 0)
    #expect(try members() == [3, 5, 4, 1, 0, 2])
    try store.link(club, "members", [people[3]], at: 6)
    #expect(try members() == [5, 4, 1, 0, 2, 3])
    try store.link(club, "members", [people[1]])
    #expect(try members() == [5, 4, 1, 0, 2, 3])
    expectError(.invalidIndex) { try store.link(club, "members", [people[1]], at: 7) }
    expectError(.invalidIndex) { try store.link(club, "members", [people[1]], at: -1) }
    try checked(store)
  }

  @Test("moving a member leaves the order on its own side alone")
  func moveKeepsOtherSide() throws {
    let people = try store.insert("Person", count: 2)
    let clubs = try store.insert("Club", count: 3)
    try store.setMembers(people[0], "clubs", clubs)
    try store.link(clubs[0], "members", [people[1]])
    try store.link(clubs[0], "members", [people[1]], at: 0)
    #expect(try store.members(clubs[0], "members") == [people[1], people[0]])
    try store.link(clubs[0], "members", [people[0]], at: 0)
    #expect(try store.members(clubs[0], "members") == [people[0], people[1]])
    #expect(try store.members(people[0], "clubs") == clubs)
    try checked(store)
  }

  @Test("relationships without an inverse lead to any sub-entity of their destination")
  func withoutInverse() throws {
    let person = try store.insert("Person")
    let employee = try store.insert("Employee", ["badge": 7])
    let club = try store.insert("Club")
    try store.setToOne(person, "idol", employee)
    try store.setMembers(person, "favourites", [club, person, employee])
    try store.setMembers(employee, "favourites", [club])
    #expect(try store.members(person, "favourites") == [club, person, employee])
    try store.setToOne(person, "idol", club)
    #expect(try store.toOne(person, "idol") == club)
    try checked(store)
  }

  @Test("an object of a sub-entity inherits relationships, and is a destination like its parents")
  func inherited() throws {
    let employees = try store.insert("Employee", count: 2)
    let person = try store.insert("Person")
    let desk = try store.insert("Desk", relationships: ["owner": [employees[0]]])
    try store.setMembers(employees[1], "reports", [person, employees[0]])
    #expect(try store.toOne(employees[0], "boss") == employees[1])
    #expect(try store.toOne(employees[0], "desk") == desk)
    #expect(try store.read { tx in try tx.count(entity: "Person") } == 3)
    #expect(try store.read { tx in try tx.count(entity: "Person", includesSubentities: false) } == 1)
    #expect(try store.read { tx in try tx.count(entity: "Named") } == 3)
    try checked(store)
  }

  @Test("wrong destinations, missing objects and unknown names are errors that change nothing")
  func wrongTargets() throws {
    let person = try store.insert("Person")
    let desk = try store.insert("Desk")
    let club = try store.insert("Club")
    let error = expectError(.wrongDestination) { try store.setToOne(person, "spouse", club) }
    #expect(error?.property == "spouse" && error?.object == "Person/1")
    expectError(.wrongDestination) { try store.setMembers(club, "members", [person, desk]) }
    expectError(.wrongDestination) { try store.setMembers(person, "favourites", [desk]) }
    expectError(.wrongDestination) { try store.setMembers(desk, "owner", [person, person, club]) }
    expectError(.wrongDestination) { try store.insert("Desk", relationships: ["owner": [club]]) }
    let missing = ObjectID(rootCode: person.rootCode, serial: 77)
    expectError(.objectNotFound) { try store.setToOne(person, "spouse", missing) }
    expectError(.objectNotFound) { try store.setToOne(missing, "spouse", person) }
    expectError(.unknownProperty) { try store.setToOne(desk, "spouse", person) }
    expectError(.unknownProperty) { _ = try store.members(desk, "name") }
    #expect(try store.members(club, "members").isEmpty)
    try checked(store)
  }

  @Test("a to-one relationship takes one object", arguments: ["spouse", "desk", "idol"])
  func oneTarget(_ relationship: String) throws {
    let person = try store.insert("Person")
    let targets = try store.insert(relationship == "desk" ? "Desk" : "Person", count: 2)
    #expect(throws: StoreError.self) { try store.setMembers(person, relationship, targets) }
    #expect(throws: StoreError.self) { try store.link(person, relationship, targets) }
    try store.link(person, relationship, [targets[0]])
    try store.link(person, relationship, [targets[1]])
    #expect(try store.toOne(person, relationship) == targets[1])
    try checked(store)
  }

  @Test("readers can stop on the way through a list")
  func stop() throws {
    let people = try store.insert("Person", count: 40)
    let tag = try store.insert("Tag", relationships: ["people": people])
    var seen: [ObjectID] = []
    try store.read { tx in
      try tx.forEachMember(tag, "people") { member in
        seen.append(member)
        return seen.count < 20
      }
    }
    #expect(seen == Array(people[..<20]))
  }
}

@Suite("Lists that grow and shrink")
struct ListSizeTests {
  /// Sizes around the thresholds at which a list changes its form: into chunks at 17, back below 8, a second chunk at
  /// 129, a member index at 1,025.
  static let sizes = [0, 1, 7, 8, 15, 16, 17, 127, 128, 129, 256, 257, 1023, 1024, 1025, 1300]

  @Test("lists of any size keep members, order and count, written at once", arguments: ["tags", "clubs", "favourites"])
  func written(_ relationship: String) throws {
    let test = try TestStore(societyModel)
    let entity = relationship == "tags" ? "Tag" : "Club"
    let all = try test.store.insert(entity, count: 1300)
    let person = try test.store.insert("Person")
    for size in Self.sizes + Self.sizes.reversed() {
      let wanted = relationship == "tags" ? Array(all[..<size]) : Array(all[(1300 - size)...].reversed())
      try test.store.setMembers(person, relationship, wanted)
      #expect(try test.store.members(person, relationship) == wanted, "\(size)")
      #expect(try test.store.count(person, relationship) == size)
    }
    try test.store.setMembers(person, relationship, all)
    try checked(test.store)
  }

  @Test("lists keep members, order and count, member by member", arguments: ["people", "members"])
  func memberByMember(_ relationship: String) throws {
    let test = try TestStore(societyModel)
    let store = test.store
    let people = try store.insert("Person", count: 1300)
    let owner = try store.insert(relationship == "people" ? "Tag" : "Club")
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var expected: [ObjectID] = []
    var rest = people
    /// Grows or shrinks to a size in one transaction, at random positions.
    func move(to size: Int) throws {
      try store.write { tx in
        while expected.count < size {
          let id = rest.remove(at: Int.random(in: 0..<rest.count, using: &random))
          if relationship == "people" {
            try tx.link(owner, relationship, [id])
            expected.append(id)
          } else {
            let index = Int.random(in: 0...expected.count, using: &random)
            try tx.link(owner, relationship, [id], at: index)
            expected.insert(id, at: index)
          }
        }
        while expected.count > size {
          let id = expected.remove(at: Int.random(in: 0..<expected.count, using: &random))
          try tx.unlink(owner, relationship, [id])
          rest.append(id)
        }
      }
      let members = try store.members(owner, relationship)
      #expect(members == (relationship == "people" ? expected.sorted() : expected), "size \(size), seed \(seed)")
      #expect(try store.count(owner, relationship) == size)
    }
    for size in Self.sizes + Self.sizes.reversed() { try move(to: size) }
    for size in [20, 10, 17, 9, 16, 6, 17, 7] { try move(to: size) }
    try move(to: 300)
    try checked(store)
    try test.reopen()
    #expect(try test.store.count(owner, relationship) == 300)
  }

  @Test("a long list's members move to any place")
  func moves() throws {
    let test = try TestStore(societyModel)
    let people = try test.store.insert("Person", count: 1200)
    let club = try test.store.insert("Club", relationships: ["members": people])
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    var expected = people
    try test.store.write { tx in
      for _ in 0..<300 {
        let from = Int.random(in: 0..<expected.count, using: &random)
        let to = Int.random(in: 0..<expected.count, using: &random)
        let id = expected.remove(at: from)
        expected.insert(id, at: to)
        try tx.link(club, "members", [id], at: to)
      }
    }
    #expect(try test.store.members(club, "members") == expected, "seed \(seed)")
    try checked(test.store)
  }
}

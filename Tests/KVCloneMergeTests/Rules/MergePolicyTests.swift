import Foundation
import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct MergePolicyTests {
  private func fixture(
    _ property: String, _ base: AttributeValue?, _ ours: AttributeValue?, _ theirs: AttributeValue?,
    _ entity: String = "Person"
  ) throws -> (MergeFixture, ObjectID) {
    let fixture = try MergeFixture()
    let id = fixture.base.insert(entity, 1)
    fixture.base.set(id, property, base)
    fixture.fork()
    fixture.ours.set(id, property, ours)
    fixture.theirs.set(id, property, theirs)
    return (fixture, id)
  }

  @Test("M7: sum adds both differences, also of equal values") func m7Sum() throws {
    for (ours, theirs, sum) in [(12, 15, 17), (12, 12, 14), (8, 12, 10)] as [(Int64, Int64, Int64)] {
      let (fixture, id) = try fixture("visits", 10, .integer(ours), .integer(theirs))
      #expect(try fixture.merged().value(id, "visits") == .integer(sum))
    }
    let (one, id) = try fixture("visits", 10, 10, 15)
    #expect(try one.merged().value(id, "visits") == 15)
  }

  @Test("M7: a sum that the type cannot hold, or of nil, is an ordinary conflict") func m7SumConflicts() throws {
    for (base, ours, theirs) in [(0, 30000, 30001), (nil, 1, 2), (1, nil, 2)] as [(Int64?, Int64?, Int64?)] {
      let (fixture, _) = try fixture(
        "visits", base.map { .integer($0) }, ours.map { .integer($0) }, theirs.map { .integer($0) })
      #expect(try fixture.plan().conflictTexts == ["bothChanged Person/1 visits"])
    }
  }

  @Test("M7: max takes the later date") func m7Max() throws {
    let dates = [0, 5, 3].map { AttributeValue.date(Date(timeIntervalSinceReferenceDate: $0)) }
    let (fixture, id) = try fixture("seen", dates[0], dates[1], dates[2])
    #expect(try fixture.plan().conflicts.isEmpty)
    #expect(try fixture.merged().value(id, "seen") == dates[1])
  }

  @Test("M7: skip never takes a change of theirs, and never conflicts") func m7Skip() throws {
    let (fixture, id) = try fixture("badge", "a", "b", "c")
    #expect(try fixture.plan().conflicts.isEmpty)
    #expect(try fixture.merged().value(id, "badge") == "b")
    fixture.ours.delete([id])
    #expect(try fixture.plan().conflicts.isEmpty)
  }

  @Test("M7: the rule of a property is stronger than that of an entity, and that than the policy") func m7Strength()
    throws
  {
    let (fixture, id) = try fixture("place.x", 1, 2, 3, "Manager")
    func result(_ policy: MergeSide?, _ rules: [String: MergeRule]) throws -> AttributeValue? {
      try fixture.merged(MergeOptions(policy: policy, rules: rules)).value(id, "place.x")
    }
    #expect(try result(.theirs, [:]) == 3)
    #expect(try result(.theirs, ["Person": .ours]) == 2)
    #expect(try result(nil, ["Person": .ours, "Manager": .theirs]) == 3)
    #expect(try result(nil, ["Manager": .ours, "Person.place": .theirs]) == 3)
    #expect(try result(nil, ["Person.place": .ours, "Person.place.x": .theirs]) == 3)
    #expect(try result(nil, ["Manager.place.x": .sum]) == 4)
    #expect(try result(nil, ["Manager.place.x": .max]) == 3)
    #expect(try result(.theirs, ["Manager.place.x": .skip]) == 2)
  }

  @Test("M7: the closure is stronger than the call, and the call than the model") func m7Closure() throws {
    let (fixture, id) = try fixture("name", "a", "b", "c")
    #expect(try fixture.merged(MergeOptions(policy: .ours) { _ in .theirs }).value(id, "name") == "c")
    #expect(try fixture.merged(MergeOptions(policy: .theirs) { _ in nil }).value(id, "name") == "c")
    #expect(try fixture.merged(MergeOptions { _ in .attribute("d") }).value(id, "name") == "d")
    #expect(try fixture.plan(MergeOptions(policy: .ours) { _ in .refuse }).openConflicts.count == 1)
    #expect(throws: MergeError.self) { try fixture.plan(MergeOptions { _ in .attribute(3) }) }
    #expect(throws: MergeError.self) { try fixture.plan(MergeOptions { _ in .order([]) }) }
    let (visits, person) = try self.fixture("visits", 1, 2, 3)
    #expect(try visits.merged(MergeOptions(rules: ["Person.visits": .theirs])).value(person, "visits") == 3)
  }

  @Test("M7: a target is an answer for a to-one relationship") func m7Target() throws {
    let fixture = try MergeFixture()
    let folders = (1...3).map { fixture.base.insert("Folder", UInt64($0)) }
    let note = fixture.base.insert("Note", 1)
    fixture.fork()
    fixture.ours.setTarget(note, "folder", folders[0])
    fixture.theirs.setTarget(note, "folder", folders[1])
    let result = try fixture.merged(MergeOptions { _ in .object(folders[2]) })
    #expect(result.members(folders[2], "notes") == [note] && result.members(folders[0], "notes").isEmpty)
    #expect(throws: MergeError.self) { try fixture.plan(MergeOptions { _ in .object(note) }) }
  }

  @Test("M7: unknown rules are errors of the merge") func m7Mistakes() throws {
    let model = ManagedObjectModel("Bad") {
      EntityDescription("Thing") { AttributeDescription("name", .string, userInfo: ["merge": "newest"]) }
    }
    #expect(throws: MergeError.self) { try MergeFixture(model).plan() }
    var keys = CloneUserInfoKeys.standard
    keys.merge = "other"
    #expect(throws: Never.self) { try MergeFixture(model).plan(MergeOptions(userInfoKeys: keys)) }
    let names: [(String, MergeRule)] = [
      ("Nobody", .ours), ("Person.nothing", .ours), ("Person", .sum), ("Person.place.z", .ours),
      // The links are compared at the other end, and have no order here.
      ("Person.notes", .theirs), ("Manager.notes", .skip), ("Note.lines", .ours),
    ]
    for (name, rule) in names {
      #expect(throws: MergeError.self) { try MergeFixture().plan(MergeOptions(rules: [name: rule])) }
    }
    for name in ["Folder.notes", "Desk.owner", "Note.author", "Folder.pins"] {
      #expect(throws: Never.self) { try MergeFixture().plan(MergeOptions(rules: [name: .theirs])) }
    }
  }
}

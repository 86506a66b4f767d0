import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct UniquenessMergeTests {
  @Test("M5: values that objects exchange are no violation of uniqueness") func m5Exchange() throws {
    let fixture = try MergeFixture()
    let tags = [("a", 1), ("b", 2)].map { fixture.base.insert("Tag", UInt64($1), ["name": .string($0)]) }
    fixture.fork()
    fixture.theirs.set(tags[0], "name", "b")
    fixture.theirs.set(tags[1], "name", "a")
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty && plan.issues.isEmpty)
    #expect(fixture.result(plan).value(tags[0], "name") == "b")
  }

  /// Both sides made a tag with the same name, on different notes.
  private func twoTags() throws -> (MergeFixture, notes: [ObjectID], mine: ObjectID, other: ObjectID) {
    let fixture = try MergeFixture()
    let notes = (1...3).map { fixture.base.insert("Note", UInt64($0)) }
    fixture.fork()
    let mine = fixture.ours.insert("Tag", 1, ["name": "new"])
    let other = fixture.theirs.insert("Tag", 2, ["name": "new", "color": "red"])
    fixture.ours.add(mine, to: notes[0], "tags")
    fixture.ours.add(mine, to: notes[1], "tags")
    fixture.theirs.add(other, to: notes[1], "tags")
    fixture.theirs.add(other, to: notes[2], "tags")
    return (fixture, notes, mine, other)
  }

  @Test("M5: two new objects with the same unique values are a conflict that names both") func m5NotUnique() throws {
    let (fixture, notes, mine, other) = try twoTags()
    let conflict = try #require(try fixture.plan().openConflicts.first)
    #expect(conflict.kind == .notUnique && conflict.id == mine && conflict.other == other)
    #expect(conflict.property == "name")
    for side in MergeSide.allCases {
      let plan = try fixture.plan(MergeOptions(policy: side))
      let result = fixture.result(plan)
      #expect(plan.issues.isEmpty)
      #expect(result.entity(of: other) == nil && result.value(mine, "color") == "red")
      #expect(result.members(mine, "notes") == notes)
      for note in notes { #expect(result.members(note, "tags") == [mine]) }
    }
    #expect(try fixture.reversePlan().openConflicts.map(\.kind) == [.notUnique])
  }

  @Test("M5: a union takes the values of the preferred side where both have some") func m5UnionValues() throws {
    let (fixture, _, mine, _) = try twoTags()
    fixture.ours.set(mine, "color", "blue")
    #expect(try fixture.merged(MergeOptions(policy: .ours)).value(mine, "color") == "blue")
    #expect(try fixture.merged(MergeOptions(policy: .theirs)).value(mine, "color") == "red")
  }

  @Test("M5, M17: a new object of ours is united with the older one of theirs") func m5UnionKeepsTheOlder() throws {
    let fixture = try MergeFixture()
    let old = fixture.base.insert("Tag", 1, ["name": "old"])
    let note = fixture.base.insert("Note", 1)
    fixture.fork()
    let mine = fixture.ours.insert("Tag", 2, ["name": "new"])
    fixture.ours.add(mine, to: note, "tags")
    fixture.theirs.set(old, "name", "new")
    let plan = try fixture.plan(MergeOptions(policy: .ours))
    #expect(plan.conflicts.map(\.conflict.kind) == [.notUnique])
    let result = fixture.result(plan)
    #expect(result.entity(of: mine) == nil && result.members(note, "tags") == [old])
    #expect(try fixture.reversePlan().openConflicts.map(\.kind) == [.notUnique])
  }

  @Test(
    "M5, M17: two new objects with the same values under two constraints are one conflict", arguments: [false, true])
  func m5SeveralConstraints(isAnswered: Bool) throws {
    let fixture = try MergeFixture(
      ManagedObjectModel("Codes") {
        EntityDescription("Item", unique: [["name"], ["code"]]) {
          AttributeDescription("name", .string)
          AttributeDescription("code", .integer64)
          AttributeDescription("text", .string)
        }
      })
    fixture.fork()
    let mine = fixture.ours.insert("Item", 1, ["name": "a", "code": .integer(1), "text": "mine"])
    let other = fixture.theirs.insert("Item", 2, ["name": "a", "code": .integer(1), "text": "other"])
    let options = MergeOptions(policy: isAnswered ? .theirs : nil)
    for plan in [try fixture.plan(options), try fixture.reversePlan(options)] {
      #expect(plan.conflicts.map(\.conflict.kind) == [.notUnique] && plan.issues.isEmpty)
      #expect(plan.conflicts.first?.conflict.property == "name")
      #expect((plan.conflicts.first?.answer != nil) == isAnswered)
    }
    guard isAnswered else { return }
    let result = try fixture.merged(options)
    #expect(result.entity(of: other) == nil && result.value(mine, "text") == "other")
  }

  @Test("M5, M17: an object with the unique values of two different ones is an error in both directions")
  func m5TwoPartners() throws {
    let fixture = try MergeFixture(
      ManagedObjectModel("Users") {
        EntityDescription("User", unique: [["email"], ["phone"]]) {
          AttributeDescription("email", .string)
          AttributeDescription("phone", .string)
        }
      })
    fixture.fork()
    _ = fixture.ours.insert("User", 1, ["email": "x"])
    _ = fixture.ours.insert("User", 2, ["email": "y", "phone": "p"])
    _ = fixture.theirs.insert("User", 3, ["email": "x", "phone": "p"])
    for options in [MergeOptions(), MergeOptions(policy: .ours), MergeOptions(policy: .theirs)] {
      for plan in [try fixture.plan(options), try fixture.reversePlan(options)] {
        #expect(plan.conflicts.isEmpty)
        #expect(plan.issues.map(\.kindName) == ["uniquenessConflict", "uniquenessConflict"])
        #expect(Set(plan.issues.map(\.property)) == ["email", "phone"])
      }
    }
  }

  @Test("M5: any other violation of uniqueness is an error of the plan") func m5OtherViolations() throws {
    let fixture = try MergeFixture()
    let tags = [("a", 1), ("b", 2)].map { fixture.base.insert("Tag", UInt64($1), ["name": .string($0)]) }
    fixture.fork()
    fixture.ours.set(tags[0], "name", "c")
    fixture.theirs.set(tags[1], "name", "c")
    let plan = try fixture.plan(MergeOptions(policy: .ours))
    #expect(plan.conflicts.isEmpty)
    #expect(plan.issues.map(\.kindName) == ["uniquenessConflict"])
  }
}

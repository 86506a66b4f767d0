import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct LinkMergeTests {
  @Test("M2: members that either side added or removed are added or removed") func m2Members() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let note = base.insert("Note", 1)
    let tags = (1...5).map { base.insert("Tag", UInt64($0)) }
    for tag in tags[0..<3] { base.add(tag, to: note, "tags") }
    fixture.fork()
    fixture.ours.remove(tags[0], from: note, "tags")
    fixture.ours.add(tags[3], to: note, "tags")
    fixture.theirs.remove(tags[1], from: note, "tags")
    fixture.theirs.add(tags[4], to: note, "tags")
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty)
    let result = fixture.result(plan)
    #expect(result.members(note, "tags") == [tags[2], tags[3], tags[4]])
    #expect(result.members(tags[0], "notes").isEmpty && result.members(tags[4], "notes") == [note])
  }

  @Test("M2: a list that both sides reordered is one conflict, which an order resolves") func m2Order() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folder = base.insert("Folder", 1)
    let notes = (1...3).map { base.insert("Note", UInt64($0)) }
    for note in notes { base.add(note, to: folder, "notes") }
    fixture.fork()
    fixture.ours.move(notes[0], of: folder, "notes", to: 2)
    fixture.theirs.move(notes[2], of: folder, "notes", to: 0)
    let new = fixture.theirs.insert("Note", 9)
    fixture.theirs.add(new, to: folder, "notes")
    #expect(try fixture.plan().conflictTexts == ["order Folder/1 notes"])
    #expect(
      try fixture.merged(MergeOptions(policy: .theirs)).members(folder, "notes")
        == [notes[2], notes[0], notes[1], new])
    let order = [new, notes[1], notes[0], notes[2]]
    #expect(try fixture.merged(MergeOptions { _ in .order(order) }).members(folder, "notes") == order)
    #expect(throws: MergeError.self) { try fixture.plan(MergeOptions { _ in .order(notes) }) }
  }

  @Test("M3: a to-many relationship follows the to-one end") func m3ToOneEnd() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folders = (1...3).map { base.insert("Folder", UInt64($0)) }
    let note = base.insert("Note", 1)
    base.add(note, to: folders[0], "notes")
    fixture.fork()
    fixture.ours.add(note, to: folders[1], "notes")
    fixture.theirs.add(note, to: folders[2], "notes")
    #expect(try fixture.plan().conflictTexts == ["bothChanged Note/1 folder"])
    let result = try fixture.merged(MergeOptions(policy: .theirs))
    #expect(result.members(folders[2], "notes") == [note] && result.members(folders[1], "notes").isEmpty)
    #expect(result.members(note, "folder") == [folders[2]])
  }

  @Test("M3: partners are exchanged without a conflict") func m3Exchange() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let people = (1...2).map { base.insert("Person", UInt64($0)) }
    let desks = (1...2).map { base.insert("Desk", UInt64($0)) }
    for (person, desk) in zip(people, desks) { base.setTarget(person, "desk", desk) }
    fixture.fork()
    fixture.theirs.setTarget(people[0], "desk", desks[1])
    fixture.theirs.setTarget(people[1], "desk", desks[0])
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty)
    let result = fixture.result(plan)
    #expect(result.members(people[0], "desk") == [desks[1]] && result.members(people[1], "desk") == [desks[0]])
  }

  @Test("M3: two objects that want one partner are one conflict of the partner") func m3InverseTaken() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let people = (1...3).map { base.insert("Person", UInt64($0)) }
    let desks = (1...3).map { base.insert("Desk", UInt64($0)) }
    base.setTarget(people[2], "desk", desks[2])
    fixture.fork()
    fixture.ours.setTarget(people[0], "desk", desks[0])
    fixture.theirs.setTarget(people[2], "desk", desks[0])
    let conflict = try #require(try fixture.plan().openConflicts.first)
    #expect(try fixture.plan().conflictTexts == ["inverseTaken Desk/1 owner"])
    #expect(try fixture.reversePlan().conflictTexts == ["inverseTaken Desk/1 owner"])
    #expect(conflict.ours == .object(people[0]) && conflict.theirs == .object(people[2]))
    // Ours: the person that theirs moved keeps the desk that ours shows.
    let ours = try fixture.merged(MergeOptions(policy: .ours))
    #expect(ours.members(desks[0], "owner") == [people[0]] && ours.members(people[2], "desk") == [desks[2]])
    let theirs = try fixture.merged(MergeOptions(policy: .theirs))
    #expect(theirs.members(desks[0], "owner") == [people[2]] && theirs.members(people[0], "desk").isEmpty)
    let none = try fixture.merged(MergeOptions { _ in .object(nil) })
    #expect(none.members(desks[0], "owner").isEmpty)
  }

  @Test("M3: a relationship that is its own inverse stays symmetric") func m3OwnInverse() throws {
    let fixture = try MergeFixture()
    let people = (1...3).map { fixture.base.insert("Person", UInt64($0)) }
    fixture.fork()
    fixture.ours.setTarget(people[1], "partner", people[2])
    fixture.theirs.setTarget(people[0], "partner", people[1])
    #expect(try fixture.plan().conflictTexts == ["bothChanged Person/2 partner"])
    let ours = try fixture.merged(MergeOptions(policy: .ours))
    #expect(ours.members(people[1], "partner") == [people[2]] && ours.members(people[0], "partner").isEmpty)
    let theirs = try fixture.merged(MergeOptions(policy: .theirs))
    #expect(theirs.members(people[1], "partner") == [people[0]] && theirs.members(people[2], "partner").isEmpty)
  }

  @Test("M3: a relationship without an inverse is compared at its own end") func m3WithoutInverse() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folder = base.insert("Folder", 1)
    let notes = (1...3).map { base.insert("Note", UInt64($0)) }
    base.add(notes[0], to: folder, "pins")
    fixture.fork()
    fixture.ours.add(notes[1], to: folder, "pins")
    fixture.theirs.add(notes[2], to: folder, "pins", at: 0)
    let result = try fixture.merged()
    #expect(result.members(folder, "pins") == [notes[2], notes[0], notes[1]])
  }
}

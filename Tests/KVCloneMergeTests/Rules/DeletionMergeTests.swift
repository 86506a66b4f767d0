import KVCloneMerge
import KVCloneModel
import Testing

@Suite struct DeletionMergeTests {
  @Test("M4: objects inserted by theirs are inserted under their ids, before their links") func m4Inserted() throws {
    let fixture = try MergeFixture()
    let folder = fixture.base.insert("Folder", 1)
    fixture.fork()
    let note = fixture.theirs.insert("Note", 7, ["text": "new"])
    fixture.theirs.add(note, to: folder, "notes")
    let line = fixture.theirs.insert("Line", 8)
    fixture.theirs.setTarget(line, "note", note)
    let plan = try fixture.plan()
    let result = fixture.result(plan)
    #expect(plan.conflicts.isEmpty)
    #expect(result.objects == fixture.theirs.objects)
    #expect(plan.counts["Note"]?.inserted == 1 && plan.counts["Line"]?.inserted == 1)
  }

  @Test("M4: an object that one side deleted and the other left alone is deleted") func m4Deleted() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folder = base.insert("Folder", 1)
    let notes = (1...3).map { base.insert("Note", UInt64($0)) }
    let line = base.insert("Line", 1)
    for note in notes { base.add(note, to: folder, "notes") }
    base.setTarget(line, "note", notes[0])
    fixture.fork()
    fixture.theirs.delete([notes[0]])
    // Links that ours lost, and an order, are no changes.
    fixture.ours.move(notes[1], of: folder, "notes", to: 0)
    fixture.ours.remove(notes[0], from: folder, "notes")
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty && plan.issues.isEmpty)
    let result = fixture.ours.copy()
    let deletion = result.apply(plan)
    #expect(deletion.asked == [notes[0], line] && deletion.taken == deletion.asked)
    #expect(result.members(folder, "notes") == [notes[1], notes[2]])
  }

  @Test("M4: an object that both deleted is gone") func m4BothDeleted() throws {
    let fixture = try MergeFixture()
    let note = fixture.base.insert("Note", 1)
    fixture.fork()
    fixture.ours.delete([note])
    fixture.theirs.delete([note])
    let plan = try fixture.plan()
    #expect(plan.conflicts.isEmpty && plan.operations.isEmpty)
  }

  @Test("M4: an object that theirs deleted and ours changed is a conflict") func m4DeletedTheirs() throws {
    let fixture = try MergeFixture()
    let note = fixture.base.insert("Note", 1, ["text": "a"])
    fixture.fork()
    fixture.ours.set(note, "text", "b")
    fixture.theirs.delete([note])
    #expect(try fixture.plan().conflictTexts == ["deletedTheirs Note/1 -"])
    #expect(try fixture.reversePlan().conflictTexts == ["deletedOurs Note/1 -"])
    #expect(try fixture.merged(MergeOptions(policy: .ours)).value(note, "text") == "b")
    #expect(try fixture.merged(MergeOptions(policy: .theirs)).objects.isEmpty)
  }

  @Test("M4: a gained link is a change, also through a relationship without an inverse") func m4GainedLinks() throws {
    let fixture = try MergeFixture()
    let people = (1...2).map { fixture.base.insert("Person", UInt64($0)) }
    fixture.fork()
    fixture.theirs.delete([people[0]])
    fixture.ours.setTarget(people[1], "friend", people[0])
    #expect(try fixture.plan().conflictTexts == ["deletedTheirs Person/1 -"])
    #expect(try fixture.reversePlan().conflictTexts == ["deletedOurs Person/1 -"])
    let kept = try fixture.merged(MergeOptions(policy: .ours))
    #expect(kept.members(people[1], "friend") == [people[0]])
  }

  @Test("M4: a deleted object that is kept comes back in its place, with what it needs") func m4ComesBack() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folder = base.insert("Folder", 1)
    let notes = (1...3).map { base.insert("Note", UInt64($0)) }
    for note in notes { base.add(note, to: folder, "notes") }
    let tag = base.insert("Tag", 1)
    for note in notes { base.add(note, to: tag, "notes") }
    let line = base.insert("Line", 1)
    base.setTarget(line, "note", notes[1])
    let person = base.insert("Person", 1)
    base.add(notes[1], to: folder, "pins")
    fixture.fork()
    fixture.ours.delete([notes[1]])
    fixture.theirs.set(line, "text", "changed")
    let plan = try fixture.plan(MergeOptions(policy: .theirs))
    #expect(plan.conflictTexts == ["deletedOurs Line/1 -"])
    let result = fixture.result(plan)
    #expect(result.members(line, "note") == [notes[1]])
    #expect(result.members(folder, "notes") == notes && result.members(tag, "notes") == notes)
    #expect(result.members(folder, "pins") == [notes[1]])
    #expect(result.objects == fixture.theirs.objects)
    #expect(result.entity(of: person) != nil)
    // The other direction keeps the same objects.
    let reverse = try fixture.reversePlan(MergeOptions(policy: .ours))
    let other = fixture.theirs.copy()
    _ = other.apply(reverse)
    #expect(other.objects == fixture.theirs.objects)
  }

  @Test("M4: what a delete rule takes beyond the deletion is a conflict of that object") func m4TakenAlong() throws {
    let fixture = try MergeFixture()
    let base = fixture.base
    let folder = base.insert("Folder", 1)
    let note = base.insert("Note", 1)
    fixture.fork()
    fixture.theirs.delete([folder])
    fixture.ours.add(note, to: folder, "notes")
    let line = fixture.ours.insert("Line", 1)
    fixture.ours.setTarget(line, "note", note)
    #expect(try fixture.plan().conflictTexts == ["deletedTheirs Folder/1 -"])
    let options = MergeOptions(rules: ["Folder": .theirs])
    #expect(try fixture.plan(options).conflictTexts == ["deletedTheirs Folder/1 -", "takenAlong Note/1 -"])
    let all = MergeOptions(policy: .theirs)
    #expect(
      try fixture.plan(all).conflictTexts
        == ["deletedTheirs Folder/1 -", "takenAlong Note/1 -", "takenAlong Line/1 -"])
    #expect(try fixture.merged(all).objects.isEmpty)
    let kept = fixture.ours.copy()
    let plan = try fixture.plan(MergeOptions(policy: .ours, rules: ["Folder": .theirs]))
    #expect(kept.apply(plan).taken == [folder])
    #expect(kept.entity(of: note) != nil && kept.members(note, "folder").isEmpty)
    // The other direction has the same conflicts.
    let reverse = try fixture.reversePlan(MergeOptions(policy: .ours))
    #expect(reverse.conflictTexts == ["deletedOurs Folder/1 -", "takenAlong Note/1 -", "takenAlong Line/1 -"])
  }

  @Test("M4: an object that two deletions would take along is one conflict") func m4TakenAlongTwice() throws {
    let model = ManagedObjectModel("Albums") {
      EntityDescription("Album") {
        RelationshipDescription("photos", toMany: "Photo", inverse: "albums", deleteRule: .cascade)
      }
      EntityDescription("Photo") { RelationshipDescription("albums", toMany: "Album", inverse: "photos") }
    }
    let fixture = try MergeFixture(model)
    let albums = (1...2).map { fixture.base.insert("Album", UInt64($0)) }
    let photo = fixture.base.insert("Photo", 1)
    fixture.fork()
    fixture.theirs.delete(albums)
    for album in albums { fixture.ours.add(photo, to: album, "photos") }
    let options = MergeOptions { $0.kind == .deletedTheirs ? .theirs : .ours }
    let plan = try fixture.plan(options)
    #expect(plan.conflictTexts == ["deletedTheirs Album/1 -", "deletedTheirs Album/2 -", "takenAlong Photo/1 -"])
    let result = fixture.ours.copy()
    #expect(result.apply(plan).taken == Set(albums))
    #expect(result.members(photo, "albums").isEmpty)
  }

  @Test("M4: a deny that remains is an error of the plan") func m4Deny() throws {
    let fixture = try MergeFixture()
    let room = fixture.base.insert("Room", 1)
    let seat = fixture.base.insert("Seat", 1)
    fixture.fork()
    fixture.theirs.delete([room])
    fixture.ours.setTarget(seat, "room", room)
    let plan = try fixture.plan(MergeOptions(policy: .theirs))
    #expect(plan.conflictTexts == ["deletedTheirs Room/1 -"])
    #expect(plan.issues.map(\.kindName) == ["deleteDenied"])
    #expect(throws: MergeError.self) { try plan.requireMergeable() }
  }
}

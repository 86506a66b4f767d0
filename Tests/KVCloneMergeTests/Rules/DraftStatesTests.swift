import Foundation
import KVCloneLMDB
import KVCloneMerge
import KVCloneModel
import KVCloneRecords
import Testing

/// Merges of clones into their sources, which are in the same store.
@Suite struct DraftStatesTests {
  private let fixture: MergeFixture
  private let folder, note, clonedFolder, clonedNote: ObjectID

  init() throws {
    fixture = try MergeFixture()
    let base = fixture.base
    folder = base.insert("Folder", 1, ["title": "old"])
    note = base.insert("Note", 1, ["text": "a"])
    base.add(note, to: folder, "notes")
    clonedFolder = base.insert("Folder", 2, ["title": "Copy of old"])
    clonedNote = base.insert("Note", 2, ["text": "a"])
    base.add(clonedNote, to: clonedFolder, "notes")
    fixture.fork()
  }

  /// Plans the merge of what was done to the clones in `ours`, the state of the store.
  private func plan(outside: Set<ObjectID> = [], keepsClones: Bool? = nil, _ further: [ObjectID: ObjectID] = [:]) throws
    -> PlannedMerge
  {
    let sources = [clonedFolder: folder, clonedNote: note].merging(further) { $1 }
    let space = ScratchSpace(directory: FileManager.default.temporaryDirectory.path)
    let (ofClones, ofSources) = (ObjectMap(in: space), ObjectMap(in: space))
    for (clone, source) in sources {
      try ofClones.set(clone, to: source)
      try ofSources.set(source, to: clone)
    }
    let now = fixture.ours
    let clones = ObjectSet(sources.keys.filter { now.entity(of: $0) != nil })
    let remainder = try keepsClones.map {
      try CloneRemainder(of: clones, ofClones, in: now, keepsClones: $0, space)
    }
    var (mine, others) = (ObjectSet(), ObjectSet())
    now.changed(since: fixture.base).forEach { id in
      _ = others.insert(sources[id] ?? id)
      if sources[id] == nil { _ = mine.insert(id) }
      return true
    }
    return try MergePlanner.plan(
      fixture.base.schema,
      ours: MergeSideStates(
        base: SourcesMergeState(fixture.base, sources: ofClones, clones: ofSources),
        now: SourcesMergeState(now, sources: ofClones, clones: ofSources), changed: mine),
      theirs: MergeSideStates(
        base: ClonesMergeState(fixture.base, sources: ofClones, clones: ofSources),
        now: ClonesMergeState(now, base: fixture.base, sources: ofClones, clones: ofSources),
        changed: others), clones: remainder, keepsOrders: outside.contains)
  }

  @Test("P2: what the clone's rules made different is no change") func p2NoChange() throws {
    #expect(try plan().operations.isEmpty)
    fixture.ours.set(folder, "title", "new")
    let plan = try plan()
    #expect(plan.operations.isEmpty && plan.conflicts.isEmpty)
  }

  @Test("P3: changes of a clone are applied to its source") func p3Changes() throws {
    let person = fixture.ours.insert("Person", 1)
    let tag = fixture.ours.insert("Tag", 1)
    fixture.ours.set(clonedNote, "text", "b")
    fixture.ours.setTarget(clonedNote, "author", person)
    fixture.ours.add(tag, to: clonedNote, "tags")
    fixture.ours.set(folder, "title", "new")
    let plan = try plan()
    #expect(plan.conflicts.isEmpty && plan.issues.isEmpty)
    let result = fixture.result(plan)
    #expect(result.value(note, "text") == "b" && result.value(folder, "title") == "new")
    #expect(result.members(note, "author") == [person] && result.members(tag, "notes").contains(note))
    fixture.ours.set(note, "text", "c")
    #expect(try self.plan().conflictTexts == ["bothChanged Note/1 text"])
  }

  @Test("P4: an object made below the clones becomes part of the source's graph") func p4NewObjects() throws {
    let new = fixture.ours.insert("Note", 3, ["text": "new"])
    fixture.ours.add(new, to: clonedFolder, "notes", at: 0)
    let plan = try plan()
    #expect(plan.conflicts.isEmpty)
    let result = fixture.result(plan)
    #expect(result.members(folder, "notes") == [new, note] && result.members(clonedFolder, "notes") == [clonedNote])
  }

  @Test("P4: the order of outside lists is not merged") func p4OutsideLists() throws {
    let tag = fixture.base.insert("Tag", 1)
    let others = [8, 9].map { fixture.base.insert("Note", $0) }
    for member in others + [note, clonedNote] { fixture.base.add(member, to: tag, "notes") }
    fixture.fork()
    fixture.ours.setOrder(tag, "notes", [clonedNote] + others + [note])
    #expect(try plan(outside: [tag]).operations.isEmpty)
    #expect(try !plan().operations.isEmpty)
  }

  @Test("P5: a deleted clone deletes its source, unless that was changed") func p5Deletion() throws {
    fixture.ours.delete([clonedNote])
    #expect(fixture.result(try plan()).entity(of: note) == nil)
    fixture.ours.set(note, "text", "changed")
    #expect(try plan().conflictTexts == ["deletedTheirs Note/1 -"])
  }

  @Test("P7: the plan names rules that the deletion of the clones breaks") func p7Deletion() throws {
    let line = fixture.base.insert("Line", 1)
    fixture.base.setTarget(line, "note", clonedNote)
    fixture.fork()
    #expect(try plan().issueCount == 0 && plan(keepsClones: true).issueCount == 0)
    let issues = try plan(keepsClones: false).issues
    #expect(issues.map(\.property) == ["note"] && issues.map(\.object) == ["Line/1"])
  }

  @Test("P7: uniqueness counts kept clones") func p7Uniqueness() throws {
    let person = fixture.base.insert("Person", 1, ["email": "a"])
    let clonedPerson = fixture.base.insert("Person", 2)
    fixture.fork()
    fixture.ours.set(clonedPerson, "email", "b")
    let persons = [clonedPerson: person]
    #expect(try plan(keepsClones: false, persons).issueCount == 0)
    #expect(try plan(keepsClones: true, persons).issues.map(\.property) == ["email"])
  }

  @Test("P5: a deleted source with a changed clone is a conflict") func p5DeletedSource() throws {
    fixture.ours.delete([note])
    fixture.ours.set(clonedNote, "text", "b")
    #expect(try plan().conflictTexts == ["deletedOurs Note/1 -"])
  }
}

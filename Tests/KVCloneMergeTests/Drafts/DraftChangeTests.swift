import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// The changes of a draft, and their way into the sources (P2, P3, P4).
@Suite("Drafts: changes") struct DraftChangeTests {
  @Test("M7, P8: a conflict of blobs can be answered with that of the base, which no object has any more")
  func m7BlobOfBase() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    for (id, byte) in [(fixture.document, 8), (draft, 9)] as [(ObjectID, UInt8)] {
      try store.set(id, "picture", .binary(Data(repeating: byte, count: 6_000)))
    }
    let conflict = try #require(try store.drafts.planMerge(draft).conflicts.first)
    guard case .attribute(let value)? = conflict.base else {
      Issue.record("\(conflict)")
      return
    }
    let options = MergeOptions(answers: [AnsweredConflict(conflict, .attribute(value))])
    let plan = try store.drafts.planMerge(draft, options: options)
    #expect(plan.canMerge)
    let expected = Data(repeating: 7, count: 5_000)
    #expect(try plan.read { tx in try tx.data(fixture.document, "picture") } == expected)
    try store.drafts.merge(draft, options: options)
    #expect(try store.read { tx in try tx.data(fixture.document, "picture") } == expected)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P2: what the clone's rules made different is no change", arguments: StorageKind.allCases)
  func p2NoChange(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    #expect(try fixture.value(draft, "uid") != fixture.value(fixture.document, "uid"))
    #expect(try fixture.value(draft, "slug") == nil)
    try store.set(fixture.document, "title", "changed")
    let before = try fixture.text(fixture.document)
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.conflicts.isEmpty)
    #expect(plan.objects.inserted == 0 && plan.objects.updated == 0)
    try store.drafts.merge(draft)
    #expect(try fixture.text(fixture.document) == before)
    #expect(try fixture.value(fixture.document, "slug") == "first")
    #expect(try store.members(fixture.shelf, "documents") == [fixture.document, fixture.other])
    #expect(try store.members(fixture.tag, "documents") == [fixture.document])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P2: only the clones of the call are compared")
  func p2OtherClones() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let other = try fixture.draft()
    let plain = try store.clone([fixture.document]).root
    try store.set(other, "title", "other")
    try store.set(plain, "title", "plain")
    try store.delete(Array(try store.members(plain, "sections")[1...]))
    try store.set(draft, "title", "draft")
    let (otherText, plainText) = (try fixture.text(other), try fixture.text(plain))
    try store.drafts.merge(draft)
    #expect(try fixture.value(fixture.document, "title") == "draft")
    #expect(try store.members(fixture.document, "sections") == fixture.sections)
    #expect(try fixture.text(other) == otherText && fixture.text(plain) == plainText)
    // The first merge changed the source: against the base of the second draft, both sides changed the title.
    let conflicts = try store.drafts.planMerge(other).conflicts
    #expect(conflicts.map(\.kind) == [.bothChanged] && conflicts.map(\.property) == ["title"])
    #expect(conflicts.first?.id == fixture.document)
    #expect(conflicts.first?.theirs == .attribute("other"))
    try fixture.check()
  }

  @Test("P3: a change of a clone's attribute is applied to its source", arguments: StorageKind.allCases)
  func p3Attributes(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let summary = try fixture.clone(of: fixture.summary)
    try store.write { tx in
      try tx.set(draft, "title", "new")
      try tx.set(draft, "slug", "third")
      try tx.set(draft, "views", 4)
      try tx.set(draft, "picture", .binary(Data(repeating: 9, count: 6_000)))
      try tx.set(summary, "text", nil)
    }
    try store.set(fixture.document, "views", 12)
    let uid = try fixture.value(fixture.document, "uid")
    // The number is 10 at the fork, the draft took 6 away and the document gained 2.
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge)
    let planned = try plan.read { tx in try DraftText.of(fixture.document, tx) }
    let result = try store.drafts.merge(draft)
    #expect(result.counts["Document"]?.updated ?? 0 >= 1)
    #expect(try fixture.value(fixture.document, "title") == "new")
    #expect(try fixture.value(fixture.document, "slug") == "third")
    #expect(try fixture.value(fixture.document, "views") == 6)
    #expect(try fixture.value(fixture.document, "uid") == uid)
    #expect(try store.data(fixture.document, "picture") == Data(repeating: 9, count: 6_000))
    #expect(try fixture.value(fixture.summary, "text") == nil)
    #expect(try fixture.text(fixture.document) == planned)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3: a link of a clone becomes one of its source, whichever end changed", arguments: StorageKind.allCases)
  func p3Links(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let clones = try fixture.sections.map { try fixture.clone(of: $0) }
    let notes = try fixture.notes.map { try fixture.clone(of: $0) }
    let (blue, green, bookmark) = try store.write { tx in
      // From the other end; from its own end; by a relationship without an inverse, of either direction.
      let blue = try tx.insert("Tag", ["name": "blue"], relationships: ["documents": [draft]])
      let green = try tx.insert("Tag", ["name": "green"])
      try tx.link(draft, "tags", [green])
      try tx.unlink(fixture.tag, "documents", [draft])
      try tx.setToOne(draft, "lead", clones[1])
      let bookmark = try tx.insert("Bookmark", ["name": "here"], relationships: ["document": [draft]])
      // Between two clones.
      try tx.setToOne(notes[0], "section", clones[2])
      return (blue, green, bookmark)
    }
    try store.drafts.merge(draft)
    #expect(try Set(store.members(fixture.document, "tags")) == [blue, green])
    #expect(try store.members(blue, "documents") == [fixture.document])
    #expect(try store.members(green, "documents") == [fixture.document])
    #expect(try store.members(fixture.tag, "documents").isEmpty)
    #expect(try store.toOne(fixture.document, "lead") == fixture.sections[1])
    #expect(try store.toOne(bookmark, "document") == fixture.document)
    #expect(try store.members(fixture.sections[0], "notes").isEmpty)
    #expect(try Set(store.members(fixture.sections[2], "notes")) == [fixture.notes[0], fixture.notes[2]])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3: an object that moves to a clone moves to its source, and one that moves to a source stays there")
  func p3MovedLinks() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let (section, bookmarks) = try store.write { tx in
      let section = try tx.insert("Section", ["text": "moved"], relationships: ["document": [fixture.other]])
      let documents = [fixture.other, fixture.other, fixture.document]
      let bookmarks = try documents.map { try tx.insert("Bookmark", relationships: ["document": [$0]]) }
      return (section, bookmarks)
    }
    let draft = try fixture.draft()
    try store.write { tx in
      try tx.link(draft, "sections", [section], at: 1)
      try tx.setToOne(bookmarks[0], "document", draft)
      try tx.setToOne(bookmarks[1], "document", fixture.document)
      try tx.setToOne(bookmarks[2], "document", draft)
    }
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.allConflicts.isEmpty)
    try store.drafts.merge(draft)
    let sections = fixture.sections
    #expect(try store.members(fixture.document, "sections") == [sections[0], section, sections[1], sections[2]])
    for bookmark in bookmarks { #expect(try store.toOne(bookmark, "document") == fixture.document) }
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3: a link between a clone and a source becomes one between sources")
  func p3LinksToSources() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let note = try fixture.clone(of: fixture.notes[0])
    try store.write { tx in
      try tx.setToOne(draft, "lead", fixture.sections[1])
      try tx.setToOne(note, "section", fixture.sections[1])
    }
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.allConflicts.isEmpty)
    try store.drafts.merge(draft)
    #expect(try store.toOne(fixture.document, "lead") == fixture.sections[1])
    #expect(try Set(store.members(fixture.sections[1], "notes")) == [fixture.notes[0], fixture.notes[1]])
    #expect(try store.members(fixture.sections[0], "notes").isEmpty)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3: links that both sides changed are merged like those of a branch")
  func p3BothSides() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let clones = try fixture.sections.map { try fixture.clone(of: $0) }
    try store.write { tx in
      try tx.insert("Tag", ["name": "blue"], relationships: ["documents": [draft]])
      try tx.insert("Tag", ["name": "green"], relationships: ["documents": [fixture.document]])
      try tx.unlink(draft, "tags", [fixture.tag])
      try tx.setMembers(draft, "sections", clones.reversed())
      try tx.insert("Section", ["text": "ours"], relationships: ["document": [fixture.document]])
    }
    #expect(try store.drafts.planMerge(draft).canMerge)
    try store.drafts.merge(draft)
    let names = try store.members(fixture.document, "tags").map { try fixture.value($0, "name") }
    #expect(Set(names) == ["blue", "green"])
    // The order is the draft's; the document's new member stays behind the one that it was behind.
    let sections = try store.members(fixture.document, "sections").map { try fixture.value($0, "text") }
    #expect(sections == ["3", "ours", "2", "1"])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P4: objects made below the clones join the source's graph in their place", arguments: StorageKind.allCases)
  func p4NewObjects(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let clones = try fixture.sections.map { try fixture.clone(of: $0) }
    let uid = try fixture.value(draft, "uid")
    let foreign = AttributeValue.uuid(UUID())
    let (follows, keeps, note, last) = try store.write { tx in
      let follows = try tx.insert("Section", ["text": "follows", "documentUID": uid])
      let keeps = try tx.insert("Section", ["text": "keeps", "documentUID": foreign])
      try tx.link(draft, "sections", [follows, keeps], at: 1)
      let note = try tx.insert("Note", ["text": "deep"], relationships: ["section": [follows]])
      return (follows, keeps, note, try tx.insert("Note", ["text": "flat"], relationships: ["section": [clones[2]]]))
    }
    try store.drafts.merge(draft)
    let sections = fixture.sections
    #expect(
      try store.members(fixture.document, "sections") == [sections[0], follows, keeps, sections[1], sections[2]])
    #expect(try fixture.value(follows, "documentUID") == fixture.value(fixture.document, "uid"))
    #expect(try fixture.value(keeps, "documentUID") == foreign)
    #expect(try store.toOne(note, "section") == follows)
    #expect(try store.toOne(last, "section") == sections[2])
    #expect(try fixture.value(fixture.document, "sectionCount") == 5)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P4, M6: the plan validates the values that new objects take over from the source")
  func p4FollowedRules() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let section = try store.write { tx in
      let section = try tx.insert("Section", ["text": "new", "documentViews": 10])
      try tx.link(draft, "sections", [section])
      try tx.set(fixture.document, "views", 101)
      return section
    }
    let plan = try store.drafts.planMerge(draft)
    #expect(!plan.canMerge && plan.issues.map(\.property) == ["documentViews"])
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft) }
    #expect(error?.kind == .brokenRules)
    try store.write { tx in try tx.set(fixture.document, "views", 100) }
    #expect(try store.drafts.planMerge(draft).counts["Section"]?.updated == 1)
    try store.drafts.merge(draft)
    #expect(try fixture.value(section, "documentViews") == 100)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P4: the order of outside lists is not merged", arguments: StorageKind.allCases)
  func p4OutsideLists(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let third = try store.insert("Document", ["slug": "z"], relationships: ["shelf": [fixture.shelf]])
    let draft = try fixture.draft()
    #expect(try store.members(fixture.shelf, "documents").last == draft)
    try store.setMembers(fixture.shelf, "documents", [draft, third, fixture.other, fixture.document])
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.conflicts.isEmpty)
    try store.drafts.merge(draft)
    #expect(try store.members(fixture.shelf, "documents") == [third, fixture.other, fixture.document])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P4: a list outside gains the source of a clone that joins it", arguments: StorageKind.allCases)
  func p4JoinedList(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let shelf = try store.write { tx in
      let shelf = try tx.insert("Shelf", ["name": "second"])
      let others = try ["x", "y"].map { try tx.insert("Document", ["slug": .string($0)]) }
      let third = try tx.insert("Document", ["slug": "z"])
      try tx.link(fixture.shelf, "documents", [third])
      try tx.setMembers(shelf, "documents", [others[0], draft, others[1]])
      return shelf
    }
    try store.drafts.merge(draft)
    #expect(try store.toOne(fixture.document, "shelf") == shelf)
    let members = try store.members(shelf, "documents")
    #expect(members.count == 3 && members.contains(fixture.document))
    #expect(try !store.members(fixture.shelf, "documents").contains(fixture.document))
    try fixture.expectNothingLeft(blobs: 1)
  }
}

import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Sources that are linked to clones, and clones to sources: in a merge, each link is one between sources (P3).
@Suite struct LinkedSourceTests {
  @Test("P3: a source that moves to a clone belongs to the source of that clone", arguments: [false, true])
  func p3MovedSources(keepsClones: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let sections = fixture.sections
    try store.write { tx in try tx.link(fixture.document, "related", [sections[0]]) }
    let draft = try fixture.draft()
    let clones = try sections.map { try fixture.clone(of: $0) }
    try store.write { tx in
      try tx.setToOne(sections[1], "document", draft)
      try tx.setToOne(fixture.notes[0], "section", clones[2])
      try tx.setToOne(fixture.document, "lead", clones[2])
      try tx.setMembers(fixture.document, "related", [clones[0], clones[1]])
    }
    var options = MergeOptions()
    options.keepsClones = keepsClones
    let plan = try store.drafts.planMerge(draft, options: options)
    #expect(plan.canMerge && plan.allConflicts.isEmpty)
    try store.drafts.merge(draft, options: options)
    #expect(try store.members(fixture.document, "sections") == sections)
    #expect(try store.toOne(fixture.document, "lead") == sections[2])
    #expect(try Set(store.members(fixture.document, "related")).isSuperset(of: sections[0...1]))
    #expect(try Set(store.members(sections[2], "notes")) == [fixture.notes[0], fixture.notes[2]])
    if keepsClones {
      #expect(try store.members(draft, "sections") == clones)
      return try fixture.check()
    }
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test(
    "P3, M3: a source and its clone that moved to different places are a conflict",
    arguments: [MergeSide.ours, .theirs])
  func p3MovedDifferently(side: MergeSide) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let clones = try fixture.sections.map { try fixture.clone(of: $0) }
    try store.write { tx in
      try tx.setToOne(fixture.notes[1], "section", clones[0])
      try tx.setToOne(try fixture.clone(of: fixture.notes[1]), "section", clones[2])
    }
    let conflict = try #require(try store.drafts.planMerge(draft).conflicts.first)
    #expect(conflict.kind == .bothChanged && conflict.id == fixture.notes[1] && conflict.property == "section")
    #expect(conflict.ours == .object(fixture.sections[0]) && conflict.theirs == .object(fixture.sections[2]))
    try store.drafts.merge(draft, options: MergeOptions(policy: side))
    #expect(try store.toOne(fixture.notes[1], "section") == fixture.sections[side == .ours ? 0 : 2])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P1, P3: a link to a clone from the transaction that cloned is no change", arguments: [false, true])
  func p3LinksOfTheBase(isChanged: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let (draft, bookmark) = try fixture.bookmarkedDraft()
    if isChanged { try store.set(bookmark, "name", "there") }
    // Without its document, the bookmark violates a rule.
    #expect(try store.drafts.planMerge(draft).issues.map(\.property) == ["document"])
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(draft, options: options)
    #expect(try store.toOne(bookmark, "document") == draft)
    try fixture.check()
  }

  @Test("P5, M4: a source that moved to a clone was changed, and is not deleted without an answer")
  func p5MovedSource() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let clone = try fixture.clone(of: fixture.sections[2])
    let note = fixture.notes[0]
    try store.setToOne(note, "section", clone)
    try store.delete([try fixture.clone(of: note)])
    let conflicts = try store.drafts.planMerge(draft).conflicts
    #expect(conflicts.map(\.kind) == [.deletedTheirs] && conflicts.map(\.id) == [note])
    try store.drafts.merge(draft, options: MergeOptions(policy: .ours))
    #expect(try store.toOne(note, "section") == fixture.sections[2])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: the delete rules of a deleted source do not reach clones", arguments: [false, true])
  func p7DeletedSources(keepsClones: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let note = try fixture.clone(of: fixture.notes[1])
    try store.write { tx in
      // The clone of a note belongs to a source, which the merge deletes, and the note itself to another section.
      try tx.setToOne(note, "section", fixture.sections[2])
      _ = try tx.delete([try fixture.clone(of: fixture.sections[2])])
      try tx.setToOne(fixture.notes[1], "section", fixture.sections[0])
    }
    var options = MergeOptions(rules: ["Section": .theirs, "Note": .theirs, "Note.section": .ours])
    options.keepsClones = keepsClones
    let plan = try store.drafts.planMerge(draft, options: options)
    if keepsClones {
      #expect(plan.issues.map(\.property) == ["section"])
      let lines = try fixture.lines()
      let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft, options: options) }
      #expect(error?.kind == .brokenRules)
      #expect(try fixture.lines() == lines)
      return try fixture.check()
    }
    #expect(plan.canMerge)
    #expect(try plan.read { tx in try tx.members(fixture.sections[0], "notes").contains(fixture.notes[1]) })
    try store.drafts.merge(draft, options: options)
    #expect(try !store.exists(fixture.sections[2]))
    #expect(try store.toOne(fixture.notes[1], "section") == fixture.sections[0])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3, M3: a one-to-one link between a source and a clone becomes one between sources", arguments: [false, true])
  func p3Partners(isOfClone: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let clone = try fixture.clone(of: fixture.summary)
    // Each link takes a partner away from the document, and from the draft.
    try store.setToOne(isOfClone ? draft : fixture.document, "summary", isOfClone ? fixture.summary : clone)
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.allConflicts.isEmpty)
    try store.drafts.merge(draft)
    #expect(try store.toOne(fixture.document, "summary") == fixture.summary)
    #expect(try store.toOne(fixture.summary, "document") == fixture.document)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P5, M4: a reference between a source and a clone prevents a silent deletion", arguments: [false, true])
  func p5References(isOfClone: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let (section, clone) = (fixture.sections[0], try fixture.clone(of: fixture.sections[0]))
    try store.setToOne(isOfClone ? draft : fixture.document, "lead", isOfClone ? section : clone)
    try store.delete([isOfClone ? clone : section])
    let conflicts = try store.drafts.planMerge(draft).conflicts
    #expect(conflicts.map(\.kind) == [isOfClone ? .deletedTheirs : .deletedOurs] && conflicts.map(\.id) == [section])
    try store.drafts.merge(draft, options: MergeOptions(policy: isOfClone ? .ours : .theirs))
    let lead = try #require(try store.toOne(fixture.document, "lead"))
    #expect(try fixture.value(lead, "text") == "1" && store.members(fixture.document, "sections").contains(lead))
    try fixture.check()
  }

  @Test("P3: a list outside that exchanges a clone for its source keeps the source")
  func p3ExchangedMembers() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    var cloning = CloneOptions()
    cloning.keepsBase = true
    let draft = try store.write { tx in
      let draft = try tx.clone([fixture.document], options: cloning).root
      let clone = try #require(try tx.members(draft, "sections").first)
      try tx.link(fixture.other, "related", [clone])
      return draft
    }
    try store.setMembers(fixture.other, "related", [fixture.sections[0]])
    try store.drafts.merge(draft)
    #expect(try store.members(fixture.other, "related") == [fixture.sections[0]])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7, M6: the plan names the rules that kept clones break")
  func p7KeptClones() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft([fixture.shelf])
    let third = try store.write { tx in
      let third = try tx.insert("Document", ["slug": "third"])
      let clone = try #require(try tx.members(draft, "documents").first)
      try tx.setMembers(draft, "documents", [clone, third])
      return third
    }
    var options = MergeOptions()
    options.keepsClones = true
    let plan = try store.drafts.planMerge(draft, options: options)
    #expect(plan.issues.map(\.property) == ["documents"])
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft, options: options) }
    #expect(error?.kind == .brokenRules)
    try store.drafts.merge(draft)
    #expect(try store.members(fixture.shelf, "documents").contains(third))
    try fixture.check()
  }

  @Test("P4: an object below another new one follows the value that this one takes over")
  func p4FollowedValues() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let uid = try fixture.value(draft, "uid")
    let (section, note) = try store.write { tx in
      let section = try tx.insert("Section", ["text": "new", "documentUID": uid], relationships: ["document": [draft]])
      let note = try tx.insert("Note", ["text": "new", "sectionUID": uid], relationships: ["section": [section]])
      return (section, note)
    }
    try store.drafts.merge(draft)
    let expected = try fixture.value(fixture.document, "uid")
    #expect(try fixture.value(section, "documentUID") == expected && fixture.value(note, "sectionUID") == expected)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3, M1: a partner that was taken from a source is not given back where the source has another one")
  func p3TakenPartners() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let other = try store.write { tx in
      try tx.setToOne(draft, "summary", fixture.summary)
      return try tx.insert("Summary", ["text": "other"], relationships: ["document": [fixture.document]])
    }
    #expect(try store.drafts.planMerge(draft).canMerge)
    try store.drafts.merge(draft)
    #expect(try store.toOne(fixture.document, "summary") == other)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P3: a link that a draft removed is removed where the model compares it at the other end")
  func p3ComparedEnds() throws {
    let fixture = try BranchFixture(
      .lmdb,
      model: ManagedObjectModel("Tags") {
        EntityDescription("Tag") { RelationshipDescription("documents", toMany: "Document", inverse: "tags") }
        EntityDescription("Document") { RelationshipDescription("tags", toMany: "Tag", inverse: "documents") }
      })
    let store = fixture.store
    let tag = try store.insert("Tag")
    let document = try store.insert("Document", relationships: ["tags": [tag]])
    var options = CloneOptions()
    options.keepsBase = true
    let draft = try store.clone([document], options: options).root
    #expect(try store.members(draft, "tags") == [tag])
    try store.setMembers(draft, "tags", [])
    try store.drafts.merge(draft)
    #expect(try store.members(document, "tags").isEmpty)
    #expect(try store.check().issues.isEmpty)
  }

  @Test("P7, M6: unchanged links to kept clones count") func p7UnchangedLinks() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let (draft, bookmark) = try fixture.bookmarkedDraft()
    try store.setMembers(bookmark, "sections", try [fixture.clone(of: fixture.sections[0])])
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(draft, options: options)
    #expect(try store.toOne(bookmark, "document") == draft)
    #expect(try store.members(bookmark, "sections").contains(fixture.sections[0]))
    try fixture.check()
  }
}

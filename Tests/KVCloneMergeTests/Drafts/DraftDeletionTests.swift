import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Deletions in drafts, and what becomes of the clones (P5, P7).
@Suite("Drafts: deletions") struct DraftDeletionTests {
  // MARK: P5

  @Test("P5: a deleted clone deletes its source with what the delete rules take", arguments: StorageKind.allCases)
  func p5DeletedClone(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    try store.delete([try fixture.clone(of: fixture.sections[0]), try fixture.clone(of: fixture.summary)])
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.conflicts.isEmpty)
    try store.drafts.merge(draft)
    #expect(try store.members(fixture.document, "sections") == Array(fixture.sections[1...]))
    #expect(try !store.exists(fixture.sections[0]) && !store.exists(fixture.notes[0]))
    #expect(try !store.exists(fixture.summary) && store.toOne(fixture.document, "summary") == nil)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P5: a deleted clone of a changed source is a conflict, for which both answers have a meaning")
  func p5ChangedSource() throws {
    for side in [MergeSide.ours, .theirs] {
      let fixture = try DraftFixture()
      let store = fixture.store
      let draft = try fixture.draft()
      try store.delete([try fixture.clone(of: fixture.sections[0])])
      try store.set(fixture.sections[0], "text", "changed")
      let lines = try fixture.lines()
      let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft) }
      #expect(error?.kind == .conflicts)
      #expect(error?.conflicts.map(\.kind) == [.deletedTheirs] && error?.conflicts.first?.id == fixture.sections[0])
      #expect(try fixture.lines() == lines)
      try store.drafts.merge(draft, options: MergeOptions(policy: side))
      #expect(try store.exists(fixture.sections[0]) == (side == .ours))
      // The draft deleted the note of the section, too, and nothing changed it or needs it.
      #expect(try !store.exists(fixture.notes[0]))
      if side == .ours { #expect(try store.members(fixture.document, "sections") == fixture.sections) }
      try fixture.expectNothingLeft(blobs: 1)
    }
  }

  @Test("P5, M4: a new link to the source of a deleted clone is a conflict, also without an inverse")
  func p5GainedReference() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    try store.delete([try fixture.clone(of: fixture.sections[0])])
    try store.insert("Document", ["slug": "z"], relationships: ["lead": [fixture.sections[0]]])
    let conflicts = try store.drafts.planMerge(draft).conflicts
    #expect(conflicts.map(\.kind) == [.deletedTheirs] && conflicts.map(\.id) == [fixture.sections[0]])
    try fixture.check()
  }

  @Test("P5: a draft without its root is refused: it is discarded by deleting it", arguments: StorageKind.allCases)
  func p5DiscardedDraft(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let summary = try fixture.clone(of: fixture.summary)
    try store.write { tx in
      try tx.setMembers(draft, "readers", [])
      try tx.setMembers(draft, "tags", [])
      try tx.delete([draft])
      try tx.set(summary, "text", "left over")
    }
    let lines = try fixture.lines()
    #expect(throws: (any Error).self) { try store.drafts.planMerge(draft) }
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(summary) }
    #expect(error?.kind == .rootDeleted)
    #expect(try fixture.lines() == lines)
    #expect(try store.exists(fixture.document) && store.members(fixture.document, "sections") == fixture.sections)
    try store.delete([summary])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P5: a deleted source of a changed clone is a conflict: ours stays deleted", arguments: StorageKind.allCases)
  func p5DeletedSourceOurs(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let clone = try fixture.clone(of: fixture.sections[1])
    try store.set(clone, "text", "changed")
    try store.delete([fixture.sections[1]])
    let conflicts = try store.drafts.planMerge(draft).conflicts
    #expect(conflicts.map(\.kind) == [.deletedOurs] && conflicts.first?.id == fixture.sections[1])
    try store.drafts.merge(draft, options: MergeOptions(policy: .ours))
    #expect(try store.members(fixture.document, "sections") == [fixture.sections[0], fixture.sections[2]])
    #expect(try !store.exists(clone))
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P5: with theirs, the clone of a deleted source stays in its place", arguments: StorageKind.allCases)
  func p5DeletedSourceTheirs(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let clone = try fixture.clone(of: fixture.sections[1])
    let note = try fixture.clone(of: fixture.notes[1])
    try store.write { tx in
      try tx.set(clone, "text", "changed")
      try tx.setToOne(draft, "lead", clone)
      try tx.delete([fixture.sections[1]])
    }
    let options = MergeOptions(policy: .theirs)
    #expect(try store.drafts.planMerge(draft, options: options).canMerge)
    try store.drafts.merge(draft, options: options)
    #expect(try store.members(fixture.document, "sections") == [fixture.sections[0], clone, fixture.sections[2]])
    #expect(try store.toOne(fixture.document, "lead") == clone)
    #expect(try fixture.value(clone, "text") == "changed")
    #expect(try fixture.value(clone, "documentUID") == fixture.value(fixture.document, "uid"))
    // Its note was deleted with the section; neither side changed it, and nothing needs it.
    #expect(try store.members(clone, "notes").isEmpty && !store.exists(note))
    #expect(try !store.exists(draft) && store.drafts.list().isEmpty)
    try fixture.expectNothingLeft(blobs: 1)
  }

  // MARK: P7

  @Test("P7: exactly the clones are deleted, whatever the delete rules say", arguments: StorageKind.allCases)
  func p7DeletesTheClones(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let sources = [fixture.document, fixture.summary] + fixture.sections + fixture.notes
    let clones = try sources.map { try fixture.clone(of: $0) }
    #expect(clones.count == DraftFixture.ownedCount)
    let counts = try ["Document", "Section", "Note", "Summary"].map { try store.objects($0).count }
    // Cascading to the tag, denied by the reader: both stay, and lose their links to the clone.
    let added = try store.insert("Section", ["text": "new"], relationships: ["document": [draft]])
    try store.drafts.merge(draft)
    for clone in clones { #expect(try !store.exists(clone)) }
    for source in sources { #expect(try store.exists(source)) }
    #expect(try store.exists(added) && store.toOne(added, "document") == fixture.document)
    #expect(try store.members(fixture.tag, "documents") == [fixture.document])
    #expect(try store.members(fixture.reader, "documents") == [fixture.document])
    #expect(try store.members(fixture.shelf, "documents") == [fixture.document, fixture.other])
    let after = try ["Document", "Section", "Note", "Summary"].map { try store.objects($0).count }
    #expect(after == [counts[0] - 1, counts[1] - 3 + 1, counts[2] - 3, counts[3] - 1])
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: kept clones are ordinary objects without a base", arguments: StorageKind.allCases)
  func p7KeepsTheClones(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let (clone, last) = (try fixture.clone(of: fixture.sections[0]), try fixture.clone(of: fixture.sections[2]))
    let added = try store.write { tx in
      try tx.set(draft, "title", "new")
      try tx.delete([last])
      return try tx.insert("Section", ["text": "added"], relationships: ["document": [draft]])
    }
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(draft, options: options)
    #expect(try fixture.value(fixture.document, "title") == "new" && fixture.value(draft, "title") == "new")
    #expect(try store.members(fixture.document, "sections") == [fixture.sections[0], fixture.sections[1], added])
    #expect(try store.exists(clone) && store.toOne(clone, "document") == draft)
    #expect(try store.members(fixture.reader, "documents").count == 2)
    #expect(try !store.drafts.isDraft(draft) && store.drafts.list().isEmpty)
    try store.set(draft, "title", "later")
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft) }
    #expect(error?.kind == .baseExpired || error?.kind == .notRelated)
    #expect(try fixture.value(fixture.document, "title") == "new")
    #expect(try store.read { tx in try tx.provenance(of: draft) }?.source == fixture.document)
    try fixture.expectNothingLeft(blobs: 1)
    // Editing continues with another clone.
    try store.drafts.merge(try fixture.draft())
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: uniqueness counts kept clones, and not deleted ones")
  func p7Uniqueness() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(draft, "slug", "third")
    var options = MergeOptions()
    options.keepsClones = true
    let plan = try store.drafts.planMerge(draft, options: options)
    #expect(!plan.canMerge && plan.issueCount == 1 && plan.conflicts.isEmpty)
    let lines = try fixture.lines()
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft, options: options) }
    #expect(error?.kind == .brokenRules && error?.issues.count == 1)
    #expect(try fixture.lines() == lines && store.drafts.isDraft(draft))
    #expect(try store.drafts.planMerge(draft).canMerge)
    try store.drafts.merge(draft)
    #expect(try fixture.value(fixture.document, "slug") == "third")
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: the rules of the model are checked for what is left")
  func p7RulesOfTheRest() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    // The shelf has two documents only with the clone.
    try store.delete([fixture.other])
    #expect(try store.members(fixture.shelf, "documents") == [fixture.document, draft])
    let plan = try store.drafts.planMerge(draft)
    #expect(!plan.canMerge && plan.issueCount == 1)
    let lines = try fixture.lines()
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft) }
    #expect(error?.kind == .brokenRules)
    #expect(error?.issues.first?.message.contains("documents") == true)
    #expect(try fixture.lines() == lines)
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(draft, options: options)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test(
    "P7: a mandatory link to a clone, which its base has, refuses the deletion of the clone",
    arguments: StorageKind.allCases)
  func p7MandatoryLink(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let (draft, bookmark) = try store.write { tx in
      var options = CloneOptions()
      options.keepsBase = true
      let draft = try tx.clone([fixture.document], options: options).root
      return (draft, try tx.insert("Bookmark", ["name": "old"], relationships: ["document": [draft]]))
    }
    // The bookmark is of the base, so its link is no change: without the clone it would lack what the model requires.
    let plan = try store.drafts.planMerge(draft)
    #expect(!plan.canMerge && plan.issueCount == 1)
    #expect(plan.issues.first?.message.contains("Bookmark") == true)
    try store.setToOne(bookmark, "document", fixture.other)
    try store.drafts.merge(draft)
    #expect(try store.toOne(bookmark, "document") == fixture.other)
    try fixture.expectNothingLeft(blobs: 1)
  }
}

import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Drafts on branches that are merged with their store, and the list of many drafts.
@Suite("Drafts: branches and lists") struct BranchDraftTests {
  @Test("P2: a branch with open drafts keeps its base", arguments: StorageKind.allCases)
  func p2OpenDrafts(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch)
    func expectRefused(_ merge: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation) {
      let error = #expect(throws: MergeError.self, sourceLocation: sourceLocation) { try merge() }
      #expect(error?.kind == .draftInUse, sourceLocation: sourceLocation)
      #expect(error?.message.contains("Document/\(draft.serial)") == true, sourceLocation: sourceLocation)
    }
    expectRefused { try store.branches.publish("work") }
    expectRefused { _ = try store.branches.planPublish("work") }
    expectRefused { try store.branches.publish("work", only: [fixture.document]) }
    // Without changes of the store, an update moves nothing.
    #expect(try store.branches.update("work").objects.isEmpty)
    try store.set(fixture.other, "title", "changed")
    expectRefused { try store.branches.update("work") }
    expectRefused { _ = try store.branches.planUpdate("work") }
    #expect(try store.objects("Document").count == 2)
    try branch.set(draft, "title", "new")
    try branch.drafts.merge(draft)
    try store.branches.update("work")
    try store.branches.publish("work")
    #expect(try fixture.value(fixture.document, "title") == "new")
    #expect(try !store.exists(draft) && store.drafts.list().isEmpty)
    try fixture.check()
  }

  @Test("P2: clones of an expired draft do not keep the base of a branch") func p2ExpiredDrafts() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch) { $0.baseExpiresAt = Date(timeIntervalSinceNow: -60) }
    try store.branches.publish("work")
    #expect(try store.exists(draft) && !store.drafts.isDraft(draft) && !branch.drafts.isDraft(draft))
    try fixture.check()
  }

  @Test("P2, B11: a reset of a branch ends its drafts, and nothing keeps their bases", arguments: StorageKind.allCases)
  func p2Reset(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch)
    try branch.set(draft, "title", "new")
    let before = try branch.read { tx in try DraftText.of(draft, tx) }
    let automatic = try #require(try store.branches.reset("work").automaticSnapshot?.name)
    #expect(try !branch.exists(draft) && branch.drafts.list().isEmpty)
    try fixture.check()
    // If the reset is undone, the clones are ordinary objects.
    let undone = try store.branches.reset("work", to: branch.snapshot(named: automatic)).automaticSnapshot
    #expect(try branch.read { tx in try DraftText.of(draft, tx) } == before)
    #expect(try !branch.drafts.isDraft(draft) && branch.drafts.list().isEmpty)
    let error = #expect(throws: MergeError.self) { try branch.drafts.merge(draft) }
    #expect(error?.kind == .baseExpired)
    try fixture.check()
    for name in [automatic, try #require(undone?.name)] { try branch.deleteSnapshot(named: name) }
    #expect(try BranchFixture.record(store, "work").layers.count == 1 && store.branches.bases().count == 1)
    try fixture.check()
  }

  @Test("P2, B11: a draft stays if a reset leaves its clones", arguments: StorageKind.allCases)
  func p2PartialReset(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch)
    try branch.set(draft, "title", "new")
    try branch.createSnapshot(named: "kept")
    try branch.set(draft, "title", "newer")
    try branch.set(fixture.other, "title", "changed")
    try store.branches.reset("work", objects: [fixture.other])
    try store.branches.reset("work", to: branch.snapshot(named: "kept"))
    #expect(try branch.drafts.isDraft(draft) && branch.value(draft, "title") == "new")
    try branch.drafts.merge(draft)
    #expect(try branch.value(fixture.document, "title") == "new")
    try fixture.check()
  }

  @Test("P1, M8: a merged or expired draft does not keep a layer of its branch", arguments: StorageKind.allCases)
  func p1Layers(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch)
    try branch.set(draft, "title", "new")
    try branch.drafts.merge(draft)
    try store.branches.publish("work")
    try fixture.draft(in: branch) { $0.baseExpiresAt = Date(timeIntervalSinceNow: -60) }
    try store.set(fixture.other, "title", "changed")
    try store.branches.update("work")
    #expect(try BranchFixture.record(store, "work").layers.count > 1)
    for snapshot in try branch.snapshots() { try branch.deleteSnapshot(named: snapshot.name) }
    #expect(try BranchFixture.record(store, "work").layers.count == 1 && store.branches.bases().count == 1)
    try fixture.check()
  }

  @Test("P9: of many copies, exactly those are changed that gained, lost or have something else")
  func p9ManyCopies() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    try fixture.draft { $0.count = 12 }
    let drafts = try fixture.clones(of: fixture.document)
    #expect(drafts.count == 12)
    let sections = try drafts.map { try store.read { [draft = $0] tx in try tx.members(draft, "sections") } }
    func changed() throws -> [Int] {
      let list = try store.drafts.list()
      #expect(list.map(\.roots) == drafts.map { [$0] })
      return list.indices.filter { list[$0].isChanged }
    }
    #expect(try changed() == [])
    // These change sources and objects outside.
    try store.write { tx in
      try tx.set(fixture.document, "title", "changed")
      try tx.set(fixture.tag, "name", "changed")
      try tx.insert("Section", ["text": "outside"], relationships: ["document": [fixture.other]])
      try tx.insert("Bookmark", ["name": "outside"], relationships: ["document": [fixture.document]])
    }
    #expect(try changed() == [])
    try store.write { tx in
      try tx.set(drafts[0], "views", 11)
      try tx.set(sections[1][2], "text", "changed")
      _ = try tx.delete(sections[2][0])
      try tx.setMembers(drafts[3], "sections", Array(sections[3].reversed()))
      try tx.insert("Section", ["text": "new"], relationships: ["document": [drafts[4]]])
      // Without an inverse.
      try tx.insert("Bookmark", ["name": "new"], relationships: ["document": [drafts[5]]])
      try tx.unlink(drafts[6], "readers", [fixture.reader])
      // A value that is set and set back is none.
      try tx.set(drafts[7], "title", "B")
    }
    try store.set(drafts[7], "title", "A")
    #expect(try changed() == [0, 1, 2, 3, 4, 5, 6])
    try fixture.check()
  }
}

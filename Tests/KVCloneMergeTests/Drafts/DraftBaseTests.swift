import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// The bases of drafts (P1).
@Suite("Drafts: bases") struct DraftBaseTests {
  private struct Refusal: Error {}

  @Test("P1: the base is a hidden snapshot that cannot be deleted by name", arguments: StorageKind.allCases)
  func p1HiddenSnapshot(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let format = try store.info().formatVersion
    #expect(format < 7)
    try store.clone([fixture.document])
    #expect(try store.info().formatVersion == format)
    #expect(try store.branches.bases().isEmpty)
    let expiry = Date(timeIntervalSinceReferenceDate: 2e9)
    let draft = try fixture.draft { $0.baseExpiresAt = expiry }
    #expect(try store.info().formatVersion == 7)
    #expect(try store.snapshots().isEmpty)
    let base = try #require(try store.branches.bases().first)
    #expect(base.isBase && base.expiresAt == expiry)
    #expect(try base.commit == store.info().commit)
    #expect(try store.read { tx in try tx.provenance(of: draft) }?.source == fixture.document)
    let error = expectError(.snapshotInUse) { try store.deleteSnapshot(named: base.name) }
    #expect(error?.message.contains("draft") == true)
    #expect(try store.deleteExpiredSnapshots() == [])
    #expect(try store.branches.bases() == [base])
    try fixture.check()
  }

  @Test("P1: a base that no clone needs any more can be deleted by name", arguments: [false, true])
  func p1DeletedByName(keepsClones: Bool) throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    let base = try #require(try store.branches.bases().first)
    try store.set(draft, "title", "edited")
    var options = MergeOptions()
    options.keepsClones = keepsClones
    try store.drafts.merge(draft, options: options)
    #expect(try store.branches.bases().map(\.name) == [base.name])
    try store.deleteSnapshot(named: base.name)
    #expect(try store.branches.bases().isEmpty)
    try fixture.check()
    let expired = try fixture.draft { $0.baseExpiresAt = Date(timeIntervalSinceNow: -1) }
    try store.deleteSnapshots(named: store.branches.bases().map(\.name))
    #expect(try store.exists(expired) && store.branches.bases().isEmpty)
    try fixture.check()
  }

  @Test("P1: what hooks and the rest of the cloning transaction did is no change", arguments: StorageKind.allCases)
  func p1StateAtTheCommit(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "text") != "saved" { try tx.set(id, "text", "saved") }
    }
    try store.register(hooks, for: "Summary")
    let before = try fixture.text(fixture.document)
    var options = CloneOptions()
    options.keepsBase = true
    options.didClone = { tx, _, clone in
      if try tx.entityName(of: clone) == "Document" { try tx.set(clone, "title", "copied") }
    }
    let (draft, extra) = try store.write { [options] tx in
      let draft = try tx.clone([fixture.document], options: options).root
      try tx.set(draft, "views", 99)
      try tx.set(draft, "picture", nil)
      try tx.setMembers(draft, "tags", [])
      try tx.delete([try tx.members(draft, "sections")[0]])
      return (draft, try tx.insert("Section", ["text": "extra"], relationships: ["document": [draft]]))
    }
    #expect(try store.value(try fixture.clone(of: fixture.summary), "text") == "saved")
    #expect(try store.value(draft, "title") == "copied")
    let plan = try store.drafts.planMerge(draft)
    #expect(plan.canMerge && plan.conflicts.isEmpty)
    try store.drafts.merge(draft)
    #expect(try fixture.text(fixture.document) == before)
    // It is no clone: the deletion of the clones does not take it along.
    #expect(try store.exists(extra) && store.toOne(extra, "document") == nil)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P1: a merge of one of two drafts of a transaction leaves the base of the other")
  func p1TwoInOneTransaction() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    var options = CloneOptions()
    options.keepsBase = true
    let (first, second) = try store.write { [options] tx in
      (
        try tx.clone([fixture.document], options: options).root, try tx.clone([fixture.other], options: options).root
      )
    }
    #expect(try store.branches.bases().count == 2)
    try store.set(first, "title", "first")
    try store.set(second, "title", "second")
    try store.drafts.merge(first)
    _ = try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().count == 1)
    #expect(try fixture.value(fixture.document, "title") == "first")
    try fixture.check()
    try store.set(second, "views", 3)
    try store.drafts.merge(second)
    #expect(try fixture.value(fixture.other, "title") == "second")
    #expect(try fixture.value(fixture.other, "views") == 3)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P1: a transaction that is rolled back leaves no base")
  func p1RolledBack() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    var options = CloneOptions()
    options.keepsBase = true
    #expect(throws: Refusal.self) {
      try store.write { [options] tx in
        _ = try tx.clone([fixture.document], options: options)
        throw Refusal()
      }
    }
    #expect(try store.planClone([fixture.document], options: options).errors.isEmpty)
    #expect(try store.branches.bases().isEmpty && store.drafts.list().isEmpty)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P1: the base ends with its time, and a merge after that is refused", arguments: StorageKind.allCases)
  func p1Expiry(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft { $0.baseExpiresAt = Date(timeIntervalSinceNow: -1) }
    let other = try fixture.draft([fixture.other]) { $0.baseExpiresAt = Date(timeIntervalSinceNow: 1e6) }
    try store.set(draft, "title", "changed")
    _ = try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().count == 1)
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(draft) }
    #expect(error?.kind == .baseExpired)
    #expect(throws: MergeError.self) { try store.drafts.planMerge(draft) }
    #expect(try !store.drafts.isDraft(draft) && store.drafts.isDraft(other))
    #expect(try store.drafts.list().map(\.roots) == [[other]])
    #expect(try fixture.value(fixture.document, "title") == "A" && fixture.value(draft, "title") == "changed")
    try store.drafts.merge(other)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P1: the base ends when its clones are deleted", arguments: StorageKind.allCases)
  func p1ClonesDeleted(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(draft, "picture", .binary(Data(repeating: 1, count: 9_000)))
    let source = try fixture.text(fixture.document)
    let clones = try ([fixture.document, fixture.summary] + fixture.sections).map { try fixture.clone(of: $0) }
    // The delete rules of the shared objects would refuse the deletion, or take them along.
    try store.setMembers(draft, "readers", [])
    try store.setMembers(draft, "tags", [])
    try store.delete(Array(clones[1...]))
    _ = try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().count == 1, "the clone of the root needs it")
    try store.delete([draft])
    try fixture.expectNothingLeft(blobs: 1)
    #expect(try fixture.text(fixture.document) == source)
  }

  @Test("P1: the base ends with the clones of the roots, although other clones stay", arguments: StorageKind.allCases)
  func p1RootDeleted(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let summary = try fixture.clone(of: fixture.summary)
    try store.setMembers(draft, "readers", [])
    try store.setMembers(draft, "tags", [])
    try store.delete([draft])
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(summary) }
    #expect(error?.kind == .rootDeleted)
    #expect(try !store.drafts.isDraft(summary) && store.drafts.list().map(\.isChanged) == [true], "to be deleted")
    _ = try store.deleteExpiredSnapshots()
    #expect(try !store.drafts.isDraft(summary) && store.drafts.list().isEmpty)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: each kept clone is an ordinary object, although the base stays", arguments: StorageKind.allCases)
  func p7KeptClones(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    let summary = try fixture.clone(of: fixture.summary)
    try store.set(summary, "text", "changed")
    var options = MergeOptions()
    options.keepsClones = true
    let merged = try store.drafts.merge(summary, options: options)
    #expect(try store.branches.bases().count == 1, "a rollback needs it")
    for clone in [draft, summary] {
      #expect(try !store.drafts.isDraft(clone))
      let error = #expect(throws: MergeError.self) { try store.drafts.merge(clone) }
      #expect(error?.kind == .notRelated)
    }
    #expect(try store.drafts.list().isEmpty)
    // M16
    try store.rollback(to: store.snapshot(named: #require(merged.snapshots.first)))
    #expect(try store.drafts.isDraft(summary) && store.drafts.list().map(\.roots) == [[draft]])
    try store.drafts.merge(draft, options: options)
    #expect(try fixture.value(fixture.summary, "text") == "changed")
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P7: kept clones stay ordinary objects when the clone of their root is deleted later")
  func p7RootDeletedLater() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    try fixture.draft { $0.count = 2 }
    let drafts = try fixture.clones(of: fixture.document)
    let summary = try fixture.clones(of: fixture.summary)[0]
    var options = MergeOptions()
    options.keepsClones = true
    options.createsSnapshots = false
    try store.drafts.merge(drafts[0], options: options)
    try store.setMembers(drafts[0], "readers", [])
    try store.setMembers(drafts[0], "tags", [])
    try store.delete([drafts[0]])
    #expect(try store.drafts.list().map(\.roots) == [[drafts[1]]] && !store.drafts.isDraft(summary))
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(summary) }
    #expect(error?.kind == .notRelated)
    try store.drafts.merge(drafts[1], options: options)
    #expect(try store.branches.bases().isEmpty)
    try fixture.check()
  }

  @Test("P1: the base stays while one of several copies has its root")
  func p1OneOfTwoCopies() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    try fixture.draft { $0.count = 2 }
    for (draft, bases) in zip(try fixture.clones(of: fixture.document), [1, 0]) {
      try store.setMembers(draft, "readers", [])
      try store.setMembers(draft, "tags", [])
      try store.delete([draft])
      _ = try store.deleteExpiredSnapshots()
      #expect(try store.branches.bases().count == bases)
    }
  }

  @Test("P1: keeping a base is an argument of the idempotency key (R31)")
  func p1IdempotencyKey() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    func clone(keepsBase: Bool, expires: Date? = nil) throws -> CloneResult {
      var options = CloneOptions()
      options.idempotencyKey = "once"
      options.keepsBase = keepsBase
      options.baseExpiresAt = expires
      return try store.clone([fixture.document], options: options)
    }
    let first = try clone(keepsBase: true)
    let again = try clone(keepsBase: true)
    #expect(again.isRepeated && again.roots == first.roots)
    #expect(try store.branches.bases().count == 1)
    #expect(throws: (any Error).self) { try clone(keepsBase: false) }
    #expect(throws: (any Error).self) { try clone(keepsBase: true, expires: Date(timeIntervalSinceReferenceDate: 1)) }
    #expect(try store.branches.bases().count == 1)
    try fixture.check()
  }

  @Test("P1, P2: a draft on a branch has its base there", arguments: StorageKind.allCases)
  func p1OnABranch(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let branch = try store.branches.create("work")
    let draft = try fixture.draft(in: branch)
    try branch.write { tx in
      try tx.set(draft, "title", "draft")
      try tx.insert("Section", ["text": "new"], relationships: ["document": [draft]])
    }
    try branch.set(fixture.document, "views", 11)
    #expect(try branch.drafts.list().count == 1 && branch.drafts.isDraft(draft))
    #expect(try store.drafts.list().isEmpty)
    let before = try fixture.text(fixture.document)
    try branch.drafts.merge(draft)
    #expect(try fixture.text(fixture.document) == before)
    let merged = try fixture.text(fixture.document, in: branch)
    #expect(try branch.value(fixture.document, "title") == "draft")
    #expect(try branch.value(fixture.document, "views") == 11)
    #expect(try branch.members(fixture.document, "sections").count == 4)
    #expect(try !branch.exists(draft) && branch.drafts.list().isEmpty)
    try fixture.check()
    for snapshot in try branch.snapshots() { try branch.deleteSnapshot(named: snapshot.name) }
    _ = try branch.deleteExpiredSnapshots()
    try store.branches.publish("work")
    #expect(try fixture.text(fixture.document) == merged)
    try store.branches.delete("work")
    try fixture.expectNothingLeft(blobs: 1)
  }
}

import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Several copies and roots, drafts of drafts, and the list of drafts (P6, P8, P9).
@Suite("Drafts: copies") struct DraftCopyTests {
  // MARK: P6

  @Test("P6: each copy of a call is merged on its own", arguments: StorageKind.allCases)
  func p6Copies(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    try fixture.draft { $0.count = 3 }
    let drafts = try fixture.clones(of: fixture.document)
    #expect(drafts.count == 3)
    let summaries = try fixture.clones(of: fixture.summary)
    try store.write { tx in
      for (index, draft) in drafts.enumerated() { try tx.set(draft, "views", .integer(Int64(11 + index))) }
      try tx.set(summaries[1], "text", "second")
      try tx.delete([try tx.members(drafts[2], "sections")[0]])
    }
    #expect(try store.drafts.list().map(\.roots) == drafts.map { [$0] })
    let others = try [drafts[0], drafts[2]].map { try fixture.text($0) }
    try store.drafts.merge(drafts[1])
    #expect(try fixture.value(fixture.document, "views") == 12 && fixture.value(fixture.summary, "text") == "second")
    #expect(try store.members(fixture.document, "sections") == fixture.sections)
    #expect(try [drafts[0], drafts[2]].map { try fixture.text($0) } == others)
    #expect(try store.drafts.list().map(\.roots) == [[drafts[0]], [drafts[2]]])
    #expect(try store.branches.bases().count == 1)
    try fixture.check()
    // The rule of the attribute adds what each copy added: 2, 3 and 1.
    try store.drafts.merge(drafts[2])
    #expect(try fixture.value(fixture.document, "views") == 15)
    #expect(try store.members(fixture.document, "sections") == Array(fixture.sections[1...]))
    try store.drafts.merge(drafts[0])
    #expect(try fixture.value(fixture.document, "views") == 16)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P6: a merge of one copy leaves the links of the others", arguments: StorageKind.allCases)
  func p6LinksOfOtherCopies(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    try fixture.draft { $0.count = 2 }
    let drafts = try fixture.clones(of: fixture.document)
    let (shelf, fourth, bookmarks, tags) = try store.write { tx in
      let third = try tx.insert("Document", ["slug": "z"])
      let fourth = try tx.insert("Document", ["slug": "y"], relationships: ["shelf": [fixture.shelf]])
      // A list with both copies, and links to each by relationships with and without inverse.
      let shelf = try tx.insert("Shelf", ["name": "second"])
      try tx.setMembers(shelf, "documents", [drafts[1], third, drafts[0]])
      let bookmarks = try drafts.map { try tx.insert("Bookmark", ["name": "x"], relationships: ["document": [$0]]) }
      let tags = try ["blue", "green"].enumerated().map { index, name in
        try tx.insert("Tag", ["name": .string(name)], relationships: ["documents": [drafts[index]]])
      }
      return (shelf, fourth, bookmarks, tags)
    }
    try store.drafts.merge(drafts[0])
    #expect(try store.toOne(bookmarks[0], "document") == fixture.document)
    #expect(try store.toOne(bookmarks[1], "document") == drafts[1])
    #expect(try store.members(tags[0], "documents") == [fixture.document])
    #expect(try store.members(tags[1], "documents") == [drafts[1]])
    #expect(try store.toOne(fixture.document, "shelf") == shelf && store.toOne(drafts[1], "shelf") == shelf)
    #expect(try store.members(shelf, "documents").count == 3)
    #expect(try store.members(fixture.shelf, "documents") == [fixture.other, fourth])
    try fixture.check()
    try store.drafts.merge(drafts[1])
    #expect(try store.toOne(bookmarks[1], "document") == fixture.document)
    #expect(try store.members(tags[1], "documents") == [fixture.document])
    #expect(try Set(store.members(fixture.document, "tags")) == [fixture.tag, tags[0], tags[1]])
    #expect(try store.members(shelf, "documents").count == 2)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P6: several roots are merged together", arguments: StorageKind.allCases)
  func p6Roots(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    try fixture.draft([fixture.document, fixture.other]) { $0.count = 2 }
    let (firsts, others) = (try fixture.clones(of: fixture.document), try fixture.clones(of: fixture.other))
    let info = try store.drafts.list()
    #expect(info.map(\.roots) == [[firsts[0], others[0]], [firsts[1], others[1]]])
    #expect(info.map(\.sources) == [[fixture.document, fixture.other], [fixture.document, fixture.other]])
    try store.write { tx in
      try tx.set(firsts[0], "title", "first")
      try tx.set(others[0], "title", "other")
      try tx.setToOne(try tx.members(firsts[0], "sections")[0], "document", others[0])
    }
    // Either root stands for the copy.
    try store.drafts.merge(others[0])
    #expect(try fixture.value(fixture.document, "title") == "first" && fixture.value(fixture.other, "title") == "other")
    #expect(try store.toOne(fixture.sections[0], "document") == fixture.other)
    #expect(try !store.exists(firsts[0]) && !store.exists(others[0]))
    #expect(try store.exists(firsts[1]) && store.exists(others[1]))
    try store.drafts.merge(firsts[1])
    #expect(try fixture.value(fixture.document, "title") == "first")
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P6: a clone of a clone merges back one step", arguments: StorageKind.allCases)
  func p6Nested(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let outer = try fixture.draft()
    try store.set(outer, "title", "outer")
    let inner = try fixture.draft([outer])
    let added = try store.write { tx in
      try tx.set(inner, "views", 20)
      return try tx.insert("Section", ["text": "inner"], relationships: ["document": [inner]])
    }
    let lines = try fixture.lines()
    // Deleting the outer clones would leave the inner ones without sources.
    let planned = #expect(throws: MergeError.self) { try store.drafts.planMerge(outer) }
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(outer) }
    #expect(planned?.kind == .draftInUse && error?.kind == .draftInUse)
    #expect(error?.object == "Document/\(inner.serial)")
    #expect(try fixture.lines() == lines)
    try store.drafts.merge(inner)
    #expect(try fixture.value(outer, "views") == 20 && fixture.value(fixture.document, "views") == 10)
    #expect(try store.toOne(added, "document") == outer)
    try fixture.check()
    try store.drafts.merge(outer)
    #expect(try fixture.value(fixture.document, "views") == 20 && fixture.value(fixture.document, "title") == "outer")
    #expect(try store.toOne(added, "document") == fixture.document)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P6: an expired draft of the clones does not prevent their merge")
  func p6NestedExpired() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let outer = try fixture.draft()
    let inner = try fixture.draft([outer]) { $0.baseExpiresAt = Date(timeIntervalSinceNow: -1) }
    try store.set(outer, "title", "outer")
    try store.drafts.merge(outer)
    #expect(try fixture.value(fixture.document, "title") == "outer")
    #expect(try store.exists(inner) && !store.exists(outer))
    try fixture.check()
  }

  @Test("P6: a merge that keeps the clones leaves the drafts that were made of them")
  func p6NestedKept() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let outer = try fixture.draft()
    let inner = try fixture.draft([outer])
    try store.set(inner, "views", 20)
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(outer, options: options)
    #expect(try store.drafts.list().map(\.roots) == [[inner]])
    try store.drafts.merge(inner)
    #expect(try fixture.value(outer, "views") == 20 && fixture.value(fixture.document, "views") == 10)
    try fixture.expectNothingLeft(blobs: 1)
  }

  // MARK: P8

  @Test("P8: across stores and from snapshots, a clone keeps no base")
  func p8OtherOrigins() throws {
    let (fixture, other) = (try DraftFixture(), try DraftFixture(.memory))
    let store = fixture.store
    let snapshot = try store.createSnapshot(named: "before")
    var options = CloneOptions()
    options.keepsBase = true
    let attempts: [(CloneOptions) throws -> CloneResult] = [
      { options in try store.clone([fixture.document], from: snapshot, options: options) },
      { options in try store.clone([fixture.document], into: other.store, options: options) },
    ]
    let lines = (try fixture.lines(), try other.lines())
    for attempt in attempts {
      let error = #expect(throws: CloneError.self) { try attempt(options) }
      #expect(error?.kind == .invalidConfiguration)
    }
    #expect(try fixture.lines() == lines.0 && other.lines() == lines.1)
    #expect(try store.branches.bases().isEmpty && other.store.branches.bases().isEmpty)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P8: objects that are no draft are not merged")
  func p8Unrelated() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let plain = try store.clone([fixture.document]).root
    var recording = CloneOptions()
    recording.recordsProvenance = true
    let recorded = try store.clone([fixture.document], options: recording).root
    let draft = try fixture.draft()
    for id in [fixture.document, plain, recorded, fixture.tag] {
      #expect(try !store.drafts.isDraft(id))
      let error = #expect(throws: MergeError.self) { try store.drafts.merge(id) }
      #expect(error?.kind == .notRelated && error?.object != nil)
    }
    let missing = ObjectID(rootCode: fixture.document.rootCode, serial: 99_999)
    expectError(.objectNotFound) { _ = try store.drafts.planMerge(missing) }
    // The parts of a draft stand for it.
    #expect(try store.drafts.isDraft(try fixture.clone(of: fixture.notes[2])))
    try store.set(draft, "title", "new")
    try store.drafts.merge(try fixture.clone(of: fixture.notes[2]))
    #expect(try fixture.value(fixture.document, "title") == "new" && !store.exists(draft))
    try fixture.check()
  }

  @Test("P8, M7, M12: conflicts name the source, and answers bind to their values", arguments: StorageKind.allCases)
  func p8Conflicts(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(draft, "title", "theirs")
    try store.set(fixture.document, "title", "ours")
    let conflict = try #require(try store.drafts.planMerge(draft).conflicts.first)
    #expect(conflict.id == fixture.document && conflict.property == "title" && conflict.kind == .bothChanged)
    #expect(conflict.base == .attribute("A"))
    #expect(conflict.ours == .attribute("ours") && conflict.theirs == .attribute("theirs"))
    let answers = [AnsweredConflict(conflict, .attribute("both"))]
    try store.set(draft, "title", "again")
    let stale = #expect(throws: MergeError.self) {
      try store.drafts.merge(draft, options: MergeOptions(answers: answers))
    }
    #expect(stale?.kind == .staleAnswers)
    try store.set(draft, "title", "theirs")
    try store.drafts.merge(draft, options: MergeOptions(answers: answers))
    #expect(try fixture.value(fixture.document, "title") == "both")
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P8, M8: the automatic snapshot shows the store before the merge", arguments: StorageKind.allCases)
  func p8Snapshot(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(draft, "picture", .binary(Data(repeating: 2, count: 4_000)))
    let lines = try fixture.lines()
    let result = try store.drafts.merge(draft)
    let name = try #require(result.snapshots.first)
    #expect(result.snapshots.count == 1 && result.duration > .zero)
    let merged = try fixture.text(fixture.document)
    try store.rollback(toSnapshotNamed: name)
    #expect(try fixture.lines() == lines)
    #expect(try fixture.text(fixture.document) != merged)
    try fixture.check()
    var options = MergeOptions()
    options.createsSnapshots = false
    #expect(try store.drafts.merge(try fixture.draft(), options: options).snapshots.isEmpty)
    try fixture.check()
  }

  @Test("P8, M16: after a rollback to before a merge, the same merge can be made again")
  func p8MergeAgain() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(draft, "title", "new")
    let name = try #require(try store.drafts.merge(draft).snapshots.first)
    let merged = try fixture.text(fixture.document)
    try store.rollback(toSnapshotNamed: name)
    #expect(try fixture.value(fixture.document, "title") == "A")
    try store.drafts.merge(draft)
    #expect(try fixture.text(fixture.document) == merged)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P8, M11: a repeated call with an idempotency key merges once, and limits refuse a merge")
  func p8KeysAndLimits() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    try store.write { tx in
      for section in try tx.members(draft, "sections") { try tx.set(section, "text", "changed") }
    }
    var options = MergeOptions()
    options.maxObjects = 2
    let refused = #expect(throws: MergeError.self) { try store.drafts.merge(draft, options: options) }
    #expect(refused?.kind == .limitExceeded)
    options.maxObjects = nil
    options.idempotencyKey = "merge 1"
    let first = try store.drafts.merge(draft, options: options)
    let commit = try store.info().commit
    let again = try store.drafts.merge(draft, options: options)
    #expect(!first.isRepeated && again.isRepeated && again.counts == first.counts)
    #expect(try store.info().commit == commit)
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P8, M8: hooks and validation run for what a merge changes") func p8Hooks() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    let draft = try fixture.draft()
    try store.set(try fixture.clone(of: fixture.summary), "text", "raw")
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "text") != "checked" { try tx.set(id, "text", "checked") }
    }
    try store.register(hooks, for: "Summary")
    try store.drafts.merge(draft)
    #expect(try fixture.value(fixture.summary, "text") == "checked")
    try fixture.expectNothingLeft(blobs: 1)
  }

  @Test("P8, B7: a merge is one commit of the history") func p8History() throws {
    let fixture = try DraftFixture()
    let store = fixture.store
    try store.setTracksHistory(true)
    let draft = try fixture.draft()
    try store.set(draft, "title", "new")
    let token = try store.currentToken()
    try store.drafts.merge(draft)
    let commits = try store.history(after: token)
    #expect(commits.count == 1 && commits.first?.deletedCount == DraftFixture.ownedCount)
    try fixture.expectNothingLeft(blobs: 1)
  }

  // MARK: P9

  @Test("P9: the list of drafts names sources, author, times, sizes, and whether they changed")
  func p9List() throws {
    let test = try TestStore(draftModel, options: .tracking(author: "Ada"))
    let store = test.store
    #expect(try store.drafts.list().isEmpty)
    let (document, outside) = try store.write { tx in
      let document = try tx.insert("Document", ["title": "A"])
      for name in ["1", "2"] {
        try tx.insert("Section", ["text": .string(name)], relationships: ["document": [document]])
      }
      return (document, try tx.insert("Document", ["title": "outside"]))
    }
    var options = CloneOptions()
    options.keepsBase = true
    options.count = 2
    options.baseExpiresAt = Date(timeIntervalSinceReferenceDate: 2e9)
    let start = Date()
    let roots = try store.clone([document], options: options).roots
    let drafts = try store.drafts.list()
    #expect(drafts.map(\.roots) == [[roots[0]], [roots[1]]])
    for draft in drafts {
      #expect(draft.sources == [document] && draft.author == "Ada" && draft.objectCount == 3)
      #expect(draft.expiresAt == options.baseExpiresAt && !draft.isChanged)
      #expect(draft.createdAt >= start.addingTimeInterval(-1) && draft.createdAt <= Date().addingTimeInterval(1))
    }
    let section = try #require(try store.members(roots[1], "sections").first)
    // A change of the sources is none of the drafts.
    try store.set(document, "title", "changed")
    #expect(try store.drafts.list().map(\.isChanged) == [false, false])
    // Neither is one of objects outside.
    try store.set(outside, "title", "changed")
    try store.insert("Section", ["text": "outside"], relationships: ["document": [outside]])
    #expect(try store.drafts.list().map(\.isChanged) == [false, false])
    #expect(try store.drafts.list().allSatisfy { $0.retainedBytes > 0 })
    try store.set(section, "text", "changed")
    #expect(try store.drafts.list().map(\.isChanged) == [false, true])
    #expect(try store.drafts.isDraft(section) && !store.drafts.isDraft(document))
    try store.drafts.merge(roots[1])
    #expect(try store.drafts.list().map(\.roots) == [[roots[0]]])
    try checked(store)
  }
}

import Foundation
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The rules of drafts, each by its number.
@Suite("Drafts") struct DraftRuleTests {
  private let fixture: BranchFixture
  private let store: ObjectStore
  private let book, tag: ObjectID
  private let pages: [ObjectID]

  init() throws {
    fixture = try BranchFixture(.lmdb)
    store = fixture.store
    (book, tag, pages) = try store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("old")])
      let book = try tx.insert(
        "Book", ["title": .string("A"), "cover": .binary(Data(repeating: 7, count: 5_000))],
        relationships: ["tags": [tag]])
      let pages = try (0..<5).map {
        try tx.insert("Page", ["text": .string("\($0)")], relationships: ["book": [book]])
      }
      return (book, tag, pages)
    }
  }

  private func clone(_ change: (inout CloneOptions) -> Void = { _ in }) throws -> CloneResult {
    var options = CloneOptions()
    options.keepsBase = true
    change(&options)
    return try store.clone([book], options: options)
  }

  /// The pages of a clone, in order.
  private func pages(of book: ObjectID) throws -> [ObjectID] { try store.read { tx in try tx.members(book, "pages") } }

  private func text(_ state: ObjectStore? = nil) throws -> [String] {
    try (state ?? store).read { tx in try LibraryText.of(tx) }
  }

  private func check() throws { #expect(try CheckedStore.issues(store) == []) }

  private func expectNothingIsLeft() throws {
    try store.deleteExpiredSnapshots()
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    let remains = try fixture.remains()
    #expect(remains["preimages"] == nil && remains["snapshots"] == nil && remains["blobinfo"] == 1, "\(remains)")
    try check()
  }

  @Test("P1: a base is hidden, is protected, and ends with its clones or its time") func p1() throws {
    let result = try clone()
    #expect(try store.snapshots().isEmpty && store.branches.bases().count == 1)
    #expect(try store.info().formatVersion == 7)
    let name = try #require(try store.branches.bases().first?.name)
    expectError(.snapshotInUse) { try store.deleteSnapshot(named: name) }
    try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().count == 1)
    try check()
    try store.write { tx in _ = try tx.delete(result.root) }
    try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().isEmpty)
    let expired = try clone { $0.baseExpiresAt = Date(timeIntervalSinceNow: -1) }
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(expired.root) }
    #expect(error?.kind == .baseExpired)
    #expect(try !store.drafts.isDraft(expired.root))
    try store.deleteExpiredSnapshots()
    #expect(try store.branches.bases().isEmpty)
    #expect(try store.read { tx in try tx.provenance(of: expired.root)?.source } == book)
    try check()
  }

  @Test("P1: what the cloning transaction does besides is no change") func p1Transaction() throws {
    let copy = try store.write { tx in
      var options = CloneOptions()
      options.keepsBase = true
      options.didClone = { tx, _, clone in
        if try tx.entityName(of: clone) == "Book" { try tx.set(clone, "title", .string("copy")) }
      }
      let copy = try tx.clone([book], options: options).root
      try tx.set(try tx.members(copy, "pages")[0], "text", .string("copied"))
      return copy
    }
    let plan = try store.drafts.planMerge(copy)
    #expect(plan.counts.isEmpty && plan.canMerge)
    try store.drafts.merge(copy)
    #expect(try store.read { tx in try tx.object(book)["title"] } == .string("A"))
    try expectNothingIsLeft()
  }

  @Test("P3, P4, P7: changes of the clones are applied to their sources, and the clones are deleted") func p3() throws {
    let copy = try clone().root
    let copied = try pages(of: copy)
    let new = try store.write { tx in
      try tx.set(copy, "title", .string("B"))
      try tx.set(copy, "cover", .binary(Data(repeating: 9, count: 9_000)))
      try tx.set(copied[1], "text", .string("changed"))
      try tx.delete(copied[2])
      let new = try tx.insert("Page", ["text": .string("new")])
      try tx.link(copy, "pages", [new], at: 0)
      try tx.set(tag, "name", .string("renamed"))
      return new
    }
    let plan = try store.drafts.planMerge(copy)
    #expect(plan.canMerge && plan.changes.contains { $0.object == "Book/1" && $0.kind == .update })
    let planned = try plan.read { tx in try LibraryText.of(tx) }
    let result = try store.drafts.merge(copy)
    #expect(result.counts == plan.counts)
    #expect(try text() == planned)
    #expect(try pages(of: book) == [new, pages[0], pages[1], pages[3], pages[4]])
    try store.read { tx throws in
      #expect(try tx.object(book)["title"] == .string("B") && tx.object(pages[1])["text"] == .string("changed"))
      #expect(try tx.data(book, "cover") == Data(repeating: 9, count: 9_000))
      #expect(try !tx.exists(copy) && tx.members(tag, "books") == [book])
    }
    #expect(try store.drafts.list().isEmpty)
    try expectNothingIsLeft()
  }

  @Test("P2, M7: a change of both is a conflict of the source") func p2() throws {
    let copy = try clone().root
    try store.write { tx in
      try tx.set(copy, "title", .string("mine"))
      try tx.set(book, "title", .string("yours"))
    }
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(copy) }
    #expect(error?.kind == .conflicts && error?.object == "Book/1")
    try store.drafts.merge(copy, options: MergeOptions(policy: .theirs))
    #expect(try store.read { tx in try tx.object(book)["title"] } == .string("mine"))
    try expectNothingIsLeft()
  }

  @Test("P5: a draft without its root is discarded, and a clone takes the place of a deleted source") func p5() throws {
    let copy = try clone().root
    let copied = try pages(of: copy)
    try store.write { tx in
      try tx.set(copied[0], "text", .string("changed"))
      try tx.delete(pages[0])
    }
    let conflicts = try store.drafts.planMerge(copy).conflicts
    #expect(conflicts.map(\.kind) == [.deletedOurs] && conflicts.first?.object == "Page/1")
    try store.drafts.merge(copy, options: MergeOptions(policy: .theirs))
    #expect(try pages(of: book) == [copied[0]] + pages[1...])
    #expect(try store.read { tx in try tx.object(copied[0])["text"] } == .string("changed"))
    try check()
    let other = try clone().root
    let left = try pages(of: other)
    try store.write { tx in
      for page in left { try tx.unlink(other, "pages", [page]) }
      try tx.delete(other)
    }
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(left[0]) }
    #expect(error?.kind == .rootDeleted)
    try check()
  }

  @Test("P6: copies are merged one by one, and drafts of drafts are named") func p6() throws {
    let copies = try clone { $0.count = 2 }.roots
    try store.write { tx in
      try tx.set(copies[0], "title", .string("first"))
      try tx.set(pages(of: copies[1])[0], "text", .string("second"))
    }
    #expect(try store.drafts.list().map(\.roots) == [[copies[0]], [copies[1]]])
    #expect(try store.drafts.list().map(\.isChanged) == [true, true])
    try store.drafts.merge(copies[0])
    #expect(try store.branches.bases().count == 1)
    var options = CloneOptions()
    options.keepsBase = true
    let nested = try store.clone([copies[1]], options: options).root
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(copies[1]) }
    #expect(error?.kind == .draftInUse)
    try store.drafts.merge(nested)
    try store.drafts.merge(copies[1])
    try store.read { tx throws in
      #expect(try tx.object(book)["title"] == .string("first"))
      #expect(try tx.object(pages[0])["text"] == .string("second"))
    }
    try expectNothingIsLeft()
  }

  @Test("P7: clones stay as ordinary objects on request") func p7() throws {
    let copy = try clone().root
    try store.write { tx in try tx.set(copy, "title", .string("B")) }
    var options = MergeOptions()
    options.keepsClones = true
    try store.drafts.merge(copy, options: options)
    #expect(try store.read { tx in try tx.object(book)["title"] } == .string("B"))
    #expect(try store.read { tx in try tx.exists(copy) }); #expect(try !store.drafts.isDraft(copy))
    let error = #expect(throws: MergeError.self) { try store.drafts.merge(copy) }
    #expect(error?.kind == .notRelated)
    #expect(try store.read { tx in try tx.provenance(of: copy)?.source } == book)
    try store.write { tx in _ = try tx.delete(copy) }
    try expectNothingIsLeft()
  }

  @Test("P8: clones from a snapshot and of another store keep no base") func p8() throws {
    let snapshot = try store.createSnapshot(named: "earlier")
    var options = CloneOptions()
    options.keepsBase = true
    let error = #expect(throws: CloneError.self) { try store.clone([book], from: snapshot, options: options) }
    #expect(error?.kind == .invalidConfiguration)
  }

  @Test("P9: drafts are listed with their roots, sources, author and state") func p9() throws {
    let copy = try store.write { tx in
      tx.author = "Nina"
      var options = CloneOptions()
      options.keepsBase = true
      return try tx.clone([book], options: options).root
    }
    let draft = try #require(try store.drafts.list().first)
    #expect(draft.roots == [copy] && draft.sources == [book] && draft.author == "Nina" && draft.objectCount == 6)
    #expect(!draft.isChanged && draft.expiresAt == nil)
    #expect(try store.drafts.isDraft(copy) && !store.drafts.isDraft(book))
    try store.write { tx in try tx.set(book, "title", .string("changed")) }
    #expect(try store.drafts.list().first?.isChanged == false)
    try store.write { tx in try tx.set(copy, "title", .string("changed")) }
    #expect(try store.drafts.list().first?.isChanged == true)
  }

  @Test("P2: drafts on a branch belong to the branch") func onBranch() throws {
    let branch = try store.branches.create("draft")
    var options = CloneOptions()
    options.keepsBase = true
    let copy = try branch.clone([book], options: options).root
    try branch.write { tx in try tx.set(copy, "title", .string("B")) }
    #expect(try store.drafts.list().isEmpty && branch.drafts.list().count == 1)
    try branch.drafts.merge(copy)
    #expect(try branch.read { tx in try tx.object(book)["title"] } == .string("B"))
    try store.branches.publish("draft")
    #expect(try store.read { tx in try tx.object(book)["title"] } == .string("B"))
    try check()
  }
}

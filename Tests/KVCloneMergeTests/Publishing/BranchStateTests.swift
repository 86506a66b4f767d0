import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Merges of several branches and of repeated changes.
@Suite("Publish and update: states") struct BranchStateTests {
  @Test("M15: after an update, a conflict still names the commit that changed the branch") func m15() throws {
    let library = try Library(.lmdb)
    let store = library.store
    try store.setTracksHistory(true)
    let branch = try store.branches.create("draft")
    try library.setTitle("mine", in: branch, author: "Ada")
    let commit = try store.info().commit
    try store.write { tx in
      tx.author = "Ben"
      try tx.set(library.other, "title", .string("yours"))
    }
    try store.branches.update("draft")
    try library.setTitle("yours", in: store, author: "Cleo")
    let conflict = try #require(try store.branches.planPublish("draft").conflicts.first)
    #expect(conflict.theirsChange?.commit == commit && conflict.theirsChange?.author == "Ada")
    #expect(try conflict.oursChange?.commit == store.info().commit && conflict.oursChange?.author == "Cleo")
    try library.check()
  }

  @Test(
    "B4, M9: a branch gets what another one published, and does not publish it again",
    arguments: StorageKind.allCases)
  func twoBranches(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let first = try store.branches.create("first")
    let page = try first.write { tx in
      try tx.insert("Page", ["text": .string("first")], relationships: ["book": [library.book]])
    }
    // The ids of the first branch are below the next ones of this base.
    try store.write { tx in try tx.insert("Page", ["text": .string("store")]) }
    let second = try store.branches.create("second")
    let before = try library.text(second)
    try second.write { tx in try tx.set(library.other, "title", .string("second")) }
    try store.branches.publish("first")
    try second.read { tx throws in #expect(try !tx.exists(page) && tx.members(library.book, "pages").count == 40) }
    try store.branches.update("second")
    #expect(try library.text(second) != before)
    try second.read { tx throws in #expect(try tx.members(library.book, "pages").last == page) }
    try library.check()
    let plan = try store.branches.planPublish("second")
    #expect(plan.counts == ["Book": MergeCount(updated: 1)] && plan.changes.map(\.id) == [library.other])
    try store.branches.publish("second")
    #expect(try library.text(store) == library.text(second))
    #expect(try store.read { tx in try tx.exists(page) })
    try library.check()
    try store.branches.delete("first")
    try library.expectNothingLeft(of: "second", blobs: 1)
  }

  @Test("M4: a child that the branch detached stays when its parent was deleted", arguments: StorageKind.allCases)
  func m4Detached(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    let child = library.pages[0]
    try branch.write { tx in
      try tx.unlink(library.book, "pages", [child])
      _ = try tx.delete(library.book)
    }
    try store.write { tx in try tx.set(library.other, "title", .string("yours")) }
    try store.branches.update("draft")
    for _ in 1...2 {
      try branch.read { tx throws in
        #expect(try tx.exists(child) && !tx.exists(library.book) && !tx.exists(library.pages[1]))
      }
      try library.check()
      try store.branches.publish("draft")
      #expect(try library.text(store) == library.text(branch))
    }
    try library.expectNothingLeft(of: "draft", blobs: 0)
  }
  @Test("M4: an object gains the links of new objects, also those without an inverse", arguments: StorageKind.allCases)
  func m4GainedReference(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let target = try store.insert("Document", ["slug": "z"])
    let branch = try store.branches.create("draft")
    try branch.write { tx in _ = try tx.delete([target]) }
    let bookmark = try store.insert("Bookmark", ["name": "new"], relationships: ["document": [target]])
    let published = try store.branches.planPublish("draft").conflicts
    #expect(published.map(\.kind) == [.deletedTheirs] && published.map(\.id) == [target])
    let updated = try store.branches.planUpdate("draft").conflicts
    #expect(updated.map(\.kind) == [.deletedOurs] && updated.map(\.id) == [target])
    try store.branches.update("draft", options: MergeOptions(policy: .theirs))
    #expect(try branch.toOne(bookmark, "document") == target)
    try fixture.check()
  }
}

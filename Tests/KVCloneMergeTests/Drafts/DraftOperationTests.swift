import Foundation
import KVClone
import KVCloneMerge
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Operations on whole stores with drafts.
@Suite("Drafts: operations") struct DraftOperationTests {
  /// A store with a changed draft, and a directory for copies.
  private final class Fixture {
    let drafts: DraftFixture
    let draft: ObjectID
    let root: String
    var store: ObjectStore { drafts.store }

    init(_ kind: StorageKind) throws {
      drafts = try DraftFixture(kind)
      root = try temporaryDirectory()
      draft = try drafts.draft()
      try drafts.store.set(draft, "title", "new")
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// Merges the draft of a copy of the store.
    func expectMergeable(_ copy: ObjectStore, sourceLocation: SourceLocation = #_sourceLocation) throws {
      #expect(try CheckedStore.issues(copy) == [], sourceLocation: sourceLocation)
      #expect(try copy.drafts.list().map(\.roots) == [[draft]], sourceLocation: sourceLocation)
      try copy.drafts.merge(draft)
      #expect(try copy.value(drafts.document, "title") == "new", sourceLocation: sourceLocation)
      #expect(try !copy.exists(draft), sourceLocation: sourceLocation)
      #expect(try CheckedStore.issues(copy) == [], sourceLocation: sourceLocation)
    }
  }

  @Test("P1, B9: backups contain bases, and a restored draft can be merged", arguments: StorageKind.allCases)
  func p1Backups(_ kind: StorageKind) throws {
    let fixture = try Fixture(kind)
    let (store, root) = (fixture.store, fixture.root)
    try store.createSnapshot(named: "start")
    try store.backup(to: root + "/full", options: BackupOptions(verification: .everything))
    try store.set(fixture.draft, "views", 3)
    let later = try fixture.drafts.draft([fixture.drafts.other])
    try store.backup(to: root + "/increment", options: BackupOptions(since: "start"))
    try ObjectStore.restore(from: root + "/full", to: root + "/first")
    try ObjectStore.restore(from: [root + "/full", root + "/increment"], to: root + "/second")
    let first = try ObjectStore.open(at: root + "/first")
    defer { first.close() }
    try fixture.expectMergeable(first)
    let second = try ObjectStore.open(at: root + "/second")
    defer { second.close() }
    #expect(try second.drafts.list().map(\.roots) == [[fixture.draft], [later]])
    try second.drafts.merge(later)
    try fixture.expectMergeable(second)
    #expect(try second.value(fixture.drafts.document, "views") == 3)
  }

  @Test("P1, B9: salvage makes clones of drafts ordinary objects", .needsDataFile(.salvage))
  func p1Salvage() throws {
    let test = try TestStore(draftModel, engine: .dataFile)
    var options = CloneOptions()
    options.keepsBase = true
    let (document, draft) = try test.store.write { [options] tx in
      let document = try tx.insert("Document", ["title": "A"])
      return (document, try tx.clone([document], options: options).root)
    }
    test.store.close()
    try ObjectStore.salvage(from: test.path, to: test.root + "/salvaged")
    let salvaged = try ObjectStore.open(at: test.root + "/salvaged")
    defer { salvaged.close() }
    #expect(try salvaged.drafts.list().isEmpty && !salvaged.drafts.isDraft(draft))
    #expect(try salvaged.read { tx in try tx.provenance(of: draft) }?.source == document)
    // The new store may give the number of the lost base to this one.
    let next = try salvaged.clone([document], options: options).root
    #expect(try salvaged.drafts.isDraft(next) && !salvaged.drafts.isDraft(draft))
    try salvaged.set(next, "title", "B")
    try salvaged.drafts.merge(next)
    #expect(try salvaged.value(document, "title") == "B" && salvaged.exists(draft))
    try checked(salvaged)
  }

  @Test("P1: a second process and a reopened store see the drafts", .needsDataFile(.path))
  func p1Reopened() throws {
    let test = try TestStore(draftModel, engine: .dataFile)
    // It opens the store before there is any base.
    let peer = try PeerProcess("drafts", [test.location, "title", "B"])
    #expect(peer.hear() == "open")
    var options = CloneOptions()
    options.keepsBase = true
    let document = try test.store.insert("Document", ["title": "A"])
    let draft = try test.store.clone([document], options: options).root
    try peer.tell("edit")
    #expect(peer.hear() == "\(draft.rawValue)")
    #expect(try peer.finish() == 0)
    try test.reopen()
    #expect(try test.store.drafts.list().map(\.isChanged) == [true])
    try test.store.drafts.merge(draft)
    #expect(try test.store.value(document, "title") == "B")
    try checked(test.store)
  }
}

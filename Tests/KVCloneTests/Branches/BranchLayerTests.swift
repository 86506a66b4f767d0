import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations

/// The rules of branches that have had several bases, with the interface that merges use.
@Suite("Layers of branches")
struct BranchLayerTests {
  private static func text(_ store: ObjectStore) throws -> [String] {
    try store.read { tx in try SnapshotTests.text(tx) }
  }

  /// A store with a book, and a branch of it.
  private struct Setup {
    let fixture: BranchFixture
    let store: ObjectStore
    let branch: ObjectStore
    let book: ObjectID

    init(_ kind: StorageKind) throws {
      fixture = try BranchFixture(kind)
      store = fixture.store
      book = try BranchFixture.fill(store, "A")
      branch = try store.branches.create("draft")
    }

    func expectSound(_ sourceLocation: SourceLocation = #_sourceLocation) throws {
      let issues = try store.check().issues.map(\.message)
      #expect(issues.isEmpty, sourceLocation: sourceLocation)
    }

    /// Publishes one attribute, as a merge does; returns the automatic snapshots of the store and of the branch.
    func publish(title: String) throws -> (store: String, branch: String) {
      try store.runWrite(label: "publish", timeout: nil) { tx in
        let names = try BranchLayerTests.manage(&tx) { manager in
          (
            store: try manager.createSnapshotOfStore(),
            branch: try manager.createSnapshot(ofBranch: "draft")
          )
        }
        try tx.set(book, "title", .string(title))
        try tx.prepareToSave()
        try BranchLayerTests.manage(&tx) { manager in _ = try manager.rebaseEmpty("draft") }
        return names
      }
    }

    func rebase() throws {
      try store.runWrite(label: "update", timeout: nil) { tx in
        try BranchLayerTests.manage(&tx) { manager in _ = try manager.rebaseKeepingChanges("draft") }
      }
    }

    func info() throws -> BranchInfo { try #require(try store.branches.list().first { $0.name == "draft" }) }
  }

  static func manage<R>(_ tx: inout WriteTransaction, _ body: (inout BranchManager) throws -> R) throws -> R {
    try tx.change { session in try BranchManager.own(&session, body) }
  }

  @Test("M9: after a publish the branch shows the store and has no changes", arguments: StorageKind.allCases)
  func m9Publish(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    try setup.branch.write { tx in try tx.set(setup.book, "title", .string("B")) }
    let names = try setup.publish(title: "B")
    try setup.expectSound()
    #expect(try Self.text(setup.branch) == Self.text(setup.store))
    #expect(try setup.info().byteCount == 0 && setup.info().changedObjectCount == 0)
    let before = try Self.text(setup.branch)
    try setup.store.write { tx in try tx.delete([setup.book]) }
    #expect(try Self.text(setup.branch) == before)
    try setup.branch.deleteSnapshot(named: names.branch)
    #expect(try BranchFixture.record(setup.store, "draft").layers.count == 1)
    try setup.expectSound()
    try setup.store.branches.delete("draft")
    try setup.store.deleteSnapshot(named: names.store)
    #expect(try setup.fixture.remains() == [:])
  }

  @Test("M9: after an update the branch keeps what differs from the store", arguments: StorageKind.allCases)
  func m9Update(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    let tag = try setup.store.write { tx in
      let tag = try tx.members(setup.book, "tags")[0]
      try tx.set(tag, "name", .string("new"))
      return tag
    }
    try setup.branch.write { tx in try tx.set(setup.book, "title", .string("B")) }
    try setup.store.runWrite(label: "update", timeout: nil) { tx in
      try Self.manage(&tx) { manager in
        try manager.write(onBranch: "draft") { session in try session.set(tag, ["name": .string("new")]) }
        _ = try manager.rebaseKeepingChanges("draft")
      }
    }
    try setup.expectSound()
    #expect(try setup.info().changedObjectCount == 1)
    #expect(try setup.branch.read { tx in try tx.value(setup.book, "title") } == .string("B"))
    #expect(try setup.branch.read { tx in try tx.value(tag, "name") } == .string("new"))
    #expect(try setup.store.read { tx in try tx.value(setup.book, "title") } == .string("A"))
    try setup.store.branches.delete("draft")
    #expect(try setup.fixture.remains() == ["blobs": 1, "blobinfo": 1])
  }

  @Test("B6: a blob that the store has deleted stays on a branch that an update moved", arguments: StorageKind.allCases)
  func b6Kept(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    let cover = Data(repeating: 7, count: 5_000)
    try setup.branch.write { tx in try tx.set(setup.book, "title", .string("B")) }
    try setup.store.write { tx in try tx.delete([setup.book]) }
    let before = try Self.text(setup.branch)
    try setup.rebase()
    try setup.expectSound()
    #expect(try Self.text(setup.branch) == before)
    #expect(try setup.branch.read { tx in try tx.data(setup.book, "cover") } == cover)
    #expect(try setup.fixture.remains()["blobinfo"] == nil)
    try setup.branch.write { tx in try tx.delete([setup.book]) }
    #expect(try setup.fixture.remains()["blobs"] == nil)
    try setup.store.branches.delete("draft")
    #expect(try setup.fixture.remains() == [:])
  }

  private static func blob(_ tx: borrowing ReadTransaction, _ id: ObjectID) throws -> BlobReference? {
    try tx._withSession { (session) throws(StoreError) in
      let view = try session.existingRecord(id)
      return try session.schema.entity(of: view, id: id).blobs(in: view).first
    }
  }

  @Test(
    "B8: snapshots from before a merge are listed, read, compared, held and deleted", arguments: StorageKind.allCases)
  func b8Layers(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    try setup.branch.write { tx in try tx.set(setup.book, "title", .string("B")) }
    let before = try Self.text(setup.branch)
    let old = try setup.branch.createSnapshot(named: "old")
    let names = try setup.publish(title: "C")
    let new = try setup.branch.createSnapshot(named: "new")
    #expect(try setup.branch.snapshots().map(\.name) == ["old", names.branch, "new"])
    #expect(try old.read { tx in try SnapshotTests.text(tx) } == before)
    #expect(try setup.branch.snapshot(named: "old").info.epoch == old.info.epoch)
    expectError(.snapshotExists) { try setup.branch.createSnapshot(named: "old") }
    for differences in [try setup.branch.diff(from: old), try setup.branch.diff(from: old, to: new)] {
      #expect(differences.map(\.id) == [setup.book])
      #expect(differences.first?.attributes.map(\.new) == [.string("C")])
    }
    #expect(try setup.branch.diff(from: new, to: old).first?.attributes.map(\.new) == [.string("B")])
    _ = try old.retainedBytes()
    try old.hold(tag: "keep")
    expectError(.snapshotHeld) { try setup.branch.deleteSnapshot(named: "old") }
    try old.release(tag: "keep")
    try setup.expectSound()
    try setup.branch.deleteSnapshots(named: ["old", "new"])
    try setup.expectSound()
    #expect(try BranchFixture.record(setup.store, "draft").layers.count == 2)
    try setup.branch.deleteSnapshot(named: names.branch)
    #expect(try BranchFixture.record(setup.store, "draft").layers.count == 1)
    try setup.expectSound()
    expectError(.snapshotNotFound) { _ = try old.read { tx in try SnapshotTests.text(tx) } }
    expectError(.snapshotNotFound) { try setup.branch.deleteSnapshot(named: "old") }
  }

  @Test("M16: rolling both sides back undoes a publish, which can be made again", arguments: StorageKind.allCases)
  func m16(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    try setup.store.setTracksHistory(true)
    try setup.branch.write { tx in
      try tx.set(setup.book, "title", .string("B"))
      try tx.insert("Book", ["cover": .binary(Data(repeating: 9, count: 3_000))])
    }
    let (main, draft) = (try Self.text(setup.store), try Self.text(setup.branch))
    let base = try BranchFixture.record(setup.store, "draft").present
    for _ in 0..<2 {
      let names = try setup.publish(title: "B")
      #expect(try Self.text(setup.branch) != draft)
      try setup.store.rollback(toSnapshotNamed: names.store)
      let result = try setup.branch.rollback(toSnapshotNamed: names.branch)
      try setup.expectSound()
      #expect(result.recreatedCount == 1 && result.updatedCount == 0 && result.deletedCount == 0)
      #expect(try Self.text(setup.store) == main)
      #expect(try Self.text(setup.branch) == draft)
      let present = try BranchFixture.record(setup.store, "draft").present
      #expect(present.baseName == base.baseName && present.baseEpoch == base.baseEpoch)
    }
    try setup.store.branches.delete("draft")
    try setup.store.deleteSnapshots(named: try setup.store.snapshots().map(\.name))
    try setup.store.write { tx in try tx.delete([setup.book]) }
    try setup.expectSound()
    #expect(try setup.fixture.remains() == [:])
  }

  @Test("B11: a branch is reset to its base, as a rollback that can be undone", arguments: StorageKind.allCases)
  func b11Base(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    let base = try Self.text(setup.branch)
    let page = try setup.branch.write { tx in
      try tx.set(setup.book, "title", .string("B"))
      try tx.insert("Tag", ["name": .string("own")])
      let page = try tx.members(setup.book, "pages")[3]
      try tx.delete([page])
      return page
    }
    let changed = try Self.text(setup.branch)
    let plan = try setup.store.branches.planReset("draft")
    #expect(plan.isPossible && plan.updatedCount == 1 && plan.recreatedCount == 1 && plan.deletedCount == 1)
    #expect(try Self.text(setup.branch) == changed)
    let result = try setup.store.branches.reset("draft")
    try setup.expectSound()
    #expect(result.updatedCount == 1 && result.recreatedCount == 1 && result.deletedCount == 1)
    #expect(try Self.text(setup.branch) == base)
    #expect(try setup.branch.read { tx in try tx.exists(page) })
    #expect(try setup.info().changedObjectCount == 0)
    let automatic = try #require(result.automaticSnapshot)
    #expect(try setup.branch.snapshots().map(\.name) == [automatic.name])
    try setup.store.branches.reset("draft", to: try setup.branch.snapshot(named: automatic.name))
    try setup.expectSound()
    #expect(try Self.text(setup.branch) == changed)
    expectError(.branchNotFound) { try setup.store.branches.reset("other") }
  }

  @Test("B11: some objects of a branch are reset to the base or to a snapshot", arguments: StorageKind.allCases)
  func b11Objects(_ kind: StorageKind) throws {
    let setup = try Setup(kind)
    let other = try setup.branch.write { tx in
      try tx.set(setup.book, "title", .string("B"))
      return try tx.insert("Book", ["title": .string("other")])
    }
    let names = try setup.publish(title: "C")
    try setup.branch.write { tx in try tx.set(setup.book, "title", .string("D")) }
    func title() throws -> AttributeValue? { try setup.branch.read { tx in try tx.value(setup.book, "title") } }
    let result = try setup.store.branches.reset("draft", objects: [setup.book])
    #expect(result.updatedCount == 1)
    #expect(try title() == .string("C"))
    try setup.expectSound()
    let snapshot = try setup.branch.snapshot(named: names.branch)
    try setup.store.branches.reset("draft", to: snapshot, objects: [setup.book])
    #expect(try title() == .string("B"))
    #expect(try !setup.branch.read { tx in try tx.exists(other) })
    try setup.store.branches.reset("draft", to: snapshot, objects: [other])
    #expect(try setup.branch.read { tx in try tx.exists(other) })
    try setup.expectSound()
  }
}

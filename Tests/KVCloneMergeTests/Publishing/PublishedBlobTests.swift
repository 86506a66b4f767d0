import Foundation
import KVClone
import KVCloneMerge
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Blobs that branches, their store and snapshots of both share.
@Suite("Publish and update: blobs") struct PublishedBlobTests {
  private static func data(_ byte: UInt8) -> Data { Data(repeating: byte, count: 6_000) }

  private func cover(_ id: ObjectID, _ store: ObjectStore) throws -> Data? {
    try store.read { tx in try tx.data(id, "cover") }
  }

  @Test("B4: a published blob is in no earlier snapshot, in every later increment, and stays without the snapshots")
  func b4() throws {
    let library = try Library(.lmdb)
    let store = library.store
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    let branch = try store.branches.create("draft")
    let new = try branch.write { tx in
      try tx.insert("Book", ["number": .integer(9), "cover": .binary(Self.data(1))])
    }
    // The serials of this blob and object are below the next ones of the snapshot.
    try store.write { tx in
      try tx.insert("Book", ["number": .integer(10), "cover": .binary(Self.data(2))])
    }
    try store.createSnapshot(named: "earlier")
    let before = try library.text(store)
    try store.backup(to: root + "/full", options: BackupOptions(verification: .everything))
    let automatic = try store.branches.publish("draft").snapshots[0]
    for name in ["earlier", automatic] { #expect(try library.text(store, snapshot: name) == before) }
    let published = try library.text(store)
    try store.backup(to: root + "/increment", options: BackupOptions(since: "earlier"))
    try ObjectStore.restore(from: [root + "/full", root + "/increment"], to: root + "/restored")
    let restored = try ObjectStore.open(at: root + "/restored")
    defer { restored.close() }
    #expect(try library.text(restored) == published)
    #expect(try cover(new, restored) == Self.data(1))
    #expect(try CheckedStore.issues(restored) == [])
    try library.expectNothingLeft(of: "draft", blobs: 3)
    #expect(try cover(new, store) == Self.data(1))
  }

  @Test(
    "B6: a blob of a branch goes when neither the store nor the branch's snapshots show it",
    arguments: StorageKind.allCases)
  func b6(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    let new = try branch.write { tx in
      try tx.insert("Book", ["number": .integer(9), "cover": .binary(Self.data(1))])
    }
    let kept = try branch.createSnapshot(named: "kept")
    try store.branches.publish("draft")
    try store.write { tx in _ = try tx.delete(new) }
    #expect(try cover(new, branch) == Self.data(1))
    try store.branches.update("draft")
    #expect(try branch.read { tx in try !tx.exists(new) })
    #expect(try kept.read { tx in try tx.data(new, "cover") } == Self.data(1))
    try library.check()
    try library.expectNothingLeft(of: "draft", blobs: 1)
  }

  @Test("M7, B6: an answer can take a blob of the base that the store has deleted", arguments: StorageKind.allCases)
  func m7BaseBlob(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    let first = try #require(try cover(library.book, store))
    try branch.write { tx in try tx.set(library.book, "cover", .binary(Self.data(1))) }
    try store.write { tx in try tx.set(library.book, "cover", .binary(Self.data(2))) }
    let conflict = try #require(try store.branches.planUpdate("draft").conflicts.first)
    guard case .attribute(let value)? = conflict.base else {
      Issue.record("the conflict has no base")
      return
    }
    let options = MergeOptions(answers: [AnsweredConflict(conflict, .attribute(value))])
    try store.branches.update("draft", options: options)
    #expect(try cover(library.book, branch) == first && cover(library.book, store) == Self.data(2))
    try library.check()
    try store.branches.publish("draft")
    #expect(try cover(library.book, branch) == first && cover(library.book, store) == first)
    try library.check()
    try library.expectNothingLeft(of: "draft", blobs: 1)
    #expect(try cover(library.book, store) == first)
  }
}

import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// The automatic snapshots of merges, and what stays with them.
@Suite("Publish and update: snapshots") struct MergeSnapshotTests {
  private func mergeSnapshots(_ store: ObjectStore) throws -> [String] {
    try store.snapshots().map(\.name).filter { $0.hasPrefix("auto-merge-") }
  }

  private func titles(_ library: Library, _ store: ObjectStore) throws -> Set<AttributeValue?> {
    var titles: Set<AttributeValue?> = []
    for name in try mergeSnapshots(store) {
      titles.insert(try store.snapshot(named: name).read { tx in try tx.object(library.book)["title"] })
    }
    return titles
  }

  @Test("M8: each side keeps ten snapshots of merges, and no more layers", arguments: StorageKind.allCases)
  func m8Retention(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    for number in 1...12 {
      try library.setTitle("\(number)", in: branch)
      #expect(try store.branches.publish("draft").snapshots.count == 2)
    }
    #expect(try mergeSnapshots(store).count == 10 && mergeSnapshots(branch).count == 10)
    #expect(try titles(library, store) == Set((2...11).map { .string("\($0)") }))
    #expect(try titles(library, branch) == Set((3...12).map { .string("\($0)") }))
    #expect(try BranchFixture.record(store, "draft").layers.count == 11)
    #expect(try store.branches.bases().count == 11)
    try library.check()
    var options = MergeOptions()
    options.retainedSnapshots = 2
    try library.setTitle("13", in: branch)
    try store.branches.publish("draft", options: options)
    #expect(try titles(library, store) == [.string("11"), .string("12")])
    #expect(try titles(library, branch) == [.string("12"), .string("13")])
    #expect(try BranchFixture.record(store, "draft").layers.count == 3)
    #expect(try store.branches.bases().count == 3)
    try library.check()
    try library.expectNothingLeft(of: "draft", blobs: 1)
  }

  @Test("M9: a second publish or update commits nothing, also beside snapshots of the branch")
  func m9Again() throws {
    let library = try Library(.lmdb)
    let store = library.store
    let branch = try store.branches.create("draft")
    try library.setTitle("mine", in: branch)
    try store.write { tx in try tx.set(library.other, "title", .string("yours")) }
    try store.branches.update("draft")
    let updated = try store.info().commit
    #expect(try store.branches.update("draft").snapshots.isEmpty)
    #expect(try store.info().commit == updated)
    try store.branches.publish("draft")
    try branch.createSnapshot(named: "x")
    let published = try store.info().commit
    let names = (try mergeSnapshots(store), try mergeSnapshots(branch))
    #expect(try store.branches.publish("draft").snapshots.isEmpty)
    #expect(try store.branches.update("draft").snapshots.isEmpty)
    #expect(try store.info().commit == published)
    #expect(try mergeSnapshots(store) == names.0 && mergeSnapshots(branch) == names.1)
    try library.check()
  }

  @Test("M8, B4: an update may delete the layer over the store's youngest snapshot", arguments: StorageKind.allCases)
  func m8YoungestBase(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    try library.setTitle("1", in: branch)
    let first = try store.branches.publish("draft").snapshots[1]
    try library.setTitle("2", in: branch)
    try store.branches.publish("draft")
    // The present layer gets the oldest base, and that of the last snapshot is the youngest of the store.
    try branch.rollback(toSnapshotNamed: first)
    for info in try branch.snapshots() where !info.name.hasPrefix("auto-merge-") {
      try branch.deleteSnapshot(named: info.name)
    }
    for info in try store.snapshots() { try store.deleteSnapshot(named: info.name) }
    var options = MergeOptions(policy: .theirs)
    options.retainedSnapshots = 1
    try store.branches.update("draft", options: options)
    #expect(try mergeSnapshots(branch).count == 1)
    #expect(try library.title(branch) == .string("2"))
    try library.check()
    let before = try library.text(branch)
    try library.setTitle("later", in: store)
    try store.write { tx in _ = try tx.delete(library.pages[0]) }
    #expect(try library.text(branch) == before)
    try library.check()
    try store.branches.update("draft", options: options)
    #expect(try library.text(branch) == library.text(store))
    try library.expectNothingLeft(of: "draft", blobs: 1)
  }

  @Test("M16: after rollbacks of both sides, the same merge can be made again", arguments: StorageKind.allCases)
  func m16(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in
      try tx.set(library.other, "cover", .binary(.init(repeating: 9, count: 6_000)))
      _ = try tx.delete(library.pages[3])
      try tx.setMembers(library.book, "pages", Array(library.pages.filter { $0 != library.pages[3] }.reversed()))
      try tx.insert("Page", ["text": .string("mine")], relationships: ["book": [library.book]])
    }
    try store.write { tx in
      try tx.set(library.tag, "name", .string("yours"))
      _ = try tx.delete(library.pages[5])
    }
    let before = (store: try library.text(store), branch: try library.text(branch))
    let first = try store.branches.publish("draft")
    let merged = try library.text(store)
    #expect(try library.text(branch) == merged)
    try store.rollback(toSnapshotNamed: first.snapshots[0])
    try branch.rollback(toSnapshotNamed: first.snapshots[1])
    #expect(try library.text(store) == before.store && library.text(branch) == before.branch)
    try library.check()
    let second = try store.branches.publish("draft")
    #expect(second.counts == first.counts)
    #expect(try library.text(store) == merged && library.text(branch) == merged)
    try library.check()
    for name in try branch.snapshots().map(\.name) { try branch.deleteSnapshot(named: name) }
    try library.expectNothingLeft(of: "draft", blobs: 2)
  }

  @Test(
    "B1: the retained bytes of a branch include earlier bases that its snapshots keep", arguments: StorageKind.allCases)
  func b1RetainedBytes(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    try store.write { tx in try tx.set(library.book, "cover", nil) }
    let retained = try store.branches.retainedBytes(of: "draft")
    #expect(retained > 5_000)
    try library.setTitle("mine", in: branch)
    try store.branches.publish("draft")
    #expect(try store.branches.retainedBytes(of: "draft") == retained)
    try store.branches.reset("draft")
    #expect(try store.branches.retainedBytes(of: "draft") == retained)
    for snapshot in try branch.snapshots() { try branch.deleteSnapshot(named: snapshot.name) }
    #expect(try store.branches.retainedBytes(of: "draft") == 0)
    try library.check()
  }
}

import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Synchronization
import Testing

/// The calls around a merge: snapshots, refusals, cancellation, progress, authors and directions.
@Suite struct MergeCallTests {
  private struct Shelf {
    let fixture: BranchFixture
    let store: ObjectStore
    let branch: ObjectStore
    let book: ObjectID
    let pages: [ObjectID]

    /// A branch with another title, a deleted page and a changed one.
    init(_ kind: StorageKind, tracksHistory: Bool = false) throws {
      fixture = try BranchFixture(kind)
      store = fixture.store
      if tracksHistory { try store.setTracksHistory(true) }
      let book = try BranchFixture.fill(store, "A")
      pages = try store.read { tx in try tx.members(book, "pages") }
      branch = try store.branches.create("draft")
      self.book = book
      let pages = pages
      try branch.write { tx in
        try tx.set(book, "title", .string("mine"))
        try tx.set(pages[1], "text", .string("mine"))
        _ = try tx.delete([pages[0]])
      }
    }

    func insertTags(_ count: Int) throws {
      try branch.write { tx in
        for number in 0..<count { try tx.insert("Tag", ["name": .string("\(number)")]) }
      }
    }

    /// Changes what the branch changed.
    func collide() throws {
      try store.write { tx in
        try tx.set(book, "title", .string("yours"))
        try tx.set(pages[0], "text", .string("yours"))
        _ = try tx.delete([pages[1]])
      }
    }
  }

  @Test("M8: automatic snapshots show what was there before, and are retained by a number of their own")
  func m8Snapshots() throws {
    let shelf = try Shelf(.lmdb)
    let store = shelf.store
    var options = MergeOptions()
    options.retainedSnapshots = 2
    let before = try LibraryState(store)
    let first = try store.branches.publish("draft", options: options)
    #expect(first.snapshots.count == 2)
    let snapshot = try store.snapshot(named: try #require(first.snapshots.first))
    #expect(snapshot.info.userInfo["merge"] == "publish" && snapshot.info.userInfo["branch"] == "draft")
    #expect(try snapshot.read { tx in try LibraryState(tx) } == before)
    for number in 0..<3 {
      try shelf.branch.write { tx in try tx.set(shelf.book, "title", .string("\(number)")) }
      #expect(try store.branches.publish("draft", options: options).snapshots.count == 2)
    }
    #expect(try store.snapshots().count == 2)
    expectError(.snapshotNotFound) { _ = try store.snapshot(named: snapshot.info.name) }
    options.createsSnapshots = false
    try shelf.branch.write { tx in try tx.set(shelf.book, "title", .string("last")) }
    #expect(try store.branches.publish("draft", options: options).snapshots.isEmpty)
    #expect(try store.snapshots().count == 2)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M8: a publish that moves only the branch makes no automatic snapshot of the store", arguments: [false, true])
  func m8UnchangedBranch(choosing: Bool) throws {
    let shelf = try Shelf(.lmdb)
    let store = shelf.store
    try store.branches.publish("draft")
    try store.write { tx in try tx.set(shelf.book, "title", .string("yours")) }
    let (before, snapshots) = (try LibraryState(shelf.branch), try store.snapshots())
    let result = try store.branches.publish("draft", only: choosing ? [shelf.book] : nil)
    #expect(try store.snapshots() == snapshots)
    let snapshot = try shelf.branch.snapshot(named: try #require(result.snapshots.last))
    #expect(try snapshot.read { tx in try LibraryState(tx) } == before)
    #expect(result.snapshots.count == 1)
    #expect(try LibraryState(shelf.branch) == LibraryState(store))
  }

  @Test("M11: a branch that gets the name of a deleted one during a merge is not merged in its place")
  func m11OtherBranch() throws {
    let shelf = try Shelf(.lmdb)
    let store = shelf.store
    try shelf.collide()
    let before = try LibraryState(store)
    var options = MergeOptions()
    options.idempotencyKey = "publish 1"
    let isReplaced = Mutex(false)
    options.resolve = { _ in
      try isReplaced.withLock { isReplaced in
        if isReplaced { return }
        isReplaced = true
        try store.branches.delete("draft")
        let other = try store.branches.create("draft")
        try other.write { tx in _ = try tx.insert("Tag", ["name": .string("of another branch")]) }
      }
      return .theirs
    }
    expectError(.branchNotFound) { try store.branches.publish("draft", options: options) }
    #expect(isReplaced.withLock { $0 })
    #expect(try LibraryState(store) == before)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M8: a merge that a hook refuses changes nothing", arguments: StorageKind.allCases)
  func m8Refusal(_ kind: StorageKind) throws {
    let shelf = try Shelf(kind)
    let store = shelf.store
    try store.write { tx in _ = try tx.insert("Book", ["number": .integer(9), "title": .string("of the store")]) }
    var hooks = ObjectLifecycle()
    hooks.validateForUpdate = { _, _ in throw LifecycleRejection("is locked") }
    hooks.validateForInsert = { _, _ in throw LifecycleRejection("is locked") }
    try store.register(hooks, for: "Book")
    let (ofStore, ofBranch) = (try LibraryState(store), try LibraryState(shelf.branch))
    let commit = try store.info().commit
    #expect(throws: (any Error).self) { try store.branches.publish("draft") }
    #expect(throws: (any Error).self) { try store.branches.update("draft") }
    #expect(throws: (any Error).self) { try store.branches.publish("draft", only: [shelf.book]) }
    #expect(try LibraryState(store) == ofStore && LibraryState(shelf.branch) == ofBranch)
    #expect(try store.info().commit == commit && store.snapshots().isEmpty)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M11: a cancelled task merges nothing, and progress ends with the commit") func m11Cancellation() async throws {
    let shelf = try Shelf(.lmdb)
    let store = shelf.store
    let before = try LibraryState(store)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await store.branches.publish("draft")
    }
    let error = await #expect(throws: MergeError.self) { _ = try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(try LibraryState(store) == before)
    let phases = Mutex<[OperationProgress]>([])
    var options = MergeOptions()
    options.progress = { progress in phases.withLock { $0.append(progress) } }
    try await store.branches.publish("draft", options: options)
    let last = try #require(phases.withLock { $0.last })
    #expect(last.phase == .commit && last.completed == last.total)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M11: a plan reports its progress, and ends when its task is cancelled") func m11Planning() async throws {
    let shelf = try Shelf(.memory)
    try shelf.insertTags(3_000)
    let steps = Mutex<[Int]>([])
    var options = MergeOptions()
    options.progress = { progress in
      steps.withLock { $0.append(progress.completed) }
      if progress.completed > 0 { withUnsafeCurrentTask { $0?.cancel() } }
    }
    let branches = shelf.store.branches
    let task = Task { [options] in _ = try branches.planPublish("draft", options: options) }
    let error = await #expect(throws: MergeError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(steps.withLock { $0 } == [0, 1_024])
  }

  @Test("M7: the closure for conflicts is called without the write lock, however often the store changes")
  func m7() throws {
    let shelf = try Shelf(.lmdb)
    try shelf.collide()
    let (store, book) = (shelf.store, shelf.book)
    let calls = Mutex(0)
    var options = MergeOptions(policy: .theirs)
    options.resolve = { conflict in
      guard conflict.property == "title" else { return nil }
      let count = calls.withLock { calls in
        calls += 1
        return calls
      }
      // A write would fail under the lock. Each one outdates the plan, and changes the conflict.
      if count <= 3 { try store.write { tx in try tx.set(book, "title", .string("yours \(count)")) } }
      return nil
    }
    try store.branches.publish("draft", options: options)
    #expect(calls.withLock { $0 } == 4)
    #expect(try store.read { tx in try tx.value(shelf.book, "title") } == .string("mine"))
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M15: a conflict names the last change of each side") func m15() throws {
    let shelf = try Shelf(.lmdb, tracksHistory: true)
    let ofBranch = try shelf.store.info().commit
    try shelf.collide()
    let ofStore = try shelf.store.info().commit
    let conflicts = try shelf.store.branches.planPublish("draft").conflicts
    let conflict = try #require(conflicts.first { $0.property == "title" })
    #expect(conflict.oursChange?.commit == ofStore && conflict.theirsChange?.commit == ofBranch)
    #expect(conflict.oursChange?.date != nil && conflict.theirsChange?.date != nil)
  }

  @Test("M15: a conflict of a deleted object names the commit that deleted it, also after an update")
  func m15Deletion() throws {
    let shelf = try Shelf(.lmdb, tracksHistory: true)
    let (store, pages) = (shelf.store, shelf.pages)
    let ofBranch = try store.info().commit
    try store.write { tx in
      tx.author = "Eve"
      _ = try tx.delete([pages[1]])
    }
    let ofStore = try store.info().commit
    func expectChanges(_ plan: MergePlan, sourceLocation: SourceLocation = #_sourceLocation) throws {
      let deletedOurs = try #require(plan.conflicts.first { $0.kind == .deletedOurs }, sourceLocation: sourceLocation)
      #expect(deletedOurs.id == pages[1] && deletedOurs.oursChange?.commit == ofStore, sourceLocation: sourceLocation)
      #expect(deletedOurs.oursChange?.author == "Eve" && deletedOurs.oursChange?.date != nil)
      #expect(deletedOurs.theirsChange?.commit == ofBranch, sourceLocation: sourceLocation)
    }
    try expectChanges(store.branches.planPublish("draft"))
    try expectChanges(store.branches.planPublish("draft", only: [pages[1]]))
    try store.branches.update("draft", options: MergeOptions(policy: .ours))
    try store.write { tx in try tx.set(pages[0], "text", .string("yours")) }
    let last = try store.info().commit
    let conflict = try #require(try store.branches.planPublish("draft").conflicts.first)
    #expect(conflict.kind == .deletedTheirs && conflict.id == pages[0])
    #expect(conflict.theirsChange?.commit == ofBranch && conflict.theirsChange?.date != nil)
    #expect(conflict.oursChange?.commit == last)
    // Without the history of that time, the conflict has no author.
    try shelf.branch.purgeHistory(before: shelf.branch.currentToken())
    let purged = try #require(try store.branches.planPublish("draft").conflicts.first)
    #expect(purged.kind == .deletedTheirs && purged.theirsChange == nil)
  }

  @Test(
    "M17: both directions have the same conflicts with the sides exchanged", arguments: [StorageKind.memory, .lmdb])
  func m17(_ kind: StorageKind) throws {
    let shelf = try Shelf(kind)
    try shelf.collide()
    let publish = try shelf.store.branches.planPublish("draft").conflicts
    let update = try shelf.store.branches.planUpdate("draft").conflicts
    #expect(Set(publish.map(\.kind)) == [.bothChanged, .deletedOurs, .deletedTheirs])
    #expect(publish.count == update.count)
    for (one, other) in zip(publish, update) {
      #expect(one.id == other.id && one.property == other.property && one.base == other.base)
      #expect(one.ours == other.theirs && one.theirs == other.ours)
      let kinds: Set = [one.kind, other.kind]
      #expect(kinds == [.bothChanged] || kinds == [.deletedOurs, .deletedTheirs])
    }
    // Both directions lead to the same state.
    let merged = try [
      shelf.store.branches.planPublish("draft", options: MergeOptions(policy: .theirs)),
      shelf.store.branches.planUpdate("draft", options: MergeOptions(policy: .ours)),
    ].map { plan in try plan.read { tx in try LibraryState(tx) } }
    #expect(merged[0] == merged[1])
  }
}

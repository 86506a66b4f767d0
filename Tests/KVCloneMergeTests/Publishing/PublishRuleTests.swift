import Foundation
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The rules of publish and update, each by its number.
@Suite("Publish and update") struct PublishRuleTests {
  @Test("M4, M9: a publish takes all changes into the store, and empties the branch", arguments: StorageKind.allCases)
  func publish(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    let new = try branch.write { tx in
      try tx.set(library.book, "title", .string("new"))
      try tx.set(library.other, "cover", .binary(Data(repeating: 9, count: 9_000)))
      try tx.delete(library.pages[3])
      let page = try tx.insert("Page", ["text": .string("added")], relationships: ["book": [library.book]])
      try tx.insert("Tag", ["name": .string("fresh")], relationships: ["books": [library.book, library.other]])
      return page
    }
    try store.write { tx in try tx.set(library.tag, "name", .string("renamed")) }
    let plan = try store.branches.planPublish("draft")
    #expect(plan.canMerge && plan.conflicts.isEmpty)
    #expect(plan.counts["Page"] == MergeCount(inserted: 1, deleted: 1))
    #expect(plan.changes.contains { $0.id == new && $0.kind == .insert })
    let planned = try plan.read { tx in try LibraryText.of(tx) }
    let result = try store.branches.publish("draft")
    #expect(result.counts == plan.counts)
    #expect(try library.text(store) == planned)
    #expect(try library.text(branch) == planned)
    #expect(try store.branches.list().first?.changedObjectCount == 0)
    #expect(try store.read { tx in try tx.data(library.other, "cover") } == Data(repeating: 9, count: 9_000))
    try library.check()
    // Without further changes, nothing is left to merge.
    let commit = try store.info().commit
    #expect(try store.branches.publish("draft").objects.isEmpty)
    #expect(try store.branches.update("draft").objects.isEmpty)
    #expect(try store.info().commit == commit)
  }

  @Test("M9: an update takes the store's changes into the branch, which keeps its own", arguments: StorageKind.allCases)
  func update(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in
      try tx.set(library.book, "title", .string("mine"))
      try tx.insert("Page", ["text": .string("mine")], relationships: ["book": [library.book]])
    }
    try store.write { tx in
      try tx.set(library.other, "title", .string("yours"))
      try tx.set(library.other, "cover", .binary(Data(repeating: 3, count: 7_000)))
      try tx.delete(library.pages[5])
      try tx.insert("Page", ["text": .string("yours")], relationships: ["book": [library.book]])
    }
    let before = try library.text(store)
    let plan = try store.branches.planUpdate("draft")
    let planned = try plan.read { tx in try LibraryText.of(tx) }
    try store.branches.update("draft")
    #expect(try library.text(store) == before)
    #expect(try library.text(branch) == planned)
    #expect(planned.contains { $0.contains("mine") } && planned.contains { $0.contains("yours") })
    try library.check()
    try store.branches.publish("draft")
    #expect(try library.text(store) == library.text(branch))
    try library.check()
    try store.branches.delete("draft")
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    #expect(try library.fixture.remains()["overlays"] == nil)
    #expect(try library.fixture.remains()["preimages"] == nil)
    #expect(try library.fixture.remains()["blobinfo"] == 2)
    try library.check()
  }

  @Test("M7, M12: a conflict refuses the merge, and an answer that still fits resolves it")
  func conflict() throws {
    let library = try Library(.lmdb)
    let store = library.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.set(library.book, "title", .string("mine")) }
    try store.write { tx in try tx.set(library.book, "title", .string("yours")) }
    let before = try library.text(store)
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft") }
    #expect(error?.kind == .conflicts && error?.object == "Book/1" && error?.property == "title")
    #expect(try library.text(store) == before)
    let conflict = try #require(try store.branches.planPublish("draft").conflicts.first)
    #expect(conflict.base == .attribute(.string("A")) && conflict.ours == .attribute(.string("yours")))
    let reverse = try #require(try store.branches.planUpdate("draft").conflicts.first)
    #expect(reverse.ours == conflict.theirs && reverse.theirs == conflict.ours)
    let encoded = try JSONEncoder().encode(AnsweredConflict(conflict, .theirs))
    let answer = try JSONDecoder().decode(AnsweredConflict.self, from: encoded)
    try store.write { tx in try tx.set(library.book, "title", .string("changed again")) }
    let stale = #expect(throws: MergeError.self) {
      try store.branches.publish("draft", options: MergeOptions(answers: [answer]))
    }
    #expect(stale?.kind == .staleAnswers)
    try store.write { tx in try tx.set(library.book, "title", .string("yours")) }
    try store.branches.publish("draft", options: MergeOptions(answers: [answer]))
    #expect(try store.read { tx in try tx.object(library.book)["title"] } == .string("mine"))
    try library.check()
  }

  @Test("M11: a repeated call with an idempotency key merges once")
  func idempotency() throws {
    let library = try Library(.lmdb)
    let store = library.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.set(library.book, "title", .string("mine")) }
    var options = MergeOptions()
    options.idempotencyKey = "publish 1"
    #expect(try !store.branches.planPublish("draft", options: options).isRepeated)
    #expect(try !store.branches.publish("draft", options: options).isRepeated)
    try branch.write { tx in try tx.set(library.book, "title", .string("later")) }
    let plan = try store.branches.planPublish("draft", options: options)
    #expect(plan.isRepeated && plan.canMerge && plan.counts.isEmpty)
    #expect(try plan.read { tx in try tx.object(library.book)["title"] } == .string("mine"))
    let repeated = try store.branches.publish("draft", options: options)
    #expect(repeated.duration > .zero)
    #expect(repeated.isRepeated && repeated.counts == ["Book": MergeCount(updated: 1)])
    #expect(try store.read { tx in try tx.object(library.book)["title"] } == .string("mine"))
    options.policy = .ours
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", options: options) }
    #expect(error?.kind == .idempotencyKeyReused)
    let ofPlan = #expect(throws: MergeError.self) { try store.branches.planPublish("draft", options: options) }
    #expect(ofPlan?.kind == .idempotencyKeyReused)
    try library.check()
  }

  @Test("M11: a key is used even if there was nothing to merge")
  func unchangedWithKey() throws {
    let library = try Library(.lmdb)
    let store = library.store
    let branch = try store.branches.create("draft")
    var options = MergeOptions()
    options.idempotencyKey = "publish 1"
    let first = try store.branches.publish("draft", options: options)
    #expect(!first.isRepeated && first.counts.isEmpty && first.snapshots.isEmpty)
    try branch.write { tx in try tx.set(library.book, "title", .string("later")) }
    #expect(try store.branches.publish("draft", options: options).isRepeated)
    #expect(try store.read { tx in try tx.object(library.book)["title"] } != .string("later"))
    try library.check()
  }

  @Test("M11, M13: the chosen objects are arguments of a key in any order, and a deleted branch keeps its keys")
  func idempotencyOfChosenObjects() throws {
    let library = try Library(.memory)
    let store = library.store
    let branch = try store.branches.create("draft")
    try library.setTitle("first", in: branch)
    let other = try branch.write { tx in try tx.insert("Book", ["title": .string("other")]) }
    var options = MergeOptions()
    options.idempotencyKey = "publish 1"
    try store.branches.publish("draft", only: [library.book, other], options: options)
    for objects in [[other, library.book], [library.book, other, library.book]] {
      #expect(try store.branches.publish("draft", only: objects, options: options).isRepeated)
    }
    for objects in [nil, [], [other]] as [[ObjectID]?] {
      let error = #expect(throws: MergeError.self) {
        try store.branches.publish("draft", only: objects, options: options)
      }
      #expect(error?.kind == .idempotencyKeyReused)
    }
    try store.branches.delete("draft")
    #expect(try store.branches.publish("draft", only: [library.book, other], options: options).isRepeated)
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", options: options) }
    #expect(error?.kind == .idempotencyKeyReused)
    expectError(.branchNotFound) { try store.branches.publish("draft") }
    try library.check()
  }

  @Test("M11: a key of a branch is not that of a later branch with its name")
  func idempotencyOfNames() throws {
    let library = try Library(.memory)
    let store = library.store
    var options = MergeOptions()
    options.idempotencyKey = "publish 1"
    for title in ["first", "second"] {
      let branch = try store.branches.create("draft")
      try library.setTitle(title, in: branch)
      if title == "first" {
        try store.branches.publish("draft", options: options)
      } else {
        let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", options: options) }
        #expect(error?.kind == .idempotencyKeyReused)
      }
      #expect(try library.title(store) == .string("first"))
      try store.branches.delete("draft")
    }
    try library.check()
  }

  @Test("M6, M11: a merge above a limit is refused, as its plan says")
  func limits() throws {
    let library = try Library(.memory)
    let store = library.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in for page in library.pages { try tx.set(page, "text", .string("changed")) } }
    var options = MergeOptions()
    options.maxObjects = 39
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", options: options) }
    #expect(error?.kind == .limitExceeded)
    let plan = try store.branches.planPublish("draft", options: options)
    #expect(!plan.canMerge && plan.issues.map(\.kindName) == ["limitExceeded"])
    options.maxObjects = 40
    #expect(try store.branches.planPublish("draft", options: options).canMerge)
    #expect(try store.branches.publish("draft", options: options).objects.updated == 40)
  }

  @Test("M8: hooks and validation run for what a merge changes, and are part of the merged state")
  func hooks() throws {
    let library = try Library(.lmdb)
    let store = library.store
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "text") == .string("checked") { return }
      try tx.set(id, "text", .string("checked"))
    }
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.set(library.pages[0], "text", .string("raw")) }
    try store.register(hooks, for: "Page")
    try store.branches.publish("draft")
    for state in [store, branch] {
      #expect(try state.read { tx in try tx.object(library.pages[0])["text"] } == .string("checked"))
    }
    #expect(try store.branches.publish("draft").objects.isEmpty)
    try library.check()
  }

  @Test("B7: a publish is in the history of the store and of the branch")
  func history() throws {
    let library = try Library(.lmdb)
    let store = library.store
    try store.setTracksHistory(true)
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.set(library.book, "title", .string("mine")) }
    try store.write { tx in try tx.set(library.other, "title", .string("yours")) }
    let (ofStore, ofBranch) = (try store.currentToken(), try branch.currentToken())
    try store.branches.publish("draft")
    let told = try store.history(after: ofStore)
    #expect(told.count == 1 && told.first?.operation == "publish")
    let heard = try branch.history(after: ofBranch)
    #expect(heard.count == 1 && heard.first?.updatedCount == 1)
    try library.check()
  }

  @Test("B4: no earlier snapshot shows or keeps what was published", arguments: StorageKind.allCases)
  func snapshots(_ kind: StorageKind) throws {
    let library = try Library(kind)
    let store = library.store
    let branch = try store.branches.create("draft")
    let new = try branch.write { tx in
      try tx.insert("Book", ["number": .integer(9), "cover": .binary(Data(repeating: 1, count: 6_000))])
    }
    let earlier = try store.createSnapshot(named: "earlier")
    let before = try earlier.read { tx in try LibraryText.of(tx) }
    try store.branches.publish("draft")
    #expect(try earlier.read { tx in try LibraryText.of(tx) } == before)
    #expect(try earlier.read { tx in try !tx.exists(new) })
    try store.write { tx in _ = try tx.delete(new) }
    try store.branches.delete("draft")
    for snapshot in try store.snapshots() where snapshot.name != "earlier" {
      try store.deleteSnapshot(named: snapshot.name)
    }
    #expect(try library.fixture.remains()["blobinfo"] == 1)
    try library.check()
  }
}

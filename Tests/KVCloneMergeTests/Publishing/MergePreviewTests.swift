import Foundation
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Reading the state that a merge would leave.
@Suite struct MergePreviewTests {
  private struct Shelf {
    let fixture: BranchFixture
    let store: ObjectStore
    let branch: ObjectStore
    let book: ObjectID

    init(_ kind: StorageKind) throws {
      fixture = try BranchFixture(kind)
      store = fixture.store
      book = try BranchFixture.fill(store, "A")
      branch = try store.branches.create("draft")
      try BranchFixture.change(branch, book)
      try store.write { tx in
        try tx.insert("Book", ["number": .integer(77), "title": .string("of the store")])
      }
    }
  }

  @Test("B12: a plan is read like a store, with fetches, lists, counts and blobs", arguments: StorageKind.allCases)
  func b12(_ kind: StorageKind) throws {
    let shelf = try Shelf(kind)
    let (store, book) = (shelf.store, shelf.book)
    let before = try BranchFixture.text(store)
    let plan = try store.branches.planPublish("draft")
    try plan.read { tx in
      let found = try tx.fetchIDs(FetchRequest("Book", predicate: try QueryPredicate(format: "number > 0")))
      #expect(found.count == 2)
      let counts = try [tx.count(entity: "Book"), tx.count(entity: "Page"), tx.count(entity: "Tag")]
      #expect(counts == [3, 79, 2])
      let cover = try tx.data(book, "cover")
      #expect(cover == Data(repeating: 8, count: 3_000))
      let pages = try tx.members(book, "pages")
      #expect(pages.count == 39)
      let set = try tx.cloneSet(of: [book])
      #expect(set.contains(book) && pages.allSatisfy(set.contains))
    }
    // Both directions show the same, and nothing was written.
    let (published, updated) = (
      try plan.read { tx in try LibraryState(tx) },
      try store.branches.planUpdate("draft").read { tx in try LibraryState(tx) }
    )
    #expect(published == updated)
    #expect(try BranchFixture.text(store) == before)
    try store.branches.publish("draft")
    #expect(try LibraryState(store) == published)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("B12: reading a plan takes no write lock", arguments: StorageKind.allCases) func b12Lock(_ kind: StorageKind)
    throws
  {
    let shelf = try Shelf(kind)
    let plans = try [shelf.store.branches.planPublish("draft"), shelf.store.branches.planUpdate("draft")]
    try shelf.store.write { tx in
      try tx.set(shelf.book, "title", .string("not committed"))
      for plan in plans {
        let title = try plan.read { tx in try tx.value(shelf.book, "title") }
        #expect(title == .string("A"))
      }
    }
  }

  @Test("B12: a plan of an earlier state is not read") func b12Overtaken() throws {
    let shelf = try Shelf(.lmdb)
    let plan = try shelf.store.branches.planPublish("draft")
    try shelf.store.write { tx in try tx.set(shelf.book, "title", .string("later")) }
    expectError(.busy) { try plan.read { _ in } }
  }

  @Test("B12: the state has what hooks change, and ours where a conflict has no answer") func b12Hooks() throws {
    let shelf = try Shelf(.lmdb)
    try shelf.branch.write { tx in try tx.set(shelf.book, "title", .string("mine")) }
    try shelf.store.write { tx in try tx.set(shelf.book, "title", .string("yours")) }
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "name") == .string("checked") { return }
      try tx.set(id, "name", .string("checked"))
    }
    try shelf.store.register(hooks, for: "Tag")
    let plan = try shelf.store.branches.planPublish("draft")
    #expect(!plan.canMerge)
    let (title, names) = try plan.read { tx in
      let tags = try tx.members(shelf.book, "tags")
      return (try tx.value(shelf.book, "title"), try tags.map { try tx.value($0, "name") })
    }
    #expect(title == .string("yours"))
    #expect(names == [.string("checked")])
  }

  @Test("M6, B13: a plan finds that the store would have too many objects") func m6Limit() throws {
    let engine = MemoryStorage()
    _ = try ObjectStore.create(in: engine, model: snapshotModel)
    var options = StoreOptions()
    options.maximumObjectCount = 3
    let store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: options)
    defer { store.close() }
    let branch = try store.branches.create("draft")
    try branch.write { tx in for _ in 0..<2 { try tx.insert("Tag") } }
    try store.write { tx in try tx.insert("Tag") }
    #expect(try store.branches.planPublish("draft").canMerge)
    try store.write { tx in try tx.insert("Tag") }
    for plan in try [store.branches.planPublish("draft"), store.branches.planUpdate("draft")] {
      #expect(!plan.canMerge && plan.issues.map(\.kindName) == ["limitExceeded"])
    }
    expectError(.limitExceeded) { try store.branches.publish("draft") }
    expectError(.limitExceeded) { try store.branches.update("draft") }
    #expect(try store.read { tx in try tx.count(entity: "Tag") } == 2)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("B12: the plan of a draft is read without the write lock", arguments: StorageKind.allCases)
  func b12Draft(_ kind: StorageKind) throws {
    let fixture = try DraftFixture(kind)
    let store = fixture.store
    let draft = try fixture.draft()
    try store.write { tx in try tx.set(draft, "title", .string("mine")) }
    let plan = try store.drafts.planMerge(draft)
    try store.write { tx in
      try tx.set(fixture.other, "title", .string("not committed"))
      try plan.read { tx in
        let (title, isGone) = (try tx.value(fixture.document, "title"), try !tx.exists(draft))
        #expect(title == .string("mine") && isGone)
      }
    }
    expectError(.busy) { try plan.read { _ in } }
    try fixture.check()
  }

  @Test("M6: a plan finds equal values of unique derived attributes") func m6Derived() throws {
    let model = ManagedObjectModel("Keys") {
      EntityDescription("Key", unique: [["folded"]]) {
        AttributeDescription("name", .string)
        AttributeDescription("folded", .string, derivation: "lowercase:(name)")
      }
    }
    let fixture = try TestStore(model)
    let store = fixture.store
    let branch = try store.branches.create("draft")
    try branch.write { tx in _ = try tx.insert("Key", ["name": .string("A")]) }
    #expect(try store.branches.planPublish("draft").canMerge)
    try store.write { tx in _ = try tx.insert("Key", ["name": .string("a")]) }
    let plan = try store.branches.planPublish("draft")
    #expect(plan.issueCount > 0 && plan.issues.first?.property == "folded" && !plan.canMerge)
    #expect(throws: (any Error).self) { try store.branches.publish("draft") }
    #expect(try store.read { tx in try tx.count(entity: "Key") } == 1)
    #expect(try CheckedStore.issues(store) == [])
  }
}

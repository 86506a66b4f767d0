import Foundation
import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Publishing chosen objects of a branch (M13).
@Suite struct ChosenPublishTests {
  private struct Shelf {
    let fixture: BranchFixture
    let store: ObjectStore
    let branch: ObjectStore
    let (book, other): (ObjectID, ObjectID)
    let pages: [ObjectID]

    init(_ kind: StorageKind) throws {
      fixture = try BranchFixture(kind)
      store = fixture.store
      (book, other, pages) = try store.write { tx in
        let book = try tx.insert(
          "Book", ["number": .integer(1), "title": .string("A"), "cover": .binary(Data(repeating: 7, count: 5_000))])
        let other = try tx.insert("Book", ["number": .integer(2), "title": .string("B")])
        let pages = try (0..<40).map {
          try tx.insert("Page", ["text": .string("\($0)")], relationships: ["book": [book]])
        }
        return (book, other, pages)
      }
      branch = try store.branches.create("draft")
    }

    func title(_ id: ObjectID, in store: ObjectStore) throws -> AttributeValue? {
      try store.read { tx in try tx.value(id, "title") }
    }

    func check() throws { #expect(try CheckedStore.issues(store) == []) }
  }

  @Test("M13, M3: a chosen object loses its partner, and the partners of objects that are not chosen stay")
  func m13Partners() throws {
    let fixture = try BranchFixture(
      .lmdb,
      model: ManagedObjectModel("Office") {
        EntityDescription("Person") {
          RelationshipDescription("desk", toOne: "Desk", inverse: "person", userInfo: ["clone": "skip"])
        }
        EntityDescription("Desk") {
          RelationshipDescription("person", toOne: "Person", inverse: "desk", userInfo: ["clone": "skip"])
        }
      })
    let store = fixture.store
    let (desks, people) = try store.write { tx in
      let desks = try (0..<2).map { _ in try tx.insert("Desk") }
      return (desks, try desks.map { try tx.insert("Person", relationships: ["desk": [$0]]) })
    }
    let branch = try store.branches.create("draft")
    try branch.setToOne(people[0], "desk", desks[1])
    let plan = try store.branches.planPublish("draft", only: [desks[0]])
    #expect(plan.canMerge && plan.allConflicts.isEmpty)
    try store.branches.publish("draft", only: [desks[0]])
    #expect(try store.toOne(people[0], "desk") == nil && store.toOne(desks[0], "person") == nil)
    #expect(try store.toOne(people[1], "desk") == desks[1])
    #expect(try branch.toOne(people[0], "desk") == desks[1])
    try store.branches.publish("draft")
    #expect(try store.toOne(people[0], "desk") == desks[1] && store.toOne(people[1], "desk") == nil)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test(
    "M13: chosen objects are published with what a clone copies, and the rest stays the branch's",
    arguments: StorageKind.allCases)
  func m13(_ kind: StorageKind) throws {
    let shelf = try Shelf(kind)
    let (store, branch, book, other) = (shelf.store, shelf.branch, shelf.book, shelf.other)
    let (page, rest) = try branch.write { tx in
      try tx.setAttributes(book, ["title": .string("mine"), "cover": .binary(Data(repeating: 8, count: 9_000))])
      try tx.set(other, "title", .string("later"))
      try tx.set(shelf.pages[1], "text", .string("mine"))
      _ = try tx.delete([shelf.pages[3]])
      let rest = try tx.insert("Page", ["text": .string("rest")], relationships: ["book": [other]])
      let page = try tx.insert("Page", ["text": .string("new")], relationships: ["book": [book]])
      try tx.setMembers(book, "pages", try tx.members(book, "pages").reversed())
      return (page, rest)
    }
    try store.write { tx in _ = try tx.insert("Tag", ["name": .string("of the store")]) }
    let shown = try LibraryState(branch)
    let plan = try store.branches.planPublish("draft", only: [book])
    #expect(plan.canMerge && plan.counts["Book"] == MergeCount(updated: 1))
    #expect(plan.changes.contains { $0.id == page && $0.kind == .insert })
    #expect(!plan.changes.contains { $0.id == other || $0.id == rest })
    let preview = try plan.read { tx in try LibraryState(tx) }
    let commit = try store.info().commit
    let result = try store.branches.publish("draft", only: [book])
    #expect(result.counts == plan.counts && result.snapshots.count == 2)
    // M16: the snapshot is one of the last commit, so that a branch can be made of it.
    let before = try store.snapshot(named: result.snapshots[0])
    #expect(before.info.commit == commit)
    _ = try store.branches.create("again", from: before)
    try store.branches.delete("again")
    #expect(try LibraryState(store) == preview)
    #expect(try shelf.title(book, in: store) == .string("mine"))
    #expect(try shelf.title(other, in: store) == .string("B"))
    let list = try branch.read { tx in try tx.members(book, "pages") }
    try store.read { tx in
      let published = try tx.members(book, "pages")
      #expect(published == list && published.first == page)
      let (isPublished, isGone) = (try !tx.exists(rest), try !tx.exists(shelf.pages[3]))
      #expect(isPublished && isGone)
      let cover = try tx.data(book, "cover")
      #expect(cover == Data(repeating: 8, count: 9_000))
    }
    // The branch shows its own changes and those of the store.
    let after = try LibraryState(branch)
    #expect(after.items.count == shown.items.count + 1)
    #expect(after.items.filter { shown.items[$0.key] != nil } == shown.items)
    #expect(try store.branches.planPublish("draft").counts["Book"] == MergeCount(updated: 1))
    try shelf.check()
    try store.branches.publish("draft")
    #expect(try LibraryState(store) == after && LibraryState(branch) == after)
    try shelf.check()
    try store.branches.delete("draft")
    for snapshot in try store.snapshots() { try store.deleteSnapshot(named: snapshot.name) }
    #expect(try shelf.fixture.remains()["overlays"] == nil)
    try shelf.check()
  }

  @Test("M13: inserted objects that a chosen one needs are published with it", arguments: StorageKind.allCases)
  func m13Needed(_ kind: StorageKind) throws {
    let storage = try StorageFixture(kind)
    let store = try ObjectStore.create(in: storage.engine, model: mergeModel)
    defer { store.close() }
    let branch = try store.branches.create("draft")
    let (line, note, folder) = try branch.write { tx in
      let folder = try tx.insert("Folder", ["title": .string("new")])
      let note = try tx.insert("Note", ["text": .string("new")], relationships: ["folder": [folder]])
      let line = try tx.insert("Line", ["text": .string("new")], relationships: ["note": [note]])
      return (line, note, folder)
    }
    try store.branches.publish("draft", only: [line])
    try store.read { tx in
      let parent = try tx.toOne(line, "note")
      #expect(parent == note)
      let (isThere, target) = (try tx.exists(folder), try tx.toOne(note, "folder"))
      #expect(!isThere && target == nil)
    }
    #expect(try branch.read { tx in try tx.toOne(note, "folder") } == folder)
    #expect(try CheckedStore.issues(store) == [])
    try store.branches.publish("draft")
    #expect(try store.read { tx in try tx.members(folder, "notes") } == [note])
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M13: conflicts of the update and of the publish have the sides of a publish") func m13Conflicts() throws {
    let shelf = try Shelf(.lmdb)
    let (store, branch) = (shelf.store, shelf.branch)
    for (side, text) in [(store, "yours"), (branch, "mine")] {
      try side.write { tx in
        for id in [shelf.book, shelf.other] { try tx.set(id, "title", .string(text)) }
      }
    }
    try branch.write { tx in _ = try tx.delete([shelf.pages[0]]) }
    try store.write { tx in try tx.set(shelf.pages[0], "text", .string("changed")) }
    let before = try LibraryState(store)
    let conflicts = try store.branches.planPublish("draft", only: [shelf.book]).conflicts
    #expect(conflicts.map(\.kind) == [.bothChanged, .bothChanged, .deletedTheirs])
    #expect(conflicts.first?.ours == .attribute(.string("yours")))
    #expect(conflicts.first?.theirs == .attribute(.string("mine")))
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", only: [shelf.book]) }
    #expect(error?.kind == .conflicts && error?.conflicts.count == 3)
    #expect(try LibraryState(store) == before)
    let answers = conflicts.map { AnsweredConflict($0, $0.id == shelf.other ? .ours : .theirs) }
    try store.branches.publish("draft", only: [shelf.book], options: MergeOptions(answers: answers))
    #expect(try shelf.title(shelf.book, in: store) == .string("mine"))
    #expect(try shelf.title(shelf.other, in: store) == .string("yours"))
    #expect(try shelf.title(shelf.other, in: branch) == .string("yours"))
    for side in [store, branch] { #expect(try side.read { tx in try !tx.exists(shelf.pages[0]) }) }
    try shelf.check()
  }

  @Test("M13: a policy and the sum of the model count once, with the sides of a publish") func m13Rules() throws {
    let fixture = try TestStore(mergeModel)
    let store = fixture.store
    let (one, other) = try store.write { tx in
      (
        try tx.insert("Person", ["name": .string("A"), "visits": .integer(10)]),
        try tx.insert("Person", ["name": .string("B"), "visits": .integer(10)])
      )
    }
    let branch = try store.branches.create("draft")
    for (side, name, visits) in [(store, "yours", Int64(12)), (branch, "mine", 15)] {
      try side.write { tx in
        for id in [one, other] { try tx.setAttributes(id, ["name": .string(name), "visits": .integer(visits)]) }
      }
    }
    let rules: [String: MergeRule] = ["Person.name": .theirs]
    try store.branches.publish("draft", only: [one], options: MergeOptions(rules: rules))
    func values(_ id: ObjectID, _ store: ObjectStore) throws -> [AttributeValue?] {
      try store.read { tx in [try tx.value(id, "name"), try tx.value(id, "visits")] }
    }
    #expect(try values(one, store) == [.string("mine"), .integer(17)])
    #expect(try values(other, store) == [.string("yours"), .integer(12)])
    for id in [one, other] { #expect(try values(id, branch) == [.string("mine"), .integer(17)]) }
    try store.branches.publish("draft")
    #expect(try values(other, store) == [.string("mine"), .integer(17)])
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M13: a link to an object that is not published stays the branch's") func m13Links() throws {
    let shelf = try Shelf(.lmdb)
    let (store, branch, book, other) = (shelf.store, shelf.branch, shelf.book, shelf.other)
    let tag = try branch.write { tx in
      try tx.set(book, "title", .string("mine"))
      return try tx.insert("Tag", ["name": .string("later")], relationships: ["books": [book, other]])
    }
    try store.write { tx in try tx.insert("Book", ["number": .integer(3)]) }
    let merged = try store.branches.planUpdate("draft").read { tx in try LibraryText.of(tx) }
    try store.branches.publish("draft", only: [book])
    #expect(try shelf.title(book, in: store) == .string("mine"))
    try store.read { tx in
      let (isGone, tags) = (try !tx.exists(tag), try tx.members(book, "tags"))
      #expect(isGone && tags.isEmpty)
    }
    #expect(try branch.read { tx in try LibraryText.of(tx) } == merged)
    try shelf.check()
    try store.branches.publish("draft")
    #expect(try store.read { tx in try LibraryText.of(tx) } == merged)
    try shelf.check()
  }

  @Test("M13: a value that is never published stays on the branch") func m13Skip() throws {
    let fixture = try TestStore(mergeModel)
    let store = fixture.store
    let (one, other) = try store.write { tx in
      (
        try tx.insert("Person", ["name": .string("A"), "badge": .string("base")]),
        try tx.insert("Person", ["name": .string("B"), "badge": .string("base")])
      )
    }
    let branch = try store.branches.create("draft")
    try branch.write { tx in
      for id in [one, other] { try tx.setAttributes(id, ["name": .string("mine"), "badge": .string("mine")]) }
    }
    try store.write { tx in try tx.set(other, "badge", .string("yours")) }
    let plan = try store.branches.planPublish("draft", only: [one])
    #expect(plan.canMerge)
    try store.branches.publish("draft", only: [one])
    for (id, badge) in [(one, "base"), (other, "yours")] {
      #expect(try store.read { tx in try tx.value(id, "badge") } == .string(badge))
      #expect(try branch.read { tx in try tx.value(id, "badge") } == .string("mine"))
    }
    #expect(try store.read { tx in try tx.value(one, "name") } == .string("mine"))
    #expect(try store.read { tx in try tx.value(other, "name") } == .string("B"))
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M13: what hooks of the store change is taken into the branch") func m13Hooks() throws {
    let shelf = try Shelf(.lmdb)
    try shelf.branch.write { tx in
      for id in [shelf.book, shelf.other] { try tx.set(id, "title", .string("mine")) }
    }
    var hooks = ObjectLifecycle()
    hooks.willSave = { tx, id in
      if try tx.value(id, "number") == .integer(100 + Int64(id.serial)) { return }
      try tx.set(id, "number", .integer(100 + Int64(id.serial)))
    }
    try shelf.store.register(hooks, for: "Book")
    try shelf.store.branches.publish("draft", only: [shelf.book])
    for side in [shelf.store, shelf.branch] {
      let number = try side.read { tx in try tx.value(shelf.book, "number") }
      #expect(number == .integer(100 + Int64(shelf.book.serial)))
    }
    #expect(try shelf.title(shelf.other, in: shelf.store) == .string("B"))
    #expect(try shelf.title(shelf.other, in: shelf.branch) == .string("mine"))
    #expect(try shelf.store.branches.publish("draft", only: [shelf.book]).objects.isEmpty)
    try shelf.check()
  }

  @Test("M13: objects that neither side has are refused, and a deletion can be chosen") func m13Deletion() throws {
    let shelf = try Shelf(.memory)
    let unknown = ObjectID(rootCode: shelf.book.rootCode, serial: 999)
    expectError(.objectNotFound) { _ = try shelf.store.branches.planPublish("draft", only: [unknown]) }
    try shelf.branch.write { tx in _ = try tx.delete([shelf.pages[5], shelf.pages[6]]) }
    let result = try shelf.store.branches.publish("draft", only: [shelf.pages[5]])
    #expect(result.objects.deleted == 1)
    let list = try shelf.store.read { tx in try tx.members(shelf.book, "pages") }
    #expect(list == shelf.pages.filter { $0 != shelf.pages[5] })
    #expect(try shelf.branch.read { tx in try !tx.exists(shelf.pages[6]) })
    try shelf.check()
  }
}

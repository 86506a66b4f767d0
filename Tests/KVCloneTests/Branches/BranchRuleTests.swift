import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneBranches
@testable import KVCloneCore
@testable import KVCloneOperations
@testable import KVCloneQuery

/// The rules of branches, each by its number.
@Suite("Branches")
struct BranchRuleTests {
  private static func text(_ store: ObjectStore) throws -> [String] {
    try store.read { tx in try SnapshotTests.text(tx) }
  }

  /// A store with a book that has pages, tags and a cover.
  private static func fill(_ store: ObjectStore) throws -> (book: ObjectID, tag: ObjectID) {
    try store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("old")])
      let book = try tx.insert(
        "Book",
        [
          "title": .string("A"), "cover": .binary(Data(repeating: 7, count: 5_000)),
        ], relationships: ["tags": [tag]])
      for number in 0..<40 {
        try tx.insert("Page", ["text": .string("\(number)")], relationships: ["book": [book]])
      }
      return (book, tag)
    }
  }

  @Test(
    "B1: a branch has a name, a base that stays, and the same number of records in any store",
    arguments: StorageKind.allCases)
  func b1(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    #expect(try store.branches.list().isEmpty)
    #expect(try store.info().formatVersion == 3)
    _ = try Self.fill(store)
    let expiry = Date(timeIntervalSinceReferenceDate: 1e9)
    try store.branches.create("draft", expiresAt: expiry)
    #expect(try store.info().formatVersion == 7)
    let one = try #require(try store.branches.list().first)
    #expect(one.name == "draft" && one.expiresAt == expiry && one.baseSnapshot == nil)
    #expect(one.changedObjectCount == 0 && one.byteCount == 0 && one.lastCommit == 1)
    #expect(try fixture.remains()["branches"] == 1)
    #expect(try fixture.remains()["overlays"] == nil)
    #expect(try store.snapshots().isEmpty)
    expectError(.branchExists) { try store.branches.create("draft") }
    expectError(.invalidBranchName) { try store.branches.create("a b") }
    expectError(.branchNotFound) { _ = try store.branches.open("other") }
    expectError(.branchNotFound) { try store.branches.delete("other") }
    expectError(.snapshotInUse) { try store.deleteSnapshot(named: "@2") }
    expectError(.snapshotNotFound) { _ = try store.snapshot(named: "@2") }
    try store.branches.delete("draft")
    #expect(try store.branches.list().isEmpty)
  }

  @Test("B1: a named snapshot is a base, which cannot be deleted before the branch", arguments: StorageKind.allCases)
  func b1Snapshot(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let (book, tag) = try Self.fill(store)
    let before = try Self.text(store)
    let past = Date(timeIntervalSinceReferenceDate: 0)
    let snapshot = try store.createSnapshot(named: "one", expiresAt: past)
    try store.write { tx in
      try tx.set(book, "title", .string("B"))
      try tx.delete([tag])
      try tx.insert("Tag", ["name": .string("later")])
    }
    let branch = try store.branches.create("old", from: snapshot)
    #expect(try Self.text(branch) == before)
    #expect(try branch.info().counts == ["Book": 1, "Page": 40, "Tag": 1])
    #expect(try store.branches.list().first?.baseSnapshot == "one")
    expectError(.snapshotInUse) { try store.deleteSnapshot(named: "one") }
    #expect(try store.deleteExpiredSnapshots().isEmpty)
    try store.branches.delete("old")
    #expect(try store.deleteExpiredSnapshots() == ["one"])
    #expect(try fixture.remains() == ["blobs": 1, "blobinfo": 1])
  }

  @Test("B1: a snapshot within a transaction with changes is no base, and branches have no branches")
  func b1Refusals() throws {
    let fixture = try BranchFixture(.memory)
    let store = fixture.store
    try store.write { tx in
      try tx.insert("Tag", ["name": .string("a")])
      _ = try tx.createSnapshot(named: "unfinished")
    }
    let snapshot = try store.snapshot(named: "unfinished")
    expectError(.unsupportedOnBranch) { try store.branches.create("x", from: snapshot) }
    let branch = try store.branches.create("x")
    expectError(.unsupportedOnBranch) { try branch.branches.create("y") }
    expectError(.unsupportedOnBranch) { _ = try branch.branches.list() }
  }

  @Test("B2: fetches, indexes, lists, blobs, clones and savepoints work on a branch", arguments: StorageKind.allCases)
  func b2(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let (book, _) = try Self.fill(fixture.store)
    let branch = try fixture.store.branches.create("draft")
    let copy = try branch.write { tx in
      let copy = try tx.clone(object: book)
      try tx.set(copy, "number", .integer(2))
      let pages = try tx.members(copy, "pages")
      try tx.delete([pages[3]])
      try tx.setMembers(copy, "pages", try tx.members(copy, "pages").reversed())
      do {
        try tx.savepoint { tx in
          try tx.set(copy, "title", .string("gone"))
          try tx.delete(try tx.members(copy, "pages"))
          throw CancellationError()
        }
      } catch is CancellationError {}
      return copy
    }
    try branch.read { tx in
      let members = try tx.members(copy, "pages")
      #expect(members.count == 39)
      let texts = try members.map { try tx.value($0, "text") }
      #expect(texts.first == .string("39"))
      let data = try tx.data(copy, "cover")
      #expect(data == Data(repeating: 7, count: 5_000))
      let found = try tx.fetchIDs(FetchRequest("Book", predicate: try QueryPredicate(format: "number == 2")))
      #expect(found == [copy])
      let count = try tx.count(entity: "Page")
      #expect(count == 79)
    }
    #expect(try fixture.store.read { tx in try tx.count(entity: "Page") } == 40)
    #expect(try fixture.store.branches.list().first?.changedObjectCount ?? 0 >= 40)
  }

  @Test("B2: an open branch is the same store until it is closed, and a deleted one is refused")
  func b2Opening() throws {
    let fixture = try BranchFixture(.memory)
    let branch = try fixture.store.branches.create("draft")
    #expect(try fixture.store.branches.open("draft") === branch)
    branch.close()
    expectError(.closed) { _ = try branch.read { tx in try tx.count(entity: "Book") } }
    let again = try fixture.store.branches.open("draft")
    #expect(try again.read { tx in try tx.count(entity: "Book") } == 0)
    try fixture.store.branches.delete("draft")
    try fixture.store.branches.create("draft")
    expectError(.branchNotFound) { _ = try again.read { tx in try tx.count(entity: "Book") } }
    expectError(.branchNotFound) { _ = try again.write { tx in try tx.insert("Tag") } }
  }

  @Test("B3: neither side sees what is written on the other", arguments: StorageKind.allCases)
  func b3(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let (book, tag) = try Self.fill(store)
    let before = try Self.text(store)
    let branch = try store.branches.create("draft")
    let other = try store.branches.create("other")
    try store.write { tx in
      try tx.set(book, "title", .string("B"))
      try tx.delete(try tx.members(book, "pages").prefix(5).map { $0 })
      let later = try tx.insert("Book", ["number": .integer(2)], relationships: ["tags": [tag]])
      try tx.link(later, "pages", [try tx.members(book, "pages")[0]])
    }
    let present = try Self.text(store)
    #expect(try Self.text(branch) == before)
    try branch.write { tx in
      try tx.set(book, "title", .string("C"))
      try tx.delete([tag])
      try tx.insert("Book", ["number": .integer(2)])
    }
    let draft = try Self.text(branch)
    #expect(draft != before && draft != present)
    #expect(try Self.text(store) == present)
    #expect(try Self.text(other) == before)
    try store.write { tx in try tx.delete([book]) }
    #expect(try Self.text(branch) == draft)
    #expect(try Self.text(other) == before)
  }

  @Test("B3: a key of a clone on a branch is not that of the same clone on the store")
  func b3Keys() throws {
    let fixture = try BranchFixture(.memory)
    let (book, _) = try Self.fill(fixture.store)
    let branch = try fixture.store.branches.create("draft")
    var options = CloneOptions()
    options.idempotencyKey = "k"
    let copy = try branch.write { tx in try tx.clone([book], options: options).roots }
    #expect(try branch.write { tx in try tx.clone([book], options: options).roots } == copy)
    let error = #expect(throws: CloneError.self) {
      try fixture.store.write { tx in try tx.clone([book], options: options).roots }
    }
    #expect(error?.kind == .idempotencyKeyReused)
  }

  @Test("B4: an id means one object, whichever branch it was made on, and after an abort")
  func b4() throws {
    let fixture = try BranchFixture(.memory)
    let stores = [fixture.store, try fixture.store.branches.create("a"), try fixture.store.branches.create("b")]
    var ids: [ObjectID] = []
    for round in 0..<4 {
      for store in stores {
        ids.append(try store.write { tx in try tx.insert("Tag", ["name": .string("\(round)")]) })
        try? store.write { tx in
          ids.append(try tx.insert("Tag"))
          throw CancellationError()
        }
      }
    }
    #expect(Set(ids).count == ids.count)
  }

  @Test("B5: uniqueness is checked on the branch, with the objects that it shows", arguments: StorageKind.allCases)
  func b5(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let (book, _) = try Self.fill(store)
    try store.write { tx in try tx.set(book, "number", .integer(1)) }
    let branch = try store.branches.create("draft")
    #expect(throws: ValidationError.self) { try branch.write { tx in try tx.insert("Book", ["number": .integer(1)]) } }
    try store.write { tx in try tx.insert("Book", ["number": .integer(2)]) }
    try branch.write { tx in try tx.insert("Book", ["number": .integer(2)]) }
    try branch.write { tx in
      try tx.delete([book])
      try tx.insert("Book", ["number": .integer(1)])
    }
    #expect(throws: ValidationError.self) { try store.write { tx in try tx.insert("Book", ["number": .integer(1)]) } }
  }

  @Test(
    "B6: the bytes of a blob are there once, as long as the store or a branch shows them",
    arguments: StorageKind.allCases)
  func b6(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let (book, _) = try Self.fill(store)
    let branch = try store.branches.create("draft")
    let cover = Data(repeating: 7, count: 5_000)
    let copy = try branch.write { tx in try tx.clone(object: book) }
    #expect(try fixture.remains()["blobs"] == 1)
    // Neither deletion takes the bytes from the other side.
    try branch.write { tx in try tx.delete([copy]) }
    #expect(try branch.read { tx in try tx.data(book, "cover") } == cover)
    try store.write { tx in try tx.delete([book]) }
    #expect(try branch.read { tx in try tx.data(book, "cover") } == cover)
    try branch.write { tx in try tx.delete([book]) }
    #expect(try fixture.remains()["blobs"] == 1)
    let own = try branch.write { tx in
      try tx.insert("Book", ["cover": .binary(Data(repeating: 8, count: 5_000))])
    }
    #expect(try fixture.remains()["blobs"] == 2)
    #expect(try fixture.remains()["blobinfo"] == nil)
    try branch.write { tx in try tx.delete([own]) }
    #expect(try fixture.remains()["blobs"] == 1)
    try branch.write { tx in _ = try tx.insert("Book", ["cover": .binary(Data(repeating: 9, count: 5_000))]) }
    try store.branches.delete("draft")
    #expect(try fixture.remains() == [:])
  }

  @Test("B6: a staged upload becomes the blob of a branch")
  func b6Upload() throws {
    let fixture = try BranchFixture(.memory)
    let store = fixture.store
    let branch = try store.branches.create("draft")
    let bytes = Data(repeating: 3, count: 4_000)
    let upload = try store.stageBlob { writer in try writer.append(bytes) }
    let book = try branch.write { tx in
      let book = try tx.insert("Book")
      try tx.setData(book, "cover", upload)
      return book
    }
    #expect(try branch.read { tx in try tx.data(book, "cover") } == bytes)
    #expect(try fixture.remains()["blobinfo"] == nil)
    try store.branches.delete("draft")
    #expect(try fixture.remains() == [:])
  }

  @Test("B7: each commit is of one branch, and so are histories")
  func b7() throws {
    let fixture = try BranchFixture(.memory)
    let store = fixture.store
    try store.setTracksHistory(true)
    try store.write { tx in try tx.insert("Tag") }
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.insert("Tag") }
    try store.write { tx in try tx.insert("Book") }
    try branch.write { tx in try tx.insert("Page") }
    let main = try store.history().map { try $0.insertedIDs().count }
    #expect(main == [1, 1])
    #expect(try branch.history().count == 2)
    #expect(Set(try store.history().map(\.commit)).isDisjoint(with: try branch.history().map(\.commit)))
  }

  @Test("B8: a branch has snapshots of its own", arguments: StorageKind.allCases)
  func b8(_ kind: StorageKind) throws {
    let fixture = try BranchFixture(kind)
    let store = fixture.store
    let (book, tag) = try Self.fill(store)
    let branch = try store.branches.create("draft")
    try branch.write { tx in try tx.set(book, "title", .string("B")) }
    let before = try Self.text(branch)
    let snapshot = try branch.createSnapshot(named: "mine")
    #expect(try store.snapshots().isEmpty)
    try branch.write { tx in
      try tx.set(book, "title", .string("C"))
      try tx.delete([tag])
      try tx.delete(try tx.members(book, "pages").prefix(5).map { $0 })
      try tx.insert("Book", ["number": .integer(9), "cover": .binary(Data(repeating: 9, count: 3_000))])
    }
    try store.write { tx in try tx.delete([book]) }
    #expect(try snapshot.read { tx in try SnapshotTests.text(tx) } == before)
    #expect(try branch.diff(from: snapshot).isEmpty == false)
    _ = try branch.rollback(to: snapshot)
    #expect(try Self.text(branch) == before)
    try branch.deleteSnapshots(named: try branch.snapshots().map(\.name))
    #expect(try Self.text(branch) == before)
    try store.branches.delete("draft")
    #expect(try fixture.remains() == [:])
  }

  @Test("B9: operations on the whole store are refused on a branch")
  func b9() throws {
    let fixture = try BranchFixture(.memory)
    let branch = try fixture.store.branches.create("draft")
    expectError(.unsupportedOnBranch) { _ = try branch.check() }
    expectError(.unsupportedOnBranch) { _ = try branch.repair() }
    expectError(.unsupportedOnBranch) { _ = try branch.deepStatistics() }
  }

  @Test("B9: a fetch index that came after the base is maintained on the branch, and not used; others are")
  func b9Indexes() throws {
    var entities = snapshotModel.entities
    let place = try #require(entities.firstIndex { $0.name == "Tag" })
    entities[place].attributes.append(AttributeDescription("colour", .string))
    entities[place].indexes.append(FetchIndexDescription("byColour", [.init("colour")]))
    let test = try TestStore(ManagedObjectModel(name: snapshotModel.name, entities: entities))
    try test.store.write { tx in try tx.insert("Tag", ["name": .string("a"), "colour": .string("red")]) }
    try test.store.branches.create("draft")
    _ = try test.store.createSnapshot(named: "base")
    entities[place].indexes.append(FetchIndexDescription("byName", [.init("name")]))
    try test.reopen(model: ManagedObjectModel(name: snapshotModel.name, entities: entities))
    let branch = try test.store.branches.open("draft")
    try branch.write { tx in try tx.insert("Tag", ["name": .string("b"), "colour": .string("blue")]) }
    for (name, colour) in [("a", "red"), ("b", "blue")] {
      for condition in ["name == '\(name)'", "colour == '\(colour)'"] {
        let request = FetchRequest("Tag", predicate: try QueryPredicate(format: condition))
        #expect(try branch.read { tx in try tx.count(request) } == 1, "\(condition)")
        #expect(try test.store.read { tx in try tx.count(request) } == (name == "a" ? 1 : 0), "\(condition)")
        let step = try #require(try branch.read { tx in try tx.explain(request) }.first)
        #expect(step.contains("byColour") == condition.hasPrefix("colour") && !step.contains("byName"), "\(step)")
      }
    }
    let request = FetchRequest("Tag", predicate: try QueryPredicate(format: "name == 'a'"))
    #expect(try test.store.snapshot(named: "base").read { tx in try tx.count(request) } == 1)
    // An update moves the base behind the index.
    try test.store.runWrite(label: "update", timeout: nil) { tx in
      try BranchLayerTests.manage(&tx) { manager in _ = try manager.rebaseKeepingChanges("draft") }
    }
    for name in ["a", "b"] {
      let request = FetchRequest("Tag", predicate: try QueryPredicate(format: "name == '\(name)'"))
      let branch = try test.store.branches.open("draft")
      #expect(try branch.read { tx in try tx.count(request) } == 1)
      #expect(try branch.read { tx in try tx.explain(request) }.first?.contains("byName") == true)
    }
  }

  @Test("B10: branches cost other transactions no calls of the engine, and reads on a branch at most twice as many")
  func b10() throws {
    let engine = FaultyEngine(MemoryStorage())
    _ = try ObjectStore.create(in: engine, model: snapshotModel)
    let store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: StoreOptions())
    let tags = try store.write { tx in
      try (0..<100).map { try tx.insert("Tag", ["name": .string("\($0)")]) }
    }
    func calls(_ body: () throws -> Void) throws -> Int {
      engine.arm(nil)
      try body()
      return engine.callCount
    }
    func reads(_ target: ObjectStore) throws -> Int {
      try calls { try target.read { tx in for tag in tags { _ = try tx.value(tag, "name") } } }
    }
    func writes(_ target: ObjectStore) throws -> Int {
      try calls { try target.write { tx in try tx.set(tags[0], "name", .string("\(tags.count)")) } }
    }
    _ = try writes(store)
    let before = (reads: try reads(store), writes: try writes(store))
    let branch = try store.branches.create("draft")
    _ = try writes(branch)
    // Of the branch, its record and its base are read, besides each object in the layer and in the base.
    #expect(try reads(branch) <= 2 * before.reads + 10)
    try store.branches.delete("draft")
    _ = try writes(store)
    #expect(try reads(store) == before.reads)
    #expect(try writes(store) == before.writes)
  }

  @Test("B13: limits of objects hold for each branch by itself")
  func b13() throws {
    let engine = MemoryStorage()
    _ = try ObjectStore.create(in: engine, model: snapshotModel)
    var options = StoreOptions()
    options.maximumObjectCount = 2
    let store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: options)
    let branch = try store.branches.create("draft")
    for target in [store, branch] {
      for _ in 0..<2 { try target.write { tx in try tx.insert("Tag") } }
      expectError(.limitExceeded) { _ = try target.write { tx in try tx.insert("Tag") } }
    }
  }
}

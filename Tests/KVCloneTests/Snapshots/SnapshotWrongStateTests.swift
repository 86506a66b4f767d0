import Foundation
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Findings and negative results of a review of snapshots, differences and rollbacks.
@Suite("Snapshots of wrong states")
struct SnapshotWrongStateTests {
  private struct Refusal: Error {}

  /// Creates a book with pages, and other books.
  private func filled(
    pages pageCount: Int, others: Int = 0, options: StoreOptions = StoreOptions()
  ) throws -> (test: TestStore, book: ObjectID, pages: [ObjectID]) {
    let test = try TestStore(snapshotModel, options: options)
    let (book, pages) = try test.store.write { tx in
      let book = try tx.insert("Book", ["number": 1, "title": "one"])
      let pages = try (0..<pageCount).map { try tx.insert("Page", ["text": .string("\($0)")]) }
      try tx.setMembers(book, "pages", pages)
      for number in 0..<others { try tx.insert("Book", ["number": .integer(Int64(100 + number))]) }
      return (book, pages)
    }
    return (test, book, pages)
  }

  private func text(_ store: ObjectStore) throws -> [String] {
    try store.read { tx in try SnapshotTests.text(tx) }
  }

  // MARK: Differences

  @Test("a member that moves from the end of one chunk of a list to the beginning of another is reported")
  func movesBetweenPieces() throws {
    let (test, book, pages) = try filled(pages: 400)
    // To leave room in the chunks.
    try test.store.unlink(book, "pages", pages.enumerated().filter { $0.offset % 3 == 0 }.map(\.element))
    func members() throws -> [ObjectID] { try test.store.read { tx in try tx.members(book, "pages") } }
    var isWrong: [String] = []
    for round in 0..<40 {
      // The current ends of the chunks.
      let ends = try test.store.pieceLengths(book, "pages").reduce(into: [0]) { $0.append(($0.last ?? 0) + $1) }
      #expect(ends.count > 4)
      let (early, late) = (ends[1], ends[2 + round % 2])
      // From either side of one chunk boundary to either side of another one, in both directions.
      let (near, far) = (early - 1 + round / 2 % 2, late - 1 + round / 4 % 2)
      let (source, target) = round / 8 % 2 == 0 ? (near, far) : (far, near)
      let snapshot = try test.store.createSnapshot(named: "before")
      let before = try members()
      try test.store.link(book, "pages", [before[source]], at: target)
      let found = try test.store.diff(from: snapshot).flatMap(\.relationships)
      let isTold = found == [.init(name: "pages", added: [], removed: [], isReordered: true)]
      if try isTold != (before != members()) { isWrong.append("\(source) to \(target), \(ends)") }
      try test.store.deleteSnapshot(named: "before")
    }
    #expect(isWrong.isEmpty)
  }

  @Test("a snapshot of another store is refused, whatever its name")
  func foreignSnapshots() throws {
    let (one, other) = (try TestStore(snapshotModel), try TestStore(snapshotModel))
    let mine = try one.store.createSnapshot(named: "same")
    let foreign = try other.store.createSnapshot(named: "same")
    try one.store.insert("Tag")
    expectError(.snapshotNotFound) { _ = try one.store.diff(from: foreign) }
    expectError(.snapshotNotFound) { _ = try one.store.diff(from: mine, to: foreign) }
    expectError(.snapshotNotFound) { _ = try one.store.planRollback(to: foreign) }
    expectError(.snapshotNotFound) { try one.store.rollback(to: foreign) }
    #expect(try one.store.diff(from: mine).count == 1)
  }

  // MARK: The whole store

  @Test("the history contains each object once, and a plan's counts are those of the execution")
  func toldOnce() throws {
    var options = StoreOptions()
    options.tracksHistory = true
    let (test, book, pages) = try filled(pages: 200, options: options)
    let empty = try test.store.createSnapshot(named: "full")
    try test.store.delete([book])
    let full = try test.store.createSnapshot(named: "empty")
    for snapshot in [empty, full, empty] {
      let token = try test.store.currentToken()
      let plan = try test.store.planRollback(to: snapshot)
      let result = try test.store.rollback(to: snapshot)
      #expect(result.updatedCount == 0 && result.recreatedCount + result.deletedCount == 201)
      #expect(
        plan.updatedCount == result.updatedCount && plan.recreatedCount == result.recreatedCount
          && plan.deletedCount == result.deletedCount)
      var told: [ObjectID] = []
      for transaction in try test.store.history(after: token) {
        try transaction.forEachChange { change in
          switch change {
          case .inserted(let id), .updated(let id, _), .deleted(let id, _, _): told.append(id)
          }
          return true
        }
      }
      #expect(told.sorted() == (pages + [book]).sorted())
      try checked(test.store)
    }
  }

  @Test("what replacing costs is not counted once for each snapshot between")
  func cost() throws {
    let (test, book, _) = try filled(pages: 1)
    let title = String(repeating: "x", count: 10_000)
    try test.store.set(book, "title", .string(title))
    let first = try test.store.createSnapshot(named: "first")
    for number in 0..<20 {
      try test.store.set(book, "title", .string("\(number)" + title))
      try test.store.createSnapshot(named: "s\(number)")
    }
    let plan = try test.store.planRollback(to: first)
    #expect(plan.replacedByteCount > 10_000 && plan.replacedByteCount < 20_000)
    let result = try test.store.rollback(to: first)
    #expect(result.replacedByteCount > 10_000 && result.replacedByteCount < 20_000)
    try checked(test.store)
  }

  @Test("what broke a rule in the middle of a transaction is not brought back")
  func unfinished() throws {
    let (test, book, _) = try filled(pages: 2, others: 2)
    try test.store.write { tx in
      let second = try tx.insert("Book", ["number": 1])
      try tx.createSnapshot(named: "broken")
      try tx.set(second, "number", 2)
      try tx.createSnapshot(named: "sound")
      try tx.set(book, "title", "after")
    }
    let after = try text(test.store)
    let (broken, sound) = (try test.store.snapshot(named: "broken"), try test.store.snapshot(named: "sound"))
    let issues = expectIssues { try test.store.rollback(to: broken) }
    #expect(!issues.isEmpty && issues.allSatisfy { $0 == "uniquenessConflict Book.number" })
    #expect(try text(test.store) == after)
    #expect(try test.store.snapshots().count == 2)
    let shown = try sound.read { tx in try SnapshotTests.text(tx) }
    try test.store.rollback(to: sound)
    #expect(try text(test.store) == shown && shown != after)
    try checked(test.store)
  }

  @Test("derived attributes follow the present expressions")
  func otherExpressions() throws {
    func model(_ expression: String) -> ManagedObjectModel {
      ManagedObjectModel("Derived") {
        EntityDescription("Item") {
          AttributeDescription("name", .string)
          AttributeDescription("shown", .string, derivation: expression)
        }
      }
    }
    let test = try TestStore(model("uppercase:(name)"))
    let items = try test.store.write { tx in try (0..<3).map { _ in try tx.insert("Item", ["name": "Bob"]) } }
    let snapshot = try test.store.createSnapshot(named: "upper")
    try test.store.set(items[0], "name", "Eve")
    try test.reopen(model: model("lowercase:(name)"))
    try test.store.delete([items[1]])
    func shown(_ tx: borrowing ReadTransaction) throws -> [AttributeValue?] {
      try tx.fetch(FetchRequest("Item")).map { try $0.value("shown") }
    }
    #expect(try test.store.read { tx in try shown(tx) } == ["eve", "bob"])
    let same = try test.store.snapshot(named: snapshot.name)
    #expect(try same.read { tx in try shown(tx) } == ["BOB", "BOB", "BOB"])
    try test.store.rollback(to: same)
    #expect(try test.store.read { tx in try shown(tx) } == ["bob", "bob", "bob"])
    try checked(test.store)
  }

  @Test("the token at a snapshot leads on from there")
  func tokens() throws {
    var options = StoreOptions()
    options.tracksHistory = true
    let (test, book, _) = try filled(pages: 1, options: options)
    let between = try test.store.createSnapshot(named: "between")
    try test.store.write { tx in
      try tx.set(book, "title", "two")
      try tx.createSnapshot(named: "within")
      try tx.set(book, "number", 2)
    }
    let within = try test.store.snapshot(named: "within")
    try test.store.set(book, "title", "three")
    for (snapshot, count) in [(between, 2), (within, 2)] {
      let token = try snapshot.read { tx in try tx.currentToken() }
      #expect(try test.store.history(after: token).count == count, "\(snapshot.name)")
    }
    #expect(try test.store.history(after: try test.store.currentToken()).isEmpty)
  }

  // MARK: Deleting

  @Test("deleting a younger snapshot removes the preimages that an older one does not need")
  func laterKeys() throws {
    let test = try TestStore(snapshotModel)
    let old = try test.store.createSnapshot(named: "old")
    let cover = Data(repeating: 1, count: 5000)
    let book = try test.store.insert("Book", ["title": "one", "number": 1, "cover": .binary(cover)])
    let young = try test.store.createSnapshot(named: "young")
    try test.store.set(book, "title", "two")
    try test.store.delete([book])
    // Only the snapshot had the blob, and now the clone has it.
    let clone = try #require(try test.store.clone([book], from: young).roots.first)
    try checked(test.store)
    let saved = try young.retainedBytes()
    #expect(saved > 5000)
    try test.store.deleteSnapshot(named: "young")
    try checked(test.store)
    try test.store.expectNoPreviousStates()
    #expect(try test.store.data(clone, "cover") == cover)
    try test.store.delete([clone])
    try checked(test.store)
    #expect(try test.store.blobCount() == 0)
    #expect(try old.read { tx in try SnapshotTests.text(tx) } == [])
  }

  // MARK: Some objects

  @Test("a restored blob is deleted again with the object that it belongs to")
  func goesAgain() throws {
    let (test, book, pages) = try filled(pages: 3)
    let full = try test.store.createSnapshot(named: "full")
    try test.store.delete([pages[1]])
    let without = try test.store.createSnapshot(named: "without")
    try test.store.rollback(to: full)
    let plan = try test.store.planRollback(to: without, objects: [book])
    let result = try test.store.rollback(to: without, objects: [book])
    #expect(plan.deletedCount == 1 && result.deletedCount == 1)
    #expect(try test.store.read { tx in try tx.exists(pages[1]) } == false)
    #expect(try test.store.diff(from: without).isEmpty)
    try checked(test.store)
  }

  /// Found by a random run: seed 140, operation 22,763.
  @Test("a blob that was set again to the same bytes is no change")
  func sameLargeValue() throws {
    let test = try TestStore(snapshotModel)
    let cover = Data(repeating: 1, count: 5000)
    let book = try test.store.insert("Book", ["title": "one", "cover": .binary(cover)])
    let snapshot = try test.store.createSnapshot(named: "same")
    try test.store.set(book, "cover", .binary(Data(repeating: 2, count: 5000)))
    #expect(try test.store.planRollback(to: snapshot, objects: [book]).updatedCount == 1)
    try test.store.set(book, "cover", .binary(cover))
    #expect(try test.store.diff(from: snapshot).isEmpty)
    #expect(try test.store.planRollback(to: snapshot, objects: [book]).updatedCount == 0)
    #expect(try test.store.rollback(to: snapshot, objects: [book]).updatedCount == 0)
    #expect(try test.store.data(book, "cover") == cover)
    try checked(test.store)
  }

  @Test("a restored object has its provenance again")
  func provenance() throws {
    let (test, book, _) = try filled(pages: 3)
    try test.store.set(book, "number", nil)
    var options = CloneOptions()
    options.recordsProvenance = true
    let clone = try #require(try test.store.clone([book], options: options).roots.first)
    let snapshot = try test.store.createSnapshot(named: "clone")
    let known = try test.store.read { tx in try tx.provenance(of: clone) }
    try test.store.delete([clone])
    try test.store.rollback(to: snapshot, objects: [clone])
    #expect(try test.store.read { tx in try tx.provenance(of: clone) } == known)
    #expect(known?.source == book)
    try checked(test.store)
  }

  @Test("a list of thousands comes back from others in its order, and the objects count once")
  func longList() throws {
    let (test, book, pages) = try filled(pages: 3000, others: 1)
    let snapshot = try test.store.createSnapshot(named: "before")
    let before = try text(test.store)
    try test.store.write { tx in
      let other = try tx.insert("Book", ["number": 2])
      try tx.set(book, "title", "new")
      try tx.link(other, "pages", Array(pages[1000..<1500]))
      try tx.setMembers(book, "pages", Array(pages[..<1000].reversed()))
      try tx.delete(Array(pages[2000..<2100]))
    }
    let plan = try test.store.planRollback(to: snapshot, objects: [book])
    // The book, and all remaining pages, which were moved elsewhere or unlinked.
    #expect(plan.updatedCount == 1 + 1900 && plan.recreatedCount == 100 && plan.deletedCount == 0)
    let result = try test.store.rollback(to: snapshot, objects: [book])
    #expect(result.updatedCount == plan.updatedCount && result.recreatedCount == 100)
    let after = try text(test.store)
    #expect(Set(before).isSubset(of: after))
    try checked(test.store)
  }

  // MARK: Other processes

  @Test("a process that has the store open saves for a snapshot that another one makes")
  func otherProcess() throws {
    let (test, book, _) = try filled(pages: 1)
    let peer = try PeerProcess("snapshots", [test.location])
    #expect(peer.hear() == "open")
    func tell(_ line: String) throws {
      try peer.tell(line)
      #expect(peer.hear() == "done")
    }
    let name = try test.store.read { tx in try tx.name(of: book) }
    func titles() throws -> [String: AttributeValue?] {
      var titles: [String: AttributeValue?] = [:]
      for info in try test.store.snapshots() {
        let snapshot = try test.store.snapshot(named: info.name)
        titles[info.name] = try snapshot.read { tx in try tx.value(book, "title") }
      }
      return titles
    }
    // The first snapshot is created here and changed there; then one is created there and changed here.
    try test.store.createSnapshot(named: "here")
    try tell("set \(name) title two")
    try tell("create there")
    try test.store.set(book, "title", "three")
    #expect(try titles() == ["here": "one", "there": "two"])
    try checked(test.store)
    // The last one is deleted there, and no preimage is stored here any more.
    try test.store.deleteSnapshot(named: "here")
    try tell("delete there")
    try test.store.set(book, "title", "four")
    try test.store.expectNoPreviousStates()
    try tell("create again")
    try test.store.deleteSnapshot(named: "again")
    try tell("set \(name) title five")
    try test.store.expectNoPreviousStates()
    try checked(test.store)
    #expect(try peer.finish() == 0)
  }

  @Test("snapshots that aborted transactions create and delete")
  func givenUp() throws {
    let (test, book, _) = try filled(pages: 40)
    let kept = try test.store.createSnapshot(named: "kept")
    let before = try text(test.store)
    #expect(throws: Refusal.self) {
      try test.store.write { tx in
        try tx.set(book, "title", "two")
        try tx.createSnapshot(named: "never")
        try tx.delete([book])
        try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in try snapshots.delete(["kept"]) }
        try tx.createSnapshot(named: "kept")
        throw Refusal()
      }
    }
    #expect(try test.store.snapshots().map(\.name) == ["kept"])
    try test.store.set(book, "title", "three")
    #expect(try kept.read { tx in try SnapshotTests.text(tx) } == before)
    // The same, committed: the name belongs to another snapshot now.
    try test.store.write { tx in
      try SnapshotManager.change(in: &tx) { (snapshots) throws(StoreError) in try snapshots.delete(["kept"]) }
      try tx.set(book, "title", "four")
      try tx.createSnapshot(named: "kept")
      try tx.set(book, "title", "five")
    }
    try checked(test.store)
    expectError(.snapshotNotFound) { _ = try kept.read { tx in try tx.value(book, "title") } }
    expectError(.snapshotNotFound) { try test.store.rollback(to: kept) }
    expectError(.snapshotNotFound) { _ = try test.store.diff(from: kept) }
    let title = try test.store.snapshot(named: "kept").read { tx in try tx.value(book, "title") }
    #expect(title == "four")
  }

  @Test("many threads read a snapshot while others come and go")
  func threads() throws {
    let (test, book, pages) = try filled(pages: 300, others: 50)
    let store = test.store
    let kept = try store.createSnapshot(named: "kept")
    let before = try text(store)
    let problems = Mutex<[String]>([])
    let isOver = Mutex(false)
    DispatchQueue.concurrentPerform(iterations: 4) { worker in
      do {
        if worker == 0 {
          defer { isOver.withLock { $0 = true } }
          for round in 0..<30 {
            try store.createSnapshot(named: "round")
            try store.write { tx in
              try tx.set(book, "title", .string("\(round)"))
              try tx.link(book, "pages", [pages[round * 7]], at: round)
              _ = try tx.delete([pages[299 - round]])
            }
            try store.deleteSnapshot(named: "round")
          }
        } else {
          while !isOver.withLock({ $0 }) {
            let shown = try kept.read { tx in try SnapshotTests.text(tx) }
            if shown != before { problems.withLock { $0.append("another state") } }
          }
        }
      } catch {
        problems.withLock { $0.append("\(error)") }
      }
    }
    #expect(problems.withLock { $0 } == [])
    try checked(store)
  }
}

extension ObjectStore {
  /// Returns the lengths of the chunks of a long list.
  fileprivate func pieceLengths(_ id: ObjectID, _ name: String) throws -> [Int] {
    let session = try readSession()
    guard let relationship = try session.entity(of: id).relationships.first(where: { $0.name == name }) else {
      return []
    }
    var lengths: [Int] = []
    try session.storage.forEachChunk(session.address(id, relationship.code)) { (ids) throws(StoreError) in
      lengths.append(ids.count)
      return true
    }
    return lengths
  }
}

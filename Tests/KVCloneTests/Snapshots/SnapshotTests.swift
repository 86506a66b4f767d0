import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Named snapshots, with a test for each pitfall of storing preimages.
@Suite("Snapshots")
struct SnapshotTests {
  /// Returns the store as text, in any kind of transaction.
  static func text(_ tx: borrowing ReadTransaction) throws -> [String] {
    var lines: [String] = []
    for entity in ["Book", "Page", "Tag"] {
      for object in try tx.fetch(FetchRequest(entity)) {
        var line = object.name
        for name in ["number", "title", "cover", "text", "name"] {
          if let value = try? object.value(name) { line += " \(name)=\(value)" }
          if name == "cover", let data = try? tx.data(object.id, name) { line += " \(data.first ?? 0)" }
        }
        for name in ["tags", "pages", "book", "books"] {
          guard let members = try? tx.members(object.id, name) else { continue }
          line += " \(name)=\(try members.map { try tx.name(of: $0) })(\(try tx.count(object.id, name)))"
        }
        lines.append(line)
      }
    }
    return lines
  }

  @Test("shows the state of the store, and the store continues")
  func basics() throws {
    let test = try TestStore(snapshotModel)
    let (book, tag) = try test.store.write { tx in
      let tag = try tx.insert("Tag", ["name": .string("old")])
      let book = try tx.insert("Book", ["title": .string("A"), "number": .integer(1)], relationships: ["tags": [tag]])
      for number in 0..<40 {
        try tx.insert("Page", ["text": .string("\(number)")], relationships: ["book": [book]])
      }
      return (book, tag)
    }
    let before = try test.store.read { tx in try Self.text(tx) }
    let snapshot = try test.store.createSnapshot(named: "one", userInfo: ["why": "test"])
    #expect(snapshot.info.objectCount == 42)
    #expect(snapshot.info.userInfo == ["why": "test"])
    try checked(test.store)
    try test.store.write { tx in
      try tx.set(book, "title", .string("B"))
      let other = try tx.insert("Book", ["number": .integer(2)], relationships: ["tags": [tag]])
      let page = try tx.members(book, "pages")[3]
      try tx.link(other, "pages", [page])
      try tx.delete([try tx.members(book, "pages")[0]])
    }
    try checked(test.store)
    #expect(try snapshot.read { tx in try Self.text(tx) } == before)
    try test.reopen()
    let again = try test.store.snapshot(named: "one")
    #expect(try again.read { tx in try Self.text(tx) } == before)
    #expect(try again.retainedBytes() > 0)
    try test.store.deleteSnapshot(named: "one")
    try checked(test.store)
    try test.store.expectNoPreviousStates()
    expectError(.snapshotNotFound) { _ = try again.read { tx in try Self.text(tx) } }
  }

  @Test("a new index entry for an old object")
  func indexEntries() throws {
    let test = try TestStore(snapshotModel)
    let book = try test.store.write { tx in try tx.insert("Book", ["number": .integer(1)]) }
    let snapshot = try test.store.createSnapshot(named: "one")
    try test.store.write { tx in try tx.set(book, "number", .integer(2)) }
    func found(_ number: Int64, _ tx: borrowing ReadTransaction) throws -> [ObjectID] {
      try tx.fetchIDs(try FetchRequest("Book", predicate: QueryPredicate(format: "number == \(number)")))
    }
    #expect(try snapshot.read { tx in try found(1, tx) } == [book])
    #expect(try snapshot.read { tx in try found(2, tx) } == [])
    #expect(try test.store.read { tx in try found(2, tx) } == [book])
    try checked(test.store)
  }

  @Test("a list chunk that splits", arguments: [false, true])
  func splits(alternating: Bool) throws {
    let test = try TestStore(snapshotModel)
    let (tag, books) = try test.store.write { tx in
      let tag = try tx.insert("Tag")
      var books: [ObjectID] = []
      for number in 0..<600 { books.append(try tx.insert("Book", ["number": .integer(Int64(number))])) }
      try tx.link(tag, "books", books.enumerated().filter { $0.offset % 2 == 0 }.map(\.element))
      return (tag, books)
    }
    let before = try test.store.read { tx in try Self.text(tx) }
    let snapshot = try test.store.createSnapshot(named: "one")
    // Existing objects between the members, and new ones after them.
    for batch in 0..<3 {
      try test.store.write { tx in
        try tx.link(tag, "books", books.enumerated().filter { $0.offset % 6 == 2 * batch + 1 }.map(\.element))
        if alternating { try tx.insert("Book", relationships: ["tags": [tag]]) }
        try tx.unlink(tag, "books", [books[batch * 100]])
      }
      try checked(test.store)
      #expect(try snapshot.read { tx in try Self.text(tx) } == before)
    }
  }

  @Test("a change and a snapshot in one transaction")
  func sameTransaction() throws {
    let test = try TestStore(snapshotModel)
    let book = try test.store.write { tx in try tx.insert("Book", ["title": .string("A")]) }
    let early = try test.store.createSnapshot(named: "early")
    let info = try test.store.write { tx in
      try tx.set(book, "title", .string("B"))
      try tx.insert("Book", ["title": .string("in")])
      let info = try tx.createSnapshot(named: "middle")
      try tx.set(book, "title", .string("C"))
      try tx.insert("Book", ["title": .string("out")])
      return info
    }
    func titles(_ tx: borrowing ReadTransaction) throws -> [String] {
      try tx.fetch(FetchRequest("Book")).map { "\(try $0.value("title") ?? .string("-"))" }
    }
    let middle = try test.store.snapshot(named: "middle")
    #expect(middle.info.commit == info.commit)
    #expect(try early.read { tx in try titles(tx) }.count == 1)
    #expect(try middle.read { tx in try titles(tx) }.count == 2)
    let title = try middle.read { tx in try tx.value(book, "title") }
    #expect(title == .string("B"))
    #expect(try early.read { tx in try tx.value(book, "title") } == .string("A"))
    #expect(try test.store.read { tx in try tx.value(book, "title") } == .string("C"))
    try checked(test.store)
    try test.store.deleteSnapshot(named: "middle")
    try checked(test.store)
    #expect(try early.read { tx in try tx.value(book, "title") } == .string("A"))
    try test.store.deleteSnapshot(named: "early")
    try test.store.expectNoPreviousStates()
  }

  @Test("a blob whose last live reference is removed")
  func blobs() throws {
    let test = try TestStore(snapshotModel)
    let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let book = try test.store.write { tx in try tx.insert("Book", ["cover": .binary(data)]) }
    let one = try test.store.createSnapshot(named: "one")
    try test.store.write { tx in _ = try tx.clone(object: book) }
    let two = try test.store.createSnapshot(named: "two")
    try test.store.write { tx in _ = try tx.delete(try tx.fetchIDs(FetchRequest("Book"))) }
    try checked(test.store)
    for snapshot in [one, two] {
      #expect(try snapshot.read { tx in try tx.data(book, "cover") } == data)
    }
    #expect(try two.retainedBytes() < 1000)
    try test.store.deleteSnapshot(named: "one")
    try checked(test.store)
    #expect(try two.retainedBytes() > 3_000_000)
    #expect(try two.read { tx in try tx.data(book, "cover") } == data)
    try test.store.deleteSnapshot(named: "two")
    try checked(test.store)
    try test.store.expectNoPreviousStates()
  }

  @Test("a blob that is restored and deleted again, after a snapshot that does not show it")
  func restoredBlob() throws {
    let test = try TestStore(snapshotModel)
    let data = Data(repeating: 7, count: 100_000)
    let book = try test.store.write { tx in try tx.insert("Book", ["cover": .binary(data)]) }
    let one = try test.store.createSnapshot(named: "one")
    try test.store.write { tx in _ = try tx.delete([book]) }
    let two = try test.store.createSnapshot(named: "two")
    try test.store.rollback(to: one, objects: [book])
    try test.store.write { tx in _ = try tx.delete([book]) }
    try checked(test.store)
    #expect(try one.read { tx in try tx.data(book, "cover") } == data)
    #expect(try two.read { tx in try !tx.exists(book) })
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    try checked(test.store)
    try test.store.expectNoPreviousStates()
  }

  @Test("the middle one of three is deleted, then the youngest")
  func chain() throws {
    let test = try TestStore(snapshotModel)
    let book = try test.store.write { tx in try tx.insert("Book", ["title": .string("0")]) }
    var snapshots: [Snapshot] = []
    for number in 1...4 {
      snapshots.append(try test.store.createSnapshot(named: "s\(number)"))
      if number != 2 { try test.store.write { tx in try tx.set(book, "title", .string("\(number)")) } }
    }
    func title(_ snapshot: Snapshot) throws -> AttributeValue? {
      try snapshot.read { tx in try tx.value(book, "title") }
    }
    #expect(try snapshots.map { try title($0) } == [.string("0"), .string("1"), .string("1"), .string("3")])
    for gone in [2, 3, 0, 1] {
      try test.store.deleteSnapshot(named: "s\(gone + 1)")
      try checked(test.store)
      try test.store.write { tx in try tx.set(book, "title", .string("after \(gone)")) }
      try checked(test.store)
      for (place, snapshot) in snapshots.enumerated() where (try? snapshot.retainedBytes()) != nil {
        #expect(try title(snapshot) == [.string("0"), .string("1"), .string("1"), .string("3")][place])
      }
    }
    try test.store.expectNoPreviousStates()
  }

  @Test("holds, names and expiry")
  func records() throws {
    let test = try TestStore(snapshotModel)
    for name in ["", "a b", "é", "auto-x", String(repeating: "x", count: 129), "a/b"] {
      expectError(.invalidSnapshotName) { try test.store.createSnapshot(named: name) }
    }
    let snapshot = try test.store.createSnapshot(named: "A.b_c-9", expiresAt: Date(timeIntervalSinceNow: -1))
    expectError(.snapshotExists) { try test.store.createSnapshot(named: "A.b_c-9") }
    try snapshot.hold(tag: "backup")
    try snapshot.hold(tag: "backup")
    #expect(try test.store.snapshots().map(\.holds) == [["backup"]])
    expectError(.snapshotHeld) { try test.store.deleteSnapshot(named: "A.b_c-9") }
    #expect(try test.store.deleteExpiredSnapshots() == [])
    expectError(.snapshotNotHeld) { try snapshot.release(tag: "other") }
    try snapshot.release(tag: "backup")
    #expect(try test.store.deleteExpiredSnapshots() == ["A.b_c-9"])
    expectError(.snapshotNotFound) { try snapshot.hold(tag: "x") }
    expectError(.snapshotNotFound) { try test.store.deleteSnapshots(named: ["no"]) }
    #expect(try test.store.info().snapshotCount == 0)
    try checked(test.store)
  }

  @Test("automatic ones are kept by the policy")
  func retention() throws {
    var options = StoreOptions()
    options.snapshotRetention = SnapshotRetention(last: 3, daily: 0)
    let test = try TestStore(snapshotModel, options: options)
    try test.store.createSnapshot(named: "mine")
    for _ in 0..<5 { try test.store.createAutomaticSnapshot() }
    #expect(try test.store.snapshots().count(where: \.isAutomatic) == 3)
    #expect(try test.store.snapshots().first?.name == "mine")
    try checked(test.store)
    let hour = 3600.0
    let made = (0..<100).map { (name: "\($0)", created: Double($0) * 6 * hour) }
    let policy = SnapshotRetention(last: 2, hourly: 3, daily: 4, weekly: 3)
    let kept = Set(made.map(\.name)).subtracting(policy.superfluous(made))
    // The 100th six-hour period of 2001 ends a day; weeks begin on Monday, as that year did.
    #expect(kept == ["99", "98", "97", "95", "91", "87", "83", "55"])
  }
}

extension ObjectStore {
}

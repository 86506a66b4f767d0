import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Snapshots and savepoints: preimages that are stored for a snapshot, and those that must not be.
@Suite("Snapshots and savepoints")
struct SnapshotSavepointTests {
  private struct Refusal: Error {}

  private let test: TestStore
  private let book: ObjectID
  private let pages: [ObjectID]
  private let tag: ObjectID
  private var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(snapshotModel, options: .tracking())
    (book, pages, tag) = try test.store.write { tx in
      let tag = try tx.insert("Tag", ["name": "tag"])
      let book = try tx.insert(
        "Book", ["number": 1, "title": "one", "cover": .binary(Data(repeating: 1, count: 5000))],
        relationships: ["tags": [tag]])
      let pages = try (0..<40).map { number in
        try tx.insert("Page", ["text": .string("\(number)")], relationships: ["book": [book]])
      }
      return (book, pages, tag)
    }
  }

  private func text() throws -> [String] { try store.read { tx in try SnapshotTests.text(tx) } }

  private func text(_ name: String) throws -> [String] {
    try store.snapshot(named: name).read { tx in try SnapshotTests.text(tx) }
  }

  private func rollingBack(
    _ tx: inout WriteTransaction, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (inout WriteTransaction) throws -> Void
  ) throws {
    do {
      try tx.savepoint { tx in
        try body(&tx)
        throw Refusal()
      }
      Issue.record("the error was swallowed", sourceLocation: sourceLocation)
    } catch is Refusal {}
  }

  /// Changes every kind of data.
  private func change(_ tx: inout WriteTransaction, _ label: String) throws {
    try tx.setAttributes(
      book, ["title": .string(label), "number": 7, "cover": .binary(Data(repeating: 2, count: 9000))])
    try tx.delete(Array(pages[3..<20]))
    try tx.link(book, "pages", [pages[30]], at: 0)
    try tx.insert("Page", ["text": .string(label)], relationships: ["book": [book]])
    let other = try tx.insert("Book", ["title": .string(label)], relationships: ["tags": [tag]])
    try tx.link(other, "pages", [pages[25]])
    try tx.set(tag, "name", .string(label))
  }

  private func end() throws {
    try checked(store)
    try store.deleteSnapshots(named: try store.snapshots().map(\.name))
    try store.expectNoPreviousStates()
    try checked(store)
  }

  @Test("a snapshot shows the old state after a rollback, after the commit, and after later changes")
  func old() throws {
    try store.createSnapshot(named: "old")
    let before = try text()
    try store.write { tx in
      try rollingBack(&tx) { tx in try change(&tx, "lost") }
      let shown = try store.snapshot(named: "old").read { tx in try SnapshotTests.text(tx) }
      #expect(shown == before)
    }
    #expect(try text("old") == before && text() == before)
    try store.write { tx in
      try tx.set(book, "title", "around")
      try rollingBack(&tx) { tx in try change(&tx, "lost") }
      try tx.set(pages[3], "text", "around")
    }
    #expect(try text("old") == before && text() != before)
    // The same keys, now committed: preimages that the rolled-back savepoint stored must be stored again.
    try store.write { tx in try change(&tx, "kept") }
    #expect(try text("old") == before)
    #expect(try store.value(book, "title") == "kept")
    try test.reopen(options: .tracking())
    #expect(try text("old") == before)
    try end()
  }

  @Test("changes after a rollback in the same transaction are saved for the snapshot")
  func sameKeysAgain() throws {
    try store.createSnapshot(named: "old")
    let before = try text()
    try store.write { tx in
      try rollingBack(&tx) { tx in try change(&tx, "lost") }
      try change(&tx, "kept")
      try rollingBack(&tx) { tx in try tx.delete([book]) }
    }
    #expect(try text("old") == before)
    try store.write { tx in
      try tx.savepoint { tx in
        try rollingBack(&tx) { tx in try tx.delete([book]) }
        try tx.set(pages[30], "text", "again")
      }
      try rollingBack(&tx) { tx in
        _ = try tx.savepoint { tx in try tx.delete([tag]) }
      }
      try tx.delete([tag])
    }
    #expect(try text("old") == before)
    try end()
  }

  @Test("a rolled-back savepoint leaves no preimages")
  func nothingSaved() throws {
    try store.createSnapshot(named: "old")
    let retained = try store.snapshot(named: "old").retainedBytes()
    try store.write { tx in try rollingBack(&tx) { tx in try change(&tx, "lost") } }
    #expect(try store.snapshot(named: "old").retainedBytes() == retained)
    try store.expectNoPreviousStates()
    try end()
  }

  @Test("objects that were inserted before the savepoint have no preimages, and are not in the snapshot")
  func insertedBefore() throws {
    try store.createSnapshot(named: "old")
    let before = try text()
    try store.write { tx in
      let new = try tx.insert("Book", ["number": 50], relationships: ["tags": [tag]])
      try rollingBack(&tx) { tx in
        try tx.set(new, "number", 51)
        try tx.delete([new])
      }
      try tx.set(new, "number", 52)
    }
    #expect(try text("old") == before)
    #expect(try store.found("number == 52").count == 1 && store.found("number == 51").isEmpty)
    try end()
  }

  @Test("a snapshot that was made in a savepoint that is rolled back does not exist")
  func rolledBack() throws {
    let token = try store.info().commit
    try store.write { tx in
      try rollingBack(&tx) { tx in
        try tx.createSnapshot(named: "lost")
        try change(&tx, "lost")
      }
    }
    #expect(try store.snapshots().isEmpty && store.info().commit == token)
    expectError(.snapshotNotFound) { _ = try store.snapshot(named: "lost") }
    try store.write { tx in
      try rollingBack(&tx) { tx in try tx.createSnapshot(named: "lost") }
      // No preimage is stored for it, in the same transaction or later.
      try change(&tx, "kept")
    }
    #expect(try store.snapshots().isEmpty)
    try store.expectNoPreviousStates()
    try store.write { tx in try tx.set(book, "title", "later") }
    try store.expectNoPreviousStates()
    try checked(store)
    try test.reopen(options: .tracking())
    #expect(try store.snapshots().isEmpty)
    // Its name is available.
    try store.createSnapshot(named: "lost")
    let before = try text()
    try store.write { tx in try tx.set(book, "title", "after") }
    #expect(try text("lost") == before)
    try end()
  }

  @Test("a snapshot in a rolled-back savepoint leaves an older one and a younger one as they are")
  func betweenOthers() throws {
    try store.createSnapshot(named: "old")
    let before = try text()
    try store.write { tx in
      try tx.set(book, "title", "two")
      try rollingBack(&tx) { tx in
        try tx.createSnapshot(named: "lost")
        try change(&tx, "lost")
      }
      try tx.set(pages[0], "text", "two")
      try tx.createSnapshot(named: "young")
      try rollingBack(&tx) { tx in try change(&tx, "lost") }
      try change(&tx, "kept")
    }
    #expect(try store.snapshots().map(\.name) == ["old", "young"])
    #expect(try text("old") == before)
    let young = try store.snapshot(named: "young")
    let (title, page) = try young.read { tx in (try tx.value(book, "title"), try tx.value(pages[0], "text")) }
    #expect(title == "two" && page == "two")
    #expect(try young.read { tx in try tx.count(book, "pages") } == 40)
    try store.deleteSnapshot(named: "old")
    #expect(try young.read { tx in try tx.value(tag, "name") } == "tag")
    try end()
  }

  @Test("a snapshot in a savepoint that is kept works, and shows the state in the middle")
  func kept() throws {
    let middle = try store.write { tx in
      try tx.set(book, "title", "before")
      try tx.savepoint { tx in
        try change(&tx, "inside")
        try tx.createSnapshot(named: "kept")
        try rollingBack(&tx) { tx in
          try tx.createSnapshot(named: "lost")
          try tx.delete([book])
        }
        try tx.set(book, "title", "after")
      }
      try rollingBack(&tx) { tx in try tx.delete([book]) }
      try tx.delete([tag])
      return try tx.value(book, "title")
    }
    #expect(middle == "after")
    #expect(try store.snapshots().map(\.name) == ["kept"])
    let kept = try store.snapshot(named: "kept")
    try kept.read { tx in
      let (title, name) = (try tx.value(book, "title"), try tx.value(tag, "name"))
      #expect(title == "inside" && name == "inside")
      let count = try tx.count(book, "pages")
      #expect(count == 40 - 17 + 1 - 1)
    }
    let shown = try text("kept")
    try store.write { tx in try tx.delete([book]) }
    #expect(try text("kept") == shown)
    try end()
  }

  @Test("a name that is taken, in a savepoint, leaves the transaction usable")
  func takenName() throws {
    try store.createSnapshot(named: "old")
    let before = try text()
    try store.write { tx in
      try tx.set(book, "title", "changed")
      expectError(.snapshotExists) { try tx.savepoint { tx in _ = try tx.createSnapshot(named: "old") } }
      try tx.savepoint { tx in _ = try tx.createSnapshot(named: "new") }
      try tx.set(book, "title", "last")
    }
    #expect(try text("old") == before && store.snapshots().count == 2)
    try end()
  }

  @Test("blobs whose last live reference is removed in a rolled-back savepoint, with a snapshot that references them")
  func blobs() throws {
    try store.createSnapshot(named: "old")
    try store.write { tx in
      try rollingBack(&tx) { tx in
        try tx.set(book, "cover", nil)
        try tx.insert("Book", ["cover": .binary(Data(repeating: 5, count: 3 << 20))])
      }
    }
    #expect(try store.data(book, "cover")?.first == 1 && store.blobCount() == 1)
    try store.write { tx in
      try tx.set(book, "cover", nil)
      try rollingBack(&tx) { tx in try tx.set(book, "cover", .binary(Data(repeating: 6, count: 5000))) }
    }
    #expect(try store.data(book, "cover") == nil)
    let old = try store.snapshot(named: "old").read { tx in try tx.data(book, "cover") }
    #expect(old == Data(repeating: 1, count: 5000))
    try end()
    #expect(try store.blobCount() == 0)
  }

  @Test("a rollback of the store to a snapshot, after savepoints have ended")
  func storeRollback() throws {
    let snapshot = try store.createSnapshot(named: "old")
    let before = try text()
    for number in 0..<5 {
      try store.write { tx in
        try rollingBack(&tx) { tx in try change(&tx, "lost") }
        try tx.savepoint { tx in try tx.set(pages[number], "text", "kept") }
        try rollingBack(&tx) { tx in try tx.delete([book]) }
      }
    }
    #expect(try store.diff(from: snapshot).map(\.id).sorted() == Array(pages[..<5]))
    try store.rollback(to: snapshot)
    #expect(try text() == before)
    try end()
  }
}

extension ObjectStore {
  fileprivate func found(_ format: String) throws -> [ObjectID] {
    try read { tx in try tx.fetchIDs(FetchRequest("Book", predicate: try QueryPredicate(format: format))) }
  }
}

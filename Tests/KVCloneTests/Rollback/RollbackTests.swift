import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneQuery

/// Differences between snapshots, and rollbacks to them.
@Suite("Rollback and differences")
struct RollbackTests {
  private func filled(history: Bool = false) throws -> (TestStore, [ObjectID], [ObjectID]) {
    var options = StoreOptions()
    options.tracksHistory = history ? true : nil
    let test = try TestStore(snapshotModel, options: options)
    let (books, tags) = try test.store.write { tx in
      let tags = try (0..<3).map { try tx.insert("Tag", ["name": .string("tag \($0)")]) }
      var books: [ObjectID] = []
      for number in 0..<300 {
        let book = try tx.insert(
          "Book", ["number": .integer(Int64(number)), "title": .string("Book \(number)")],
          relationships: ["tags": number % 2 == 0 ? tags : [tags[0]]])
        for page in 0..<(number == 0 ? 200 : 1) {
          try tx.insert("Page", ["text": .string("\(page)")], relationships: ["book": [book]])
        }
        books.append(book)
      }
      try tx.set(books[1], "cover", .binary(Data(repeating: 1, count: 5000)))
      try tx.set(books[2], "cover", .binary(Data(repeating: 2, count: 5000)))
      return (books, tags)
    }
    return (test, books, tags)
  }

  /// Makes every kind of change.
  private func change(_ store: ObjectStore, _ books: [ObjectID], _ tags: [ObjectID]) throws {
    try store.write { tx in
      try tx.set(books[5], "title", .string("new title"))
      try tx.set(books[6], "number", .integer(6000))
      try tx.set(books[1], "cover", .binary(Data(repeating: 3, count: 5000)))
      try tx.delete([books[2], books[7]])
      try tx.delete([tags[2]])
      let fresh = try tx.insert("Book", ["number": .integer(7)], relationships: ["tags": [tags[0], tags[1]]])
      let pages = try tx.members(books[0], "pages")
      try tx.link(fresh, "pages", Array(pages[150..<160]))
      try tx.link(books[0], "pages", [pages[0]], at: 100)
      try tx.unlink(tags[0], "books", [books[9]])
      _ = try tx.clone(object: try tx.insert("Book", ["title": .string("plain")], relationships: ["tags": [tags[1]]]))
    }
  }

  @Test("a plan that fails half way has the counts of the complete rollback", .needsDataFile(.sizes))
  func failingPlan() throws {
    let (test, books, tags) = try filled()
    let first = try test.store.createSnapshot(named: "first")
    try change(test.store, books, tags)
    try test.store.write { tx in
      for book in books where try tx.exists(book) {
        try tx.set(book, "title", .string(String(repeating: "long ", count: 180)))
      }
    }
    let whole = try test.store.planRollback(to: first)
    #expect(whole.isPossible && whole.updatedCount > 290 && whole.recreatedCount >= 2)
    var options = test.store.options
    options.maximumFileBytes = try test.store.info().fileBytes
    try test.reopen(options: options)
    let plan = try test.store.planRollback(to: try test.store.snapshot(named: "first"))
    #expect(plan.errors.map(\.kindName) == ["limitExceeded"])
    #expect(plan.updatedCount == whole.updatedCount && plan.recreatedCount == whole.recreatedCount)
    #expect(plan.deletedCount == whole.deletedCount)
  }

  @Test("the differences are those of a comparison of everything", arguments: [false, true])
  func differences(toSnapshot: Bool) throws {
    let (test, books, tags) = try filled()
    let first = try test.store.createSnapshot(named: "first")
    try change(test.store, books, tags)
    let second = toSnapshot ? try test.store.createSnapshot(named: "second") : nil
    if toSnapshot { try test.store.write { tx in _ = try tx.delete(Array(books[20..<30])) } }
    let found = try test.store.diff(from: first, to: second)
    func lines(_ tx: borrowing ReadTransaction) throws -> [String: String] {
      Dictionary(
        try SnapshotTests.text(tx).map { (String($0.prefix { $0 != " " }), $0) },
        uniquingKeysWith: { first, _ in first })
    }
    let before = try first.read { tx in try lines(tx) }
    let after = try second.map { try $0.read { tx in try lines(tx) } } ?? (try test.store.read { tx in try lines(tx) })
    var expected: Set<String> = []
    for (name, line) in before where after[name] != line { expected.insert((after[name] == nil ? "- " : "M ") + name) }
    for name in after.keys where before[name] == nil { expected.insert("+ " + name) }
    let marks: [SnapshotDifference.Kind: String] = [.inserted: "+ ", .updated: "M ", .deleted: "- "]
    #expect(Set(found.map { (marks[$0.kind] ?? "") + $0.name }) == expected)
    #expect(found.map(\.id) == found.map(\.id).sorted())
    let title = try #require(found.first { $0.id == books[5] })
    #expect(title.attributes == [.init(name: "title", old: .string("Book 5"), new: .string("new title"))])
    #expect(title.relationships.isEmpty)
    let pages = try #require(found.first { $0.id == books[0] })
    #expect(pages.propertyNames == ["pages", "tags"])
    let list = try #require(pages.relationships.first { $0.name == "pages" })
    #expect(list.removed.count == 10 && list.added.isEmpty && list.isReordered)
    let tag = try #require(found.first { $0.id == tags[0] }?.relationships.first)
    #expect(tag.removed.count == 3 && tag.added.count == 1 && !tag.isReordered)
    // In the opposite direction, all differences are reversed.
    if let second {
      let back = try test.store.diff(from: second, to: first)
      #expect(back == found.map(\.inverted))
      #expect(try test.store.diff(from: second, to: second).isEmpty)
    }
  }

  @Test("a value that was set and set back is no difference")
  func noDifference() throws {
    let (test, books, tags) = try filled()
    let first = try test.store.createSnapshot(named: "first")
    for value in ["x", "Book 5"] { try test.store.write { tx in try tx.set(books[5], "title", .string(value)) } }
    try test.store.write { tx in try tx.unlink(tags[0], "books", [books[9]]) }
    try test.store.write { tx in try tx.link(tags[0], "books", [books[9]]) }
    #expect(try test.store.diff(from: first).isEmpty)
  }

  @Test("the complete store is rolled back, and forward again", arguments: [false, true])
  func wholeStore(history: Bool) throws {
    let (test, books, tags) = try filled(history: history)
    let first = try test.store.createSnapshot(named: "first")
    let before = try test.store.read { tx in try SnapshotTests.text(tx) }
    try change(test.store, books, tags)
    let after = try test.store.read { tx in try SnapshotTests.text(tx) }
    let token = try test.store.currentToken()
    let plan = try test.store.planRollback(to: first)
    #expect(plan.isPossible && plan.replacedByteCount > 0)
    let result = try test.store.rollback(to: first)
    try checked(test.store)
    #expect(try test.store.read { tx in try SnapshotTests.text(tx) } == before)
    #expect(try first.read { tx in try SnapshotTests.text(tx) } == before)
    #expect(result.recreatedCount == plan.recreatedCount && result.deletedCount == plan.deletedCount)
    #expect(result.recreatedCount == 5)
    #expect(try test.store.diff(from: first).isEmpty)
    let automatic = try test.store.snapshot(named: try #require(result.automaticSnapshot).name)
    #expect(automatic.info.isAutomatic && automatic.name.hasPrefix("auto-rollback-"))
    #expect(try automatic.read { tx in try SnapshotTests.text(tx) } == after)
    if history {
      let told = try #require(try test.store.history(after: token).first)
      #expect(told.operation == "rollback")
      #expect(told.insertedCount == 5 && Int(told.deletedCount) == result.deletedCount)
    }
    #expect(try test.store.read { tx in try tx.data(books[2], "cover") } == Data(repeating: 2, count: 5000))
    // Ids are not reused, and restored objects can be changed.
    try test.store.write { tx in
      try tx.set(books[7], "title", .string("again"))
      let id = try tx.insert("Book")
      #expect(after.allSatisfy { !$0.hasPrefix("Book/\(id.serial) ") })
      _ = try tx.delete([id])
      try tx.set(books[7], "title", .string("Book 7"))
    }
    try test.store.rollback(to: automatic)
    try checked(test.store)
    #expect(try test.store.read { tx in try SnapshotTests.text(tx) } == after)
    #expect(try first.read { tx in try SnapshotTests.text(tx) } == before)
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    try checked(test.store)
    try test.store.expectNoPreviousStates()
    #expect(try test.store.read { tx in try SnapshotTests.text(tx) } == after)
  }

  @Test("one object is rolled back with what belongs to it, and the rest stays")
  func oneObject() throws {
    let (test, books, tags) = try filled(history: true)
    let first = try test.store.createSnapshot(named: "first")
    let before = try test.store.read { tx in try SnapshotTests.text(tx) }
    try change(test.store, books, tags)
    let plan = try test.store.planRollback(to: first, objects: [books[7]])
    #expect(plan.recreatedCount == 2)
    let error = expectIssues { try test.store.rollback(to: first, objects: [books[7]]) }
    // Another book has its number by now.
    #expect(error.count == 1)
    try checked(test.store)
    try test.store.write { tx in
      for id in try tx.fetchIDs(FetchRequest("Book", predicate: QueryPredicate(format: "number == 7"))) {
        try tx.set(id, "number", .integer(70_000))
      }
    }
    try test.store.rollback(to: first, objects: [books[7]])
    try checked(test.store)
    func line(_ id: ObjectID, _ text: [String]) -> String? { text.first { $0.hasPrefix("Book/\(id.serial) ") } }
    let now = try test.store.read { tx in try SnapshotTests.text(tx) }
    #expect(line(books[7], now) == line(books[7], before))
    #expect(line(books[5], now) != line(books[5], before))
    try test.store.rollback(to: first, objects: [books[1], books[2]])
    try checked(test.store)
    #expect(try test.store.read { tx in try tx.data(books[1], "cover") } == Data(repeating: 1, count: 5000))
    #expect(try test.store.read { tx in try tx.data(books[2], "cover") } == Data(repeating: 2, count: 5000))
    try test.store.deleteSnapshots(named: try test.store.snapshots().map(\.name))
    try checked(test.store)
    try test.store.expectNoPreviousStates()
  }
}

import Foundation
import KVCloneMerge
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// States of a merge that sessions show.
@Suite struct SessionMergeStateTests {
  @Test("a session shows values, long lists and unique values to a merge") func reading() throws {
    let fixture = try TestStore(snapshotModel)
    let store = fixture.store
    let (book, other, pages, tags) = try store.write { tx in
      let cover = AttributeValue.binary(Data(repeating: 7, count: 5_000))
      let book = try tx.insert("Book", ["number": .integer(1), "title": .string("A"), "cover": cover])
      let other = try tx.insert("Book", ["number": .integer(2), "cover": cover])
      var (pages, tags): ([ObjectID], [ObjectID]) = ([], [])
      for _ in 0..<300 {
        pages.append(try tx.insert("Page", [:], relationships: ["book": [book]]))
        tags.append(try tx.insert("Tag", [:], relationships: ["books": [book]]))
      }
      return (book, other, pages, tags)
    }
    let state = SessionMergeState(try store.readSession(), change: { ObjectChange(commit: $0) })
    let entity = try #require(try state.entity(of: book))
    let list = try entity.relationship("pages")
    #expect(try state.members(of: book, list) == pages)
    #expect(try state.members(of: book, entity.relationship("tags")) == tags)
    #expect(try pages.allSatisfy { try state.hasMember($0, book, list) })
    #expect(try state.hasMember(tags[250], book, entity.relationship("tags")))
    #expect(try !state.hasMember(pages[0], other, list))
    let values = try (state.values(of: book, entity), state.values(of: other, entity))
    #expect(values.0[try #require(entity.attributeIndex["title"])] == .string("A"))
    let cover = try #require(entity.attributeIndex["cover"])
    guard case .blob(let first)? = values.0[cover], case .blob(let second)? = values.1[cover] else {
      Issue.record("the covers are no blobs")
      return
    }
    #expect(try state.digest(of: first) == state.digest(of: second))
    let constraint = try #require(entity.constraints.first)
    #expect(try state.holders(of: constraint, #require(UniqueKey(constraint, [.integer(2)]))) == [other])
    #expect(try state.lastChange(of: book)?.commit == 1)
    #expect(try state.entity(of: ObjectID(rootCode: book.rootCode, serial: 99)) == nil)
    #expect(try state.lastChange(of: ObjectID(rootCode: book.rootCode, serial: 99)) == nil)
  }

  @Test("M1 to M4: a plan reads a store, its branch and their base") func branch() throws {
    let fixture = try TestStore(snapshotModel)
    let store = fixture.store
    let (book, pages) = try store.write { tx in
      let book = try tx.insert("Book", ["number": .integer(1), "title": .string("A")])
      let pages = try (0..<200).map { _ in try tx.insert("Page", [:], relationships: ["book": [book]]) }
      return (book, pages)
    }
    let base = try store.createSnapshot(named: "base")
    let branch = try store.branches.create("draft", from: base)
    let new = try branch.write { tx in
      try tx.set(book, "title", .string("B"))
      try tx.delete([pages[10], pages[20]])
      return try tx.insert("Page", ["text": .string("new")], relationships: ["book": [book]])
    }
    try store.write { tx in
      try tx.set(book, "title", .string("C"))
      try tx.set(pages[20], "text", .string("changed"))
    }
    func side(_ now: ObjectStore, _ changed: [ObjectID]) throws -> MergeSideStates {
      MergeSideStates(
        base: SessionMergeState(try StoreSnapshots(store).session(of: base, byPresentModel: true)),
        now: SessionMergeState(try now.readSession()), changed: ObjectSet(changed))
    }
    let plan = try MergePlanner.plan(
      store.schema, ours: side(store, [book, pages[20]]), theirs: side(branch, [book, pages[10], pages[20], new]))
    #expect(plan.openConflicts.map(\.kind) == [.bothChanged, .deletedTheirs])
    #expect(plan.counts["Page"]?.inserted == 1 && plan.counts["Page"]?.deleted == 1)
    var orders: [[ObjectID]] = []
    plan.forEachOperation { if case .setOrder(book, _, let list) = $0 { orders.append(list) } }
    #expect(orders == [pages.filter { $0 != pages[10] } + [new]])
  }
}

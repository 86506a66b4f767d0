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
    let state = SessionMergeState(try store.readSession()) { ObjectChange(commit: $0) }
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
}

import Foundation
import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

@Suite("Publishing chosen objects") struct PartialPublishTests {
  @Test("M13: the store gets the chosen objects with what they need, and the branch keeps the rest")
  func m13() throws {
    let fixture = try BranchFixture(.lmdb)
    let store = fixture.store
    let (first, second) = try store.write { tx in
      let first = try tx.insert("Book", ["number": .integer(1), "title": .string("A")])
      let second = try tx.insert("Book", ["number": .integer(2), "title": .string("B")])
      for book in [first, second] { try tx.insert("Page", ["text": .string("0")], relationships: ["book": [book]]) }
      return (first, second)
    }
    let branch = try store.branches.create("draft")
    let (page, tag) = try branch.write { tx in
      try tx.set(first, "title", .string("mine"))
      try tx.set(second, "title", .string("also mine"))
      let page = try tx.insert("Page", ["text": .string("new")], relationships: ["book": [first]])
      let tag = try tx.insert("Tag", ["name": .string("later")], relationships: ["books": [first, second]])
      return (page, tag)
    }
    try store.write { tx in try tx.insert("Book", ["number": .integer(3)]) }
    let merged = try store.branches.planUpdate("draft").read { tx in try LibraryText.of(tx) }
    let plan = try store.branches.planPublish("draft", only: [first])
    #expect(plan.canMerge && plan.objects.updated == 1)
    let result = try store.branches.publish("draft", only: [first])
    #expect(result.counts == plan.counts)
    try store.read { tx throws in
      #expect(try tx.object(first)["title"] == .string("mine"))
      #expect(try tx.object(second)["title"] == .string("B"))
      #expect(try tx.exists(page) && !tx.exists(tag))
      #expect(try tx.members(first, "tags").isEmpty)
    }
    #expect(try branch.read { tx in try LibraryText.of(tx) } == merged)
    #expect(try CheckedStore.issues(store) == [])
    try store.branches.publish("draft")
    #expect(try store.read { tx in try LibraryText.of(tx) } == merged)
    #expect(try CheckedStore.issues(store) == [])
  }
}

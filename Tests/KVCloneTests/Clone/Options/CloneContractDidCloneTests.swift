import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// R30: hooks after the stream, in the same transaction.
@Suite("Clone contract: after the stream")
struct CloneContractDidCloneTests {
  private struct Pair: Hashable { let source, clone: ObjectID }

  private func options(
    count: Int = 1, _ body: @escaping @Sendable (inout WriteTransaction, ObjectID, ObjectID) throws -> Void
  ) -> CloneOptions {
    .contract(count: count) { $0.didClone = body }
  }

  @Test(
    "R30: called once for every source and clone, when all of them are written and linked", .tags(.r30),
    arguments: [1, 3])
  func calls(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let pairs = ContractBox<[Pair]>([])
    let problems = ContractBox<[String]>([])
    let before = try store.info().counts
    let result = try store.clone(
      [source.doc],
      options: options(count: count) { tx, source, clone in
        pairs.change { $0.append(Pair(source: source, clone: clone)) }
        var problem: [String] = []
        for (entity, made) in ["Doc": 1, "Page": 3, "Note": 3] {
          if try tx.count(entity: entity) != (before[entity] ?? 0) + made * count { problem.append("\(entity) count") }
        }
        let (names, others) = (try tx.entityName(of: source), try tx.entityName(of: clone))
        if names != others { problem.append("\(others) of a \(names)") }
        let links = ["Doc": "pages", "Page": "notes", "Note": "page"][names] ?? ""
        if try tx.count(source, links) != tx.count(clone, links) { problem.append("\(others).\(links)") }
        problems.change { [problem] in $0 += problem }
      })
    #expect(problems.value.isEmpty, "\(problems.value.prefix(5))")
    let found = pairs.value
    #expect(found.count == 7 * count && Set(found).count == found.count)
    #expect(Set(found.map(\.source)) == Set([source.doc] + source.pages + source.notes))
    #expect(Set(found.filter { $0.source == source.doc }.map(\.clone)) == Set(result.roots))
    #expect(found.map(\.source) == found.map(\.source).sorted(), "ascending ids of sources")
    #expect(found.filter { $0.source == source.doc }.map(\.clone) == result.roots, "copies in their order")
    try test.expectClean()
  }

  @Test("R30: it may change clones, sources, outside objects and links, and insert", .tags(.r30), arguments: [1, 3])
  func changes(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let (shelf, stranger) = (source.shelves[0], source.stranger)
    let result = try store.clone(
      [source.doc],
      options: options(count: count) { tx, source, clone in
        switch try tx.entityName(of: clone) {
        case "Doc":
          try tx.set(source, "title", "Was cloned")
          try tx.set(clone, "title", "A copy")
          try tx.set(clone, "cover", contractData(9))
          try tx.insert("Page", ["number": 77], relationships: ["doc": [clone]])
          try tx.set(stranger, "number", 100)
        case "Page":
          try tx.setToOne(clone, "shelf", nil)
          let tags = try tx.members(clone, "tags")
          try tx.setMembers(clone, "tags", tags.reversed())
        default: try tx.set(clone, "text", nil)
        }
      })
    #expect(try store.value(source.doc, "title") == "Was cloned" && store.value(stranger, "number") == 100)
    #expect(try store.members(shelf, "pages") == [source.pages[1], stranger, source.pages[0]], "taken out again")
    for root in result.roots {
      #expect(try store.value(root, "title") == "A copy")
      #expect(try store.data(root, "cover").map { .binary($0) } == contractData(9))
      let pages = try store.members(root, "pages")
      #expect(try pages.map { try store.value($0, "number") } == [2, 0, 1, 77])
      #expect(try store.members(pages[0], "tags") == store.members(source.pages[2], "tags").reversed())
    }
    #expect(try store.members(source.tags[1], "pages").count == 2 + 2 * count)
    try test.expectClean()
    try store.delete([source.doc] + result.roots)
    #expect(try store.blobCount() == 0)
    try test.expectClean()
  }

  @Test(
    "R30: it may delete: the clone itself, its source, clones that are still to come, and those that were", .tags(.r30))
  func deletes() throws {
    for victim in ["clone", "source", "next", "all", "outside"] {
      let test = try ContractStore(contractModel)
      let store = test.store
      let source = try ContractLibrary(store)
      let roots = ContractBox<Set<ObjectID>>([])
      let options = options(count: 3) { tx, original, clone in
        guard try tx.exists(clone), try tx.entityName(of: clone) == "Doc" else { return }
        roots.change { _ = $0.insert(clone) }
        switch victim {
        case "clone": try tx.delete([clone])
        case "source": if try tx.exists(original) { try tx.delete([original]) }
        case "next": try tx.delete(try tx.members(clone, "pages"))
        case "all":
          var all: [ObjectID] = []
          try tx.forEachObject(of: "Doc") { object in
            all.append(object.id)
            return true
          }
          try tx.delete(all)
        default: for shelf in source.shelves where try tx.exists(shelf) { try tx.delete([shelf]) }
        }
      }
      do {
        _ = try store.clone([source.doc], options: options)
        let left = try store.objects("Doc")
        let wanted = ["clone": 1, "source": 3, "next": 4, "all": 0, "outside": 4][victim]
        #expect(left.count == wanted, "\(victim)")
        #expect(try store.blobCount() == (left.isEmpty ? 0 : 1), "\(victim)")
      } catch {
        Issue.record("deleting \(victim): \(error)")
      }
      try test.expectClean(victim)
    }
  }

  @Test("R1, R30: changes that the model forbids fail the commit, and nothing is written", .tags(.r1, .r30))
  func forbidden() throws {
    let model = ManagedObjectModel("Forbidden") {
      EntityDescription("Item", unique: [["key"]]) {
        AttributeDescription("key", .string)
        AttributeDescription("name", .string, optional: false)
      }
    }
    let test = try ContractStore(model)
    let item = try test.store.insert("Item", ["name": "n"])
    try test.store.insert("Item", ["name": "other", "key": "k"])
    for change in ["key", "name"] {
      let options = options(count: 2) { tx, _, clone in try tx.set(clone, change, change == "key" ? "k" : nil) }
      let error = try test.expectNothingDone(change) { _ = try test.store.clone([item], options: options) }
      #expect(error is ValidationError, "\(change): \(String(describing: error))")
    }
    let options = options(count: 2) { tx, _, clone in try tx.set(clone, "key", .string("\(clone.serial)")) }
    #expect(try test.store.clone([item], options: options).objectCount == 2)
    try test.expectClean()
  }

  @Test("R30: a clone in didClone is a clone of its own", .tags(.r30))
  func nested() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let options = options { tx, _, clone in
      if try tx.entityName(of: clone) == "Doc" { _ = try tx.clone([clone]) }
    }
    let result = try store.clone([source.doc], options: options)
    #expect(result.objectCount == 7)
    #expect(try store.objects("Doc").count == 3 && store.objects("Note").count == 9)
    try test.expectClean()
  }

  @Test(
    "R30, R32: outside lists and inverses are complete when didClone is called inside a transaction", .tags(.r30, .r32))
  func insideTransaction() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let lists = ContractBox<Set<Int>>([])
    try store.write { tx in
      let fresh = try tx.insert("Page", ["number": 5], relationships: ["doc": [source.doc]])
      try tx.link(source.shelves[0], "pages", [fresh], at: 0)
      _ = try tx.clone(
        [source.doc],
        options: options(count: 2) { tx, _, _ in
          let count = try tx.members(source.shelves[0], "pages").count
          lists.change { _ = $0.insert(count) }
        })
      #expect(try tx.count(entity: "Doc") == 3)
    }
    // Four before: the unrelated page and three of the document's pages, each of which has two clones.
    #expect(lists.value == [10])
    try test.expectClean()
  }
}

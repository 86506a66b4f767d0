import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Self-inverse relationships, inheritance, composites; states that change after the plan.
@Suite("Clone contract: tangles and haste")
struct CloneContractTangleTests {
  /// One-to-one, one-to-many and many-to-many within one entity, some of them self-inverse.
  static let model = ManagedObjectModel("Tangle") {
    EntityDescription("Being", abstract: true) {
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
      AttributeDescription("name", .string)
      AttributeDescription("by", .string, userInfo: ["followParent": "name", "withoutParent": "keep"])
    }
    EntityDescription("Person", parent: "Being") {
      AttributeDescription("leader", .uuid, userInfo: ["followParent": "id", "withoutParent": "blank"])
      RelationshipDescription("spouse", toOne: "Person", inverse: "spouse")
      RelationshipDescription("friends", toMany: "Person", inverse: "friends")
      RelationshipDescription("ranked", toMany: "Person", inverse: "ranked", ordered: true)
      RelationshipDescription("boss", toOne: "Person", inverse: "reports")
      RelationshipDescription("reports", toMany: "Person", inverse: "boss", ordered: true)
      RelationshipDescription("clubs", toMany: "Club", inverse: "members", ordered: true)
      RelationshipDescription("idol", toOne: "Being", userInfo: ["clone": "reference"])
    }
    EntityDescription("Chief", parent: "Person") {
      AttributeDescription("badge", .string, default: "none", userInfo: ["exclude": ""])
      RelationshipDescription("seal", toOne: "Seal", inverse: "chief")
    }
    EntityDescription("Club", parent: "Being") {
      RelationshipDescription("members", toMany: "Person", inverse: "clubs", ordered: true)
    }
    EntityDescription("Seal") { RelationshipDescription("chief", toOne: "Chief", inverse: "seal") }
  }

  @Test(
    "R2, R9, R10, R12, R22, R30: relationships that are their own inverses, with random answers and rules",
    .tags(.r2, .r9, .r10, .r12, .r22, .r30),
    arguments: CloneContractSeeds.some)
  func ownInverses(_ seed: UInt64) throws {
    var done = 0
    for step in 0..<8 {
      let seed = seed &+ UInt64(step)
      let test = try ContractStore(Self.model)
      try test.load(GraphGenerator.generate(test.view, seed: seed, size: 3 + step % 3))
      var random = SeededGenerator(seed: seed)
      let graph = try test.graph()
      let roots = try graph.labels.shuffled(using: &random).prefix(1 + step % 2).map(test.id)
      let options = CloneOptions.contract(count: 1 + step % 3) {
        $0.references = step % 4 == 3 ? .keepOriginal : .remap
        let names = ["Person.friends", "Person.ranked", "Person.spouse", "Person.clubs", "Person.idol"]
        let reachesPersons = graph.counts["Person"] != nil
        if reachesPersons, step % 2 == 1, let name = names.randomElement(using: &random) {
          $0.rules[name] = CloneRule.allCases.randomElement(using: &random)
        }
      }
      let result = try test.cloneAsReference(roots, options, "seed \(seed), step \(step)") {
        owner, name, target in
        var hash = SeededGenerator(seed: seed)
        for byte in "\(owner).\(name)>\(target)".utf8 { hash = SeededGenerator(seed: hash.next() ^ UInt64(byte)) }
        return step < 2 ? nil : [nil, .follow, .reference, .skip][hash.below(4)]
      }
      if result != nil { done += 1 }
    }
    #expect(done > 0, "every clone was refused, seed \(seed)")
  }

  @Test(
    "R16, R21, R32: elements of composites are rebuilt and followed copy by copy", .tags(.r16, .r21, .r32),
    arguments: [1, 3])
  func composites(_ count: Int) throws {
    let model = ManagedObjectModel("Composite") {
      EntityDescription("Item") {
        AttributeDescription(
          "mark", .composite,
          elements: [
            AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"]),
            AttributeDescription("made", .date, userInfo: ["rebuild": "now"]),
            AttributeDescription("secret", .string, default: "none", userInfo: ["exclude": ""]),
            AttributeDescription("text", .string),
          ])
        RelationshipDescription("items", toMany: "Item", inverse: "parent", ordered: true)
        RelationshipDescription("parent", toOne: "Item", inverse: "items")
      }
    }
    let test = try ContractStore(model)
    let mark = AttributeValue.composite([
      "id": .uuid(UUID()), "made": .date(Date(timeIntervalSinceReferenceDate: 1)), "secret": "s", "text": "t",
    ])
    let root = try test.store.insert("Item", ["mark": mark])
    for _ in 0..<20 { try test.store.insert("Item", ["mark": mark], relationships: ["parent": [root]]) }
    let result = try #require(try test.cloneAsReference([root], .contract(count: count)))
    #expect(result.objectCount == 21 * count)
  }

  @Test("R13: the first hundred touched objects, by id, and all of them counted", .tags(.r13))
  func touched() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let tags = try store.insert("Tag", count: 150)
    let page = try store.insert("Page", relationships: ["tags": tags.reversed()])
    let options = CloneOptions.contract(count: 3)
    let plan = try store.planClone([page], options: options)
    let result = try store.clone([page], options: options)
    test.expectEqual(plan, result)
    #expect(result.affectedObjectCount == 150 && result.affectedObjectIDs == Array(tags.sorted().prefix(100)))
    for root in result.roots { #expect(try store.members(root, "tags") == tags.reversed()) }
    for tag in tags { #expect(try store.members(tag, "pages") == [page] + result.roots) }
    try test.expectClean()
  }

  @Test("R32: a root that is named twice is one source", .tags(.r32), arguments: [1, 3])
  func twice(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let result = try test.store.clone([source.doc, source.doc], options: .contract(count: count))
    #expect(result.objectCount == 7 * count && Set(result.roots).count == count)
    #expect(try test.store.objects("Doc").count == 1 + count)
    try test.expectClean()
  }

  @Test(
    "R29, R32: a count that no store could hold ends in a typed error", .tags(.r29, .r32),
    arguments: [Int.max, Int.max / 7, 1 << 48])
  func hugeCounts(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let source = try ContractLibrary(test.store)
    let error = try test.expectNothingDone {
      let plan = try test.store.planClone([source.doc], options: .contract(count: count))
      if let error = plan.errors.first { throw error }
    }
    #expect(error is any KVCloneError, "\(String(describing: error))")
  }

  // MARK: Concurrent commits

  /// Runs `change` once, between the plan and the acquisition of the write lock.
  private func overtaken(
    _ options: CloneOptions = CloneOptions(), by change: @escaping @Sendable () throws -> Void
  ) -> (CloneOptions, ContractBox<Int>) {
    let calls = ContractBox(0)
    var options = options
    options.progress = { progress in
      guard progress.phase == .wait else { return }
      let call = calls.change { calls in
        calls += 1
        return calls
      }
      guard call == 1 else { return }
      do { try change() } catch { Issue.record("\(error)") }
    }
    return (options, calls)
  }

  @Test(
    "R1, R36: a plan that a commit overtakes is made again: the clone is of the new state", .tags(.r1, .r36),
    arguments: [1, 3])
  func overtakenByChanges(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let questions = ContractBox(0)
    var given = CloneOptions.contract(count: count) { $0.recordsProvenance = true }
    given.willClone = { edge, _ in
      questions.change { $0 += 1 }
      return edge.rule
    }
    let (options, calls) = overtaken(given) {
      try store.write { tx in
        try tx.set(source.doc, "title", "New")
        try tx.delete([source.pages[2]])
        try tx.setToOne(source.stranger, "doc", source.doc)
        try tx.set(source.pages[0], "image", contractData(5))
      }
    }
    let result = try store.clone([source.doc], options: options)
    #expect(calls.value > 0 && result.counts == ["Doc": count, "Page": 3 * count, "Note": 2 * count])
    let commit = try test.commit()
    for root in result.roots {
      #expect(try store.value(root, "title") == "New")
      let pages = try store.members(root, "pages")
      #expect(try pages.map { try store.value($0, "number") } == [0, 1, 99])
      #expect(try store.data(pages[0], "image").map { .binary($0) } == contractData(5))
      let provenance = try store.read { try $0.provenance(of: root) }
      #expect(provenance?.sourceCommit == commit - 1 && provenance?.cloneCommit == commit, "\(commit)")
    }
    #expect(try store.blobCount() == 2)
    try test.expectClean()
  }

  @Test("R1, R24: what a commit in between makes impossible is an error all the same", .tags(.r1, .r24))
  func overtakenByConflict() throws {
    let model = ManagedObjectModel("Haste") {
      EntityDescription("Item", unique: [["key"]]) {
        AttributeDescription("key", .string, default: "d", userInfo: ["exclude": ""])
        RelationshipDescription("list", toOne: "List", inverse: "items")
      }
      EntityDescription("List") { RelationshipDescription("items", toMany: "Item", inverse: "list", max: 2) }
    }
    let changes: [(CloneError.Kind, @Sendable (ObjectStore, ObjectID, ObjectID) throws -> Void)] = [
      (.uniquenessConflict, { store, _, _ in try store.insert("Item", ["key": "d"]) }),
      (.objectNotFound, { store, item, _ in _ = try store.delete([item]) }),
      (
        .maxCountExceeded, { store, _, list in try store.insert("Item", ["key": "e"], relationships: ["list": [list]]) }
      ),
    ]
    for (kind, change) in changes {
      let test = try ContractStore(model)
      let store = test.store
      let list = try store.insert("List")
      let item = try store.insert("Item", ["key": "k"], relationships: ["list": [list]])
      let (options, calls) = overtaken { try change(store, item, list) }
      let commit = try test.commit()
      do {
        _ = try store.clone([item], options: options)
        Issue.record("no \(kind)")
      } catch {
        #expect((error as? CloneError)?.kind == kind, "\(error)")
      }
      #expect(try calls.value > 0 && test.commit() == commit + 1, "the other's commit and no more")
      try test.expectClean("\(kind)")
    }
  }

  @Test("R31: a key that another commit uses in between", .tags(.r31))
  func overtakenByKey() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let keyed = CloneOptions.contract { $0.idempotencyKey = "key" }
    let (options, calls) = overtaken(keyed) { _ = try store.clone([source.doc], options: keyed) }
    let result = try store.clone([source.doc], options: options)
    #expect(calls.value > 0 && result.isRepeated)
    #expect(try store.objects("Doc").count == 2)
    try test.expectClean()
  }

  @Test("R30, R31: a root that didClone deletes is one that was deleted", .tags(.r30, .r31))
  func deletedAtOnce() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let options = CloneOptions.contract(count: 2) {
      $0.idempotencyKey = "key"
      $0.recordsProvenance = true
      $0.didClone = { tx, original, clone in if original == source.doc { try tx.delete([clone]) } }
    }
    let first = try store.clone([source.doc], options: options)
    #expect(try store.objects("Doc") == [source.doc])
    let second = try store.clone([source.doc], options: options)
    #expect(second.isRepeated && second.roots == first.roots && second.deletedRoots == first.roots)
    try test.expectClean()
  }
}

import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Clones of uncommitted objects, and hooks that use the store.
@Suite("Clone contract: inside transactions")
struct CloneContractTransactionTests {
  private struct GivenUp: Error {}

  @Test(
    "R1, R25, R32: sources that were inserted in the same transaction, given up and committed", .tags(.r1, .r25, .r32),
    arguments: [1, 3])
  func uncommitted(_ count: Int) throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let options = CloneOptions.contract(count: count) { $0.recordsProvenance = true }
    try test.expectNothingDone {
      try store.write { tx in
        let source = try ContractLibrary(&tx)
        _ = try tx.clone([source.doc], options: options)
        throw GivenUp()
      }
    }
    #expect(try store.blobCount() == 0)
    let (source, result) = try store.write { tx in
      let source = try ContractLibrary(&tx)
      let result = try tx.clone([source.doc], options: options)
      // A clone of a clone, and the deletion of the first source, in one transaction.
      let second = try tx.clone([result.root])
      #expect(second.objectCount == 7)
      try tx.delete([source.doc])
      for id in [result.root, second.root] {
        #expect(try tx.data(id, "cover")?.count == 2000 && tx.members(id, "pages").count == 3)
      }
      return (source, result)
    }
    #expect(try store.blobCount() == 1 && store.objects("Doc").count == count + 1)
    for root in result.roots {
      let pages = try store.members(root, "pages")
      #expect(try pages.map { try store.value($0, "number") } == [2, 0, 1])
      #expect(try store.data(pages[2], "image")?.count == 2000)
      #expect(try store.read { try $0.provenance(of: root) }?.source == source.doc)
    }
    try test.expectClean()
    try store.delete(try store.objects("Doc"))
    #expect(try store.blobCount() == 0)
    try test.expectClean()
  }

  @Test("R20, R32: a live source hands its transient value on to every copy", .tags(.r20, .r32), arguments: [1, 3])
  func transient(_ count: Int) throws {
    let model = ManagedObjectModel("Transient") {
      EntityDescription("Item") {
        AttributeDescription("draft", .string, transient: true)
        AttributeDescription("left", .string, transient: true, userInfo: ["exclude": ""])
      }
    }
    let test = try ContractStore(model)
    let roots = try test.store.write { tx in
      let item = try tx.insert("Item", ["draft": "d", "left": "l"])
      let roots = try tx.clone([item], options: .contract(count: count)).roots
      for root in roots { #expect(try tx.value(root, "draft") == "d" && tx.value(root, "left") == nil) }
      return roots
    }
    for root in roots { #expect(try test.store.value(root, "draft") == nil) }
    try test.expectClean()
  }

  @Test(
    "R2, R12, R17: a clone in the transaction of the changes is the clone after their commit", .tags(.r2, .r12, .r17),
    arguments: CloneContractSeeds.some)
  func sameAsCommitted(_ seed: UInt64) throws {
    let model = CloneContractShapeTests.model
    let made = GraphGenerator.generate(ModelView(model), seed: seed, size: 25)
    let stores = [try ContractStore(model), try ContractStore(model)]
    for test in stores { try test.load(made) }
    for step in 0..<2 {
      let seed = seed &+ UInt64(step)
      let options = CloneOptions.contract(count: 1 + step % 2)
      func change(_ test: ContractStore, _ tx: inout WriteTransaction) throws -> [ObjectID] {
        var random = SeededGenerator(seed: seed)
        var ids: [String: [ObjectID]] = [:]
        for entity in ["Top", "Node", "Leaf", "Group"] {
          try tx.forEachObject(of: entity) { object in
            ids[entity, default: []].append(object.id)
            return true
          }
        }
        for _ in 0..<60 {
          let (entity, name, target) =
            [
              ("Top", "first", "Node"), ("Top", "second", "Node"), ("Node", "list", "Leaf"), ("Node", "set", "Leaf"),
              ("Node", "free", "Leaf"), ("Node", "groups", "Group"), ("Group", "nodes", "Node"),
              ("Node", "next", "Node"),
            ].randomElement(using: &random) ?? ("", "", "")
          guard let owner = ids[entity]?.randomElement(using: &random) else { continue }
          let size = name == "next" ? 1 : [0, 1, 3, 7, 8, 16, 17, 40].randomElement(using: &random) ?? 0
          let targets = (ids[target] ?? []).shuffled(using: &random).prefix(size)
          if random.chance(in: 2) {
            try tx.setMembers(owner, name, Array(targets))
          } else if !targets.isEmpty {
            try tx.link(owner, name, Array(targets))
          }
        }
        let fresh = try tx.insert("Node", ["number": 4711], relationships: ["groups": ids["Group"] ?? []])
        if let top = ids["Top"]?.randomElement(using: &random) { return [top, fresh] }
        return [fresh]
      }
      let roots = try stores[0].store.write { tx in try change(stores[0], &tx) }
      let first = try stores[0].store.clone(roots, options: options)
      let second = try stores[1].store.write { tx in
        let roots = try change(stores[1], &tx)
        return try tx.clone(roots, options: options)
      }
      let place = Comment(rawValue: "seed \(seed), step \(step)")
      #expect(first.roots == second.roots && first.counts == second.counts, place)
      #expect(first.affectedObjectIDs == second.affectedObjectIDs, place)
      let texts = try stores.map { test in
        try test.dump().replacing(/[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/, with: "UUID")
          .split(separator: "\n").dropFirst()
      }
      let different = zip(texts[0], texts[1]).first { $0 != $1 }
      #expect(texts[0].count == texts[1].count && different == nil, place)
      for test in stores { try test.expectClean("\(place)") }
    }
  }

  @Test("R30: a hook that commits overtakes its own plan, which is made again", .tags(.r30))
  func committingHook() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let commits = ContractBox(0)
    let options = CloneOptions.contract(count: 2) {
      $0.willClone = { edge, state in
        let isNext = commits.change { commits in
          commits += 1
          return commits <= 3
        }
        if isNext { try store.insert("Page", ["number": 50], relationships: ["doc": [source.doc]]) }
        _ = try store.planClone([source.box])
        return try state.exists(edge.source) ? edge.rule : .skip
      }
    }
    let result = try store.clone([source.doc], options: options)
    #expect(try store.members(source.doc, "pages").count == 6)
    for root in result.roots { #expect(try store.members(root, "pages").count == 6) }
    try test.expectClean()
  }

  @Test("R1, R30: a hook that writes past the transaction it is called in is refused", .tags(.r1, .r30))
  func nestedWrite() throws {
    let test = try ContractStore(contractModel)
    let store = test.store
    let source = try ContractLibrary(store)
    let did = CloneOptions.contract { $0.didClone = { _, _, _ in try store.insert("Box") } }
    let error = try test.expectNothingDone { _ = try store.clone([source.doc], options: did) }
    #expect((error as? StoreError)?.kind == .nestedWrite, "\(String(describing: error))")
    let will = CloneOptions.contract {
      $0.willClone = { edge, _ in
        try store.insert("Box")
        return edge.rule
      }
    }
    let second = try test.expectNothingDone {
      try store.write { tx in _ = try tx.clone([source.doc], options: will) }
    }
    #expect((second as? StoreError)?.kind == .nestedWrite, "\(String(describing: second))")
  }
}

import Dispatch
import Foundation
import KVCloneModel
import KVCloneRecords
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Findings and negative results of a review of clones: corrupted files, random graphs.
@Suite struct CloneDamagedLinkTests {
  private static let tree = ManagedObjectModel("Tree") {
    EntityDescription("Node") {
      AttributeDescription("rootName", .string, userInfo: ["followParent": "rootName", "withoutParent": "keep"])
      RelationshipDescription("children", toMany: "Node", inverse: "parent")
      RelationshipDescription("parent", toOne: "Node", inverse: "children")
      RelationshipDescription("next", toOne: "Node")
    }
  }

  private func plant(_ fixture: CloneStore, _ id: ObjectID, _ relationship: String, _ target: ObjectID) throws {
    var session = try fixture.store.writeSession(label: "plant")
    let entity = try session.load(id)
    session.scratch.setToOne(try entity.relationship(relationship).field, target)
    try session.store(id, entity)
    try WriteTransaction(session).commit(fixture.store)
  }

  @Test("a link whose id has the top bit set is an error, not a trap")
  func topBit() throws {
    let fixture = try CloneStore(Self.tree)
    let root = try fixture.insert("Node", ["rootName": "r"])
    try plant(fixture, root, "next", ObjectID(rawValue: 1 << 63 | root.rawValue))
    #expect(throws: (any Error).self) { try fixture.store.clone([root]) }
    #expect(throws: (any Error).self) { try fixture.store.planClone([root]) }
  }

  @Test("a link to a serial far away is an error")
  func farSerial() throws {
    let fixture = try CloneStore(Self.tree)
    let root = try fixture.insert("Node", ["rootName": "r"])
    let next = try fixture.insert("Node")
    try fixture.set(root, "next", [next])
    try plant(fixture, root, "next", ObjectID(rootCode: root.rootCode, serial: 1 << 47))
    #expect(throws: (any Error).self) { try fixture.store.clone([root]) }
  }

  @Test("a child whose inverse refers to itself ends the clone, not the process")
  func parentLoop() throws {
    let fixture = try CloneStore(Self.tree)
    let root = try fixture.insert("Node", ["rootName": "r"])
    let child = try fixture.insert("Node", ["rootName": "c"], ["parent": [root]])
    try plant(fixture, child, "parent", child)
    #expect(throws: (any Error).self) { try fixture.store.clone([root]) }
  }

  @Test("a damaged operation can be purged")
  func purgeDamaged() throws {
    let fixture = try CloneStore(Self.tree)
    let root = try fixture.insert("Node", ["rootName": "r"])
    _ = try fixture.clone([root], .with { $0.idempotencyKey = "k" })
    var session = try fixture.store.writeSession(label: "plant")
    let key = Array("k".utf8)
    let junk = [UInt8](repeating: 7, count: 64)
    try session.storage.put(fixture.store.schema.tables.operations, key.span.bytes, junk.span.bytes)
    try WriteTransaction(session).commit(fixture.store)
    #expect(throws: StoreError.self) { try fixture.store.clone([root], options: .with { $0.idempotencyKey = "k" }) }
    #expect(try fixture.store.purgeIdempotencyKeys(["k"]) == 1)
    #expect(try fixture.store.purgeIdempotencyKeys() == 0)
    try fixture.expectClean()
  }

  private static func image(_ derivation: String?) -> ManagedObjectModel {
    ManagedObjectModel("Image") {
      EntityDescription("Note") {
        AttributeDescription("raw", .binary)
        AttributeDescription("image", .binary, derivation: derivation)
      }
    }
  }

  @Test("R35 a blob of an attribute that is derived in the destination leaves no orphan", .tags(.r35))
  func derivedThere() throws {
    let fixture = try CloneStore(Self.image(nil))
    let other = try CloneStore(Self.image("raw"))
    let note = try fixture.insert("Note", ["image": .binary(Data(count: 5000))])
    let result = try fixture.store.clone([note], into: other.store)
    #expect(result.bytesCopied == 0)
    try other.expectClean()
  }

  private static let bounded = ManagedObjectModel("Bounded") {
    EntityDescription("Parent") {
      AttributeDescription("name", .string)
      RelationshipDescription("children", toMany: "Child", inverse: "parent")
    }
    EntityDescription("Child") {
      AttributeDescription(
        "parentName", .string, max: 3, userInfo: ["followParent": "name", "withoutParent": "blank"])
      RelationshipDescription("parent", toOne: "Parent", inverse: "children")
    }
  }

  @Test("R36 the plan finds what followed values break in the model", .tags(.r36))
  func followedBreaksModel() throws {
    let fixture = try CloneStore(Self.bounded)
    let parent = try fixture.insert("Parent", ["name": "too long"])
    _ = try fixture.insert("Child", ["parentName": "abc"], ["parent": [parent]])
    try fixture.expectRefusal(.invalidValue, [parent], entity: "Child", property: "parentName")
  }

  @Test("records above a batch's size")
  func largeRecords() throws {
    let fixture = try CloneStore(Self.bounded)
    for size in [100, 40_000, 270_000, 3_000_000] {
      let parent = try fixture.insert("Parent", ["name": .string(String(repeating: "y", count: size))])
      for _ in 0..<3 { _ = try fixture.insert("Child", ["parentName": nil]) }
      let other = try fixture.insert("Parent", ["name": .string(String(repeating: "z", count: 2 * size))])
      let result = try fixture.clone([parent, other], .with { $0.count = 2 })
      #expect(
        try result.roots.map { try fixture.value($0, "name") }
          == [parent, other, parent, other].map { try fixture.value($0, "name") })
    }
  }

  private static let ends: [String: [(name: String, isMany: Bool, isOrdered: Bool, inverse: String?)]] = {
    let b: [(name: String, isMany: Bool, isOrdered: Bool, inverse: String?)] = [
      ("a", false, false, "bs"), ("stepOf", false, false, "steps"), ("t", false, false, "bs"),
      ("ot", false, false, "obs"), ("kind", false, false, nil), ("friends", true, false, "friends"),
    ]
    return [
      "A": [
        ("bs", true, false, "a"), ("steps", true, true, "stepOf"), ("ts", true, false, "as_"),
        ("ots", true, true, "oas"), ("loose", true, false, nil), ("looseB", true, true, nil),
      ],
      "B": b, "SubB": b + [("others", true, false, nil)],
      "T": [
        ("as_", true, false, "ts"), ("oas", true, true, "ots"), ("bs", true, false, "t"), ("obs", true, true, "ot"),
      ],
    ]
  }()

  /// The hook's rule for an edge: any rule except one that would take over a to-one inverse.
  private static func answer(_ seed: Int, _ parent: ObjectID, _ name: String, _ target: ObjectID)
    -> CloneRule
  {
    var hash = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
    for word in [parent.rawValue, target.rawValue, UInt64(name.utf8.reduce(0) { $0 &* 31 &+ Int($1) })] {
      hash = (hash ^ word) &* 0xBF58_476D_1CE4_E5B9
      hash ^= hash >> 29
    }
    let toOneInverse = ["bs", "steps", "obs"].contains(name)
    switch hash >> 20 & 15 {
    case 0...4: return .follow
    case 5...8: return toOneInverse ? .follow : .skip
    default: return toOneInverse ? .follow : .reference
    }
  }

  @Test("R30 a hook that returns any answer, compared with a reference", .tags(.r30), arguments: 0..<24)
  func hookReference(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 9000)
    let fixture = try CloneStore(CloneWays.model)
    let roots = try CloneWays.build(fixture, &random)
    var options = CloneOptions()
    options.count = Int.random(in: 1...2, using: &random)
    if Bool.random(using: &random) { options.references = .keepOriginal }
    options.willClone = { edge, _ in Self.answer(seed, edge.parent, edge.relationship, edge.source) }
    let pairs = Mutex<[ObjectID: [ObjectID]]>([:])
    options.didClone = { _, source, clone in pairs.withLock { $0[source, default: []].append(clone) } }
    func links() throws -> [ObjectID: [String: [ObjectID]]] {
      try fixture.store.read { tx in
        var all: [ObjectID: [String: [ObjectID]]] = [:]
        for entity in ["A", "B", "T"] {
          var ids: [ObjectID] = []
          try tx.forEachObject(of: entity) { object in
            ids.append(object.id)
            return true
          }
          for id in ids {
            let kind = String(try tx.name(of: id).split(separator: "/")[0])
            for end in Self.ends[kind]! {
              all[id, default: [:]][end.name] =
                end.isMany ? try tx.members(id, end.name) : try tx.toOne(id, end.name).map { [$0] } ?? []
            }
          }
        }
        return all
      }
    }
    let before = try links()
    var kinds: [ObjectID: String] = [:]
    for id in before.keys { kinds[id] = String(try fixture.name(id).split(separator: "/")[0]) }
    var set = Set(roots)
    var queue = roots
    while let id = queue.popLast() {
      for end in Self.ends[kinds[id]!]! {
        for target in before[id]![end.name]! where Self.answer(seed, id, end.name, target) == .follow {
          if set.insert(target).inserted { queue.append(target) }
        }
      }
    }
    let plan = try fixture.store.planClone(roots, options: options)
    guard plan.errors.isEmpty else {
      #expect(plan.errors.allSatisfy { $0.kind == .inverseTaken })
      print("HOOK error \(plan.errors[0].kind)")
      return
    }
    let result = try fixture.store.clone(roots, options: options)
    #expect(plan.objectCount == result.objectCount && plan.affectedObjectIDs == result.affectedObjectIDs)
    try fixture.expectClean()
    let copyOf = pairs.withLock { $0 }
    #expect(Set(copyOf.keys) == set)
    let after = try links()
    var wrong: Set<String> = []
    for (source, clones) in copyOf {
      for (copy, clone) in clones.enumerated() {
        for end in Self.ends[kinds[source]!]! {
          var wanted: [ObjectID] = []
          for target in before[source]![end.name]! {
            let mine = Self.answer(seed, source, end.name, target)
            guard let clone = copyOf[target]?[copy] else {
              if mine != .skip { wanted.append(target) }
              continue
            }
            let its = end.inverse.map { Self.answer(seed, target, $0, source) }
            if mine == .follow || its == .follow {
              wanted.append(clone)
            } else if mine != .skip, its != .skip {
              wanted.append(options.references == .remap ? clone : target)
            }
          }
          if end.isMany, !end.isOrdered { wanted.sort() }
          if after[clone]![end.name]! != wanted { wrong.insert("\(kinds[source]!).\(end.name)") }
        }
      }
    }
    #expect(wrong.isEmpty, "\(wrong)")
  }

  @Test("R35, R33 provenance counts in a clone into another store, as it does in one store", .tags(.r35, .r33))
  func provenanceBytes() throws {
    let fixture = try CloneStore(Self.tree)
    let other = try CloneStore(Self.tree)
    let root = try fixture.insert("Node", ["rootName": "r"])
    let plain = try fixture.store.clone([root], into: other.store).bytesWritten
    let more = try fixture.store.clone([root], into: other.store, options: .with { $0.recordsProvenance = true })
    #expect(more.bytesWritten > plain)
  }

  private static let blobs = ManagedObjectModel("Blobs") {
    EntityDescription("Doc") {
      AttributeDescription("scan", .binary)
      RelationshipDescription("parts", toMany: "Doc", inverse: "whole")
      RelationshipDescription("whole", toOne: "Doc", inverse: "parts")
    }
  }

  @Test("many threads clone by the same rules, and from store to store both ways")
  func threads() throws {
    let fixture = try CloneStore(CloneWays.model)
    let other = try CloneStore(CloneWays.model)
    var random = SeededGenerator(seed: 1)
    let mine = try CloneWays.build(fixture, &random)
    let its = try CloneWays.build(other, &random)
    let (one, two) = (fixture.store, other.store)
    DispatchQueue.concurrentPerform(iterations: 24) { index in
      var options = CloneOptions()
      options.count = 1 + index % 3
      options.recordsProvenance = index % 2 == 0
      options.idempotencyKey = "k\(index % 5)/\(options.count)"
      if index % 4 == 0 { options.references = .keepOriginal }
      options.outsideObjects = .leaveEmpty
      do {
        switch index % 4 {
        case 0, 1: _ = try one.clone([mine[0]], options: options)
        case 2: _ = try one.clone([mine[0]], into: two, options: options)
        default: _ = try two.clone([its[0]], into: one, options: options)
        }
      } catch let error as CloneError where error.kind == .idempotencyKeyReused {
      } catch {
        Issue.record("\(error)")
      }
    }
    try fixture.expectClean()
    try other.expectClean()
  }

  private static let numbered = ManagedObjectModel("Numbered") {
    EntityDescription("Node", unique: [["previous", "number"]]) {
      AttributeDescription("rootName", .string, userInfo: ["followParent": "rootName", "withoutParent": "keep"])
      AttributeDescription("number", .integer32)
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
    }
  }

  @Test("R36 bytes of a short list in chunks", .tags(.r36))
  func shortChunkedList() throws {
    let fixture = try CloneStore(CloneWays.model)
    let tags = try fixture.insertMany(17, "T")
    let owner = try fixture.insert("A")
    try fixture.set(owner, "ts", tags)
    try fixture.store.write { try $0.unlink(owner, "ts", [tags[0], tags[1], tags[2]]) }
    let plan = try fixture.store.planClone([owner])
    let result = try fixture.clone([owner])
    #expect(plan.bytesWritten == result.bytesWritten)
  }

  @Test("R26 a clone into another store remembers no values where sources differ by their parents", .tags(.r26))
  func intoTaken() throws {
    let fixture = try CloneStore(Self.numbered)
    let other = try CloneStore(Self.numbered)
    let first = try fixture.store.write { tx in
      var ids: [ObjectID] = []
      for index in 0..<2000 {
        ids.append(
          try tx.insert(
            "Node", ["number": .integer(Int64(index))], relationships: ids.last.map { ["previous": [$0]] } ?? [:]))
      }
      return ids[0]
    }
    let source = try fixture.store.readSession()
    let reader = try other.store.readSession()
    let scope = try CloneOrigin.store(fixture.store).scope(
      [first], CloneOptions(), CloneMonitor(), other.store.schema, in: source)
    var planner = ClonePlanner(context: try scope.context(in: reader))
    try planner.check(source, reader)
    #expect(planner.values.count < 100, "\(planner.values.count) values with their keys in a dictionary")
  }

  @Test("R36, R31 the plan of a repeated call after its source was deleted", .tags(.r36, .r31))
  func planOfRepeated() throws {
    let fixture = try CloneStore(Self.tree)
    let root = try fixture.insert("Node")
    let options = CloneOptions.with { $0.idempotencyKey = "k" }
    _ = try fixture.clone([root], options)
    _ = try fixture.store.write { try $0.delete([root]) }
    #expect(try fixture.store.clone([root], options: options).isRepeated)
    #expect(throws: Never.self) { try fixture.store.planClone([root], options: options) }
  }
}

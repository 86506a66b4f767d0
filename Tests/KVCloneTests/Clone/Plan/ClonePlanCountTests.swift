import Foundation
import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Review findings about plans of clones.
@Suite struct ClonePlanCountTests {
  private static let lists = ManagedObjectModel("Lists") {
    EntityDescription("Owner") {
      AttributeDescription("name", .string)
      RelationshipDescription("tags", toMany: "Tag", inverse: "owners")
      RelationshipDescription("seen", toMany: "Tag", userInfo: ["clone": "reference"])
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("owners", toMany: "Owner", inverse: "tags")
    }
  }

  @Test(
    "R9 a mixed list of at most one chunk's members that lies in two chunks", .tags(.r9), arguments: ["tags", "seen"])
  func mixedTwoChunks(relationship: String) throws {
    let fixture = try CloneStore(Self.lists)
    let tags = try fixture.insertMany(129, "Tag")
    let owner = try fixture.insert("Owner", ["name": "o"])
    try fixture.set(owner, relationship, tags)
    try fixture.store.write { try $0.unlink(owner, relationship, [tags[5]]) }
    let cloned = [tags[10], tags[20]]
    let result = try fixture.clone([owner] + cloned)
    let cloneOf = Dictionary(uniqueKeysWithValues: zip(cloned, result.roots.dropFirst()))
    let wanted = try fixture.members(owner, relationship).map { cloneOf[$0] ?? $0 }.sorted()
    #expect(try fixture.members(result.root, relationship) == wanted)
  }

  private static let trap = ManagedObjectModel("Trap") {
    EntityDescription("Owner") { RelationshipDescription("parts", toMany: "Part", inverse: "owner") }
    EntityDescription("Part") { RelationshipDescription("owner", toOne: "Owner", inverse: "parts") }
  }

  @Test("R36 a plan that excludes a list that has shrunk to 16 members or fewer, and is still in chunks", .tags(.r36))
  func shrunkListPlan() throws {
    let fixture = try CloneStore(Self.trap)
    let owner = try fixture.insert("Owner")
    let parts = try fixture.store.write { tx in
      try (0..<17).map { _ in try tx.insert("Part", relationships: ["owner": [owner]]) }
    }
    _ = try fixture.store.write { try $0.delete([parts[0]]) }
    let options = CloneOptions.excluding("parts")
    let plan = try fixture.store.planClone([owner], options: options)
    let result = try fixture.clone([owner], options)
    #expect(plan.bytesWritten == result.bytesWritten)
  }

  private static let refer = ManagedObjectModel("Refer") {
    EntityDescription("Box") {
      RelationshipDescription("items", toMany: "Item", inverse: "box")
      RelationshipDescription("kind", toOne: "Kind")
    }
    EntityDescription("Item") {
      AttributeDescription("name", .string)
      RelationshipDescription("box", toOne: "Box", inverse: "items")
      RelationshipDescription("kind", toOne: "Kind")
    }
    EntityDescription("Kind") { AttributeDescription("name", .string) }
  }

  @Test("R36 bytes of hidden lists", .tags(.r36))
  func hiddenBytes() throws {
    let fixture = try CloneStore(Self.refer)
    let kind = try fixture.insert("Kind")
    let box = try fixture.insert("Box", [:], ["kind": [kind]])
    _ = try fixture.insertMany(1000, "Item", ["box": [box], "kind": [kind]])
    let plan = try fixture.store.planClone([box])
    let result = try fixture.clone([box])
    #expect(plan.bytesWritten == result.bytesWritten)
  }

  private static let chain = ManagedObjectModel("Chain") {
    EntityDescription("Node") {
      AttributeDescription("rootName", .string, userInfo: ["followParent": "rootName", "withoutParent": "keep"])
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
    }
  }

  @Test("R26 landmarks of followed values are one for every 64 objects", .tags(.r26))
  func landmarks() throws {
    let fixture = try CloneStore(Self.chain)
    let first = try fixture.store.write { tx in
      var first: ObjectID?
      var last: ObjectID?
      for index in 0..<10_000 {
        let id = try tx.insert(
          "Node", ["rootName": .string("\(index)")], relationships: last.map { ["previous": [$0]] } ?? [:])
        first = first ?? id
        last = id
      }
      return first!
    }
    let session = try fixture.store.readSession()
    let context = try CloneOrigin.transaction.prepare([first], CloneOptions(), CloneMonitor(), nil, session)
    let landmarks = Mirror(reflecting: context).children.first { $0.label == "landmarks" }?.value
    let count = Mirror(reflecting: try #require(landmarks)).children.count
    #expect(count <= 10_000 / 32, "\(count) landmarks")
  }

  private static let transients = ManagedObjectModel("Transients") {
    EntityDescription("Thing") {
      AttributeDescription("name", .string)
      AttributeDescription("token", .uuid, transient: true, userInfo: ["rebuild": "uuid"])
      AttributeDescription("seen", .date, transient: true, userInfo: ["rebuild": "now"])
    }
  }

  @Test("R16, R20 a rebuilt transient attribute", .tags(.r16, .r20))
  func transientRebuild() throws {
    let fixture = try CloneStore(Self.transients)
    let token = UUID()
    let old = Date(timeIntervalSinceReferenceDate: 1)
    try fixture.store.write { tx in
      let id = try tx.insert("Thing", ["token": .uuid(token), "seen": .date(old)])
      let clone = try tx.clone([id]).root
      #expect(try tx.value(clone, "token") != .uuid(token))
      #expect(try tx.value(clone, "seen") != .date(old))
    }
  }

  @Test("R36 a plan reports that the key belongs to another clone", .tags(.r36))
  func planOfReusedKey() throws {
    let fixture = try CloneStore(Self.refer)
    let kind = try fixture.insert("Kind")
    let box = try fixture.insert("Box")
    _ = try fixture.clone([kind], .with { $0.idempotencyKey = "k" })
    let plan = try fixture.store.planClone([box], options: .with { $0.idempotencyKey = "k" })
    #expect(plan.errors.contains { $0.kind == .idempotencyKeyReused })
  }

  @Test("R36 a plan of more copies than ids can name", .tags(.r36))
  func planOfManyCopies() throws {
    let fixture = try CloneStore(Self.refer)
    let other = try CloneStore(Self.refer)
    let kind = try fixture.insert("Kind")
    let options = CloneOptions.with { $0.count = .max }
    #expect(throws: Never.self) {
      let plan = try fixture.store.planClone([kind], options: options)
      #expect(!plan.errors.isEmpty)
    }
    #expect(throws: Never.self) {
      let plan = try fixture.store.planClone([kind], into: other.store, options: options)
      #expect(!plan.errors.isEmpty)
    }
  }
}

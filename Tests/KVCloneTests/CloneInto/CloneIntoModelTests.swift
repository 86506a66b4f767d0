import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// R35: compatible models, and the transfer of blobs and long lists.
@Suite("Clone into another store: models, values, lists")
struct CloneIntoModelTests {
  static let model = ManagedObjectModel("Things") {
    EntityDescription("Base", abstract: true) { AttributeDescription("name", .string) }
    EntityDescription("Thing", parent: "Base") {
      AttributeDescription("size", .integer32)
      AttributeDescription("data", .binary)
      RelationshipDescription("parts", toMany: "Thing", inverse: "whole", ordered: true)
      RelationshipDescription("whole", toOne: "Thing", inverse: "parts")
      RelationshipDescription("links", toMany: "Thing", userInfo: ["clone": "reference"])
      RelationshipDescription("peers", toMany: "Thing", inverse: "peers")
    }
  }

  @Test("a store cannot be cloned into itself")
  func itself() throws {
    let store = try CloneStore(Self.model)
    let thing = try store.insert("Thing")
    try store.expectRefusal(.invalidConfiguration, [thing], into: store, isPlanned: false)
    #expect(throws: CloneError.self) { try store.store.planClone([thing], into: store.store) }
    let other = try CloneStore(Self.model)
    try store.expectRefusal(.invalidConfiguration, [thing], into: other, .with { $0.count = 0 }, isPlanned: false)
  }

  @Test("every difference that matters is named in the plan, and clones nothing")
  func incompatible() throws {
    let store = try CloneStore(Self.model)
    let thing = try store.insert("Thing", ["name": "t"])
    let cases: [(property: String?, change: (inout EntityDescription) -> Void)] = [
      (nil, { $0.name = "Other" }), (nil, { $0.isAbstract = true }), (nil, { $0.superentityName = nil }),
      ("size", { $0.attributes.removeAll { $0.name == "size" } }), ("size", { $0.attributes[0].type = .integer64 }),
      ("size", { $0.attributes[0].isTransient = true }),
      ("more", { $0.attributes.append(AttributeDescription("more", .string, optional: false)) }),
      ("links", { $0.relationships.removeAll { $0.name == "links" } }),
      ("parts", { $0.relationships[0].isOrdered = false }), ("links", { $0.relationships[2].isToMany = false }),
      ("links", { $0.relationships[2].destinationEntityName = "Base" }),
      (
        "whole",
        {
          $0.relationships.removeAll { $0.name == "parts" }; $0.relationships[0].inverseName = nil
        }
      ),
    ]
    for (number, (property, change)) in cases.enumerated() {
      var model = Self.model.changing("Thing", change)
      if number == 0 {
        model = ManagedObjectModel("Other") {
          EntityDescription("Base", abstract: true) { AttributeDescription("name", .string) }
        }
      }
      if number == 2 {
        model = model.changing("Thing") { $0.attributes.append(AttributeDescription("name", .string)) }
      }
      let other = try CloneStore(model)
      let plan = try store.store.planClone([thing], into: other.store)
      #expect(plan.errors.allSatisfy { $0.kind == .incompatibleModel && $0.entity == "Thing" }, "\(number)")
      #expect(plan.errors.contains { $0.property == property }, "\(number): \(plan.errors)")
      try store.expectRefusal(.incompatibleModel, [thing], into: other, entity: "Thing", object: "Thing/1")
    }
  }

  @Test("the plan's bytes are those of the records that the other model makes")
  func plannedBytes() throws {
    let store = try CloneStore(Self.model)
    let thing = try store.insert("Thing", ["name": "whole"])
    let parts = try (0..<100).map { try store.insert("Thing", ["name": .string("part \($0)"), "size": 7]) }
    try store.store.write { tx in try tx.setMembers(thing, "parts", parts) }
    let models = [
      Self.model.changing("Thing") {
        $0.attributes.append(AttributeDescription("more", .string, default: .string(String(repeating: "m", count: 60))))
        $0.attributes.append(AttributeDescription("number", .integer64, default: 1))
        $0.relationships.append(RelationshipDescription("others", toMany: "Thing", inverse: "others"))
      },
      Self.model.changing("Base") { $0.attributes[0].derivationExpression = "size" },
    ]
    for model in models {
      let other = try CloneStore(model)
      let plan = try store.store.planClone([thing], into: other.store)
      let result = try store.store.clone([thing], into: other.store)
      #expect(plan.bytesWritten == result.bytesWritten)
      try other.expectClean()
    }
  }

  @Test("several source entities may be sub-entities of one in the destination, and share its serials")
  func sharedRoot() throws {
    let flat = ManagedObjectModel("Flat") {
      EntityDescription("A") {
        AttributeDescription("name", .string)
        RelationshipDescription("bs", toMany: "B", inverse: "a")
      }
      EntityDescription("B") {
        AttributeDescription("name", .string)
        RelationshipDescription("a", toOne: "A", inverse: "bs")
      }
    }
    let deep = ManagedObjectModel("Deep") {
      EntityDescription("Root", abstract: true) { AttributeDescription("name", .string) }
      EntityDescription("B", parent: "Root") { RelationshipDescription("a", toOne: "A", inverse: "bs") }
      EntityDescription("A", parent: "Root") { RelationshipDescription("bs", toMany: "B", inverse: "a") }
    }
    let (source, other) = (try CloneStore(flat), try CloneStore(deep))
    let roots = try (0..<3).map { number in
      let root = try source.insert("A", ["name": .string("\(number)")])
      try source.set(root, "bs", try source.insertMany(40, "B"))
      return root
    }
    let result = try source.clone(roots, into: other, .with { $0.count = 2 })
    #expect(result.counts == ["A": 6, "B": 240])
    for root in result.roots { #expect(Set(try other.names(root, "bs")).count == 40) }
    try other.expectRefusal(.incompatibleModel, result.roots, into: source, entity: "A")
  }

  @Test(
    "R25: large values are written once in the destination, chunk by chunk", .tags(.r25),
    arguments: [CloneOptions.Blobs.share, .copy])
  func blobs(_ blobs: CloneOptions.Blobs) throws {
    let (source, other) = (try CloneStore(Self.model), try CloneStore(Self.model.rearranged))
    var random = SeededGenerator(seed: 7)
    let large = Data((0..<2_500_001).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    let small = Data(repeating: 5, count: 3000)
    let whole = try source.insert("Thing", ["data": .binary(large)])
    let parts = try [small, Data([1, 2, 3])].map {
      try source.insert("Thing", ["data": .binary($0)], ["whole": [whole]])
    }
    let shared = try source.clone([whole]).root
    try source.set(whole, "parts", parts + [shared])
    try other.insert("Thing", ["data": .binary(Data(repeating: 1, count: 5000))])
    let result = try source.clone([whole], into: other, .with { ($0.blobs, $0.count) = (blobs, 2) })
    let bytes = UInt64(large.count + small.count)
    #expect(result.bytesCopied == (blobs == .share ? bytes : 4 * bytes))
    #expect(result.blobsShared == (blobs == .share ? 6 : 0) && result.bytesShared == (blobs == .share ? 3 * bytes : 0))
    for root in result.roots {
      let members = try other.members(root, "parts")
      #expect(members.count == 3)
      #expect(try other.data(root) == large && other.data(members[0]) == small)
      #expect(try other.data(members[1]) == Data([1, 2, 3]) && other.data(members[2]) == large)
    }
    _ = try source.store.write { try $0.delete([whole, shared]) }
    #expect(try other.data(result.roots[1]) == large)
    for root in result.roots { _ = try other.store.write { try $0.delete(try $0.members(root, "parts") + [root]) } }
    try other.expectClean()
  }

  @Test("lists longer than the buffer keep their members and order")
  func longLists() throws {
    let (source, other) = (try CloneStore(Self.model), try CloneStore(Self.model))
    let count = 9_000
    let root = try source.store.write { tx in
      let parts = try (0..<count).map { _ in try tx.insert("Thing") }
      let root = try tx.insert("Thing")
      try tx.setMembers(root, "parts", parts.reversed())
      try tx.setMembers(root, "links", parts)
      return root
    }
    let result = try source.store.clone([root], into: other.store)
    #expect(result.objectCount == count + 1)
    try other.store.read { tx in
      let parts = try tx.members(result.root, "parts")
      let links = try tx.members(result.root, "links")
      #expect(parts.count == count && links == parts.reversed() && links == links.sorted())
    }
    #expect(try other.store.check().issues.isEmpty)
  }
}

extension CloneStore {
  fileprivate func data(_ id: ObjectID) throws -> Data? { try store.read { try $0.data(id, "data") } }
}

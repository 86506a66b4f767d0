import Foundation
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// Wide, deep and cyclic graphs: long lists must keep all members, without duplicates and in order (R2, R3, R12, R17,
/// R26).
@Suite("Clone contract: shapes")
struct CloneContractShapeTests {
  /// A value follows from the root down; `number` identifies the source of a clone.
  static let model = ManagedObjectModel("Shapes") {
    EntityDescription("Top") {
      AttributeDescription("number", .integer64)
      AttributeDescription("id", .uuid, userInfo: ["rebuild": "uuid"])
      RelationshipDescription("first", toMany: "Node", inverse: "top", ordered: true, deleteRule: .cascade)
      RelationshipDescription("second", toMany: "Node", inverse: "over")
    }
    EntityDescription("Node") {
      AttributeDescription("number", .integer64)
      AttributeDescription("id", .uuid, userInfo: ["followParent": "id", "withoutParent": "keep"])
      AttributeDescription("from", .integer64, userInfo: ["followParent": "number", "withoutParent": "keep"])
      RelationshipDescription("top", toOne: "Top", inverse: "first")
      RelationshipDescription("over", toOne: "Top", inverse: "second")
      RelationshipDescription("list", toMany: "Leaf", inverse: "node", ordered: true, deleteRule: .cascade)
      RelationshipDescription("set", toMany: "Leaf", inverse: "owner")
      RelationshipDescription("free", toMany: "Leaf", ordered: true)
      RelationshipDescription("groups", toMany: "Group", inverse: "nodes")
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
    }
    EntityDescription("Leaf") {
      AttributeDescription("number", .integer64)
      AttributeDescription("from", .integer64, userInfo: ["followParent": "number", "withoutParent": "keep"])
      RelationshipDescription("node", toOne: "Node", inverse: "list")
      RelationshipDescription("owner", toOne: "Node", inverse: "set")
    }
    EntityDescription("Group") {
      RelationshipDescription("nodes", toMany: "Node", inverse: "groups", ordered: true)
    }
  }

  /// Below and above the limits of inline lists (16), and of one and two chunks (128).
  static let sizes = [1, 0, 15, 16, 17, 31, 127, 128, 129, 130, 257, 300]

  private func number(_ value: Int) -> AttributeValue { .integer(Int64(value)) }

  @Test("R26: 5,000 children, each with children of its own, in lists of all lengths", .tags(.r26))
  func wide() throws {
    let test = try ContractStore(Self.model)
    let store = test.store
    var random = SeededGenerator(seed: 26)
    let nodeCount = 5000
    let order = (0..<nodeCount).shuffled(using: &random)
    let top = try store.write { tx in
      let top = try tx.insert("Top", ["number": number(-1)])
      var nodes: [ObjectID] = []
      for index in 0..<nodeCount {
        nodes.append(try tx.insert("Node", ["number": number(index), "from": number(-9)]))
      }
      try tx.setMembers(top, "first", order.map { nodes[$0] })
      // Leaves in another order than their parents.
      for index in (0..<nodeCount).reversed() {
        let size = index % 100 == 50 ? Self.sizes[index / 100 % Self.sizes.count] : 1
        var leaves: [ObjectID] = []
        for leaf in 0..<size { leaves.append(try tx.insert("Leaf", ["number": number(leaf), "from": number(-9)])) }
        if size == 1 && index % 2 == 0 {
          try tx.setMembers(nodes[index], "set", leaves)
        } else {
          try tx.setMembers(nodes[index], "list", leaves.reversed())
          try tx.setMembers(nodes[index], "set", leaves)
        }
      }
      return top
    }
    let before = try store.info().counts.filter { $0.value > 0 }
    let plan = try store.planClone([top])
    let result = try store.clone([top])
    test.expectEqual(plan, result)
    #expect(result.counts == before && result.affectedObjectCount == 0)
    try store.read { tx in
      let id = try tx.value(result.root, "id")
      let clones = try tx.members(result.root, "first")
      var seen: Set<ObjectID> = []
      var wrong: [String] = []
      for (node, clone) in zip(try tx.members(top, "first"), clones) {
        let object = try tx.object(clone)
        let index = object["number"]
        if try index != tx.value(node, "number") || object["from"] != number(-1) || object["id"] != id {
          wrong.append("values of \(object.name)")
        }
        if object.toOne("top") != result.root || !seen.insert(clone).inserted { wrong.append("top of \(object.name)") }
        for name in ["list", "set"] {
          let (old, new) = (try tx.members(node, name), try tx.members(clone, name))
          if try old.map({ try tx.value($0, "number") }) != new.map({ try tx.value($0, "number") }) {
            wrong.append("\(name) of \(object.name)")
          }
          for leaf in new {
            if try tx.value(leaf, "from") != index { wrong.append("parent of \(leaf)") }
            if try tx.toOne(leaf, name == "list" ? "node" : "owner") != clone { wrong.append("inverse of \(leaf)") }
            if name == "set" && !seen.insert(leaf).inserted { wrong.append("\(leaf) twice") }
          }
          if old.contains(where: { new.contains($0) }) { wrong.append("\(name) of \(object.name) is shared") }
        }
      }
      #expect(clones.count == nodeCount && wrong.isEmpty, "\(wrong.count): \(wrong.prefix(5))")
    }
    try test.expectClean()
  }

  @Test("R12: ordered lists of 5,000, one cloned with its owner, one outside that gains the clones", .tags(.r12))
  func longLists() throws {
    let test = try ContractStore(Self.model)
    let store = test.store
    var random = SeededGenerator(seed: 12)
    let nodes = try store.insert("Node", count: 5000)
    let top = try store.insert("Top")
    let (group, mixed) = (try store.insert("Group"), try store.insert("Group"))
    let strangers = try store.insert("Node", count: 50)
    let owned = nodes.shuffled(using: &random)
    let shared = nodes.shuffled(using: &random)
    let among = (nodes[..<200] + strangers).shuffled(using: &random)
    try store.write { tx in
      for (index, node) in nodes.enumerated() { try tx.set(node, "number", number(index)) }
      try tx.setMembers(top, "first", owned)
      try tx.setMembers(group, "nodes", shared)
      try tx.setMembers(mixed, "nodes", among)
    }
    let options = CloneOptions.contract(count: 2)
    let plan = try store.planClone([top], options: options)
    let result = try store.clone([top], options: options)
    test.expectEqual(plan, result)
    #expect(result.objectCount == 10_002 && result.affectedObjectIDs == [group, mixed].sorted())
    var clones: [[ObjectID: ObjectID]] = []
    for root in result.roots {
      let list = try store.members(root, "first")
      #expect(list.count == 5000)
      clones.append(Dictionary(zip(owned, list)) { first, _ in first })
      let numbers = try store.read { tx in try list.map { try tx.value($0, "number") } }
      let wanted = try store.read { tx in try owned.map { try tx.value($0, "number") } }
      #expect(numbers == wanted, "the order of a list that is cloned")
    }
    let gained = clones.flatMap { copy in shared.compactMap { copy[$0] } }
    #expect(try store.members(group, "nodes") == shared + gained, "an outside list gains its own order")
    let few = clones.flatMap { copy in among.compactMap { copy[$0] } }
    #expect(few.count == 400)
    #expect(try store.members(mixed, "nodes") == among + few)
    try test.expectClean()
  }

  @Test(
    "R3, R17: the discovery parent of objects that many paths lead to", .tags(.r3, .r17),
    arguments: CloneContractSeeds.some)
  func discoveryParents(_ seed: UInt64) throws {
    let test = try ContractStore(Self.model)
    let store = test.store
    var random = SeededGenerator(seed: seed)
    let (nodeCount, leafCount) = (300, 500)
    // Links as numbers: the targets of a node, list after list, and the order of the root's links to the nodes.
    let first = (0..<nodeCount).filter { _ in !random.chance(in: 3) }.shuffled(using: &random)
    let second = (0..<nodeCount).filter { _ in random.chance(in: 2) }
    var free: [[Int]] = []
    for _ in 0..<nodeCount {
      let size = Self.sizes.randomElement(using: &random) ?? 0
      free.append(Array((0..<leafCount).shuffled(using: &random).prefix(random.chance(in: 8) ? size : size % 4)))
    }
    let (top, nodes, leaves) = try store.write { tx in
      let top = try tx.insert("Top", ["number": number(-1), "id": .uuid(UUID())])
      let leaves = try (0..<leafCount).map {
        try tx.insert("Leaf", ["number": number($0), "from": number(-9)])
      }
      let nodes = try (0..<nodeCount).map { try tx.insert("Node", ["number": number($0), "from": number(-9)]) }
      try tx.setMembers(top, "first", first.map { nodes[$0] })
      try tx.setMembers(top, "second", second.map { nodes[$0] })
      for (node, members) in zip(nodes, free) { try tx.setMembers(node, "free", members.map { leaves[$0] }) }
      // A long path to every node, which counts only for nodes without a shorter one.
      for index in 1..<nodeCount { try tx.setToOne(nodes[index - 1], "next", nodes[index]) }
      return (top, nodes, leaves)
    }
    // The expected order: breadth first.
    var parents: [Int: Int] = [:]
    var found: [Int] = []
    func find(_ node: Int, _ parent: Int) {
      guard parents[node] == nil else { return }
      parents[node] = parent
      found.append(node)
    }
    for node in first + second { find(node, -1) }
    var position = 0
    while position < found.count {
      let node = found[position]
      position += 1
      if node + 1 < nodeCount { find(node + 1, node) }
      if node > 0 { find(node - 1, node) }
    }
    var leafParents: [Int: Int] = [:]
    for node in found { for leaf in free[node] where leafParents[leaf] == nil { leafParents[leaf] = node } }
    let result = try store.clone([top])
    #expect(result.counts["Node"] == found.count && result.counts["Leaf"] == leafParents.count, "seed \(seed)")
    var wrong: [String] = []
    try store.read { tx in
      let (old, new) = (Set(nodes), Set(leaves))
      for entity in ["Node", "Leaf"] {
        try tx.forEachObject(of: entity) { object in
          guard !old.contains(object.id), !new.contains(object.id), case .integer(let number)? = object["number"]
          else { return true }
          let parent = entity == "Node" ? parents[Int(number)] : leafParents[Int(number)]
          if object["from"] != parent.map({ self.number($0) }) {
            wrong.append("\(entity) \(number) from \(String(describing: object["from"])) not \(parent ?? -8)")
          }
          return true
        }
      }
    }
    #expect(wrong.isEmpty, "seed \(seed): \(wrong.count), \(wrong.prefix(5))")
    try test.expectClean()
  }

  /// `from` follows a copied value; `id` follows a chain of followed values up to the root.
  static let chains = ManagedObjectModel("Chains") {
    EntityDescription("Link") {
      AttributeDescription("number", .integer64)
      AttributeDescription("from", .integer64, userInfo: ["followParent": "number", "withoutParent": "keep"])
      RelationshipDescription("next", toOne: "Link", inverse: "previous")
      RelationshipDescription("previous", toOne: "Link", inverse: "next")
    }
    EntityDescription("Echo", parent: "Link") {
      AttributeDescription(
        "id", .uuid, userInfo: ["followParent": "id", "withoutParent": "keep", "rebuild": "uuid"])
    }
  }

  @Test(
    "R3, R17: chains whose objects follow their parents, on a stack of 512 KiB", .tags(.r3, .r17),
    arguments: [("Link", 20_000, 0), ("Echo", 2000, 0), ("Echo", 600, 300)])
  func chain(_ entity: String, _ count: Int, _ start: Int) throws {
    let test = try ContractStore(Self.chains)
    let store = test.store
    let nodes = try store.write { tx in
      var nodes: [ObjectID] = []
      for index in 0..<count {
        let previous = nodes.last.map { ["previous": [$0]] } ?? [:]
        let values: [String: AttributeValue?] = ["number": number(index), "from": number(-9)]
        nodes.append(try tx.insert(entity, values, relationships: previous))
      }
      return nodes
    }
    let outcome = ContractBox<Result<CloneResult, any Error>?>(nil)
    let ended = DispatchSemaphore(value: 0)
    let thread = Thread {
      let result = Result { try store.clone([nodes[start]]) }
      outcome.change { $0 = result }
      ended.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    ended.wait()
    let result = try #require(try outcome.value?.get())
    #expect(result.objectCount == count)
    try store.read { tx in
      let id = entity == "Echo" ? try tx.value(result.root, "id") : nil
      #expect(entity == "Link" || id != nil)
      for (way, step) in [("next", 1), ("previous", -1)] {
        var (wrong, index) = (0, start)
        var next: ObjectID? = result.root
        while let node = next {
          let object = try tx.object(node)
          let parent = index == start ? -9 : index - step
          if object["number"] != number(index) || object["from"] != number(parent) { wrong += 1 }
          if entity == "Echo" && object["id"] != id { wrong += 1 }
          next = object.toOne(way)
          index += step
        }
        #expect(wrong == 0 && index == (step > 0 ? count : -1), "\(way) ends at \(index)")
      }
    }
    try test.expectClean()
  }

  @Test(
    "R2, R3, R12, R17: random graphs are cloned as the reference does", .tags(.r2, .r3, .r12, .r17),
    arguments: CloneContractSeeds.some)
  func random(_ seed: UInt64) throws {
    for (step, size) in [5, 12, 18].enumerated() {
      let test = try ContractStore(Self.model)
      let made = GraphGenerator.generate(test.view, seed: seed &+ UInt64(step), size: size)
      try test.load(made)
      let place = "seed \(seed), size \(size)"
      #expect(made.problems.isEmpty, "\(place)")
      for (entity, count) in [("Group", 2), ("Leaf", 1), ("Node", 3), ("Top", 1)] {
        let root = try #require(try test.store.objects(entity).first)
        // The reference searches lists linearly, so large graphs have no copies.
        try test.cloneAsReference(
          [root], .contract(count: size < 18 ? count : 1), "\(entity), \(place)")
        if size == 18 { break }
      }
    }
  }
}

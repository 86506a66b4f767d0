import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rules R2 to R8: the objects of a clone.
@Suite("Clone rules: traversal")
struct CloneRulesTraversalTests {
  /// Trees, linked lists and rings of one entity.
  static let nodes = ManagedObjectModel("Nodes") {
    EntityDescription("Node") {
      AttributeDescription("name", .string)
      RelationshipDescription("parent", toOne: "Node", inverse: "children")
      RelationshipDescription("children", toMany: "Node", inverse: "parent", ordered: true)
      RelationshipDescription("next", toOne: "Node", inverse: "previous")
      RelationshipDescription("previous", toOne: "Node", inverse: "next")
      RelationshipDescription("partner", toOne: "Node", inverse: "partner")
      RelationshipDescription("friends", toMany: "Node", inverse: "friends")
      RelationshipDescription("labels", toMany: "Label", inverse: "node")
    }
    EntityDescription("Label") {
      AttributeDescription("name", .string)
      RelationshipDescription("node", toOne: "Node", inverse: "labels")
    }
    EntityDescription("Unreachable") { RelationshipDescription("stranger", toOne: "Unreachable") }
  }

  let fixture: CloneStore

  init() throws { fixture = try CloneStore(Self.nodes) }

  /// Returns a tree as text, `a(b,c(d))`, in the order of the children.
  private func tree(_ root: ObjectID) throws -> String {
    try fixture.store.read { tx in
      func text(_ id: ObjectID, _ tx: borrowing ReadTransaction) throws -> String {
        guard case .string(let name)? = try tx.value(id, "name") else { return "?" }
        let children = try tx.members(id, "children")
        for child in children { #expect(try tx.toOne(child, "parent") == id) }
        if children.isEmpty { return name }
        return try name + "(" + children.map { try text($0, tx) }.joined(separator: ",") + ")"
      }
      return try text(root, tx)
    }
  }

  /// Inserts a linked list of `count` nodes named by their position.
  private func list(_ count: Int, isRing: Bool = false) throws -> [ObjectID] {
    let nodes = try fixture.insertMany(count, "Node")
    try fixture.store.write { tx in
      for (one, other) in zip(nodes, nodes.dropFirst()) { try tx.setToOne(one, "next", other) }
      if isRing { try tx.setToOne(nodes[count - 1], "next", nodes[0]) }
    }
    return nodes
  }

  /// Returns the names of the nodes along `relationship`, until the list ends or repeats.
  private func walk(_ start: ObjectID, _ relationship: String) throws -> [String] {
    try fixture.store.read { tx in
      var names: [String] = []
      var next: ObjectID? = start
      while let id = next, names.isEmpty || id != start {
        if case .string(let name)? = try tx.value(id, "name") { names.append(name) }
        next = try tx.toOne(id, relationship)
      }
      return names
    }
  }

  // MARK: R2

  @Test("R2 a source that many paths lead to is cloned once, and cycles end", .tags(.r2))
  func r2_onceAndCycles() throws {
    // a.next = b, a.partner = b, a.children = [b], and b.children = [a]: four paths and a cycle.
    let b = try fixture.insert("Node", ["name": "b"])
    let a = try fixture.insert("Node", ["name": "a"], ["next": [b], "partner": [b], "children": [b]])
    try fixture.set(b, "children", [a])
    let result = try fixture.clone([a])
    #expect(result.objectCount == 2 && result.counts == ["Node": 2])
    let clone = result.root
    let other = try #require(try fixture.toOne(clone, "next"))
    #expect(![a, b, clone].contains(other))
    #expect(try fixture.toOne(clone, "partner") == other)
    #expect(try fixture.members(clone, "children") == [other])
    #expect(try fixture.members(other, "children") == [clone])
    #expect(try fixture.toOne(other, "previous") == clone)
    #expect(try fixture.toOne(a, "next") == b)
  }

  @Test("R2 an object linked to itself", .tags(.r2))
  func r2_selfLinks() throws {
    let node = try fixture.insert("Node", ["name": "self"])
    for relationship in ["partner", "next", "parent"] { try fixture.set(node, relationship, [node]) }
    try fixture.set(node, "friends", [node])
    let clone = try fixture.clone([node]).root
    for (relationship, back) in [("partner", "partner"), ("next", "previous"), ("parent", "children")] {
      #expect(try fixture.toOne(clone, relationship) == clone, "\(relationship)")
      #expect(try fixture.members(clone, back) == [clone], "\(back)")
    }
    // Many-to-many is stopped, and R9 links to the clone.
    #expect(try fixture.members(clone, "friends") == [clone])
    #expect(try fixture.members(node, "friends") == [node])
  }

  @Test("R2 no clone is a source, also when clones join the list that is being cloned", .tags(.r2))
  func r2_noCloneOfClones() throws {
    let model = ManagedObjectModel("Lists") {
      EntityDescription("Item") {
        AttributeDescription("name", .string)
        RelationshipDescription("box", toOne: "Box", inverse: "items", userInfo: ["clone": "reference"])
        RelationshipDescription("others", toMany: "Item")
      }
      EntityDescription("Box") { RelationshipDescription("items", toMany: "Item", inverse: "box") }
    }
    let fixture = try CloneStore(model)
    let box = try fixture.insert("Box")
    let items = try fixture.insertMany(300, "Item", ["box": [box]])
    try fixture.set(items[0], "others", items)
    let result = try fixture.clone([items[0]])
    #expect(result.objectCount == 300)
    #expect(try fixture.members(box, "items").count == 600)
  }

  // MARK: R3

  @Test("R3 a chain and a deep tree of 1,000 on a small stack", .tags(.r3))
  func r3_deep() throws {
    let chain = try list(1000)
    let tree = try fixture.insertMany(1000, "Node")
    try fixture.store.write { tx in
      for (one, other) in zip(tree, tree.dropFirst()) { try tx.setMembers(one, "children", [other]) }
    }
    let store = fixture.store
    // Frames of a debug build are large; 1,000 levels of recursion would still not fit.
    let counts = try onThread(stackSize: 256 << 10) {
      [try store.clone([chain[0]]).objectCount, try store.clone([tree[0]]).objectCount]
    }
    #expect(counts == [1000, 1000])
    try fixture.expectClean()
  }

  /// Nodes that record in `via` the parent from which they were discovered.
  private static let discovery = ManagedObjectModel("Discovery") {
    EntityDescription("Node") {
      AttributeDescription("name", .string)
      AttributeDescription("via", .string, userInfo: ["followParent": "name", "withoutParent": "keep"])
      RelationshipDescription("first", toOne: "Node")
      RelationshipDescription("ordered", toMany: "Node", ordered: true)
      RelationshipDescription("unordered", toMany: "Node")
    }
    EntityDescription("Special", parent: "Node") { RelationshipDescription("own", toOne: "Node") }
  }

  /// Links `links[i] = (owner, relationship, targets)` between nodes of those names, clones `r` and returns the
  /// discovery parent of every clone.
  private func parents(
    _ names: [String], _ links: [(String, String, [String])], special: Set<String> = []
  ) throws -> [String: String] {
    let fixture = try CloneStore(Self.discovery)
    var ids: [String: ObjectID] = [:]
    for name in names {
      ids[name] = try fixture.insert(special.contains(name) ? "Special" : "Node", ["name": .string(name), "via": "-"])
    }
    for (owner, relationship, targets) in links {
      try fixture.set(try #require(ids[owner]), relationship, targets.compactMap { ids[$0] })
    }
    let result = try fixture.clone([try #require(ids["r"])])
    var parents: [String: String] = [:]
    let sources = Set(ids.values)
    try fixture.store.read { tx in
      try tx.forEachObject(of: "Node") { object in
        if !sources.contains(object.id), case .string(let name)? = object["name"],
          case .string(let via)? = object["via"]
        {
          parents[name] = via
        }
        return true
      }
    }
    #expect(parents.count == result.objectCount)
    return parents
  }

  @Test("R3 the discovery parent: smallest depth first", .tags(.r3))
  func r3_depth() throws {
    let found = try parents(
      ["r", "a", "b", "x"],
      [("r", "first", ["a"]), ("a", "first", ["b"]), ("b", "first", ["x"]), ("a", "ordered", ["x"])])
    #expect(found == ["r": "-", "a": "r", "b": "a", "x": "a"])
  }

  @Test("R3 the discovery parent: then the parent's own discovery order, by list position", .tags(.r3))
  func r3_discoveryOrder() throws {
    let links = [("a", "first", ["x"]), ("b", "first", ["x"])]
    #expect(try parents(["r", "a", "b", "x"], [("r", "ordered", ["a", "b"])] + links)["x"] == "a")
    #expect(try parents(["r", "a", "b", "x"], [("r", "ordered", ["b", "a"])] + links)["x"] == "b")
    // Unordered: by ascending id, independently of the order of linking.
    #expect(try parents(["r", "a", "b", "x"], [("r", "unordered", ["b", "a"])] + links)["x"] == "a")
    #expect(try parents(["r", "b", "a", "x"], [("r", "unordered", ["a", "b"])] + links)["x"] == "b")
    // Grandparents: the earlier branch wins.
    let deeper = [("a", "first", ["c"]), ("b", "first", ["d"]), ("c", "first", ["x"]), ("d", "first", ["x"])]
    #expect(try parents(["r", "d", "c", "b", "a", "x"], [("r", "ordered", ["a", "b"])] + deeper)["x"] == "c")
  }

  @Test("R3 the discovery parent: relationships in declaration order, a sub-entity's own last", .tags(.r3))
  func r3_relationshipOrder() throws {
    let links = [("a", "first", ["x"]), ("b", "first", ["x"])]
    #expect(try parents(["r", "b", "a", "x"], [("r", "ordered", ["b"]), ("r", "first", ["a"])] + links)["x"] == "a")
    #expect(
      try parents(["r", "b", "a", "x"], [("r", "unordered", ["b"]), ("r", "ordered", ["a"])] + links)["x"] == "a")
    #expect(
      try parents(["r", "b", "a", "x"], [("r", "own", ["b"]), ("r", "unordered", ["a"])] + links, special: ["r"])["x"]
        == "a")
  }

  // MARK: R4

  @Test("R4 a tree is followed to its leaves", .tags(.r4))
  func r4_tree() throws {
    var level = [try fixture.insert("Node", ["name": "r"])]
    let root = level[0]
    for depth in 1...3 {
      var next: [ObjectID] = []
      for parent in level {
        for position in 0..<3 {
          next.append(try fixture.insert("Node", ["name": .string("\(depth)-\(position)")], ["parent": [parent]]))
        }
        try fixture.set(parent, "children", next.suffix(3).reversed())
      }
      level = next
    }
    let before = try tree(root)
    let result = try fixture.clone([root])
    #expect(result.objectCount == 40)
    #expect(try tree(result.root) == before && tree(root) == before)
    #expect(before.hasPrefix("r(1-2(2-2(3-2,3-1,3-0),2-1"))
    #expect(result.affectedObjectCount == 0)
  }

  @Test("R4 a part of a tree joins the original's parent", .tags(.r4))
  func r4_subtree() throws {
    let root = try fixture.insert("Node", ["name": "r"])
    let branch = try fixture.insert("Node", ["name": "b"], ["parent": [root]])
    try fixture.insert("Node", ["name": "leaf"], ["parent": [branch]])
    let result = try fixture.clone([branch])
    // `parent` is many-to-one: stopped, and the clone is a further child (R6).
    #expect(try tree(root) == "r(b(leaf),b(leaf))")
    #expect(result.affectedObjectIDs == [root])
  }

  @Test("R4 a linked list is followed both ways", .tags(.r4), arguments: [0, 1, 4])
  func r4_list(start: Int) throws {
    let nodes = try list(5)
    let result = try fixture.clone([nodes[start]])
    #expect(result.objectCount == 5)
    #expect(try walk(result.root, "next") == (start..<5).map { "\($0)" })
    #expect(try walk(result.root, "previous") == (0...start).reversed().map { "\($0)" })
    #expect(try walk(nodes[0], "next") == (0..<5).map { "\($0)" })
  }

  @Test("R4 a ring stays a ring", .tags(.r4))
  func r4_ring() throws {
    let nodes = try list(4, isRing: true)
    let result = try fixture.clone([nodes[2]])
    #expect(try walk(result.root, "next") == ["2", "3", "0", "1"])
    #expect(try walk(result.root, "previous") == ["2", "1", "0", "3"])
    #expect(try walk(nodes[0], "next") == ["0", "1", "2", "3"])
  }

  @Test("R4 partners of one entity", .tags(.r4))
  func r4_selfRelation() throws {
    let one = try fixture.insert("Node", ["name": "one"])
    let other = try fixture.insert("Node", ["name": "other"], ["partner": [one]])
    let clone = try fixture.clone([one]).root
    let partner = try #require(try fixture.toOne(clone, "partner"))
    #expect(try fixture.toOne(partner, "partner") == clone)
    #expect(try fixture.toOne(one, "partner") == other && fixture.toOne(other, "partner") == one)
    #expect(try fixture.value(partner, "name") == "other")
  }
}

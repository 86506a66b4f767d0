import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneExplorer

/// The tree of a preview equals what the clone then does.
@Suite("Explorer: the tree of a clone", .bounded)
struct CloneTreeTests {
  /// The sources of a clone with their clones, copy after copy.
  private final class Pairs: Sendable {
    private let clones = Mutex<[ObjectID: [ObjectID]]>([:])

    func insert(_ source: ObjectID, _ clone: ObjectID) { clones.withLock { $0[source, default: []].append(clone) } }

    var all: [ObjectID: [ObjectID]] { clones.withLock { $0 } }
  }

  private static func window() -> CloneTree.Window {
    var window = CloneTree.Window()
    window.nodeLimit = .max
    window.memberLimit = .max
    window.linkLimit = .max
    window.depthLimit = .max
    return window
  }

  @Test(
    "random graphs of every model of the corpus: objects, order, links, gains, counts and bytes are those of the clone",
    .enabled(if: Corpus.root != nil, Comment(rawValue: Corpus.missing)), arguments: PropertySeeds.seeds)
  func corpus(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var cloned = 0
    for (index, (bundle, version)) in Corpus.allContents().enumerated() where index % 6 == Int(seed % 6) {
      let model = try ManagedObjectModel.load(contentsOf: bundle, version: version).model
      cloned += try run(model, seed, size: 3, rounds: 2, "\(bundle) \(version)", &random)
    }
    #expect(cloned > 0, "seed \(seed)")
  }

  @Test("random graphs of the model of MOCloner", arguments: PropertySeeds.seeds)
  func notes(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    #expect(try run(MOClonerModel.model, seed, size: 6, rounds: 12, "notes", &random) > 0, "seed \(seed)")
  }

  /// - Returns: the number of clones that succeeded.
  private func run(
    _ model: ManagedObjectModel, _ seed: UInt64, size: Int, rounds: Int, _ name: String,
    _ random: inout SeededGenerator
  ) throws -> Int {
    let made = GraphGenerator.generate(ModelView(model), seed: seed, size: size)
    guard made.problems.isEmpty else { return 0 }
    let fixture = try CloneStore(model)
    let names = try fixture.load(made)
    var cloned = 0
    for round in 0..<rounds {
      guard let label = made.graph.labels.randomElement(using: &random) else { continue }
      let root = try fixture.store.read { try $0.objectID(named: #require(names["\(label)"])) }
      let options = randomOptions(model, &random)
      if try compare(fixture, root, options, "\(name), seed \(seed), round \(round), root \(label)") { cloned += 1 }
    }
    return cloned
  }

  private func randomOptions(_ model: ManagedObjectModel, _ random: inout SeededGenerator) -> CloneOptions {
    var options = CloneOptions()
    let all = model.entities.flatMap { entity in entity.relationships.map { (entity.name, $0.name) } }
    for _ in 0..<random.below(3) {
      guard let (entity, name) = all.randomElement(using: &random) else { break }
      options.excludedRelationshipNames.append(random.chance(in: 2) ? name : "\(entity).\(name)")
    }
    for _ in 0..<random.below(3) {
      guard let (entity, name) = all.randomElement(using: &random) else { break }
      options.rules["\(entity).\(name)"] = [.follow, .reference, .skip][random.below(3)]
    }
    options.passingExclusionList = random.chance(in: 2)
    options.references = random.chance(in: 3) ? .keepOriginal : .remap
    options.blobs = random.chance(in: 3) ? .copy : .share
    options.count = random.chance(in: 3) ? 2 : 1
    options.recordsProvenance = random.chance(in: 3)
    return options
  }

  /// Returns whether the clone succeeded; its preview then lists exactly its objects and links.
  private func compare(_ fixture: CloneStore, _ root: ObjectID, _ options: CloneOptions, _ what: String) throws -> Bool
  {
    let store = fixture.store
    let preview = try ClonePreview.of(
      [root], in: store, from: nil, options: options, window: Self.window(), deadline: .now + .unreached)
    let plan = try #require(preview.plan, "\(what)")
    let pairs = Pairs()
    var hooked = options
    hooked.didClone = { _, source, clone in pairs.insert(source, clone) }
    let before = try gained(preview, store)
    do {
      let result = try store.clone([root], options: hooked)
      #expect(plan.errors.isEmpty, "\(what)")
      #expect(plan.objectCount == result.objectCount, "\(what)")
      #expect(plan.counts == result.counts, "\(what)")
      #expect(plan.bytesShared == result.bytesShared && plan.bytesCopied == result.bytesCopied, "\(what)")
      #expect(plan.bytesWritten == result.bytesWritten, "\(what)")
      #expect(plan.affectedObjectIDs == result.affectedObjectIDs, "\(what)")
    } catch let error as CloneError {
      #expect(plan.errors.contains(error), "\(what): \(error), planned \(plan.errors.prefix(3))")
      return false
    }
    let nodes = preview.tree.nodes
    #expect(Set(nodes.map(\.object)) == Set(pairs.all.keys), "\(what)")
    #expect(nodes.map(\.order) == Array(nodes.indices), "\(what)")
    #expect(zip(nodes, nodes.dropFirst()).allSatisfy { $0.depth <= $1.depth }, "\(what)")
    #expect(Set(preview.gains.map(\.object)) == Set(plan.affectedObjectIDs), "\(what)")
    for copy in 0..<options.count { try compareLinks(nodes, pairs.all, copy, store, what) }
    for (gain, count) in zip(preview.gains, before) {
      let now = try store.read { try $0.count(gain.object, gain.relationship) }
      #expect(now - count == gain.count && !gain.isLowerBound, "\(what): \(gain)")
    }
    try fixture.expectClean()
    return true
  }

  private func gained(_ preview: ClonePreview, _ store: ObjectStore) throws -> [Int] {
    try store.read { tx in try preview.gains.map { try tx.count($0.object, $0.relationship) } }
  }

  /// Compares the links of one copy with the outcomes of the tree.
  private func compareLinks(
    _ nodes: [CloneTree.Node], _ clones: [ObjectID: [ObjectID]], _ copy: Int, _ store: ObjectStore, _ what: String
  ) throws {
    for node in nodes {
      let clone = try #require(clones[node.object]?[copy], "\(what)")
      for edge in node.edges {
        var expected: [ObjectID] = []
        for link in edge.links {
          switch link.outcome {
          case .cloned, .repeated: expected.append(try #require(clones[link.target]?[copy], "\(what)"))
          case .shared: expected.append(link.target)
          case .omitted: break
          case .missing, .unknown: Issue.record("\(what): \(link)")
          }
        }
        #expect(edge.count == edge.links.count, "\(what)")
        let (actual, isOrdered) = try store.read { tx in
          let entity = try tx.entityName(of: clone)
          let isOrdered =
            store.model.relationships(of: entity).first { $0.name == edge.relationship }?.isOrdered ?? false
          return (try tx.members(clone, edge.relationship), isOrdered)
        }
        #expect(
          isOrdered ? actual == expected : actual.sorted() == expected.sorted(),
          "\(what): \(node.entity)/\(node.object.serial).\(edge.relationship)")
      }
    }
  }

  // MARK: Parts

  @Test("a part of the tree below an object, and of a long list, has the objects and numbers of the whole tree")
  func parts() throws {
    let (fixture, note, _) = try CloneStore.notes(items: 300)
    let whole = try preview(fixture, note, Self.window())
    var window = Self.window()
    window.memberLimit = 50
    let cut = try preview(fixture, note, window)
    let items = try #require(cut.nodes[0].edges.first { $0.relationship == "items" })
    #expect(items.count == 300 && items.links.count == 50 && items.isCut)
    var found: [ObjectID] = items.links.map(\.target)
    while true {
      var rest = CloneTree.Window()
      rest.top = note
      rest.relationship = "items"
      rest.after = found.last
      rest.nodeLimit = 61
      let page = try preview(fixture, note, rest)
      let edge = try #require(page.nodes.first?.edges.first)
      #expect(page.nodes[0].edges.count == 1 && edge.skippedCount == found.count)
      found += edge.links.map(\.target)
      for node in page.nodes.dropFirst() {
        #expect(whole.nodes.first { $0.object == node.object }?.order == node.order)
      }
      if !edge.isCut { break }
    }
    #expect(found == whole.nodes[0].edges.first { $0.relationship == "items" }?.links.map(\.target))
    var below = CloneTree.Window()
    below.top = found[250]
    let part = try preview(fixture, note, below)
    #expect(part.nodes.map(\.object) == [found[250]])
    #expect(part.nodes[0].edges.first { $0.relationship == "note" }?.links.map(\.outcome) == [.repeated])
  }

  @Test("a list of 200,000 objects and a chain of 100,000 give a small part of the tree")
  func large() throws {
    let model = ManagedObjectModel("Chain") {
      EntityDescription("Node") {
        RelationshipDescription("next", toOne: "Node", inverse: "previous", inverseEntity: "Node")
        RelationshipDescription("previous", toOne: "Node", inverse: "next", inverseEntity: "Node")
        RelationshipDescription("leaves", toMany: "Leaf", inverse: "node", inverseEntity: "Leaf")
      }
      EntityDescription("Leaf") {
        RelationshipDescription("node", toOne: "Node", inverse: "leaves", inverseEntity: "Node")
      }
    }
    let fixture = try CloneStore(model)
    let (first, last) = try fixture.store.write { tx in
      let first = try tx.insert("Node")
      var last = first
      for _ in 1..<20_000 {
        last = try tx.insert("Node", [:] as [String: AttributeValue?], relationships: ["previous": [last]])
      }
      for _ in 0..<20_000 {
        try tx.insert("Leaf", [:] as [String: AttributeValue?], relationships: ["node": [first]])
      }
      return (first, last)
    }
    let part = try preview(fixture, first, CloneTree.Window())
    #expect(part.nodes.count <= 500 && part.nodes.contains { !$0.isExpanded })
    var deep = CloneTree.Window()
    deep.top = last
    let end = try preview(fixture, first, deep)
    #expect(end.nodes.first?.object == last && end.nodes.first?.depth == 19_999)
    #expect(end.nodes.first?.order == 39_999)
  }

  private func preview(_ fixture: CloneStore, _ root: ObjectID, _ window: CloneTree.Window) throws -> CloneTree {
    try ClonePreview.of(
      [root], in: fixture.store, from: nil, options: CloneOptions(), window: window, deadline: .now + .unreached
    ).tree
  }
}

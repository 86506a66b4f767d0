import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneOperations

/// Lists and cascades so large that work which grows with the list, or with the depth, becomes visible: as a test that
/// does not end, or as a stack overflow. `Benchmarks/run structures` has the figures, at ten and a hundred times the
/// size.
@Suite("Structures of 100,000 objects")
struct BigStructureTests {
  private static let model = ManagedObjectModel("Big") {
    EntityDescription("Owner") {
      RelationshipDescription("track", toMany: "Item", inverse: "album", ordered: true)
      RelationshipDescription("items", toMany: "Item", inverse: "owner")
      RelationshipDescription("parts", toMany: "Item", inverse: "whole", deleteRule: .cascade)
    }
    EntityDescription("Item") {
      RelationshipDescription("album", toOne: "Owner", inverse: "track")
      RelationshipDescription("owner", toOne: "Owner", inverse: "items")
      RelationshipDescription("whole", toOne: "Owner", inverse: "parts")
      RelationshipDescription("favourite", toOne: "Item")
      RelationshipDescription("parent", toOne: "Item", inverse: "children")
      RelationshipDescription("children", toMany: "Item", inverse: "parent", deleteRule: .cascade)
    }
  }

  private static let count = 100_000
  /// The depth of a cascade; at 15,000, a recursion would have 35 bytes of the stack for each call.
  private static let depth = 15_000

  private struct Refusal: Error {}

  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(Self.model) }

  /// Runs only the store's own check: `checked` reads every link's other side, which at an owner is the whole list.
  private func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
    let damages = try store.check().issues
    #expect(damages.isEmpty, "\(damages.prefix(5).map(\.message))", sourceLocation: sourceLocation)
  }

  /// The problems of a long list's chunks.
  private func problems(_ owner: ObjectID, _ relationship: String) throws -> [String] {
    try store.read { tx in
      try tx._withSession { (session) throws(StoreError) in
        let view = try session.existingRecord(owner)
        let compiled = try session.schema.entity(of: view, id: owner).relationship(relationship)
        return try session.storage.checkList(
          session.address(owner, compiled.code), head: view.head(compiled.field),
          isOrdered: compiled.description.isOrdered)
      }
    }
  }

  // MARK: Lists

  /// The expected content of the lists.
  private struct Expected {
    var track: [ObjectID]
    var items: Set<ObjectID>
    /// Objects that are in no track.
    var rest: [ObjectID]
    var all: [ObjectID]
  }

  @Test("an ordered list equals an array, an inverse list a set, after operations anywhere, committed or aborted")
  func lists() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let owners = try store.insert("Owner", count: 2)
    let idol = try store.insert("Item")
    // Every twentieth also is in the hidden list of the idol's referrers.
    let all = try store.write { tx in
      var all: [ObjectID] = []
      for number in 0..<Self.count + 200 {
        let links = ["owner": [owners[0]], "favourite": number.isMultiple(of: 20) ? [idol] : []]
        all.append(try tx.insert("Item", relationships: links))
      }
      return all
    }
    var expected = Expected(
      track: all[..<Self.count].shuffled(using: &random), items: Set(all), rest: Array(all[Self.count...]), all: all)
    try store.setMembers(owners[0], "track", expected.track)

    for round in 0..<3 {
      let before = expected
      let isGivenUp = round == 1
      do {
        try store.write { tx in
          for _ in 0..<200 {
            try changeTrack(&tx, owners[0], &expected, &random)
            try changeItems(&tx, owners, &expected, &random)
            let track = try tx.count(owners[0], "track")
            let items = try tx.count(owners[0], "items")
            try #require(track == expected.track.count && items == expected.items.count, "seed \(seed)")
          }
          if isGivenUp { throw Refusal() }
        }
      } catch is Refusal where isGivenUp {
        expected = before
      }
      try #require(try store.members(owners[0], "track") == expected.track, "seed \(seed), round \(round)")
    }
    #expect(try store.members(owners[0], "items") == expected.items.sorted(), "seed \(seed)")
    for relationship in ["track", "items"] {
      #expect(try problems(owners[0], relationship) == [], "\(relationship), seed \(seed)")
    }
    let elsewhere = try store.members(owners[1], "items")
    #expect(expected.items.isDisjoint(with: elsewhere), "seed \(seed)")

    // Both lists and the hidden one lose all their members.
    #expect(try store.delete([owners[0], idol]) == 2)
    try store.read { tx in
      #expect(try tx.count(entity: "Item") == expected.all.count)
      #expect(try tx.members(owners[1], "items") == elsewhere, "seed \(seed)")
      for item in stride(from: 0, to: expected.all.count, by: 97).map({ expected.all[$0] }) {
        let owner = try tx.toOne(item, "owner")
        #expect(owner == (elsewhere.contains(item) ? owners[1] : nil), "seed \(seed)")
        let left = try [tx.toOne(item, "album"), tx.toOne(item, "favourite")]
        #expect(left == [nil, nil], "seed \(seed)")
      }
    }
    // The check would find a link to a deleted object, at any of the others.
    try expectSound()
  }

  /// Makes one change of an album's track, and of the expected array.
  private func changeTrack(
    _ tx: inout WriteTransaction, _ owner: ObjectID, _ expected: inout Expected, _ random: inout SeededGenerator
  ) throws {
    let last = expected.track.count - 1
    let place = [0, random.below(last), random.below(last), last][random.below(4)]
    switch random.below(6) {
    case 0 where expected.rest.count > 3:
      // Several at once, one of them a member already.
      let moved = expected.track.remove(at: place)
      let targets = [expected.rest.removeLast(), moved, expected.rest.removeLast()]
      let index = random.below(last)
      try tx.link(owner, "track", targets, at: index)
      expected.track.insert(contentsOf: targets, at: index)
    case 1 where !expected.rest.isEmpty:
      let item = expected.rest.removeLast()
      try tx.link(owner, "track", [item], at: place)
      expected.track.insert(item, at: place)
    case 2 where !expected.rest.isEmpty:
      let item = expected.rest.removeLast()
      try tx.setToOne(item, "album", owner)
      expected.track.append(item)
    case 3:
      let item = expected.track.remove(at: place)
      try tx.unlink(owner, "track", [item])
      expected.rest.append(item)
    case 4:
      let item = expected.track.remove(at: place)
      try tx.setToOne(item, "album", nil)
      expected.rest.append(item)
    default:
      let item = expected.track.remove(at: place)
      let index = random.below(last + 1)
      try tx.link(owner, "track", [item], at: index)
      expected.track.insert(item, at: index)
    }
  }

  /// Makes one change of the first owner's items, and of the expected set.
  private func changeItems(
    _ tx: inout WriteTransaction, _ owners: [ObjectID], _ expected: inout Expected, _ random: inout SeededGenerator
  ) throws {
    let index = random.below(expected.all.count)
    let item = expected.all[index]
    switch random.below(6) {
    case 0:
      try tx.unlink(owners[0], "items", [item])
      expected.items.remove(item)
    case 1:
      try tx.setToOne(item, "owner", owners[1])
      expected.items.remove(item)
    case 2:
      try tx.delete([item])
      expected.all.remove(at: index)
      expected.items.remove(item)
      if let place = expected.track.firstIndex(of: item) { expected.track.remove(at: place) }
      if let place = expected.rest.firstIndex(of: item) { expected.rest.remove(at: place) }
    default:
      try tx.link(owners[0], "items", [item])
      expected.items.insert(item)
    }
    let isMember = try tx.exists(item) && tx.toOne(item, "owner") == owners[0]
    #expect(isMember == expected.items.contains(item))
  }

  // MARK: Cascades

  @Test("a cascade over a star, a tree and a chain of 15,000 each runs on a small stack")
  func cascade() throws {
    // Bystanders refer to some of the deleted objects.
    let bystanders = try store.insert("Item", count: 40)
    let owner = try store.insert("Owner")
    try store.write { tx in
      // The owner's parts: the first is a tree's root, the second a chain's beginning.
      var parts: [ObjectID] = []
      for _ in 0..<Self.depth { parts.append(try tx.insert("Item", relationships: ["whole": [owner]])) }
      var tree = [parts[0]]
      for number in 1...Self.depth {
        tree.append(try tx.insert("Item", relationships: ["parent": [tree[(number - 1) / 2]]]))
      }
      var last = parts[1]
      for _ in 0..<Self.depth { last = try tx.insert("Item", relationships: ["parent": [last]]) }
      let favourites = parts[..<20] + tree[..<19] + [last]
      for (bystander, item) in zip(bystanders, favourites) { try tx.setToOne(bystander, "favourite", item) }
    }
    let store = store
    let deleted = try onThread(stackSize: 512 << 10) { try store.delete([owner]) }
    #expect(deleted == 3 * Self.depth + 1)
    #expect(try store.objects("Item") == bystanders && store.objects("Owner") == [])
    for bystander in bystanders { #expect(try store.toOne(bystander, "favourite") == nil) }
    try expectSound()
  }
}

import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Rules R5 to R8: followed, shared and empty relationships.
@Suite("Clone rules: relationships")
struct CloneRulesRelationshipTests {
  // MARK: R5

  /// Creates a root with one child, each with a separate label.
  private func labelled() throws -> (fixture: CloneStore, root: ObjectID) {
    let fixture = try CloneStore(CloneRulesTraversalTests.nodes)
    let root = try fixture.insert("Node", ["name": "r"])
    let child = try fixture.insert("Node", ["name": "c"], ["parent": [root]])
    for node in [root, child] { try fixture.insert("Label", ["name": "label"], ["node": [node]]) }
    return (fixture, root)
  }

  /// Returns the number of labels of the clone and of its child.
  private func labels(_ options: CloneOptions) throws -> [Int] {
    let (fixture, root) = try labelled()
    let clone = try fixture.clone([root], options).root
    let child = try fixture.members(clone, "children")[0]
    #expect(try fixture.members(root, "labels").count == 1)
    return [try fixture.members(clone, "labels").count, try fixture.members(child, "labels").count]
  }

  @Test("R5 a plain name holds for the roots, or for all with passingExclusionList", .tags(.r5))
  func r5_plainNames() throws {
    #expect(try labels(CloneOptions()) == [1, 1])
    #expect(try labels(.excluding("labels")) == [0, 1])
    #expect(try labels(.excluding("labels", passing: true)) == [0, 0])
  }

  @Test("R5 Entity.relationship holds on every level", .tags(.r5))
  func r5_qualifiedNames() throws {
    #expect(try labels(.excluding("Node.labels")) == [0, 0])
    #expect(try labels(.excluding("Node.labels", "friends", passing: true)) == [0, 0])
  }

  @Test("R5 a plain name holds for every root", .tags(.r5))
  func r5_severalRoots() throws {
    let (fixture, root) = try labelled()
    let child = try fixture.members(root, "children")[0]
    let clones = try fixture.clone([root, child], .excluding("labels")).roots
    #expect(try clones.map { try fixture.members($0, "labels").count } == [0, 0])
    #expect(try fixture.members(clones[0], "children") == [clones[1]])
  }

  @Test("R5 a qualified name of a super-entity holds for those below it", .tags(.r5))
  func r5_superentity() throws {
    let model = ManagedObjectModel("Inheritance") {
      EntityDescription("Base", abstract: true) { RelationshipDescription("part", toOne: "Part") }
      EntityDescription("Sub", parent: "Base") { RelationshipDescription("own", toOne: "Part") }
      EntityDescription("Part") {}
    }
    let fixture = try CloneStore(model)
    let sub = try fixture.insert("Sub", [:], ["part": [fixture.insert("Part")], "own": [fixture.insert("Part")]])
    for (name, expected) in [("Base.part", [0, 1]), ("Sub.part", [0, 1]), ("Sub.own", [1, 0]), ("part", [0, 1])] {
      let clone = try fixture.clone([sub], .excluding(name)).root
      #expect(try ["part", "own"].map { try fixture.members(clone, $0).count } == expected, "\(name)")
    }
  }

  @Test("R5 userInfo's exclude, whatever its value", .tags(.r5))
  func r5_userInfo() throws {
    for value in ["", "no", "1"] {
      let model = ManagedObjectModel("Excluded") {
        EntityDescription("Owner") {
          RelationshipDescription("parts", toMany: "Part", inverse: "owner", userInfo: ["exclude": value])
        }
        EntityDescription("Part") { RelationshipDescription("owner", toOne: "Owner", inverse: "parts") }
      }
      let fixture = try CloneStore(model)
      let owner = try fixture.insert("Owner")
      let part = try fixture.insert("Part", [:], ["owner": [owner]])
      let clone = try fixture.clone([owner]).root
      #expect(try fixture.members(clone, "parts") == [])
      #expect(try fixture.members(owner, "parts") == [part])
      #expect(try fixture.count("Part") == 1)
    }
  }

  @Test(
    "R5 unknown names are errors", .tags(.r5), arguments: ["label", "Node.label", "stranger", "Unreachable.stranger"])
  func r5_unknown(name: String) throws {
    let (fixture, root) = try labelled()
    try fixture.expectRefusal(.unknownRelationship, [root], .excluding(name))
    try fixture.expectRefusal(.unknownRelationship, [root], .excluding(name, passing: true))
  }

  @Test("R5 an unknown entity in a name is an error", .tags(.r5))
  func r5_unknownEntity() throws {
    let (fixture, root) = try labelled()
    try fixture.expectRefusal(.unknownEntity, [root], .excluding("Nod.labels"))
  }

  @Test("R5 a name that only a reachable entity has is known", .tags(.r5))
  func r5_reachable() throws {
    let (fixture, root) = try labelled()
    #expect(try fixture.clone([root], .excluding("node")).objectCount == 4)
  }

  // MARK: R6, R7

  /// Every kind of relationship from an Owner to Parts.
  private static func kinds(_ userInfo: [String: String] = [:]) -> ManagedObjectModel {
    ManagedObjectModel("Kinds") {
      EntityDescription("Owner") {
        AttributeDescription("name", .string)
        RelationshipDescription("oneToOne", toOne: "Part", inverse: "oneToOne", userInfo: userInfo)
        RelationshipDescription("oneToMany", toMany: "Part", inverse: "manyToOne", userInfo: userInfo)
        RelationshipDescription("manyToOne", toOne: "Part", inverse: "oneToMany", userInfo: userInfo)
        RelationshipDescription("manyToMany", toMany: "Part", inverse: "manyToMany", userInfo: userInfo)
        RelationshipDescription("one", toOne: "Part", userInfo: userInfo)
        RelationshipDescription("many", toMany: "Part", userInfo: userInfo)
      }
      EntityDescription("Part") {
        AttributeDescription("name", .string)
        RelationshipDescription("oneToOne", toOne: "Owner", inverse: "oneToOne")
        RelationshipDescription("manyToOne", toOne: "Owner", inverse: "oneToMany")
        RelationshipDescription("oneToMany", toMany: "Owner", inverse: "manyToOne")
        RelationshipDescription("manyToMany", toMany: "Owner", inverse: "manyToMany")
      }
    }
  }

  private static let names = ["oneToOne", "oneToMany", "manyToOne", "manyToMany", "one", "many"]

  /// Inserts an owner with one part in each relationship.
  private func owner(in fixture: CloneStore) throws -> (owner: ObjectID, parts: [String: ObjectID]) {
    var parts: [String: ObjectID] = [:]
    for name in Self.names { parts[name] = try fixture.insert("Part", ["name": .string(name)]) }
    return (try fixture.insert("Owner", ["name": "o"], parts.mapValues { [$0] }), parts)
  }

  /// Returns the outcome for each of the clone's relationships: `cloned`, `shared` or `empty`.
  private func outcome(_ model: ManagedObjectModel, _ options: CloneOptions = CloneOptions()) throws -> [String: String]
  {
    let fixture = try CloneStore(model)
    let (owner, parts) = try owner(in: fixture)
    let result = try fixture.clone([owner], options)
    var outcome: [String: String] = [:]
    for name in Self.names {
      let members = try fixture.members(result.root, name)
      let part = try #require(parts[name])
      #expect(try fixture.members(owner, name) == [part])
      outcome[name] = members.isEmpty ? "empty" : members == [part] ? "shared" : "cloned"
      if outcome[name] == "cloned" { #expect(try fixture.value(members[0], "name") == .string(name)) }
    }
    #expect(result.counts["Part", default: 0] == outcome.values.filter { $0 == "cloned" }.count)
    return outcome
  }

  private static let standard = [
    "oneToOne": "cloned", "oneToMany": "cloned", "manyToOne": "shared", "manyToMany": "shared", "one": "cloned",
    "many": "cloned",
  ]

  @Test("R6 and R7 by the inverse", .tags(.r6))
  func r6_r7_byInverse() throws {
    #expect(try outcome(Self.kinds()) == Self.standard)
  }

  @Test("R6 the shared target gains the clone", .tags(.r6))
  func r6_inverseGains() throws {
    let fixture = try CloneStore(Self.kinds())
    let (owner, parts) = try owner(in: fixture)
    let result = try fixture.clone([owner])
    #expect(try fixture.members(try #require(parts["manyToOne"]), "oneToMany") == [owner, result.root])
    #expect(try fixture.members(try #require(parts["manyToMany"]), "manyToMany") == [owner, result.root])
    #expect(result.affectedObjectIDs == [parts["manyToOne"], parts["manyToMany"]].compactMap { $0 }.sorted())
  }

  @Test("R7 a relationship without inverse is followed once per object", .tags(.r7))
  func r7_withoutInverse() throws {
    let fixture = try CloneStore(Self.kinds())
    let part = try fixture.insert("Part")
    let owner = try fixture.insert("Owner", [:], ["one": [part], "many": [part]])
    let result = try fixture.clone([owner])
    #expect(result.counts == ["Owner": 1, "Part": 1])
    #expect(try fixture.members(result.root, "many") == fixture.members(result.root, "one"))
  }

  @Test("R7 userInfo's clone wins over the inverse", .tags(.r7))
  func r7_userInfo() throws {
    #expect(try outcome(Self.kinds(["clone": "follow"])) == Self.standard.mapValues { _ in "cloned" })
    #expect(try outcome(Self.kinds(["clone": "skip"])) == Self.standard.mapValues { _ in "empty" })
    // Without the two to-one inverses, because their single place is occupied: a reference to their targets is an error
    // (R13).
    let model = Self.kinds(["clone": "reference"])
    let shared = try outcome(model, .rules(["Owner.oneToOne": .skip, "Owner.oneToMany": .skip]))
    #expect(shared.filter { $0.value == "shared" }.count == 4)
  }

  @Test("R7 per call is stronger than userInfo, and exclude stronger than clone", .tags(.r7))
  func r7_strength() throws {
    let follow = Dictionary(
      uniqueKeysWithValues: Self.names.map { ("Owner.\($0)", CloneRule.follow) })
    let cloned = Self.standard.mapValues { _ in "cloned" }
    let empty = Self.standard.mapValues { _ in "empty" }
    #expect(try outcome(Self.kinds(["exclude": ""]), .rules(follow)) == cloned)
    #expect(try outcome(Self.kinds(["clone": "skip"]), .rules(follow)) == cloned)
    #expect(try outcome(Self.kinds(["exclude": "", "clone": "follow"])) == empty)
    let skip = follow.mapValues { _ in CloneRule.skip }
    #expect(try outcome(Self.kinds(["clone": "follow"]), .rules(skip)) == empty)
  }

  @Test(
    "R7 of rules for an entity and for one below it, the lower one counts", .tags(.r7), arguments: ["ASub", "ZSub"])
  func r7_subentityRule(sub: String) throws {
    let model = ManagedObjectModel("Inheritance") {
      EntityDescription("Base") { RelationshipDescription("part", toOne: "Part") }
      EntityDescription(sub, parent: "Base") {}
      EntityDescription("Part") {}
    }
    let fixture = try CloneStore(model)
    let part = try fixture.insert("Part")
    let roots = [try fixture.insert("Base", [:], ["part": [part]]), try fixture.insert(sub, [:], ["part": [part]])]
    let options = CloneOptions.rules(["Base.part": .reference, "\(sub).part": .skip])
    let clones = try fixture.clone(roots, options).roots
    #expect(try clones.map { try fixture.toOne($0, "part") } == [part, nil])
  }

  @Test("R7 a rule for an unknown relationship is an error", .tags(.r7))
  func r7_unknownRule() throws {
    let fixture = try CloneStore(Self.kinds())
    let owner = try fixture.insert("Owner")
    for name in ["Owner.none", "None.one", "one"] {
      let error = #expect(throws: CloneError.self, "\(name)") {
        try fixture.store.clone([owner], options: .rules([name: .skip]))
      }
      #expect(error.map { [.unknownRelationship, .unknownEntity].contains($0.kind) } == true, "\(name)")
    }
    #expect(try fixture.count("Owner") == 1)
  }
}

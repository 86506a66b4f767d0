import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// Lists of every length, inline and in chunks, followed, shared, ordered, and one-sided.
@Suite("Clone rules: lists of every length")
struct CloneRulesListTests {
  static let lengths = [0, 1, 16, 17, 128, 129, 1000]

  private static let model = ManagedObjectModel("Lists") {
    EntityDescription("Owner") {
      AttributeDescription("name", .string)
      RelationshipDescription("parts", toMany: "Part", inverse: "owner")
      RelationshipDescription("steps", toMany: "Part", inverse: "ownerOfSteps", ordered: true)
      RelationshipDescription("tags", toMany: "Tag", inverse: "owners")
      RelationshipDescription("rankedTags", toMany: "Tag", inverse: "rankedOwners", ordered: true)
      RelationshipDescription("loose", toMany: "Part")
      RelationshipDescription("rankedLoose", toMany: "Part", ordered: true)
      RelationshipDescription("seen", toMany: "Tag", userInfo: ["clone": "reference"])
      RelationshipDescription("rankedSeen", toMany: "Tag", ordered: true, userInfo: ["clone": "reference"])
    }
    EntityDescription("Part") {
      AttributeDescription("name", .string)
      RelationshipDescription("owner", toOne: "Owner", inverse: "parts")
      RelationshipDescription("ownerOfSteps", toOne: "Owner", inverse: "steps")
      RelationshipDescription("tag", toOne: "Tag", inverse: "parts")
      RelationshipDescription("rankedTag", toOne: "Tag", inverse: "rankedParts")
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("owners", toMany: "Owner", inverse: "tags")
      RelationshipDescription("rankedOwners", toMany: "Owner", inverse: "rankedTags", ordered: true)
      RelationshipDescription("parts", toMany: "Part", inverse: "tag")
      RelationshipDescription("rankedParts", toMany: "Part", inverse: "rankedTag", ordered: true)
    }
  }

  let fixture: CloneStore
  let seed: UInt64 = 11

  init() throws { fixture = try CloneStore(Self.model) }

  /// Clones an owner with shuffled members in one relationship, and compares the names and identities of the members.
  private func expect(_ relationship: String, _ count: Int, of entity: String, shared: Bool, ordered: Bool) throws {
    var random = SeededGenerator(seed: seed)
    let members = try fixture.insertMany(count, entity)
    let owner = try fixture.insert("Owner", ["name": "o"])
    try fixture.set(owner, relationship, members.shuffled(using: &random))
    let before = try fixture.members(owner, relationship)
    #expect(before.count == count && (ordered || before == members))
    let result = try fixture.clone([owner])
    let clones = try fixture.members(result.root, relationship)
    #expect(try fixture.members(owner, relationship) == before)
    #expect(try fixture.store.read { try $0.count(result.root, relationship) } == count)
    if shared {
      #expect(clones == before)
      #expect(result.objectCount == 1)
    } else {
      #expect(result.objectCount == 1 + count)
      #expect(try fixture.names(result.root, relationship) == fixture.names(owner, relationship))
      #expect(Set(clones).count == count && Set(clones).isDisjoint(with: members))
    }
  }

  @Test("R7 followed", .tags(.r7), arguments: lengths)
  func r7_followed(count: Int) throws { try expect("parts", count, of: "Part", shared: false, ordered: false) }

  @Test("R7 and R12 followed and ordered", .tags(.r7), arguments: lengths)
  func r12_followedOrdered(count: Int) throws { try expect("steps", count, of: "Part", shared: false, ordered: true) }

  @Test("R6 stopped", .tags(.r6), arguments: lengths)
  func r6_stopped(count: Int) throws { try expect("tags", count, of: "Tag", shared: true, ordered: false) }

  @Test("R6 and R12 stopped and ordered", .tags(.r6), arguments: lengths)
  func r12_stoppedOrdered(count: Int) throws {
    try expect("rankedTags", count, of: "Tag", shared: true, ordered: true)
  }

  @Test("R7 without inverse", .tags(.r7), arguments: lengths)
  func r7_loose(count: Int) throws {
    try expect("loose", count, of: "Part", shared: false, ordered: false)
    try expect("rankedLoose", count, of: "Part", shared: false, ordered: true)
  }

  @Test("R7 referenced without inverse", .tags(.r7), arguments: lengths)
  func r7_referenced(count: Int) throws {
    try expect("seen", count, of: "Tag", shared: true, ordered: false)
    try expect("rankedSeen", count, of: "Tag", shared: true, ordered: true)
  }

  /// An outside tag with a list of `count` parts that are cloned, between `others` that are not.
  @Test("R12 and R13 an outside list that doubles", .tags(.r12), arguments: lengths, [0, 1, 15])
  func r12_outsideGrows(count: Int, others: Int) throws {
    var random = SeededGenerator(seed: seed)
    let tag = try fixture.insert("Tag")
    let strangers = try fixture.insertMany(others, "Part", ["tag": [tag]])
    let owner = try fixture.insert("Owner")
    let parts = try fixture.insertMany(count, "Part", ["owner": [owner], "tag": [tag]])
    let ranked = (parts + strangers).shuffled(using: &random)
    try fixture.set(tag, "rankedParts", ranked)
    let result = try fixture.clone([owner])
    let clones = try fixture.members(result.root, "parts")
    #expect(try fixture.members(tag, "parts") == strangers + parts + clones)
    let cloneOf = Dictionary(uniqueKeysWithValues: zip(parts, clones))
    #expect(try fixture.members(tag, "rankedParts") == ranked + ranked.compactMap { cloneOf[$0] })
    #expect(result.affectedObjectIDs == (count == 0 ? [] : [tag]))
    let tags = try fixture.store.read { tx in try clones.map { try tx.toOne($0, "tag") } }
    #expect(Set(tags) == (count == 0 ? [] : [tag]))
  }

  @Test("R9 a long list of which a part is cloned", .tags(.r9), arguments: [17, 129, 1000])
  func r9_mixed(count: Int) throws {
    // Every third tag of the list is a root too, so it is replaced by its clone; the others stay.
    let tags = try fixture.insertMany(count, "Tag")
    let owner = try fixture.insert("Owner")
    try fixture.set(owner, "tags", tags)
    try fixture.set(owner, "rankedTags", tags.reversed())
    let cloned = stride(from: 0, to: count, by: 3).map { tags[$0] }
    let result = try fixture.clone([owner] + cloned)
    let cloneOf = Dictionary(uniqueKeysWithValues: zip(cloned, result.roots.dropFirst()))
    #expect(try fixture.members(result.root, "tags") == tags.map { cloneOf[$0] ?? $0 }.sorted())
    #expect(try fixture.members(result.root, "rankedTags") == tags.reversed().map { cloneOf[$0] ?? $0 })
    #expect(result.affectedObjectCount == count - cloned.count)
    #expect(try fixture.members(tags[1], "owners") == [owner, result.root])
    #expect(try fixture.members(tags[0], "owners") == [owner])
  }
}

import KVCloneMerge
import KVCloneModel
import Testing

/// Links that several rules decide. Each of these was wrong once, and found by the oracle.
@Suite struct LinkedRulesMergeTests {
  private static let model = ManagedObjectModel("Chain") {
    EntityDescription("Item", unique: [["code"]]) {
      AttributeDescription("code", .string)
      RelationshipDescription("twin", toOne: "Item", inverse: "twin", deleteRule: .deny)
      RelationshipDescription("next", toOne: "Item", inverse: "previous")
      RelationshipDescription("previous", toOne: "Item", inverse: "next")
      RelationshipDescription("peers", toMany: "Item", inverse: "peers", userInfo: ["merge": "skip"])
      RelationshipDescription("mark", toOne: "Item")
      RelationshipDescription("lid", toOne: "Lid", inverse: "item", deleteRule: .cascade)
      RelationshipDescription("box", toOne: "Box", inverse: "items")
      RelationshipDescription("parts", toMany: "Part", inverse: "items", deleteRule: .cascade)
      RelationshipDescription("locks", toMany: "Part", deleteRule: .deny)
    }
    EntityDescription("Box") {
      RelationshipDescription("items", toMany: "Item", inverse: "box", deleteRule: .cascade)
    }
    EntityDescription("Lid") { RelationshipDescription("item", toOne: "Item", inverse: "lid") }
    EntityDescription("Part") { RelationshipDescription("items", toMany: "Item", inverse: "parts") }
  }

  private let fixture: MergeFixture

  init() throws { fixture = try MergeFixture(Self.model) }

  private func items(_ count: UInt64) -> [ObjectID] {
    (1...count).map { fixture.base.insert("Item", $0, ["code": .string("\($0)")]) }
  }

  @Test("M17: a deletion is not denied by a link that its other end decided against") func m17DenyOwnInverse() throws {
    let items = items(4)
    fixture.base.setTarget(items[0], "twin", items[1])
    fixture.fork()
    fixture.ours.setTarget(items[1], "twin", items[2])
    fixture.ours.delete([items[3]])
    fixture.theirs.setTarget(items[0], "twin", items[3])
    let plan = try fixture.plan(MergeOptions(policy: .ours))
    #expect(plan.issues.isEmpty, "\(plan.issues.map(\.message))")
    #expect(fixture.result(plan).members(items[1], "twin") == [items[2]])
  }

  @Test("M4: an object that an answer keeps denies no deletion, because it loses its links to deleted objects")
  func m4DenyOfKept() throws {
    let items = items(2)
    fixture.fork()
    let part = fixture.theirs.insert("Part", 1)
    fixture.theirs.add(part, to: items[0], "parts")
    fixture.theirs.add(part, to: items[1], "locks")
    fixture.ours.delete(items)
    let plan = try fixture.plan(MergeOptions(policy: .ours, rules: ["Part": .theirs]))
    #expect(plan.conflictTexts.contains("takenAlong Part/1 -"))
    #expect(plan.issues.isEmpty, "\(plan.issues.map(\.message))")
    #expect(fixture.result(plan).members(part, "items").isEmpty)
    let denied = try fixture.plan(MergeOptions { $0.kind == .takenAlong ? .refuse : .ours })
    #expect(denied.issues.isEmpty, "nothing follows from an open conflict")
  }

  @Test("M4, M17: a deletion takes a partner along that only a deleted object holds besides") func m4TakenFromDeleted()
    throws
  {
    let items = items(2)
    let lid = fixture.base.insert("Lid", 1)
    fixture.base.setTarget(items[0], "lid", lid)
    fixture.fork()
    fixture.ours.delete([items[1]])
    fixture.theirs.setTarget(items[1], "lid", lid)
    fixture.theirs.delete([items[0]])
    let texts = ["deletedOurs Item/2 -", "takenAlong Lid/1 -"]
    #expect(try fixture.plan(MergeOptions(policy: .ours)).conflictTexts == texts)
    let reverse = try fixture.reversePlan(MergeOptions(policy: .theirs))
    #expect(reverse.conflictTexts == ["deletedTheirs Item/2 -", "takenAlong Lid/1 -"])
    #expect(try fixture.merged(MergeOptions(policy: .ours)).objects.isEmpty)
  }

  @Test("M3: a partner that a conflict gave away is not taken back") func m3PartnerGivenAway() throws {
    let items = items(4)
    fixture.fork()
    fixture.ours.setTarget(items[1], "next", items[2])
    fixture.theirs.setTarget(items[0], "next", items[2])
    fixture.theirs.setTarget(items[1], "next", items[3])
    // Ours for the item that both sides linked, theirs for the partner.
    let options = MergeOptions { $0.kind == .inverseTaken ? .theirs : .ours }
    let result = try fixture.merged(options)
    #expect(result.members(items[0], "next") == [items[2]] && result.members(items[2], "previous") == [items[0]])
    #expect(result.members(items[1], "next") == [items[3]])
  }

  @Test("M3: the partner of a deleted object is free for one that lost its own") func m3FreePartner() throws {
    let items = items(5)
    fixture.fork()
    fixture.ours.setTarget(items[0], "next", items[1])
    fixture.ours.setTarget(items[2], "next", items[3])
    fixture.theirs.setTarget(items[0], "next", items[3])
    fixture.theirs.setTarget(items[4], "next", items[1])
    fixture.theirs.delete([items[2]])
    let options = MergeOptions { $0.kind == .bothChanged ? .ours : .theirs }
    let result = try fixture.merged(options)
    #expect(result.members(items[4], "next") == [items[1]] && result.members(items[0], "next") == [items[3]])
  }

  @Test("M7: an answer gives a partner to a third object in place of the one that it wanted", arguments: [false, true])
  func m7ThirdPartner(isReversed: Bool) throws {
    let items = isReversed ? items(5).reversed() : items(5)
    fixture.fork()
    fixture.ours.setTarget(items[0], "next", items[1])
    fixture.theirs.setTarget(items[2], "next", items[1])
    fixture.theirs.setTarget(items[3], "next", items[4])
    let third = items[3]
    let result = try fixture.merged(MergeOptions { _ in .object(third) })
    #expect(result.members(items[1], "previous") == [third] && result.members(third, "next") == [items[1]])
    #expect(result.members(items[4], "previous").isEmpty)
  }

  @Test("M5: a link that an answer gave to a united object leads to the one that remains") func m5AnsweredLink() throws
  {
    let items = items(3)
    fixture.fork()
    fixture.ours.setTarget(items[0], "mark", items[1])
    fixture.theirs.setTarget(items[0], "mark", items[2])
    let mine = fixture.ours.insert("Item", 8, ["code": "same"])
    let other = fixture.theirs.insert("Item", 9, ["code": "same"])
    let result = try fixture.merged(MergeOptions { $0.kind == .bothChanged ? .object(other) : .ours })
    #expect(result.entity(of: other) == nil && result.members(items[0], "mark") == [mine])
  }

  @Test("M4, M7: a link of a new object is a change of both ends, although the rule of its own inverse is skip")
  func m4SkippedOwnInverse() throws {
    let items = items(1)
    fixture.fork()
    fixture.ours.delete(items)
    let new = fixture.theirs.insert("Item", 9, ["code": "new"])
    fixture.theirs.add(items[0], to: new, "peers")
    #expect(try fixture.plan().conflictTexts == ["deletedOurs Item/1 -"])
    #expect(try fixture.merged(MergeOptions(policy: .theirs)).members(items[0], "peers") == [new])
  }

  @Test("M4: nothing follows from a link with an open conflict") func m4OpenLink() throws {
    let items = items(1)
    let boxes = (1...2).map { fixture.base.insert("Box", UInt64($0)) }
    fixture.fork()
    fixture.ours.setTarget(items[0], "box", boxes[0])
    fixture.theirs.setTarget(items[0], "box", boxes[1])
    fixture.theirs.delete([boxes[0]])
    let options = MergeOptions { $0.kind == .deletedTheirs ? .theirs : .refuse }
    #expect(try fixture.plan(options).conflictTexts == ["bothChanged Item/1 box", "deletedTheirs Box/1 -"])
  }

  @Test("M5: a union takes a partner that the result has") func m5PartnerOfUnion() throws {
    let items = items(3)
    fixture.base.setTarget(items[0], "next", items[1])
    fixture.fork()
    fixture.ours.set(items[0], "code", "same")
    let new = fixture.theirs.insert("Item", 9, ["code": "same"])
    fixture.theirs.setTarget(new, "next", items[2])
    fixture.theirs.delete([items[1]])
    let result = try fixture.merged(MergeOptions(policy: .ours))
    #expect(result.entity(of: new) == nil && result.members(items[0], "next") == [items[2]])
  }

  @Test("M5: a link between united objects leads from the union to itself only if no other partner is lost")
  func m5LinkWithinUnion() throws {
    let items = items(3)
    fixture.fork()
    fixture.ours.set(items[0], "code", "same")
    let new = fixture.theirs.insert("Item", 9, ["code": "same"])
    fixture.theirs.setTarget(new, "next", items[0])
    for side in MergeSide.allCases {
      let alone = try fixture.merged(MergeOptions(policy: side))
      #expect(alone.members(items[0], "next") == [items[0]] && alone.members(items[0], "previous") == [items[0]])
    }
    fixture.theirs.setTarget(items[2], "next", new)
    for side in MergeSide.allCases {
      let result = try fixture.merged(MergeOptions(policy: side))
      #expect(result.members(items[0], "previous") == [items[2]] && result.members(items[0], "next").isEmpty)
    }
  }
}

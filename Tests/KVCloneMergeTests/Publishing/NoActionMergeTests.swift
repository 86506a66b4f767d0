import KVClone
import KVCloneMerge
import KVCloneTestSupport
import Testing

/// Deletions with the rule No Action, which leave objects without a required link, as in Core Data.
@Suite struct NoActionMergeTests {
  private let fixture: BranchFixture
  private let store: ObjectStore
  private let branch: ObjectStore
  private let owner, item: ObjectID

  init() throws {
    fixture = try BranchFixture(
      .lmdb,
      model: ManagedObjectModel("Owners") {
        EntityDescription("Owner") {
          RelationshipDescription("items", toMany: "Item", inverse: "owner", deleteRule: .noAction)
        }
        EntityDescription("Item") {
          AttributeDescription("name", .string)
          RelationshipDescription("owner", toOne: "Owner", inverse: "items", optional: false)
        }
      })
    store = fixture.store
    (owner, item) = try store.write { tx in
      let owner = try tx.insert("Owner")
      return (owner, try tx.insert("Item", ["name": "a"], relationships: ["owner": [owner]]))
    }
    branch = try store.branches.create("draft")
  }

  @Test("M4: a deletion with No Action is merged without validating what it leaves", arguments: [false, true])
  func m4NoAction(isOnBranch: Bool) throws {
    try (isOnBranch ? branch : store).delete([owner])
    let plan = try isOnBranch ? store.branches.planPublish("draft") : store.branches.planUpdate("draft")
    #expect(plan.canMerge && plan.counts == ["Owner": MergeCount(deleted: 1)])
    if isOnBranch {
      try store.branches.publish("draft")
    } else {
      try store.branches.update("draft")
    }
    for target in [store, branch] {
      #expect(try !target.exists(owner) && target.exists(item))
      #expect(try target.toOne(item, "owner") == nil)
    }
    #expect(try store.check().issues.isEmpty)
  }

  @Test("M4: a deletion with No Action may leave a list with too few members", arguments: [false, true])
  func m4NoActionOfMembers(isOrdered: Bool) throws {
    let fixture = try BranchFixture(
      .lmdb,
      model: ManagedObjectModel("Owners") {
        EntityDescription("Owner") {
          RelationshipDescription("items", toMany: "Item", inverse: "owner", ordered: isOrdered, min: 2)
        }
        EntityDescription("Item") {
          RelationshipDescription("owner", toOne: "Owner", inverse: "items", deleteRule: .noAction)
        }
      })
    let store = fixture.store
    let items = try store.insert("Item", count: 2)
    let owner = try store.insert("Owner", relationships: ["items": items])
    let branch = try store.branches.create("draft")
    try branch.delete([items[0]])
    #expect(try store.branches.planPublish("draft").canMerge)
    try store.branches.publish("draft")
    #expect(try store.members(owner, "items") == [items[1]])
    #expect(try store.check().issues.isEmpty)
  }

  @Test("M6: the plan validates all of each changed object, as the commit does")
  func m6BrokenObjects() throws {
    try branch.set(item, "name", "b")
    try store.delete([owner])
    let plan = try store.branches.planPublish("draft")
    #expect(!plan.canMerge && plan.issues.map(\.object) == ["Item/1"] && plan.issues.map(\.property) == ["owner"])
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft") }
    #expect(error?.kind == .brokenRules)
    // The branch mends it.
    let other = try branch.insert("Owner")
    try branch.setToOne(item, "owner", other)
    let conflict = try #require(try store.branches.planPublish("draft").conflicts.first)
    #expect(conflict.kind == .bothChanged && conflict.property == "owner")
    try store.branches.publish("draft", options: MergeOptions(policy: .theirs))
    #expect(try store.toOne(item, "owner") == other)
    #expect(try store.check().issues.isEmpty)
  }
}

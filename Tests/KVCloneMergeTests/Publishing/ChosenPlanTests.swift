import KVCloneMerge
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore

/// Limits and hooks in plans of chosen objects, and of unique derived attributes (M6).
@Suite struct ChosenPlanTests {
  @Test("M6, M13: a plan of chosen objects finds that the branch would have too many objects") func m6Limit() throws {
    let engine = MemoryStorage()
    _ = try ObjectStore.create(in: engine, model: snapshotModel)
    var options = StoreOptions()
    options.maximumObjectCount = 3
    let store = try StoreOpening.assemble(engine, path: "engine", model: nil, options: options)
    defer { store.close() }
    let branch = try store.branches.create("draft")
    let tags = try branch.write { tx in [try tx.insert("Tag"), try tx.insert("Tag")] }
    try store.write { tx in for _ in 0..<2 { try tx.insert("Tag") } }
    let plan = try store.branches.planPublish("draft", only: [tags[0]])
    #expect(!plan.canMerge && plan.issues.map(\.kindName) == ["limitExceeded"])
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", only: [tags[0]]) }
    #expect(error?.kind == .brokenRules)
    try branch.write { tx in _ = try tx.delete(tags[1]) }
    #expect(try store.branches.planPublish("draft", only: [tags[0]]).canMerge)
    try store.branches.publish("draft", only: [tags[0]])
    #expect(try store.read { tx in try tx.count(entity: "Tag") } == 3)
    #expect(try CheckedStore.issues(store) == [])
  }

  @Test("M6, M13: a plan of chosen objects names what hooks of the branch refuse", arguments: ["willSave", "validate"])
  func m6Hooks(_ name: String) throws {
    let library = try Library(.lmdb)
    let store = library.store
    let branch = try store.branches.create("draft")
    try library.setTitle("mine", in: branch)
    try store.write { tx in try tx.set(library.other, "title", .string("yours")) }
    var hooks = ObjectLifecycle()
    let refuse: @Sendable (borrowing WriteTransaction, ObjectID) throws -> Void = { tx, id in
      if try tx.value(id, "title") == .string("yours") { throw LifecycleRejection(property: "title", "is refused") }
    }
    if name == "willSave" {
      hooks.willSave = { tx, id in try refuse(tx, id) }
    } else {
      hooks.validateForUpdate = refuse
    }
    try store.register(hooks, for: "Book")
    let plan = try store.branches.planPublish("draft", only: [library.book])
    #expect(!plan.canMerge && plan.issueCount == 1)
    let issue = try #require(plan.issues.first)
    let kind = name == "willSave" ? "hookFailed" : ValidationIssue.Kind.rejectedByHook.rawValue
    #expect(issue.kindName == kind && issue.property == "title")
    #expect(issue.message.contains("is refused"))
    let before = try library.text(store)
    let error = #expect(throws: MergeError.self) { try store.branches.publish("draft", only: [library.book]) }
    #expect(error?.kind == .brokenRules)
    #expect(try library.text(store) == before)
    try library.check()
  }

  @Test("M6, M13: plans find equal values of unique derived attributes on the branch, and refusals beside them")
  func m6Derived() throws {
    let model = ManagedObjectModel("Keys") {
      EntityDescription("Key", unique: [["folded"]]) {
        AttributeDescription("name", .string)
        AttributeDescription("folded", .string, derivation: "lowercase:(name)")
      }
    }
    let fixture = try TestStore(model)
    let store = fixture.store
    let branch = try store.branches.create("draft")
    let chosen = try branch.write { tx in
      _ = try tx.insert("Key", ["name": .string("A")])
      return try tx.insert("Key", ["name": .string("B")])
    }
    #expect(try store.branches.planPublish("draft", only: [chosen]).canMerge)
    try store.write { tx in _ = try tx.insert("Key", ["name": .string("a")]) }
    let plan = try store.branches.planPublish("draft", only: [chosen])
    #expect(!plan.canMerge && plan.issues.first?.property == "folded")
    #expect(throws: MergeError.self) { try store.branches.publish("draft", only: [chosen]) }
    var hooks = ObjectLifecycle()
    hooks.willSave = { _, _ in throw LifecycleRejection("is locked") }
    try store.register(hooks, for: "Key")
    for plan in try [store.branches.planPublish("draft"), store.branches.planUpdate("draft")] {
      #expect(!plan.canMerge && plan.issues.map(\.kindName) == ["hookFailed"])
    }
    #expect(try store.read { tx in try tx.count(entity: "Key") } == 1)
    #expect(try CheckedStore.issues(store) == [])
  }
}

import Foundation
@testable import KVClone
@testable import KVCloneCore
import KVCloneTestSupport
import Synchronization
import Testing

/// Rule R30: hooks that decide about edges, and that change the clones.
@Suite("Clone rules: hooks")
struct CloneRulesHookTests {
  private static let model = ManagedObjectModel("Work") {
    EntityDescription("Task") {
      AttributeDescription("name", .string)
      AttributeDescription("isDone", .boolean)
      RelationshipDescription("parent", toOne: "Task", inverse: "children")
      RelationshipDescription("children", toMany: "Task", inverse: "parent", ordered: true)
      RelationshipDescription("tags", toMany: "Tag", inverse: "tasks")
      RelationshipDescription("note", toOne: "Note")
      RelationshipDescription("secret", toOne: "Note", userInfo: ["exclude": ""])
    }
    EntityDescription("Tag") {
      AttributeDescription("name", .string)
      RelationshipDescription("tasks", toMany: "Task", inverse: "tags")
      RelationshipDescription("owner", toOne: "Owner", inverse: "tags", optional: false)
    }
    EntityDescription("Owner") {
      AttributeDescription("name", .string)
      RelationshipDescription("tags", toMany: "Tag", inverse: "owner")
    }
    EntityDescription("Note") { AttributeDescription("name", .string) }
  }

  private struct Stop: Error, Equatable {}

  private let fixture: CloneStore
  private let root: ObjectID
  private let children: [ObjectID]
  private let tag: ObjectID
  private let note: ObjectID

  init() throws {
    fixture = try CloneStore(Self.model)
    let owner = try fixture.insert("Owner")
    tag = try fixture.insert("Tag", ["name": "t"], ["owner": [owner]])
    note = try fixture.insert("Note", ["name": "n"])
    root = try fixture.insert("Task", ["name": "root"], ["tags": [tag], "note": [note], "secret": [note]])
    var children: [ObjectID] = []
    for index in 0..<4 {
      children.append(
        try fixture.insert(
          "Task", ["name": .string("\(index)"), "isDone": .boolean(index % 2 == 0)], ["parent": [root], "tags": [tag]]))
    }
    self.children = children
  }

  private func hook(
    _ willClone: @escaping @Sendable (CloneEdge, borrowing CloneSource) throws -> CloneRule
  ) -> CloneOptions { .with { $0.willClone = willClone } }

  @Test(
    "R30 every edge that is not excluded is asked about once, in the order of the traversal, with the rules' answer",
    .tags(.r30))
  func r30_asked() throws {
    let asked = Mutex<[CloneEdge]>([])
    let result = try fixture.clone(
      [root],
      hook { edge, _ in
        asked.withLock { $0.append(edge) }
        return edge.rule
      })
    let edges = asked.withLock { $0 }
    var expected = children.map { CloneEdge(source: $0, relationship: "children", parent: root, rule: .follow) }
    expected.append(CloneEdge(source: tag, relationship: "tags", parent: root, rule: .reference))
    expected.append(CloneEdge(source: note, relationship: "note", parent: root, rule: .follow))
    for child in children {
      expected.append(CloneEdge(source: root, relationship: "parent", parent: child, rule: .reference))
      expected.append(CloneEdge(source: tag, relationship: "tags", parent: child, rule: .reference))
    }
    #expect(edges == expected)
    #expect(result.objectCount == 6 && result.affectedObjectIDs == [tag])
  }

  @Test("R30 skip leaves one edge out, and reads the source to decide", .tags(.r30))
  func r30_skip() throws {
    let result = try fixture.clone(
      [root],
      hook { edge, source in
        guard edge.relationship == "children" else { return edge.rule }
        return try source.value(edge.source, "isDone") == true ? .skip : edge.rule
      })
    #expect(result.objectCount == 4)
    #expect(try fixture.names(result.root, "children") == ["1", "3"])
    #expect(try fixture.names(root, "children") == ["0", "1", "2", "3"])
    #expect(try fixture.members(tag, "tasks").count == 5 + 3)
  }

  @Test("R30 follow clones what the rules share, with what the clone needs", .tags(.r30))
  func r30_follow() throws {
    let follows = hook { edge, source in
      let isThere = try source.exists(edge.source)
      #expect(isThere)
      let isTask = try source.entityName(of: edge.parent) == "Task"
      return isTask && edge.relationship == "tags" ? .follow : edge.rule
    }
    // A link has one rule, the stronger one of its two sides: `tasks` stops, and `tags` follows.
    let result = try fixture.clone([root], follows)
    #expect(result.counts == ["Task": 5, "Tag": 1, "Note": 1])
    let clone = try #require(try fixture.members(result.root, "tags").first)
    #expect(try clone != tag && fixture.members(clone, "tasks").count == 5)
    #expect(try fixture.members(tag, "tasks").count == 5)
  }

  @Test("R30 reference shares what the rules follow, and obstacles are errors", .tags(.r30))
  func r30_reference() throws {
    let result = try fixture.clone(
      [root], hook { edge, _ in edge.relationship == "note" ? .reference : edge.rule })
    #expect(try result.objectCount == 5 && fixture.toOne(result.root, "note") == note)
    // The children have one parent, which is the original.
    try fixture.expectRefusal(
      .inverseTaken, [root], hook { edge, _ in edge.relationship == "children" ? .reference : edge.rule },
      entity: "Task", property: "parent")
    // If only the inverse follows, the link is followed.
    let child = children[0]
    let followed = try fixture.clone(
      [root, child],
      hook { edge, _ in
        if edge.relationship == "children" { return edge.source == child ? .reference : .skip }
        return edge.relationship == "parent" ? .follow : .reference
      })
    #expect(followed.objectCount == 2)
    #expect(try fixture.toOne(followed.roots[1], "parent") == followed.root)
  }

  @Test("R30 what a required relationship loses is an error", .tags(.r30))
  func r30_required() throws {
    try fixture.expectRefusal(
      .requiredRelationshipExcluded, [tag], hook { edge, _ in edge.relationship == "owner" ? .skip : edge.rule },
      entity: "Tag", property: "owner", object: tag)
    // The hook is not called for edges that a rule excludes.
    let options = CloneOptions.with {
      $0.excludedRelationshipNames = ["children", "Task.tags"]
      $0.willClone = { edge, _ in
        #expect(edge.relationship == "note")
        return .follow
      }
    }
    #expect(try fixture.clone([root], options).objectCount == 2)
  }

  @Test("R30 what a hook throws ends the clone, with nothing written", .tags(.r30))
  func r30_throws() throws {
    let (lines, commit) = (try fixture.lines(), try fixture.commit)
    let third = children[2]
    let stopping: [CloneOptions] = [
      hook { edge, _ in if edge.relationship == "note" { throw Stop() } else { return edge.rule } },
      .with { $0.didClone = { _, source, _ in if source == third { throw Stop() } } },
    ]
    for options in stopping {
      #expect(throws: Stop.self) { try fixture.store.clone([root], options: options) }
      let aborted = #expect(throws: StoreError.self) {
        try fixture.store.write { tx in
          do { _ = try tx.clone([root], options: options) } catch { #expect(error is Stop) }
        }
      }
      #expect(aborted?.kind == .transactionAborted)
      #expect(try fixture.lines() == lines && fixture.commit == commit)
    }
    #expect(throws: Stop.self) { try fixture.store.planClone([root], options: stopping[0]) }
    #expect(try fixture.store.planClone([root], options: stopping[1]).errors.isEmpty)
    try fixture.expectClean()
  }

  @Test("R30 inside a transaction the hook sees what the transaction has changed", .tags(.r30))
  func r30_transaction() throws {
    let clone = try fixture.store.write { tx in
      try tx.set(children[1], "isDone", true)
      return try tx.clone(
        [root],
        options: hook { edge, source in
          guard edge.relationship == "children" else { return edge.rule }
          return try source.value(edge.source, "isDone") == true ? .skip : edge.rule
        }
      ).root
    }
    #expect(try fixture.names(clone, "children") == ["3"])
    try fixture.expectClean()
  }

  @Test("R30 the plan calls the hook, and predicts the clone", .tags(.r30))
  func r30_planned() throws {
    let options = hook { edge, _ in edge.relationship == "tags" ? .follow : edge.rule }
    let plan = try fixture.store.planClone([root], options: options)
    #expect(plan.errors.isEmpty && plan.counts == ["Task": 5, "Tag": 1, "Note": 1])
    #expect(try fixture.clone([root], options).counts == plan.counts)
    #expect(try fixture.store.read { try $0.cloneSet(of: [root], options: options) }.count == 7)
  }

  @Test("R30 didClone hears of every pair in ascending order, and may change, add and delete", .tags(.r30))
  func r30_didClone() throws {
    let pairs = Mutex<[(ObjectID, ObjectID)]>([])
    let last = children[3]
    let result = try fixture.clone(
      [root],
      .with {
        $0.didClone = { tx, source, clone in
          pairs.withLock { $0.append((source, clone)) }
          let (name, copied) = (try tx.value(source, "name"), try tx.value(clone, "name"))
          #expect(name == copied)
          if source.rootCode == last.rootCode { try tx.set(clone, "name", .string("copy \(source.serial)")) }
          if source == last { try tx.delete([clone]) }
          if try tx.entityName(of: source) == "Task", try tx.count(source, "children") > 0 {
            try tx.link(clone, "children", [try tx.insert("Task", ["name": "extra"])], at: 0)
          }
        }
      })
    let seen = pairs.withLock { $0 }
    #expect(seen.map(\.0) == seen.map(\.0).sorted() && seen.count == 6)
    #expect(Set(seen.map(\.1)).count == 6)
    #expect(
      try fixture.names(result.root, "children") == ["extra"] + children.prefix(3).map { "copy \($0.serial)" })
    #expect(try fixture.value(root, "name") == "root")
  }

  @Test("R30 what didClone breaks, the commit finds", .tags(.r30))
  func r30_validated() throws {
    let (lines, commit) = (try fixture.lines(), try fixture.commit)
    #expect(throws: ValidationError.self) {
      try fixture.store.clone(
        [tag], options: .with { $0.didClone = { tx, _, clone in try tx.unlink(clone, "owner") } })
    }
    // An error that the hook swallows makes the transaction abort-only as well.
    #expect(try fixture.lines() == lines && fixture.commit == commit)
    try fixture.expectClean()
  }
}

import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// Loads that fail after their last line was read: by links between lines, or by a rule of the model at the commit.
@Suite("Load: errors after the last line name a line")
struct LoadRejectionTests {
  private static let model = ManagedObjectModel("Rejected") {
    EntityDescription("List", unique: [["key"]]) {
      AttributeDescription("key", .string, optional: false)
      RelationshipDescription("tasks", toMany: "Task", inverse: "list", max: 2)
      RelationshipDescription("head", toOne: "Head", inverse: "list")
    }
    EntityDescription("Task") { RelationshipDescription("list", toOne: "List", inverse: "tasks") }
    EntityDescription("Head") { RelationshipDescription("list", toOne: "List", inverse: "head", optional: false) }
    EntityDescription("Team") {
      RelationshipDescription("pairs", toMany: "Pair", inverse: "team", optional: false, min: 2)
      RelationshipDescription("fans", toMany: "Owner", inverse: "team")
    }
    EntityDescription("Pair") {
      RelationshipDescription("partner", toOne: "Pair", inverse: "partner")
      RelationshipDescription("team", toOne: "Team", inverse: "pairs")
    }
    EntityDescription("Owner") {
      AttributeDescription("name", .string)
      RelationshipDescription("bags", toMany: "Bag", inverse: "owner")
      RelationshipDescription("team", toOne: "Team", inverse: "fans")
    }
    EntityDescription("Bag") {
      RelationshipDescription("owner", toOne: "Owner", inverse: "bags")
      RelationshipDescription("labels", toMany: "Label", inverse: "bag")
    }
    EntityDescription("Label", unique: [["text"]]) {
      AttributeDescription("text", .string, derivation: "bag.owner.name")
      RelationshipDescription("bag", toOne: "Bag", inverse: "labels")
    }
  }

  private let test: TestStore
  private var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(Self.model)
    try store.write { tx in
      let list = try tx.insert("List", ["key": .string("stored")])
      try tx.insert("Head", [:], relationships: ["list": [list]])
      try tx.insert("Task", [:], relationships: ["list": [list]])
      let pairs = [try tx.insert("Pair"), try tx.insert("Pair")]
      try tx.insert("Team", [:], relationships: ["pairs": pairs])
      // Bag/1 has no owner, and the labels of the other bags are `a` and `b`.
      let bags = [try tx.insert("Bag"), try tx.insert("Bag"), try tx.insert("Bag")]
      try tx.insert("Owner", ["name": .string("a")], relationships: ["bags": [bags[1]]])
      try tx.insert("Owner", ["name": .string("b")], relationships: ["bags": [bags[2]]])
      for bag in bags { try tx.insert("Label", [:], relationships: ["bag": [bag]]) }
    }
    // Team/2 is invalid from the start, as an import may leave it.
    try store.runWrite(label: "test", timeout: nil) { tx in
      tx.session.state.keepsBrokenObjects = true
      try tx.insert("Team", [:], relationships: ["fans": [try tx.objectID(named: "Owner/2")]])
    }
  }

  private func load(_ lines: [String], batch: Int? = nil, skipsBroken: Bool = false) throws -> LoadResult {
    var options = LoadOptions()
    options.batch = batch
    options.skipsBroken = skipsBroken
    var text = Array(lines.joined(separator: "\n").utf8)
    return try store.load(options) { buffer in
      buffer += text
      text = []
      return false
    }
  }

  /// A text of which one line makes an object of the store invalid.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let lines: [String]
    let line: Int
    let kindName: String
    let object: String
  }

  static let cases = [
    Case(
      testDescription: "too many members",
      lines: ["Task/5", "Task/6", "Task/7"].map { #"{"id":"\#($0)","relationships":{"list":"@List/1"}}"# },
      line: 2, kindName: "tooManyMembers", object: "Task/6"),
    Case(
      testDescription: "a required partner that a line takes",
      lines: [
        #"{"id":"List/4","attributes":{"key":"b"}}"#, #"{"id":"Head/4","relationships":{"list":"List/4"}}"#,
        #"{"id":"Head/5","relationships":{"list":"@List/1"}}"#,
      ], line: 3, kindName: "requiredRelationshipMissing", object: "Head/5"),
    Case(
      testDescription: "too few members, because a line takes one",
      lines: [
        #"{"id":"Pair/4"}"#, #"{"id":"Team/4","relationships":{"pairs":["@Pair/2","Pair/4"]}}"#,
      ], line: 2, kindName: "tooFewMembers", object: "Team/4"),
    Case(
      testDescription: "equal derived values several links away",
      lines: [
        #"{"id":"Owner/7","attributes":{"name":"c"}}"#,
        #"{"id":"Owner/8","attributes":{"name":"a"},"relationships":{"bags":["@Bag/1"]}}"#,
      ], line: 2, kindName: "uniquenessConflict", object: "Owner/8"),
    Case(
      testDescription: "equal derived values several links away, because a line takes a member",
      lines: [
        #"{"id":"Bag/7"}"#,
        #"{"id":"Owner/8","attributes":{"name":"a"},"relationships":{"bags":["@Bag/3","Bag/7"]}}"#,
      ], line: 2, kindName: "uniquenessConflict", object: "Owner/8"),
    Case(
      testDescription: "an object that was invalid before gets a member",
      lines: [#"{"id":"Owner/7"}"#, #"{"id":"Owner/8","relationships":{"team":"@Team/2"}}"#],
      line: 2, kindName: "requiredRelationshipMissing", object: "Owner/8"),
    Case(
      testDescription: "an object that was invalid before loses a member",
      lines: [
        #"{"id":"Pair/4"}"#, #"{"id":"Pair/5"}"#,
        #"{"id":"Team/4","relationships":{"pairs":["Pair/4","Pair/5"],"fans":["@Owner/2"]}}"#,
      ], line: 3, kindName: "requiredRelationshipMissing", object: "Team/4"),
  ]

  @Test("an object of the store that links make invalid: the error names their line", arguments: cases, [nil, 1, 100])
  func storedObject(_ rule: Case, _ batch: Int?) throws {
    let error = #expect(throws: TransferError.self) { try load(rule.lines, batch: batch) }
    #expect(error?.line == rule.line && error?.kindName == rule.kindName && error?.object == rule.object)
    let message = error?.message ?? ""
    #expect(message.hasPrefix("line \(rule.line): its links make another object invalid: "), "\(message)")
    #expect(message.hasSuffix(batch == 1 ? "nothing else was loaded" : "nothing was loaded"), "\(message)")
    #expect(try store.info().objectCount == 15 + (batch == 1 ? rule.line - 1 : 0))
    try checked(store)
  }

  @Test("an object of the store that links make invalid: their line is skipped", arguments: cases, [nil, 1, 100])
  func skippedForStoredObject(_ rule: Case, _ batch: Int?) throws {
    let result = try load(rule.lines, batch: batch, skipsBroken: true)
    let first = try #require(result.skipped.first?.error)
    #expect(first.line == rule.line && first.kindName == rule.kindName && first.object == rule.object)
    #expect(result.objectCount == rule.line - 1 && result.skippedLineCount == rule.lines.count - rule.line + 1)
    try checked(store)
  }

  @Test("an object of an earlier batch that links make invalid: the error names the line of the links")
  func objectOfEarlierBatch() throws {
    let tasks = (1...3).map { #"{"id":"Task/\#($0)","relationships":{"list":"List/9"}}"# }
    let lines = [#"{"id":"List/9","attributes":{"key":"a"}}"#] + tasks
    let error = #expect(throws: TransferError.self) { try load(lines, batch: 1) }
    #expect(error?.line == 4 && error?.kindName == "tooManyMembers" && error?.object == "Task/3")
    // In one batch, it is the line of the object itself.
    let whole = #expect(throws: TransferError.self) {
      try load([#"{"id":"List/9","attributes":{"key":"b"}}"#] + tasks)
    }
    #expect(whole?.line == 1 && whole?.kindName == "tooManyMembers" && whole?.object == "List/9")
    try checked(store)
  }

  @Test("two links to a to-one side that is its own inverse, of an earlier batch: the error names the second link")
  func ownInverseOfEarlierBatch() throws {
    let lines = [
      #"{"id":"Pair/7"}"#, #"{"id":"Pair/8"}"#, #"{"id":"Pair/9","relationships":{"partner":"Pair/7"}}"#,
      #"{"id":"Pair/10","relationships":{"partner":"Pair/7"}}"#,
    ]
    let error = #expect(throws: TransferError.self) { try load(lines, batch: 2) }
    #expect(error?.line == 4 && error?.kind == .inverseMismatch)
    try checked(store)
  }

  @Test("the first of several violations counts, of lines and of links")
  func firstViolation() throws {
    let lines = [
      #"{"id":"Task/5","relationships":{"list":"@List/1"}}"#, #"{"id":"Task/6","relationships":{"list":"@List/1"}}"#,
      #"{"id":"List/7"}"#,
    ]
    let error = #expect(throws: TransferError.self) { try load(lines) }
    #expect(error?.line == 2 && error?.message.contains("(and 1 more)") == true, "\(error?.message ?? "")")
    let reversed = #expect(throws: TransferError.self) { try load(lines.reversed()) }
    #expect(reversed?.line == 1 && reversed?.kindName == "requiredValueMissing" && reversed?.object == "List/7")
    #expect(reversed?.entity == "List" && reversed?.property == "key")
  }

  @Test("an object that was deleted between two batches: the error names the line that refers to it")
  func deletedBetweenBatches() throws {
    let text = [
      #"{"id":"List/9","attributes":{"key":"a"}}"#, #"{"id":"Head/9","relationships":{"list":"List/9"}}"#,
    ]
    var options = LoadOptions()
    options.batch = 1
    var next = 0
    let error = #expect(throws: TransferError.self) {
      try store.load(options) { buffer in
        if next == 1 { try store.write { tx in try tx.delete(try tx.objectID(named: "List/2")) } }
        buffer += Array((text[next] + "\n").utf8)
        next += 1
        return next < text.count
      }
    }
    #expect(error?.line == 2 && error?.kindName == "objectNotFound" && error?.object == "Head/9")
    #expect(error?.entity == "Head" && error?.property == "list")
    try checked(store)
  }

  /// Every link refers to a later line, so that all are linked at the end.
  @Test(
    "links to later lines: whatever a line gets wrong, the error names it",
    arguments: [
      (#"{"id":"Task/1","relationships":{"list":"Pair/1"}}"#, 1, "wrongDestination"),
      (#"{"id":"Task/1","relationships":{"list":"List/404"}}"#, 1, "danglingID"),
      (#"{"id":"Task/1","relationships":{"list":["List/1"]}}"#, 1, "wrongType"),
      (#"{"id":"Task/1","relationships":{"list":"@List/404"}}"#, 1, "objectNotFound"),
      (#"{"id":"Head/2","relationships":{"list":"List/1"}}"#, 1, "disagreement"),
      (#"{"id":"List/2","attributes":{"key":"x"},"relationships":{"head":"Head/1"}}"#, 2, "disagreement"),
      (#"{"id":"Team/2","relationships":{"pairs":["Pair/1"]}}"#, 1, "tooFewMembers"),
      (#"{"id":"Team/2","relationships":{"pairs":["Pair/1","Pair/1"]}}"#, 1, "disagreement"),
      (#"{"id":"List/2","attributes":{"key":"k"}}"#, 2, "uniquenessConflict"),
    ])
  func laterLines(_ broken: String, _ line: Int, _ kindName: String) throws {
    let lines = [
      broken, #"{"id":"List/1","attributes":{"key":"k"},"relationships":{"head":"Head/1"}}"#,
      #"{"id":"Head/1"}"#, #"{"id":"Pair/1"}"#,
    ]
    for batch in [nil, 100] {
      let error = #expect(throws: TransferError.self) { try load(lines, batch: batch) }
      #expect(error?.line == line && error?.kindName == kindName, "\(error?.message ?? "")")
    }
    let result = try load(lines, skipsBroken: true)
    #expect(result.skipped.first?.error.line == line || result.skipped.first?.isWholeObject == false)
    #expect(result.skippedLineCount + result.skippedLinkCount > 0)
    try checked(store)
  }
}

import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

/// A load that skips broken lines, and commits the rest as if the text did not contain them.
@Suite("Load: broken lines are skipped")
struct SkipBrokenTests {
  static let model = ManagedObjectModel("Broken") {
    EntityDescription("Base", abstract: true) { AttributeDescription("name", .string) }
    EntityDescription("List", unique: [["key"]]) {
      AttributeDescription("key", .string, optional: false)
      AttributeDescription("rank", .integer32, min: .integer(0), max: .integer(9))
      AttributeDescription("code", .string, regularExpression: "[a-z]+")
      AttributeDescription("data", .binary)
      AttributeDescription("other", .binary)
      RelationshipDescription("tasks", toMany: "Task", inverse: "list", max: 2)
      RelationshipDescription("watchers", toMany: "Task", inverse: "watched", ordered: true)
      RelationshipDescription("head", toOne: "Head", inverse: "list")
    }
    EntityDescription("Task") {
      AttributeDescription("title", .string, max: .integer(5))
      RelationshipDescription("list", toOne: "List", inverse: "tasks", optional: false)
      RelationshipDescription("watched", toMany: "List", inverse: "watchers")
    }
    EntityDescription("Head") { RelationshipDescription("list", toOne: "List", inverse: "head", optional: false) }
    EntityDescription("Pair") { RelationshipDescription("partner", toOne: "Pair", inverse: "partner") }
    EntityDescription("Team") { RelationshipDescription("pairs", toMany: "Pair", optional: false, min: 2) }
    EntityDescription("Node") {
      RelationshipDescription("next", toOne: "Node", inverse: "previous", optional: false)
      RelationshipDescription("previous", toMany: "Node", inverse: "next")
    }
    EntityDescription("Step", unique: [["key"]]) {
      AttributeDescription("key", .string)
      RelationshipDescription("next", toOne: "Step", inverse: "previous", optional: false)
      RelationshipDescription("previous", toMany: "Step", inverse: "next", deleteRule: .noAction)
    }
  }

  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws {
    test = try TestStore(Self.model)
  }

  static func source(_ text: String) -> (inout [UInt8]) -> Bool {
    var rest = Array(text.utf8)[...]
    return { buffer in
      // Lines may be split anywhere.
      buffer += rest.prefix(777)
      rest = rest.dropFirst(777)
      return !rest.isEmpty
    }
  }

  static var skipping: LoadOptions {
    var options = LoadOptions()
    options.skipsBroken = true
    options.idLimit = .max
    return options
  }

  func load(_ lines: [String], _ options: LoadOptions = skipping) throws -> LoadResult {
    let result = try store.load(options, from: Self.source(lines.joined(separator: "\n")))
    try checked(store)
    return result
  }

  func dump(_ store: ObjectStore) throws -> String {
    var bytes: [UInt8] = []
    _ = try store.dump { piece in piece.withUnsafeBytes { bytes.append(contentsOf: $0) } }
    // The header contains the store's UUID.
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().joined(separator: "\n")
  }

  static func list(_ number: Int, _ more: String = "") -> String {
    #"{"id":"List/\#(number)","attributes":{"key":"k\#(number)"}\#(more.isEmpty ? "" : "," + more)}"#
  }

  static func task(_ number: Int, _ list: String) -> String {
    #"{"id":"Task/\#(number)","relationships":{"list":"\#(list)"}}"#
  }

  // MARK: Rules

  /// A text, its skipped lines, and the remaining objects.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let lines: [String]
    /// `LINE KIND` of skipped lines, and `LINE KIND link` of links that were left out.
    let skipped: [String]
    let left: Set<String>

    init(_ name: String, _ lines: [String], _ skipped: [String], _ left: Set<String>) {
      testDescription = name
      self.lines = lines
      self.skipped = skipped
      self.left = left
    }
  }

  static let cases: [Case] = [
    Case("malformed JSON", ["{", "[]", #"{"id":5}"#, list(1)], (1...3).map { "\($0) unreadableLine" }, ["List/1"]),
    Case("unknown entity", [#"{"id":"Nothing/1"}"#, list(1)], ["1 unknownEntity"], ["List/1"]),
    Case("abstract entity", [list(1), #"{"id":"Base/1"}"#], ["2 abstractEntity"], ["List/1"]),
    Case(
      "unknown property",
      [
        #"{"id":"List/1","attributes":{"key":"a","none":1}}"#, #"{"id":"Pair/1","relationships":{"none":null}}"#,
        list(2),
      ], ["1 unknownProperty", "2 unknownProperty"], ["List/2"]),
    Case(
      "wrong type", [#"{"id":"List/1","attributes":{"key":"a","rank":"secret"}}"#, list(2)], ["1 wrongType"],
      ["List/2"]),
    Case(
      "out of the range of the type", [#"{"id":"List/1","attributes":{"key":"a","rank":3000000000}}"#, list(2)],
      ["1 outOfRange"], ["List/2"]),
    Case(
      "wrong destination", [list(1), task(1, "Pair/1"), task(2, "List/1")], ["2 wrongDestination"],
      ["List/1", "Task/2"]),
    Case("repeated id", [list(1), list(1), list(2)], ["2 duplicateID"], ["List/1", "List/2"]),
    Case(
      "id of a skipped line", [#"{"id":"List/1","attributes":{"key":1}}"#, list(1), list(2)],
      ["1 wrongType", "2 duplicateID"], ["List/2"]),
    Case(
      "id of a line with an unknown member, or another value than an object",
      [
        #"{"extra":1,"id":"Pair/2"}"#, #"{"id":"Pair/2"}"#, #"{"id":"Pair/3","attributes":[]}"#, #"{"id":"Pair/3"}"#,
        #"{"id":"Pair/4","relationships":5}"#, #"{"id":"Pair/4"}"#, list(2),
      ],
      [
        "1 unreadableLine", "2 duplicateID", "3 unreadableLine", "4 duplicateID", "5 unreadableLine", "6 duplicateID",
      ], ["List/2"]),
    Case(
      "id of a line that is skipped at the end", [#"{"id":"List/1"}"#, list(1), list(2)],
      ["1 requiredValueMissing", "2 duplicateID"], ["List/2"]),
    Case("required value", [#"{"id":"List/1"}"#, list(2)], ["1 requiredValueMissing"], ["List/2"]),
    Case(
      "bounds",
      [
        #"{"id":"List/1","attributes":{"key":"a","rank":10}}"#, #"{"id":"List/2","attributes":{"key":"b","rank":-1}}"#,
        #"{"id":"List/3","attributes":{"key":"c","rank":9}}"#,
      ], ["1 valueTooLarge", "2 valueTooSmall"], ["List/3"]),
    Case(
      "pattern",
      [
        #"{"id":"List/1","attributes":{"key":"a","code":"A1"}}"#,
        #"{"id":"List/2","attributes":{"key":"b","code":"a"}}"#,
      ],
      ["1 patternMismatch"], ["List/2"]),
    Case(
      "uniqueness",
      [
        #"{"id":"List/3","attributes":{"key":"same"}}"#, #"{"id":"List/1","attributes":{"key":"same"}}"#,
        #"{"id":"List/2","attributes":{"key":"same"}}"#,
      ], ["2 uniquenessConflict", "3 uniquenessConflict"], ["List/3"]),
    Case(
      "uniqueness after other rules",
      [
        #"{"id":"List/1","attributes":{"key":"same","rank":10}}"#, #"{"id":"List/2","attributes":{"key":"same"}}"#,
        #"{"id":"List/3","attributes":{"key":"same"}}"#,
      ], ["1 valueTooLarge", "3 uniquenessConflict"], ["List/2"]),
    Case(
      "too many members",
      [list(1), task(1, "List/1"), task(2, "List/1"), task(3, "List/1"), list(2), task(4, "List/2")],
      ["1 tooManyMembers"] + (2...4).map { "\($0) requiredRelationshipMissing" }, ["List/2", "Task/4"]),
    Case(
      "too many members, one of which is broken",
      [
        list(1), task(1, "List/1"), task(2, "List/1"),
        #"{"id":"Task/3","attributes":{"title":"too long"},"relationships":{"list":"List/1"}}"#,
      ], ["4 stringTooLong"], ["List/1", "Task/1", "Task/2"]),
    Case(
      "too few members",
      [
        #"{"id":"Team/1","relationships":{"pairs":["Pair/1"]}}"#, #"{"id":"Pair/1"}"#, #"{"id":"Pair/2"}"#,
        #"{"id":"Team/2","relationships":{"pairs":["Pair/1","Pair/2"]}}"#,
      ], ["1 tooFewMembers"], ["Team/2", "Pair/1", "Pair/2"]),
    Case("required relationship", [#"{"id":"Task/1"}"#, list(1)], ["1 requiredRelationshipMissing"], ["List/1"]),
    Case(
      "link to an id without a line",
      [list(1, #""relationships":{"tasks":["Task/1","Task/9"]}"#), #"{"id":"Task/1"}"#], ["1 danglingID link"],
      ["List/1", "Task/1"]),
    Case(
      "link to a skipped line",
      [
        list(1, #""relationships":{"watchers":["Task/2","Task/1"]}"#), task(1, "List/1"),
        #"{"id":"Task/2","attributes":{"title":"too long"},"relationships":{"list":"List/1"}}"#,
      ], ["1 danglingID link", "3 stringTooLong"], ["List/1", "Task/1"]),
    Case(
      "link to an object that the store lacks",
      [list(1, #""relationships":{"watchers":["@Task/9"]}"#), task(1, "@List/9"), task(2, "List/1")],
      ["1 objectNotFound link", "2 requiredRelationshipMissing"], ["List/1", "Task/2"]),
    Case(
      "a target that is skipped, and what requires it",
      [task(1, "List/1"), #"{"id":"List/1"}"#, #"{"id":"Head/1","relationships":{"list":"List/1"}}"#, list(2)],
      ["1 requiredRelationshipMissing", "2 requiredValueMissing", "3 requiredRelationshipMissing"], ["List/2"]),
    Case(
      "sides that do not match",
      [list(1, #""relationships":{"tasks":["Task/1"]}"#), task(1, "List/2"), list(2)], ["1 disagreement"],
      ["List/2", "Task/1"]),
    Case(
      "the same member twice",
      [list(1, #""relationships":{"watchers":["Task/1","Task/1"]}"#), task(1, "List/2"), list(2)], ["1 disagreement"],
      ["List/2", "Task/1"]),
    Case(
      "two links to a side that is to-one",
      [
        #"{"id":"Head/2","relationships":{"list":"List/1"}}"#, #"{"id":"Head/1","relationships":{"list":"List/1"}}"#,
        list(1),
      ], ["2 disagreement"], ["Head/2", "List/1"]),
    Case(
      "two links to a side that is to-one and its own inverse",
      [
        #"{"id":"Pair/3","relationships":{"partner":"Pair/2"}}"#, #"{"id":"Pair/2"}"#,
        #"{"id":"Pair/1","relationships":{"partner":"Pair/2"}}"#,
      ], ["3 disagreement"], ["Pair/2", "Pair/3"]),
    Case(
      "own inverse that does not match",
      [
        #"{"id":"Pair/1","relationships":{"partner":"Pair/2"}}"#, #"{"id":"Pair/2","relationships":{"partner":null}}"#,
      ], ["1 disagreement"], ["Pair/2"]),
    Case(
      "a line that contradicts two others takes no partner from either",
      [
        list(1, #""relationships":{"tasks":["Task/1"],"head":"Head/1"}"#), list(2), task(1, "List/2"),
        #"{"id":"Head/1","relationships":{"list":"List/2"}}"#,
      ], ["1 disagreement"], ["List/2", "Task/1", "Head/1"]),
    Case(
      "a line that contradicts another competes with no third one",
      [
        list(3, #""relationships":{"tasks":["Task/1"],"head":"Head/1"}"#),
        list(1, #""relationships":{"head":"Head/1"}"#), #"{"id":"Head/1"}"#, list(2), task(1, "List/2"),
      ], ["1 disagreement"], ["List/1", "Head/1", "List/2", "Task/1"]),
    Case(
      "nothing but broken lines", ["{", #"{"id":"Task/1"}"#], ["1 unreadableLine", "2 requiredRelationshipMissing"], []),
    Case("empty lines", ["", list(1), " "], [], ["List/1"]),
  ]

  @Test("one line is skipped for each rule, and the rest is loaded", arguments: cases)
  func rules(_ rule: Case) throws {
    let result = try load(rule.lines)
    let skipped = result.skipped.map { skipped in
      "\(skipped.error.line ?? 0) \(skipped.error.kindName)\(skipped.isWholeObject ? "" : " link")"
    }
    #expect(skipped == rule.skipped, "\(result.skipped.map(\.error.message))")
    #expect(Set(result.ids.keys) == rule.left)
    #expect(result.objectCount == rule.left.count)
    #expect(try store.info().objectCount == rule.left.count)
    let links = rule.skipped.count { $0.hasSuffix(" link") }
    #expect(result.skippedLinkCount == links && result.skippedLineCount == rule.skipped.count - links)
    for skipped in result.skipped {
      #expect(skipped.error.message.hasPrefix("line \(skipped.error.line ?? 0): "))
      #expect(!skipped.error.message.contains("secret") && !skipped.error.message.contains("nothing was loaded"))
    }
  }

  @Test("without the option, a broken line fails the load", arguments: cases)
  func notSkipped(_ rule: Case) throws {
    if rule.skipped.isEmpty { return }
    var options = Self.skipping
    options.skipsBroken = false
    let error = #expect(throws: TransferError.self) { try load(rule.lines, options) }
    #expect(error?.line != nil && error?.message.hasSuffix("nothing was loaded") == true, "\(error?.message ?? "")")
    #expect(try store.info().objectCount == 0)
  }

  @Test("messages have the ids of the text, and not those of objects that were rolled back")
  func labels() throws {
    let lines = [
      #"{"id":"List/70","attributes":{"key":"same"}}"#, #"{"id":"List/60","attributes":{"key":"same"}}"#,
      #"{"id":"Task/50"}"#,
    ]
    let result = try load(lines)
    #expect(result.skipped.map(\.error.object) == ["List/60", "Task/50"])
    #expect(result.skipped.map(\.error.property) == ["key", "list"])
    let message = result.skipped.first?.error.message ?? ""
    #expect(message.contains("List/60") && message.contains("List/70"), "\(message)")
    #expect(result.skipped.last?.error.message.contains("Task/50") == true)
  }

  // MARK: Existing objects

  func fill() throws {
    try store.write { tx in
      let list = try tx.insert("List", ["key": .string("stored")])
      try tx.insert("Head", [:], relationships: ["list": [list]])
      try tx.insert("Task", ["title": .string("t")], relationships: ["list": [list]])
    }
  }

  private func commits() throws -> [UInt64] {
    try store.read { tx in
      try ["List/1", "Head/1", "Task/1"].map { name in try tx.object(try tx.objectID(named: name)).commit }
    }
  }

  @Test(
    "a skipped line leaves the objects of the store as they were",
    arguments: [
      #"{"id":"Head/9","relationships":{"list":"@List/1"}}"#,
      #"{"id":"Task/9","attributes":{"title":"too long"},"relationships":{"list":"@List/1","watched":["@List/1"]}}"#,
      #"{"id":"List/9","attributes":{"key":"stored"},"relationships":{"tasks":["@Task/1"]}}"#,
      #"{"id":"List/9","attributes":{"key":"a","rank":10},"relationships":{"tasks":["@Task/1"],"head":"@Head/1"}}"#,
    ])
  func storedObjects(_ line: String) throws {
    try fill()
    let (before, commitsBefore) = (try dump(store), try commits())
    let result = try load([line])
    #expect(result.skippedLineCount == 1 && result.objectCount == 0, "\(result.skipped.map(\.error.message))")
    #expect(try dump(store) == before)
    #expect(try commits() == commitsBefore)
    #expect(try load([line, Self.list(5)]).objectCount == 1)
    #expect(try commits() == commitsBefore)
  }

  @Test("of too many new members of an object in the store, the last ones are skipped")
  func crowdedStoredObject() throws {
    try fill()
    let result = try load([Self.task(7, "@List/1"), Self.task(5, "@List/1"), Self.task(6, "@List/1")])
    #expect(result.skipped.map(\.error.line) == [2, 3])
    #expect(result.skipped.allSatisfy { $0.error.kindName == "tooManyMembers" && $0.isWholeObject })
    #expect(Array(result.ids.keys) == ["Task/7"])
    #expect(try store.members("List/1", "tasks").count == 2)
  }

  @Test("many objects in the store that would lack a partner: all lines are found in one repetition")
  func manyCulprits() throws {
    let count = 2_100
    _ = try load((1...count).map { Self.list($0) })
    _ = try load((1...count).map { #"{"id":"Head/\#($0)","relationships":{"list":"@List/\#($0)"}}"# })
    let before = try dump(store)
    let reports = SharedLines()
    var options = Self.skipping
    options.progress = { lines, _ in reports.add(lines) }
    let lines = (1...count).map { #"{"id":"Head/\#($0)","relationships":{"list":"@List/\#($0)"}}"# }
    let result = try load(lines, options)
    #expect(result.skippedLineCount == count && result.objectCount == 0 && result.skipped.count == 1_000)
    #expect(result.skipped.allSatisfy { $0.error.kindName == "requiredRelationshipMissing" && $0.isWholeObject })
    #expect(reports.lines == [1024, 2048, 1024, 2048])
    #expect(try dump(store) == before)
  }

  @Test("a replaced partner in the store that may be replaced is no error")
  func replacedPartner() throws {
    try store.write { tx in
      let pair = try tx.insert("Pair")
      try tx.insert("Pair", [:], relationships: ["partner": [pair]])
    }
    let result = try load([#"{"id":"Pair/1","relationships":{"partner":"@Pair/1"}}"#, "{"])
    #expect(result.objectCount == 1 && result.skippedLineCount == 1)
    #expect(try store.members("Pair/1", "partner") == [try #require(result.ids["Pair/1"])])
  }

  // MARK: Long chains and lists

  @Test("a chain of objects that require each other is skipped whole, in one repetition")
  func chain() throws {
    let count = 3_000
    var lines = (1..<count).map { #"{"id":"Node/\#($0)","relationships":{"next":"Node/\#($0 + 1)"}}"# }
    lines.append(#"{"id":"Node/\#(count)"}"#)
    // A cycle remains.
    lines.append(#"{"id":"Node/9001","relationships":{"next":"Node/9002"}}"#)
    lines.append(#"{"id":"Node/9002","relationships":{"next":"Node/9001"}}"#)
    let reports = SharedLines()
    var options = Self.skipping
    options.progress = { lines, _ in reports.add(lines) }
    let result = try load(lines, options)
    #expect(Set(result.ids.keys) == ["Node/9001", "Node/9002"])
    #expect(result.skippedLineCount == count && result.skippedLinkCount == 0)
    #expect(result.skipped.count == 1_000)
    #expect(reports.lines == [1024, 2048, 1024, 2048])
  }

  @Test("the delete rule no action does not hide that a required link is missing")
  func noActionChain() throws {
    let count = 500
    var lines = (1..<count).map {
      #"{"id":"Step/\#($0)","attributes":{"key":"k\#($0)"},"relationships":{"next":"Step/\#($0 + 1)"}}"#
    }
    lines.append(#"{"id":"Step/\#(count)"}"#)
    // Equal to a skipped line, which therefore does not count.
    lines.append(#"{"id":"Step/9001","attributes":{"key":"k1"},"relationships":{"next":"Step/9001"}}"#)
    lines += (1...1_024).map { Self.list($0) }
    let reports = SharedLines()
    var options = Self.skipping
    options.progress = { lines, _ in reports.add(lines) }
    let result = try load(lines, options)
    #expect(result.skippedLineCount == count && result.skippedLinkCount == 0)
    #expect(result.ids["Step/9001"] != nil && result.objectCount == 1_025)
    #expect(reports.lines == [1024, 1024])
  }

  @Test("the list of skipped lines ends at its limit, and the counts do not")
  func limit() throws {
    var options = Self.skipping
    options.skippedLimit = 3
    let lines = (1...10).map { #"{"id":"List/\#($0)"}"# } + [Self.list(11), "{", "{"]
    let result = try load(lines, options)
    #expect(result.skippedLineCount == 12 && result.skipped.count == 3 && result.objectCount == 1)
    options.skippedLimit = 0
    let again = try load([#"{"id":"List/1"}"#, #"{"id":"List/2","attributes":{"key":"new"}}"#, "{"], options)
    #expect(again.skippedLineCount == 2 && again.skipped.isEmpty && again.objectCount == 1)
  }

  @Test("missing objects of the store in one line are counted beyond the limit", arguments: [3, 0])
  func missingObjectLimit(_ limit: Int) throws {
    var options = Self.skipping
    options.skippedLimit = limit
    let ids = (1...10).map { #""@Task/\#($0)""# }.joined(separator: ",")
    let result = try load([Self.list(1, #""relationships":{"watchers":[\#(ids)]}"#), "{"], options)
    #expect(result.skippedLinkCount == 10 && result.skippedLineCount == 1 && result.objectCount == 1)
    #expect(result.skipped.count == limit)
    #expect(result.skipped.allSatisfy { $0.error.kindName == "objectNotFound" && !$0.isWholeObject })
  }

  @Test("removing an object can make a derived attribute equal to another; a constraint may contain it")
  func derivedConstraint() throws {
    let model = ManagedObjectModel("Derived") {
      EntityDescription("Bag", unique: [["number"]]) {
        AttributeDescription("number", .integer64, derivation: "things.@count")
        RelationshipDescription("things", toMany: "Thing", inverse: "bag")
      }
      EntityDescription("Thing", unique: [["key"]]) {
        AttributeDescription("key", .string)
        RelationshipDescription("bag", toOne: "Bag", inverse: "things")
      }
    }
    let test = try TestStore(model)
    func thing(_ number: Int, _ key: String, _ bag: Int) -> String {
      #"{"id":"Thing/\#(number)","attributes":{"key":"\#(key)"},"relationships":{"bag":"Bag/\#(bag)"}}"#
    }
    let lines = [
      #"{"id":"Bag/1"}"#, thing(1, "a", 1), #"{"id":"Bag/2"}"#, thing(2, "b", 2), thing(3, "a", 2),
    ]
    let result = try test.store.load(Self.skipping, from: Self.source(lines.joined(separator: "\n")))
    try checked(test.store)
    #expect(
      result.skipped.map { "\($0.error.line ?? 0) \($0.error.kindName)" } == [
        "3 uniquenessConflict", "4 danglingID", "5 uniquenessConflict",
      ])
    #expect(Set(result.ids.keys) == ["Bag/1", "Thing/1", "Thing/2"])
  }

  @Test("many equal objects in one list whose derived attributes are expensive")
  func derivedList() throws {
    let model = ManagedObjectModel("Derived") {
      EntityDescription("Bag") {
        AttributeDescription("total", .integer64, derivation: "sum:(things.size)")
        RelationshipDescription("things", toMany: "Thing", inverse: "bag")
      }
      EntityDescription("Thing", unique: [["key"]]) {
        AttributeDescription("key", .string)
        AttributeDescription("size", .integer64)
        RelationshipDescription("bag", toOne: "Bag", inverse: "things")
      }
    }
    let test = try TestStore(model)
    let count = 2_000
    let lines =
      [#"{"id":"Bag/1"}"#]
      + (0..<2 * count).map { number in
        #"{"id":"Thing/\#(number)","attributes":{"key":"k\#(number / 2)","size":1},"relationships":{"bag":"Bag/1"}}"#
      }
    let result = try test.store.load(Self.skipping, from: Self.source(lines.joined(separator: "\n")))
    try checked(test.store)
    #expect(result.skippedLineCount == count && result.objectCount == count + 1)
    let bag = try #require(result.ids["Bag/1"])
    let total = try test.store.read { tx in try tx.value(try tx.objectID(named: bag), "total") }
    #expect(total == .integer(Int64(count)))
  }
}

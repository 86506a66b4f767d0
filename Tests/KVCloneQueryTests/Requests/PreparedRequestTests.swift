import Dispatch
import Foundation
import KVClone
import KVCloneTestSupport
import Synchronization
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private func model(
  _ indexes: [FetchIndexDescription] = [fetchIndex("code"), fetchIndex("name"), fetchIndex("flag"), fetchIndex("size")]
) -> ManagedObjectModel {
  ManagedObjectModel("Prepared") {
    EntityDescription("Item", indexes: indexes) {
      AttributeDescription("code", .integer64)
      AttributeDescription("name", .string)
      AttributeDescription("note", .string)
      AttributeDescription("flag", .boolean)
      AttributeDescription("size", .double)
      AttributeDescription("key", .uuid)
      RelationshipDescription("owner", toOne: "Owner", inverse: "items")
    }
    EntityDescription("Owner") {
      AttributeDescription("name", .string)
      RelationshipDescription("items", toMany: "Item", inverse: "owner")
    }
    FetchRequestTemplate("ByCode", entity: "Item", predicate: "code == $CODE", limit: 3)
    FetchRequestTemplate("Broken", entity: "Item", predicate: "code ==")
  }
}

private let longText = String(repeating: "long", count: 200)

/// 400 items of 40 codes, of which two have a flag.
private func filledStore(_ model: ManagedObjectModel = model()) throws -> TestStore {
  let test = try TestStore(model)
  try test.store.write { tx in
    let owners = try ["red", "blue"].map { try tx.insert("Owner", ["name": .string($0)]) }
    for number in 0..<400 {
      let name = number % 50 == 7 ? nil : number % 50 == 8 ? longText + "\(number)" : "item \(number % 20)"
      try tx.insert(
        "Item",
        [
          "code": number % 40 == 39 ? nil : .integer(Int64(number % 40)), "name": name.map { .string($0) },
          "note": .string("note \(number % 3)"), "flag": .boolean(number < 2),
          "size": .double(number % 30 == 0 ? .nan : Double(number)),
        ], relationships: ["owner": [owners[number % 2]]])
    }
  }
  return test
}

private func request(
  _ format: String, _ arguments: QueryArgument..., in entity: String = "Item", sort: [QuerySortDescriptor] = [],
  limit: Int = 0, offset: Int = 0
) throws -> FetchRequest {
  FetchRequest(
    entity, predicate: try QueryPredicate(format: format, arguments: arguments), sortDescriptors: sort,
    fetchLimit: limit, fetchOffset: offset)
}

@Suite("Prepared requests")
struct PreparedRequestTests {
  /// Lists of values for successive runs of one prepared request.
  static let questions: [(format: String, values: [[String: QueryArgument]])] = [
    ("code == $code", [["code": 5], ["code": 39], ["code": nil], ["code": 5.5], ["code": true], ["code": 5]]),
    ("$code == code", [["code": 5], ["code": .double(.nan)]]),
    ("code IN $codes", [["codes": [1, 2, 3]], ["codes": []], ["codes": [nil, 7]], ["codes": [2.5, 1]]]),
    ("code IN {$a, 7, $b}", [["a": 1, "b": 2], ["a": nil, "b": nil]]),
    ("code BETWEEN {$low, $high}", [["low": 3, "high": 5], ["low": 5, "high": 3], ["low": nil, "high": 3]]),
    ("code BETWEEN $range", [["range": [3, 5]], ["range": [1.5, 2]]]),
    ("size >= $low AND size < $high", [["low": 3, "high": 50], ["low": .double(.nan), "high": 3]]),
    ("name == $name", [["name": "item 3"], ["name": .string(longText + "8")], ["name": nil], ["name": ""]]),
    ("name BEGINSWITH $start", [["start": "item 1"], ["start": .string(longText)], ["start": nil]]),
    ("name LIKE $pattern", [["pattern": "item ?"], ["pattern": "*long8"], ["pattern": ""]]),
    ("name MATCHES $pattern", [["pattern": "item [12]"], ["pattern": ".*7"]]),
    ("name ==[cd] $name", [["name": "ITEM 3"], ["name": "ìtem 3"]]),
    ("owner == $owner", [["owner": "Owner/1"], ["owner": "Owner/2"], ["owner": nil], ["owner": "Owner/9"]]),
    ("owner.name == $name AND code < $code", [["name": "red", "code": 4], ["name": "blue", "code": nil]]),
    ("code == $a OR name == $b", [["a": 3, "b": "item 4"], ["a": nil, "b": nil]]),
    ("NOT (code == $a OR code > $a)", [["a": 3], ["a": nil]]),
    ("key == $key", [["key": "01020304-0506-0708-090A-0B0C0D0E0F10"], ["key": nil]]),
    ("code + $more == 7", [["more": 3], ["more": 2.5], ["more": nil]]),
    ("$left == 7", [["left": 7], ["left": .expression(.keyPath(.`self`, ["code"]))], ["left": 8]]),
    ("SUBQUERY(owner.items, $x, $x.code == $code).@count > 4", [["code": 3], ["code": 39]]),
    ("flag == $flag", [["flag": true], ["flag": false], ["flag": nil], ["flag": 1]]),
    ("TRUEPREDICATE", [[:], ["nobody": 1]]),
  ]

  @Test("finds what the request with its values filled in finds", arguments: questions.indices)
  func answers(_ index: Int) throws {
    let (format, questions) = Self.questions[index]
    let test = try filledStore()
    let orders: [(sort: [QuerySortDescriptor], limit: Int, offset: Int)] = [
      ([], 0, 0), ([], 3, 2), ([.init(key: "size", ascending: false)], 5, 1), ([.init(key: "note")], 0, 0),
    ]
    // Each sort order with a quarter of the questions, and no sort order with all.
    for (sort, limit, offset) in Set([0, index % orders.count]).map({ orders[$0] }) {
      let open = try request(format, sort: sort, limit: limit, offset: offset)
      let prepared = try test.store.prepare(open)
      #expect(prepared.request == open)
      #expect(prepared.variables == open.predicate?.freeVariables)
      for arguments in questions + questions.reversed() {
        var filled = open
        filled.predicate = try open.predicate?.substituting(arguments)
        let values = QueryVariables(arguments)
        try test.store.read { tx in
          let expected = try tx.ids(filled, .never)
          #expect(try tx.fetchIDs(prepared, values) == expected, "\(format), \(values)")
          #expect(try tx.fetch(prepared, values).map(\.id) == expected, "\(format), \(values)")
          #expect(try tx.count(prepared, values) == expected.count, "\(format), \(values)")
          var found: [ObjectID] = []
          try tx.forEachObject(matching: prepared, values) { object in
            found.append(object.id)
            return found.count < 2
          }
          #expect(found == Array(expected.prefix(2)), "\(format), \(values)")
          // A property in the place of a variable is not looked up, but planned.
          let others = arguments.values.contains { if case .expression = $0 { true } else { false } } ? 1 : 0
          let steps = (try tx.explain(prepared, values), try tx.explain(filled))
          #expect(steps.0.dropFirst(others) == steps.1.dropFirst(others), "\(format), \(values)")
          #expect(try tx.fetchIDs(filled) == expected, "\(format), \(values)")
          #expect(try tx.count(filled) == expected.count, "\(format), \(values)")
        }
      }
    }
  }

  @Test("an index is used for values with few entries, and not for those with many")
  func choice() throws {
    let test = try filledStore()
    let prepared = try test.store.prepare(try request("flag == $flag"))
    func plan(_ flag: Bool) throws -> String {
      try test.store.read { tx in try tx.explain(prepared, ["flag": .boolean(flag)])[0] }
    }
    for _ in 0..<2 {
      #expect(try plan(true) == "look up flag in the index flag, without planning (about 2 objects)")
      #expect(try plan(false).hasPrefix("scan all objects of Item and its sub-entities (at most "))
    }
  }

  /// The lines between the markers are those of the article.
  @Test("the example of the documentation")
  func example() throws {
    let test = try filledStore()
    let store = test.store
    // begin
    let request = FetchRequest("Item", predicate: try QueryPredicate(format: "code == $code AND flag == $flag"))
    let prepared = try store.prepare(request)
    let items = try store.read { tx in try tx.fetch(prepared, ["code": 5, "flag": true]) }
    // end
    #expect(items.isEmpty)
    let lines = try String(contentsOfFile: #filePath, encoding: .utf8).split(separator: "\n").map(String.init)
    let (begin, end) = (
      try #require(lines.firstIndex(of: "    // begin")), try #require(lines.firstIndex(of: "    // end"))
    )
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
      .deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appending(path: "Sources/KVClone/Documentation.docc/Predicates.md"), encoding: .utf8)
    #expect(article.contains(lines[begin + 1..<end].map { $0.dropFirst(4) }.joined(separator: "\n")))
  }

  @Test("in a write transaction, sees its changes")
  func changes() throws {
    let test = try filledStore()
    let prepared = try test.store.prepare(try request("code == $code"))
    try test.store.write { tx in
      #expect(try tx.count(prepared, ["code": 1000]) == 0)
      let id = try tx.insert("Item", ["code": 1000])
      #expect(try tx.fetchIDs(prepared, ["code": 1000]) == [id])
    }
  }

  @Test("a template of the model by name")
  func templates() throws {
    let test = try filledStore()
    let prepared = try #require(try test.store.prepareTemplate(withName: "ByCode"))
    #expect(prepared.variables == ["CODE"])
    #expect(try test.store.read { try $0.fetch(prepared, ["CODE": 5]).map { $0["code"] } } == [5, 5, 5])
    #expect(try test.store.prepareTemplate(withName: "Nothing") == nil)
    expectError(.invalidPredicate) { _ = try test.store.prepareTemplate(withName: "Broken") }
  }

  // MARK: Reopened stores

  @Test("a prepared request runs on a store that was reopened with another model")
  func reopened() throws {
    let test = try filledStore(model([]))
    let prepared = try test.store.prepare(try request("code == $code"))
    func plan() throws -> String {
      try test.store.read { tx in
        #expect(try tx.count(prepared, ["code": 5]) == 10)
        return try tx.explain(prepared, ["code": 5])[0]
      }
    }
    #expect(try plan().hasPrefix("scan all objects of Item and its sub-entities (at most "))
    try test.reopen(model: model([fetchIndex("code")]))
    #expect(try plan() == "look up code in the index code, without planning (about 10 objects)")
    try test.reopen(model: model([fetchIndex("name"), fetchIndex("-code")]))
    #expect(try plan() == "look up code in the index -code, without planning (about 10 objects)")
    try test.reopen(model: model([]))
    #expect(try plan().hasPrefix("scan all objects of Item and its sub-entities (at most "))
    try checked(test.store)
  }

  @Test("another store refuses it")
  func otherStore() throws {
    let (test, other) = (try filledStore(), try filledStore())
    let prepared = try test.store.prepare(try request("code == $code"))
    let error = expectError(.invalidPredicate) { _ = try other.store.read { try $0.count(prepared, ["code": 5]) } }
    #expect(error?.entity == "Item")
    #expect(try test.store.read { try $0.count(prepared, ["code": 5]) } == 10)
  }

  @Test("many threads use one at once, also the first after the store was opened again")
  func concurrency() throws {
    let test = try filledStore(model([]))
    let prepared = try test.store.prepare(try request("code == $code AND note == $note"))
    let expected = try test.store.read { tx in
      try (0..<39).map { try tx.ids(request("code == %@ AND note == 'note 1'", .integer($0)), .never) }
    }
    for indexes in [[], [fetchIndex("code")], [fetchIndex("note"), fetchIndex("code")]] {
      try test.reopen(model: model(indexes))
      let store = test.store
      let failures = Mutex<[String]>([])
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        do {
          try store.runRead { tx in
            for round in 0..<100 {
              let code = (round * 7 + thread) % 39
              let found = try tx.fetchIDs(prepared, ["code": .integer(code), "note": "note 1"])
              if found != expected[code] { failures.withLock { $0.append("code \(code): \(found)") } }
            }
          }
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      }
      #expect(failures.withLock { $0 } == [])
    }
  }
}

@Suite("Prepared requests: rejected values")
struct PreparedRequestErrorTests {
  private let test: TestStore

  init() throws { test = try filledStore() }

  @Test(
    "what needs no values is refused when a request is prepared",
    arguments: [
      ("nothing == $a", StoreError.Kind.unknownProperty), ("code == $a AND nothing == 1", .unknownProperty),
      ("$a == nothing", .unknownProperty), ("nothing + $a == 1", .unknownProperty),
      ("SUBQUERY(owner.items, $x, $x.nothing == $a).@count > 0", .unknownProperty),
      ("name == 1 AND code == $a", .wrongType),
      ("owner.items.code == 1 AND code == $a", .invalidPredicate), ("name ==[l] $a", .invalidPredicate),
    ])
  func preparing(_ format: String, _ kind: StoreError.Kind) throws {
    let request = try request(format)
    let error = expectError(kind) { _ = try test.store.prepare(request) }
    #expect(error?.entity == "Item")
  }

  @Test("entities, limits and sort keys too")
  func frames() throws {
    expectError(.unknownEntity) { _ = try test.store.prepare(try request("code == $a", in: "Nothing")) }
    expectError(.invalidPredicate) { _ = try test.store.prepare(try request("code == $a", limit: -1)) }
    expectError(.unknownProperty) {
      _ = try test.store.prepare(try request("code == $a", sort: [QuerySortDescriptor(key: "nothing")]))
    }
    let deep = (0..<250).reduce(QueryPredicate.constant(true)) { inner, _ in .not(inner) }
    expectError(.invalidPredicate) { _ = try test.store.prepare(FetchRequest("Item", predicate: deep)) }
  }

  @Test(
    "a value that is missing, or that cannot be compared, is refused with names",
    arguments: [
      ("code == $a", [:], StoreError.Kind.invalidPredicate, "code"),
      ("code == $a", ["b": 1], .invalidPredicate, "code"),
      ("code == $a", ["a": "text"], .wrongType, "code"), ("$a == code", ["a": "text"], .wrongType, "code"),
      ("name < $a", ["a": 1], .wrongType, "name"), ("name BEGINSWITH $a", ["a": 1], .wrongType, "name"),
      ("code IN {$a, 1}", ["a": "text"], .wrongType, "code"), ("code IN $a", ["a": ["text"]], .wrongType, "code"),
      ("code IN $a", ["a": 1], .invalidPredicate, "code"), ("code BETWEEN $a", ["a": [1]], .invalidPredicate, "code"),
      ("code == $a", ["a": [1, 2]], .invalidPredicate, "code"), ("key == $a", ["a": "no uuid"], .wrongType, "key"),
      ("owner == $a", ["a": "no name"], .wrongType, "owner"), ("owner < $a", ["a": "Owner/1"], .wrongType, "owner"),
      ("name MATCHES $a", ["a": "["], .invalidPredicate, "name"),
      ("code == $a", ["a": .predicate(.constant(true))], .invalidPredicate, nil),
      ("code == $a", ["a": .expression(.variable("c"))], .invalidPredicate, nil),
      ("code + $a == 7", [:], .invalidPredicate, nil), ("code + $a == 7", ["a": "text"], .wrongType, nil),
    ] as [(String, [String: QueryArgument], StoreError.Kind, String?)])
  func values(_ format: String, _ values: [String: QueryArgument], _ kind: StoreError.Kind, _ property: String?) throws
  {
    let prepared = try test.store.prepare(try request(format))
    let values = QueryVariables(values)
    let ways: [(borrowing ReadTransaction) throws -> Void] = [
      { _ = try $0.fetch(prepared, values) }, { _ = try $0.fetchIDs(prepared, values) },
      { _ = try $0.count(prepared, values) }, { _ = try $0.explain(prepared, values) },
      { try $0.forEachObject(matching: prepared, values) { _ in true } },
    ]
    for way in ways {
      let error = expectError(kind) { try test.store.read(way) }
      #expect(error?.entity == "Item")
      if let property { #expect(error?.property == property) }
      #expect(error?.message.contains("$a") == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("text\"") == false)
    }
  }

  @Test("it can be run again after a value was rejected")
  func again() throws {
    let prepared = try test.store.prepare(try request("code == $code"))
    expectError(.wrongType) { _ = try test.store.read { try $0.count(prepared, ["code": "text"]) } }
    #expect(try test.store.read { try $0.count(prepared, ["code": 5]) } == 10)
  }

  @Test("lists in lists end somewhere")
  func depth() throws {
    let prepared = try test.store.prepare(try request("code IN $a"))
    let deep = (0..<5000).reduce(QueryArgument.list([1])) { inner, _ in .list([inner]) }
    expectError(.invalidPredicate) { _ = try test.store.read { try $0.count(prepared, ["a": deep]) } }
  }
}

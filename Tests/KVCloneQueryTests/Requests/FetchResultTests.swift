import Foundation
import KVClone
import KVCloneTestSupport
import Testing

/// The results of fetch requests: dictionaries, groups, batches, prefetched objects, templates, fetched properties.
@Suite("Fetch results") struct FetchResultTests {
  private let f: FetchStore

  init() throws {
    f = try FetchStore()
    try f.add("g", ["name": "G"], of: "Group")
    try f.add("s", ["name": "s", "points": 1], ["group": ["g"]], of: "Tag")
    try f.add("t", ["name": "t", "points": 2], of: "Tag")
    try f.add("a", ["name": "x", "small": 1, "price": decimalValue("1.50")], ["tags": ["s", "t"], "best": ["s"]])
    try f.add("b", ["name": "y", "small": 2, "weight": .float(0.1)], ["tags": ["t"]])
    try f.add("c", ["name": "x", "small": 3, "price": decimalValue("2.25")], ["best": ["t"]], of: "Box")
    try f.add("d", ["small": 3, "link": .uri("kv://x")], ["parent": ["a"]])
  }

  private func dictionaries(_ request: FetchRequest) throws -> [FetchedDictionary] {
    try f.store.read { tx in
      let all = try tx.fetchDictionaries(request)
      var streamed: [FetchedDictionary] = []
      try tx.forEachDictionary(matching: request) { dictionary in
        streamed.append(dictionary)
        return true
      }
      #expect(streamed == all)
      return all
    }
  }

  private func request(
    _ predicate: String? = nil, fetch: [ExpressionDescription], by: [ExpressionDescription] = [],
    having: String? = nil, sort: [QuerySortDescriptor] = []
  ) throws -> FetchRequest {
    var request = FetchRequest(
      "Thing", predicate: try predicate.map { try QueryPredicate(format: $0) }, sortDescriptors: sort)
    request.propertiesToFetch = fetch
    request.propertiesToGroupBy = by
    request.havingPredicate = try having.map { try QueryPredicate(format: $0) }
    return request
  }

  /// Returns rows as text: values separated by commas, `-` for nil.
  private func rows(_ request: FetchRequest) throws -> [String] {
    try dictionaries(request).map { dictionary in
      dictionary.values.map { value in
        switch value {
        case .null: "-"
        case .value(.integer(let number)): "\(number)"
        case .value(.decimal(let number)): "\(number)"
        case .value(.double(let number)): "\(number)"
        case .value(.string(let text)): text
        case .object(let id): (try? f.store.read { try $0.name(of: id) }) ?? "?"
        default: "\(value)"
        }
      }.joined(separator: ",")
    }
  }

  @Test func propertiesOfObjects() throws {
    #expect(
      try rows(request(fetch: ["name", "best.name", "best.group.name", "best"]))
        == ["x,s,G,Tag/1", "y,-,-,-", "x,t,-,Tag/2", "-,-,-,-"])
    let computed = try ExpressionDescription("double", format: "small * 2")
    let count = try ExpressionDescription("tagCount", format: "tags.@count")
    let all = try dictionaries(request("small > 1", fetch: [computed, count]))
    #expect(all.map { $0.attribute("double") } == [4, 6, 6])
    #expect(all.map { $0.attribute("tagCount") } == [1, 0, 0])
    #expect(all[0].names == ["double", "tagCount"] && all[0]["nothing"] == nil)
  }

  @Test("without propertiesToFetch, every stored attribute and to-one relationship comes in its own type")
  func defaults() throws {
    let all = try dictionaries(FetchRequest("Thing"))
    #expect(all[1].attribute("weight") == .float(0.1))
    #expect(all[3].attribute("link") == .uri("kv://x"))
    #expect(all[3].object("parent") == f["a"] && all[3]["name"] == .null)
    #expect(all[0]["tags"] == nil && all[0].names.contains("place") && all[0].names.contains("data"))
  }

  @Test func distinct() throws {
    var request = try request(fetch: ["name"])
    request.returnsDistinctResults = true
    #expect(try rows(request) == ["x", "y", "-"])
    request.fetchOffset = 1
    request.fetchLimit = 1
    #expect(try rows(request) == ["y"])
    request.sortDescriptors = [QuerySortDescriptor(key: "name", ascending: false)]
    #expect(try rows(request) == ["x"])
  }

  @Test func groups() throws {
    let count = try ExpressionDescription("n", format: "count:(SELF)")
    let total = try ExpressionDescription("total", format: "sum:(small)")
    let span = try ExpressionDescription("span", format: "max:(small) - min:(small)")
    #expect(try rows(request(fetch: ["name", count, total, span], by: ["name"])) == ["x,2,4,2", "y,1,2,0", "-,1,3,0"])
    #expect(
      try rows(request(fetch: ["name", total], by: ["name"], having: "$total > 2")) == ["x,4", "-,3"])
    #expect(try rows(request(fetch: ["name"], by: ["name"], having: "count:(SELF) == 1 AND name != NULL")) == ["y"])
    #expect(
      try rows(request(fetch: ["name", total], by: ["name"], sort: [QuerySortDescriptor(key: "total")]))
        == ["y,2", "-,3", "x,4"])
    var limited = try request(
      fetch: ["name", total], by: ["name"], sort: [QuerySortDescriptor(key: "name", ascending: false)])
    (limited.fetchOffset, limited.fetchLimit) = (1, 1)
    #expect(try rows(limited) == ["x,4"])
    #expect(try rows(request(fetch: ["best.name", count], by: ["best.name"])) == ["s,1", "-,2", "t,1"])
  }

  @Test("functions of all objects: nil is ignored by all of them, and there is one group even without objects")
  func wholeResult() throws {
    let values = try [
      ExpressionDescription("all", format: "count:(SELF)"), ExpressionDescription("named", format: "count:(name)"),
      ExpressionDescription("sum", format: "sum:(price)"), ExpressionDescription("avg", format: "average:(price)"),
      ExpressionDescription("least", format: "min:(name)"), ExpressionDescription("most", format: "max:(name)"),
      ExpressionDescription("tags", format: "count:(tags)"),
    ]
    #expect(try rows(request(fetch: values)) == ["4,3,3.75,1.875,x,y,3"])
    #expect(try rows(request("FALSEPREDICATE", fetch: values)) == ["0,0,0,-,-,-,0"])
    #expect(try rows(request("FALSEPREDICATE", fetch: ["name", values[0]], by: ["name"])).isEmpty)
  }

  @Test("what differs among the objects of a group is refused")
  func refusals() throws {
    let count = try ExpressionDescription("n", format: "count:(SELF)")
    for bad in try [
      request(fetch: ["name", count], by: ["small"]), request(fetch: ["name", count]),
      request(fetch: [count], having: "name == 'x'"), request(fetch: ["tags"]), request(fetch: ["tags.name"]),
      request(fetch: [ExpressionDescription("s", format: "sum:(SUBQUERY(tags, $t, $t.points > small).@count) + small")]
      ),
    ] {
      expectError(.invalidPredicate) { try f.store.read { _ = try $0.fetchDictionaries(bad) } }
    }
    expectError(.wrongType) {
      let request = try request(fetch: [ExpressionDescription("s", format: "sum:(name)")])
      _ = try f.store.read { try $0.fetchDictionaries(request) }
    }
    expectError(.unknownProperty) {
      let request = try request(fetch: ["nothing"])
      _ = try f.store.read { try $0.fetchDictionaries(request) }
    }
  }

  @Test func resultTypes() throws {
    var request = FetchRequest("Item", fetchLimit: 2)
    try f.store.read { tx in
      for type in FetchRequestResultType.allCases {
        request.resultType = type
        switch try tx.execute(request) {
        case .objects(let objects): #expect(type == .managedObject && objects.map(\.id) == [f["a"], f["b"]])
        case .ids(let ids): #expect(type == .managedObjectID && ids == [f["a"], f["b"]])
        case .dictionaries(let all): #expect(type == .dictionary && all.map { $0.attribute("key") } == ["a", "b"])
        case .count(let count): #expect(type == .count && count == 2)
        }
      }
    }
  }

  @Test func batches() throws {
    var request = FetchRequest("Thing")
    request.fetchBatchSize = 3
    var batches: [[ObjectID]] = []
    try f.store.read { tx in
      try tx.forEachBatch(matching: request) { batch in
        batches.append(batch.map(\.id))
        return true
      }
    }
    #expect(batches == [[f["a"], f["b"], f["c"]], [f["d"]]])
    var count = 0
    try f.store.read { tx in
      try tx.forEachBatch(matching: request) { _ in
        count += 1
        return false
      }
    }
    #expect(count == 1)
  }

  @Test func prefetching() throws {
    var request = FetchRequest("Thing", predicate: try QueryPredicate(format: "small < 3"))
    request.relationshipKeyPathsForPrefetching = ["tags.group", "parent"]
    let found = try f.store.read { try $0.fetchPrefetching(request) }
    #expect(found.objects.map(\.id) == [f["a"], f["b"]])
    #expect(found.members(of: f["a"], "tags")?.map { $0["name"] } == ["s", "t"])
    #expect(found.members(of: f["s"], "group")?.map(\.id) == [f["g"]])
    #expect(found.members(of: f["t"], "group")?.isEmpty == true && found.members(of: f["a"], "parent")?.isEmpty == true)
    #expect(found.members(of: f["a"], "children") == nil && found[f["g"]]?["name"] == "G" && found[f["d"]] == nil)
    request.relationshipKeyPathsForPrefetching = ["tags.name"]
    expectError(.unknownProperty) { _ = try f.store.read { try $0.fetchPrefetching(request) } }
  }

  private static let library = ManagedObjectModel(
    name: "Library",
    entities: [
      EntityDescription("Media", abstract: true) {
        AttributeDescription("title", .string)
        AttributeDescription("year", .integer32)
        FetchedPropertyDescription(
          "sameYear",
          FetchRequestTemplate(
            "sameYear", entity: "Media", predicate: "year == $FETCH_SOURCE.year AND SELF != $FETCH_SOURCE"))
        FetchedPropertyDescription(
          "named", FetchRequestTemplate("named", entity: "Media", predicate: "title == $FETCHED_PROPERTY"))
        FetchedPropertyDescription("broken", FetchRequestTemplate("broken", entity: "Media", predicate: "title =="))
      },
      EntityDescription("Book", parent: "Media") { AttributeDescription("pages", .integer32) },
    ],
    fetchRequestTemplates: [
      FetchRequestTemplate("long", entity: "Book", predicate: "pages > $LEAST", limit: 2, resultType: 1),
      FetchRequestTemplate("all", entity: "Media", includesSubentities: false),
      FetchRequestTemplate("broken", entity: "Media", predicate: "AND"),
    ])

  @Test func templatesAndFetchedProperties() throws {
    let test = try TestStore(Self.library)
    let ids = try (0..<4).map { index in
      try test.store.insert(
        "Book",
        [
          "title": .string(index == 3 ? "named" : "b\(index)"), "year": .integer(2000 + Int64(index % 2)),
          "pages": .integer(Int64(index) * 100),
        ])
    }
    let model = test.store.model
    let request = try #require(
      try model.fetchRequestFromTemplate(withName: "long", substitutionVariables: ["LEAST": 50]))
    #expect(request.fetchLimit == 2 && request.resultType == .managedObjectID)
    try test.store.read { tx in
      guard case .ids(let found) = try tx.execute(request) else { Issue.record("no ids"); return }
      #expect(found == [ids[1], ids[2]])
      let all = try #require(try model.fetchRequestFromTemplate(withName: "all"))
      #expect(try tx.fetchIDs(all).isEmpty)
      #expect(try tx.fetchedProperty(ids[0], "sameYear").map(\.id) == [ids[2]])
      #expect(try tx.fetchedProperty(ids[1], "named").map(\.id) == [ids[3]])
      expectError(.invalidPredicate) { _ = try tx.fetchedProperty(ids[1], "broken") }
      expectError(.unknownProperty) { _ = try tx.fetchedProperty(ids[1], "nothing") }
      let open = try #require(try model.fetchRequestFromTemplate(withName: "long"))
      expectError(.invalidPredicate) { _ = try tx.fetchIDs(open) }
    }
    #expect(try model.fetchRequestFromTemplate(withName: "nothing") == nil)
    #expect(throws: QueryFormatError.self) { try model.fetchRequestFromTemplate(withName: "broken") }
  }

  /// Random objects and random requests, compared with grouping in plain Swift.
  @Test(arguments: 0..<20 as Range<UInt64>) func groupsMatchPlainGrouping(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let test = try FetchStore()
    var plain: [(name: String?, small: Int64, points: Int64?)] = []
    for index in 0..<Int.random(in: 0...60, using: &random) {
      let name = Bool.random(using: &random) ? ["x", "y", "z"].randomElement(using: &random) : nil
      let small = Int64.random(in: 0...3, using: &random)
      let points = Bool.random(using: &random) ? Int64.random(in: -9...9, using: &random) : nil
      try test.add(
        "o\(index)", ["name": name.map { .string($0) }, "small": .integer(small), "big": points.map { .integer($0) }])
      plain.append((name, small, points))
    }
    var request = FetchRequest("Thing")
    request.propertiesToGroupBy = ["name", "small"]
    request.propertiesToFetch = try [
      "small", "name", ExpressionDescription("n", format: "count:(big)"),
      ExpressionDescription("sum", format: "sum:(big)"),
      ExpressionDescription("max", format: "max:(big)"),
    ]
    let least = Int64.random(in: 0...3, using: &random)
    request.havingPredicate = try QueryPredicate(format: "count:(SELF) >= %@", .integer(least))
    let found = try test.store.read { try $0.fetchDictionaries(request) }
    var order: [[String?]] = []
    var groups: [[String?]: [Int64?]] = [:]
    for object in plain {
      let key = [object.name, "\(object.small)"]
      if groups[key] == nil { order.append(key) }
      groups[key, default: []].append(object.points)
    }
    let expected: [[QueryConstant]] = order.compactMap { key in
      let members = groups[key] ?? []
      guard members.count >= least else { return nil }
      let points = members.compactMap { $0 }
      return [
        .value(.integer(Int64(key[1]!)!)), key[0].map { .value(.string($0)) } ?? .null,
        .value(.integer(Int64(points.count))), .value(.integer(points.reduce(0, +))),
        points.max().map { .value(.integer($0)) } ?? .null,
      ]
    }
    #expect(found.map(\.values) == expected, "seed \(seed)")
  }
}

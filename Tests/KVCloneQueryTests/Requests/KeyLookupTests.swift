import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let keyModel = ManagedObjectModel("Keys") {
  EntityDescription("Root", abstract: true, unique: [["code"], ["town", "number"]], indexes: [fetchIndex("group")]) {
    AttributeDescription("code", .string)
    AttributeDescription("town", .string)
    AttributeDescription("number", .integer32)
    AttributeDescription("group", .integer16)
  }
  EntityDescription("Leaf", parent: "Root") { AttributeDescription("color", .string) }
  EntityDescription("Branch", parent: "Root", indexes: [fetchIndex("size", "-code")]) {
    AttributeDescription("size", .double)
  }
  EntityDescription("Twig", parent: "Branch") { AttributeDescription("length", .double) }
}

/// Requests that are answered by key lookups, prepared or not, compared with a full scan.
@Suite("Key lookups")
struct KeyLookupTests {
  /// Properties that are the first column of an index of the model, and some that are not.
  private static let combinations = [
    ["name"], ["title"], ["small"], ["medium"], ["big"], ["ratio"], ["weight"], ["price"], ["flag"], ["day"], ["uid"],
    ["link"], ["data"], ["archive"], ["key"], ["title", "small"], ["small", "title"], ["weight", "name"],
    ["price", "small"], ["flag", "day"], ["flag", "name"], ["small", "flag", "name"], ["name", "small"],
    ["small", "small"],
  ]

  @Test("random values of random properties", arguments: 1...12 as ClosedRange<UInt64>)
  func random(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let graph = try FetchGraph(&random)
    try graph.store.read { tx in
      for names in Self.combinations { try ask(names, tx, &random, seed) }
    }
    var changes = random
    try graph.withChanges(&changes) { tx, _ in
      for names in Self.combinations { try ask(names, tx, &random, seed) }
    }
  }

  private func ask(
    _ names: [String], _ tx: borrowing some ObjectReading & ~Copyable, _ random: inout SeededGenerator, _ seed: UInt64
  ) throws {
    let entities = ["Thing", "Item", "Special", "Box"]
    let entity = entities[random.below(entities.count)]
    let attributes = fetchModel.attributes(of: entity)
    let parts = names.enumerated().map { random.chance(in: 3) ? "$v\($0) == \($1)" : "\($1) == $v\($0)" }
    let request = FetchRequest(
      entity, predicate: try QueryPredicate(format: parts.joined(separator: " AND ")), fetchLimit: random.below(4),
      fetchOffset: random.below(2), includesSubentities: !random.chance(in: 3))
    for _ in 0..<5 {
      var values: [String: QueryArgument] = [:]
      for (place, name) in names.enumerated() {
        guard let attribute = attributes.first(where: { $0.name == name }) else { return }
        values["v\(place)"] = FetchPool.value(attribute, &random).map { .value($0) } ?? .null
      }
      try compare(request, values, tx, "seed \(seed)")
    }
  }

  /// Runs a request with variables, prepared and with its values filled in, and compares the results.
  private func compare(
    _ request: FetchRequest, _ values: [String: QueryArgument], _ tx: borrowing some ObjectReading & ~Copyable,
    _ note: String
  ) throws {
    let prepared = try tx._withSession { (session) throws(StoreError) in
      try PreparedRequest(request, session.schema, storeUUID: session.storeUUID)
    }
    var filled = request
    filled.predicate = try request.predicate?.substituting(values)
    let expected = try tx.ids(filled, .never)
    let variables = QueryVariables(values)
    let text = "\(note): \(request.entityName) where \(filled.predicate?.predicateFormat ?? "")"
    #expect(try tx.fetchIDs(filled) == expected, "\(text)")
    #expect(try tx.count(filled) == expected.count, "\(text)")
    #expect(try tx.fetchIDs(prepared, variables) == expected, "\(text)")
    #expect(try tx.count(prepared, variables) == expected.count, "\(text)")
  }

  @Test("uniqueness constraints, abstract entities and sub-entities")
  func constraints() throws {
    let test = try TestStore(keyModel)
    let long = String(repeating: "x", count: 500)
    try test.store.write { tx in
      for (number, entity) in ["Leaf", "Branch", "Twig", "Leaf", "Twig", "Branch"].enumerated() {
        let values: [String: AttributeValue?] = [
          "code": .string(number == 3 ? long : number == 4 ? long + "4" : "c\(number)"),
          "town": number == 5 ? nil : .string("t\(number % 2)"), "number": .integer(Int64(number)),
          "group": .integer(Int64(number % 2)),
        ]
        try tx.insert(entity, values.merging(entity == "Leaf" ? [:] : ["size": .double(1)]) { first, _ in first })
      }
    }
    let towns: [QueryArgument] = [nil, "t0", "t1", "t2"]
    let codes: [QueryArgument] = [nil, "c0", "c1", "c2", "c9"] + ["", "4", "5"].map { .string(long + $0) }
    try test.store.read { tx in
      for entity in ["Root", "Leaf", "Branch", "Twig"] {
        for includesSubentities in [true, false] {
          func request(_ format: String) throws -> FetchRequest {
            FetchRequest(
              entity, predicate: try QueryPredicate(format: format), includesSubentities: includesSubentities)
          }
          for code in codes {
            try compare(try request("code == $code"), ["code": code], tx, "by code")
            if entity == "Branch" || entity == "Twig" {
              try compare(try request("size == 1.0 AND code == $code"), ["code": code], tx, "by size")
            }
          }
          for town in towns {
            try compare(try request("town == $town"), ["town": town], tx, "by town")
            for number in 0..<7 {
              let values: [String: QueryArgument] = ["town": town, "number": .integer(number)]
              try compare(try request("number == $number AND town == $town"), values, tx, "by both")
            }
          }
          for group in 0..<3 { try compare(try request("group == $g"), ["g": .integer(group)], tx, "by group") }
        }
      }
    }
  }

  @Test("up to 64 objects, and more of them, with limits and offsets", arguments: [0, 1, 63, 64, 65, 66, 200])
  func many(_ count: Int) throws {
    let test = try TestStore(keyModel)
    try test.store.write { tx in
      for number in 0..<count {
        let values: [String: AttributeValue?] = ["code": .string("\(number)"), "group": .integer(7)]
        try tx.insert(number % 3 == 0 ? "Twig" : "Leaf", values)
      }
      try tx.insert("Leaf", ["group": .integer(8)])
    }
    try test.store.read { tx in
      for limit in [0, 1, 63, 64, 65, 1000] {
        for offset in [0, 1, 64, 65, Int.max] {
          for entity in ["Root", "Leaf", "Branch"] {
            let request = FetchRequest(
              entity, predicate: try QueryPredicate(format: "group == $g"), fetchLimit: limit, fetchOffset: offset)
            try compare(request, ["g": 7], tx, "\(limit) from \(offset)")
          }
        }
      }
    }
  }

  @Test("the explanation matches the execution: few are looked up, and more are planned for")
  func explained() throws {
    let test = try TestStore(keyModel)
    try test.store.write { tx in
      for number in 0..<2000 {
        let values: [String: AttributeValue?] = [
          "code": .string("c\(number)"), "size": .double(Double(number / 70)), "group": .integer(Int64(number / 64)),
        ]
        try tx.insert("Branch", values)
      }
    }
    func steps(_ entity: String, _ format: String, limit: Int = 0, sort: [QuerySortDescriptor] = []) throws
      -> [String]
    {
      let predicate = try QueryPredicate(format: format)
      let request = FetchRequest(entity, predicate: predicate, sortDescriptors: sort, fetchLimit: limit)
      return try test.store.read { try $0.explain(request) }
    }
    #expect(
      try steps("Root", "group == 3") == [
        "look up group in the index group, without planning (about 64 objects)",
        "no filter: the search is exact for group == 3", "in the order of ids",
      ])
    #expect(
      try steps("Leaf", "group == 3", limit: 2) == [
        "look up group in the index group, without planning (about 64 objects)",
        "filter by entity Leaf and its sub-entities; the search is exact for group == 3", "in the order of ids",
        "stop after 2",
      ])
    #expect(
      try steps("Branch", "code == 'c7' AND size == 0.0").first
        == "look up size, code in the index size_-code, without planning (about 1 object)")
    #expect(try steps("Branch", "size == 1.0").first == "search the index size_-code by size (about 70 objects)")
    let sort = [QuerySortDescriptor(key: "town")]
    #expect(try steps("Root", "group == 3", sort: sort).first == "search the index group by group (about 64 objects)")
  }

  @Test("an index or a constraint that names an attribute twice covers no other attribute")
  func repeatedColumns() throws {
    let model = ManagedObjectModel("Repeated") {
      EntityDescription("Item", unique: [["code", "code"]], indexes: [fetchIndex("kind", "-kind")]) {
        AttributeDescription("code", .string)
        AttributeDescription("kind", .integer64)
        AttributeDescription("size", .integer64)
      }
    }
    let test = try TestStore(model)
    try test.store.write { tx in
      for number in 0..<6 {
        let (kind, size) = (Int64(number % 2), Int64(number % 3))
        try tx.insert("Item", ["code": .string("c\(number)"), "kind": .integer(kind), "size": .integer(size)])
      }
    }
    try test.store.read { tx in
      for value in 0..<3 {
        let size = QueryArgument.integer(value)
        for format in ["kind == $k", "kind == $k AND size == $s", "size == $s AND kind == $k"] {
          let request = FetchRequest("Item", predicate: try QueryPredicate(format: format))
          try compare(request, ["k": 1, "s": size], tx, format)
        }
        for format in ["code == $c", "code == $c AND size == $s"] {
          let request = FetchRequest("Item", predicate: try QueryPredicate(format: format))
          try compare(request, ["c": "c1", "s": size], tx, format)
        }
      }
    }
  }

  @Test("a corrupted entry, or one without an object, is reported")
  func damage() throws {
    let test = try TestStore(keyModel)
    let id = try test.store.insert("Leaf", ["code": "a", "group": 7])
    try test.store.write { tx in
      let entity = try tx.session.schema.entity("Leaf")
      let key = ShortKey.object(id)
      try tx.session.storage.delete(entity.table, key.bytes)
    }
    for format in ["group == 7", "code == 'a'"] {
      let request = FetchRequest("Root", predicate: try QueryPredicate(format: format))
      expectError(.corrupted) { _ = try test.store.read { try $0.fetch(request) } }
      expectError(.corrupted) { _ = try test.store.read { try $0.fetch(try test.store.prepare(request)) } }
    }
  }
}

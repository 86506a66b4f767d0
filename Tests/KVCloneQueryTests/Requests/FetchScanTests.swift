import Foundation
import KVClone
import KVCloneRecords
import KVCloneTestSupport
import Testing

@testable import KVCloneCore
@testable import KVCloneQuery

private let scanModel = ManagedObjectModel("Scan") {
  EntityDescription("Thing") {
    AttributeDescription("name", .string)
    AttributeDescription("rank", .integer32)
    AttributeDescription("small", .integer16)
    AttributeDescription("ratio", .double)
    AttributeDescription("weight", .float)
    AttributeDescription("flag", .boolean)
    AttributeDescription("day", .date)
    AttributeDescription("link", .uri)
    AttributeDescription("amount", .integer64, default: 2)
    AttributeDescription("label", .string, default: "bb")
    RelationshipDescription("other", toOne: "Thing")
    RelationshipDescription("others", toMany: "Thing")
  }
}

/// Requests that scan every record: conditions and orders that are evaluated on a record's bytes, with neighbours of
/// different layouts.
@Suite("Fetch scans")
struct FetchScanTests {
  /// An attribute's value in the form that the tests compare; numbers are small enough for a double.
  private enum Plain {
    case null
    case number(Double)
    case text(String)

    init(_ value: AttributeValue?) {
      switch value {
      case .integer(let value)?: self = .number(Double(value))
      case .double(let value)?: self = .number(value)
      case .float(let value)?: self = .number(Double(value))
      case .boolean(let value)?: self = .number(value ? 1 : 0)
      case .date(let value)?: self = .number(value.timeIntervalSinceReferenceDate)
      case .string(let value)?, .uri(let value)?: self = .text(value)
      default: self = .null
      }
    }

    func holds(_ operation: String, _ other: Plain) -> Bool {
      switch (self, other) {
      case (.number(let a), .number(let b)):
        switch operation {
        case "==": return a == b
        case "!=": return a != b
        case "<": return a < b
        case "<=": return a <= b
        case ">": return a > b
        default: return a >= b
        }
      case (.text(let a), .text(let b)):
        let (a, b) = (Array(a.utf8), Array(b.utf8))
        switch operation {
        case "==": return a == b
        case "!=": return a != b
        case "<": return a.lexicographicallyPrecedes(b)
        case "<=": return !b.lexicographicallyPrecedes(a)
        case ">": return b.lexicographicallyPrecedes(a)
        case "BEGINSWITH": return a.starts(with: b)
        default: return !a.lexicographicallyPrecedes(b)
        }
      default: return operation == "!="
      }
    }

    /// Returns the order of results: nil, NaN, all other values.
    func precedes(_ other: Plain) -> Bool {
      switch (self, other) {
      case (_, .null): false
      case (.null, _): true
      case (.number(let a), .number(let b)): a.isNaN || b.isNaN ? a.isNaN && !b.isNaN : a < b
      case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
      default: false
      }
    }
  }

  private struct Row {
    let id: ObjectID
    let values: [String: Plain]
  }

  private static let texts = [
    "", "a", "b", "bb", "bbb", "abcdefgh", "abcdefgi", "abcdefghi", "\u{E9}", "\u{10000}", "\u{FFFD}",
  ]
  private static let doubles: [Double] = [0, -0.0, 1, 1.5, 2, 3, -1, .nan, .infinity, -.infinity]

  private static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> AttributeValue? {
    if random.chance(in: 5) { return nil }
    let number = doubles[random.below(doubles.count)]
    switch type {
    case .string: return .string(texts[random.below(texts.count)])
    case .uri: return .uri(texts[random.below(texts.count)])
    case .double: return .double(number)
    case .float: return .float(Float(number))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: number))
    case .boolean: return .boolean(random.chance(in: 2))
    default: return .integer(Int64(random.below(6)) - 2)
    }
  }

  private let test: TestStore
  private let schema: Schema

  /// Creates a store with records of two layouts: an earlier one lacks `amount` and `label`.
  init() throws {
    test = try TestStore(scanModel)
    let own = test.store.schema
    let encoded = String(decoding: try JSONEncoder().encode(own.codes), as: UTF8.self)
    let last = own.codes.lastLayout
    let grown = encoded.replacingOccurrences(of: "\"lastLayout\":\(last)", with: "\"lastLayout\":\(last + 1)")
    var codes = try JSONDecoder().decode(SchemaCodes.self, from: Data(grown.utf8))
    let thing = try own.entity("Thing")
    let lateAttributes = thing.attributes.filter { ["amount", "label"].contains($0.path) }
    for attribute in lateAttributes {
      if let value = attribute.description.defaultValue { codes.setFill(value, ofProperty: attribute.code) }
    }
    let late = Set(lateAttributes.map(\.code))
    let fields = thing.layout.fields.filter { !late.contains($0.propertyCode) }
    #expect(fields.count == thing.layout.fieldCount - 2 && codes.lastLayout == last + 1)
    schema = try Schema(
      model: own.model, codes: codes,
      layouts: [thing.layout, RecordLayout(id: last + 1, entityCode: thing.code, fields: fields)], tables: own.tables)
  }

  /// Replaces the contents of the store.
  private func fill(_ random: inout SeededGenerator, _ count: Int) throws -> [Row] {
    let entity = try schema.entity("Thing")
    let old = try #require(schema.layout(id: schema.codes.lastLayout))
    var rows: [Row] = []
    var session = try test.store.writeSession(label: "fill")
    for serial in 1...count {
      let id = ObjectID(rootCode: entity.rootCode, serial: UInt64(serial))
      let layout = random.chance(in: 2) ? old : entity.layout
      var record = RecordBuffer(layout: layout)
      var values: [String: Plain] = [:]
      for attribute in entity.attributes {
        guard let field = layout.fieldIndex(ofProperty: attribute.code) else {
          values[attribute.path] = Plain(attribute.description.defaultValue)
          continue
        }
        let value = Self.value(attribute.description.type, &random)
        try record.set(field, value)
        values[attribute.path] = Plain(value)
      }
      record.seal(commit: 1, seed: ValueEnvelope.seed(object: id))
      try session.storage.put(entity.table, ShortKey.object(id).array.span.bytes, record.bytes)
      rows.append(Row(id: id, values: values))
    }
    try WriteTransaction(session).commit(test.store)
    return rows
  }

  private func answer(_ request: FetchRequest) throws -> (ids: [ObjectID], count: Int) {
    let session = test.store.context.session(try test.store.engine.beginRead(), schema)
    var ids: [ObjectID] = []
    try FetchExecutor.forEachResult(try FetchExecutor.compile(request, in: session), in: session) {
      (id, _) throws(StoreError) in
      ids.append(id)
      return true
    }
    return (ids, try FetchExecutor.count(try FetchExecutor.compile(request, isCount: true, in: session), in: session))
  }

  private struct Part {
    let attribute: String
    let operation: String
    let value: Plain
    let argument: QueryArgument
  }

  private func part(_ random: inout SeededGenerator) throws -> Part {
    let attributes = try schema.entity("Thing").attributes
    let attribute = attributes[random.below(attributes.count)]
    var value: AttributeValue?
    while value == nil || value == .double(.nan) || value == .float(.nan) || value == day(.nan) {
      value = Self.value(attribute.description.type, &random)
    }
    var operations = ["==", "!=", "<", "<=", ">", ">="]
    if case .text = Plain(value) { operations.append("BEGINSWITH") }
    return Part(
      attribute: attribute.path, operation: operations[random.below(operations.count)], value: Plain(value),
      argument: value.map { .value($0) } ?? .null)
  }

  @Test("conditions hold for records of an older layout as for others", arguments: [1, 2, 3] as [UInt64])
  func conditions(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let rows = try fill(&random, 120)
    for round in 0..<300 {
      let parts = try (0...random.below(3)).map { _ in try part(&random) }
      // Inserts a condition that cannot be evaluated on records between conditions that can.
      let isOther = random.chance(in: 3)
      let place = random.below(parts.count + 1)
      var formats = parts.map { "\($0.attribute) \($0.operation) %@" }
      if isOther { formats.insert("(rank == 1 OR label BEGINSWITH 'b' OR others.@count > 0)", at: place) }
      let predicate = try QueryPredicate(
        format: formats.joined(separator: " AND "), arguments: parts.map(\.argument))
      let wanted = rows.filter { row in
        let holds = parts.allSatisfy { (row.values[$0.attribute] ?? .null).holds($0.operation, $0.value) }
        return holds && (!isOther || Self.isOther(row))
      }
      let found = try answer(FetchRequest("Thing", predicate: predicate))
      #expect(found.ids == wanted.map(\.id), "seed \(seed), round \(round): \(predicate)")
      #expect(found.count == wanted.count, "seed \(seed), round \(round): \(predicate)")
    }
  }

  private static func isOther(_ row: Row) -> Bool {
    if case .number(1)? = row.values["rank"] { return true }
    guard case .text(let label)? = row.values["label"] else { return false }
    return label.hasPrefix("b")
  }

  @Test("the first results are those that sorting all of them begins with", arguments: [1, 2, 3] as [UInt64])
  func firstResults(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let rows = try fill(&random, 150)
    let names = try schema.entity("Thing").attributes.map(\.path)
    for round in 0..<300 {
      let keys = (0...random.below(2)).map { _ in
        QuerySortDescriptor(key: names[random.below(names.count)], ascending: random.chance(in: 2))
      }
      var request = FetchRequest("Thing", sortDescriptors: keys)
      request.fetchLimit = 1 + random.below(12)
      request.fetchOffset = random.below(4)
      let sorted = rows.sorted { left, right in
        for key in keys {
          let name = key.key.expressionFormat
          let (a, b) = (left.values[name] ?? .null, right.values[name] ?? .null)
          if a.precedes(b) { return key.ascending }
          if b.precedes(a) { return !key.ascending }
        }
        return left.id < right.id
      }
      let wanted = sorted.dropFirst(request.fetchOffset).prefix(request.fetchLimit).map(\.id)
      let order = keys.map { "\($0.key) \($0.ascending)" }
      #expect(try answer(request).ids == wanted, "seed \(seed), round \(round): \(order)")
    }
  }

  @Test("views show records of an older layout as copies do", arguments: [1, 2] as [UInt64])
  func views(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let rows = try fill(&random, 60)
    let session = test.store.context.session(try test.store.engine.beginRead(), schema)
    func key<Value>(_ name: String) throws -> AttributeKey<Value> {
      AttributeKey(place: try AttributePlace(schema, "Thing", name))
    }
    let (name, label): (AttributeKey<String>, AttributeKey<String>) = (try key("name"), try key("label"))
    let (rank, amount): (AttributeKey<Int>, AttributeKey<Int64>) = (try key("rank"), try key("amount"))
    for row in rows {
      let view = try ObjectView(try session.existingRecord(row.id), id: row.id, schema, transients: nil)
      let object = try session.object(row.id)
      func same(_ seen: AttributeValue?, _ attribute: String) throws {
        let stored = try object.value(attribute)
        #expect(seen == stored, "seed \(seed): \(attribute) of \(object.name)")
      }
      try same(try view.value(name).map { .string($0) }, "name")
      try same(try view.value(label).map { .string($0) }, "label")
      try same(try view.value(rank).map { .integer(Int64($0)) }, "rank")
      try same(try view.value(amount).map { .integer($0) }, "amount")
      let bytes = try view.withUTF8(label) { bytes in bytes.withUnsafeBytes { Array($0) } }
      try same(bytes.map { .string(String(decoding: $0, as: UTF8.self)) }, "label")
    }
  }

  @Test("every damaged byte is found, in records that a condition or an order leaves out too")
  func damage() throws {
    let id = try test.store.write { tx in
      for number in 0..<40 {
        try tx.insert("Thing", ["rank": .integer(Int64(number)), "name": .string("name \(number)"), "flag": true])
      }
      return try tx.objectID(named: "Thing/33")
    }
    let table = try test.store.schema.entity("Thing").table
    let requests = [
      FetchRequest("Thing", predicate: try QueryPredicate(format: "rank < 3 AND flag == YES")),
      FetchRequest("Thing", sortDescriptors: [QuerySortDescriptor(key: "rank")], fetchLimit: 3),
      FetchRequest("Thing", sortDescriptors: [QuerySortDescriptor(key: "name")], fetchLimit: 3),
    ]
    let key = ShortKey.object(id).array
    let bytes: [UInt8] = try test.store.readSession().copyOfValue(table, key) ?? []
    #expect(bytes.count > 60)
    for place in bytes.indices {
      var damaged = bytes
      damaged[place] ^= 0x41
      try put(damaged, table, key)
      for request in requests {
        expectError(.corrupted) { _ = try test.store.read { try $0.fetchIDs(request) } }
      }
    }
    try put(bytes, table, key)
    for request in requests { #expect(try test.store.read { try $0.fetchIDs(request).count } == 3) }
  }

  private func put(_ bytes: [UInt8], _ table: StorageTable, _ key: [UInt8]) throws {
    var session = try test.store.writeSession(label: "damage")
    try session.storage.put(table, key.span.bytes, bytes.span.bytes)
    try WriteTransaction(session).commit(test.store)
  }

  @Test("what always holds is counted without a look at objects, and what never does is not looked for")
  func constants() throws {
    let test = try TestStore(scanModel)
    let always = FetchRequest("Thing", predicate: .constant(true))
    let never = FetchRequest("Thing", predicate: .constant(false))
    try test.store.write { tx in for _ in 0..<3 { try tx.insert("Thing") } }
    let isAsked = try test.store.read { tx in
      try tx._withSession { (session) throws(StoreError) in
        try FetchExecutor.compile(always, isCount: true, in: session).condition != nil
      }
    }
    #expect(!isAsked)
    #expect(try test.store.read { try $0.count(always) } == 3)
    #expect(try test.store.read { try $0.fetchIDs(always) }.count == 3)
    #expect(try test.store.read { try $0.explain(never) }.first == "look up 0 objects by id")
    #expect(try test.store.read { try $0.count(never) } == 0)
  }
}

import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@testable import KVCloneCore

private let typesModel = ManagedObjectModel("Types") {
  EntityDescription("Base", abstract: true) { AttributeDescription("label", .string, default: "base") }
  EntityDescription("Middle", parent: "Base") { AttributeDescription("rank", .integer32) }
  EntityDescription("Everything", parent: "Middle") {
    AttributeDescription("i16", .integer16)
    AttributeDescription("i32", .integer32)
    AttributeDescription("i64", .integer64)
    AttributeDescription("decimal", .decimal)
    AttributeDescription("double", .double)
    AttributeDescription("float", .float)
    AttributeDescription("string", .string)
    AttributeDescription("boolean", .boolean)
    AttributeDescription("date", .date)
    AttributeDescription("binary", .binary)
    AttributeDescription("uuid", .uuid)
    AttributeDescription("uri", .uri)
    AttributeDescription("archive", .transformable)
    AttributeDescription("place", .composite, composite: "Place")
    AttributeDescription("note", .string, transient: true)
    AttributeDescription("sum", .integer64, derivation: "i16 + i32")
  }
  EntityDescription("Defaults", parent: "Base") {
    AttributeDescription("i16", .integer16, default: -7)
    AttributeDescription("decimal", .decimal, default: 0.1)
    AttributeDescription("string", .string, default: "é")
    AttributeDescription("boolean", .boolean, default: true)
    AttributeDescription("date", .date, default: .date(Date(timeIntervalSinceReferenceDate: 1.5)))
    AttributeDescription("note", .string, default: "draft", transient: true)
    AttributeDescription("empty", .string)
  }
  CompositeAttributeDescription("Place") {
    AttributeDescription("name", .string)
    AttributeDescription("point", .composite, composite: "Point")
  }
  CompositeAttributeDescription("Point") {
    AttributeDescription("x", .double)
    AttributeDescription("y", .double)
  }
}

private func date(_ seconds: Double) -> AttributeValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

private func decimal(_ text: String) throws -> AttributeValue { .decimal(try #require(Decimal(string: text))) }

@Suite("Values of every type")
struct AttributeStorageTests {
  let test: TestStore
  var store: ObjectStore { test.store }

  init() throws { test = try TestStore(typesModel) }

  static let values: [(String, [AttributeValue])] = [
    ("i16", [0, -1, .integer(Int64(Int16.min)), .integer(Int64(Int16.max))]),
    ("i32", [0, -1, .integer(Int64(Int32.min)), .integer(Int64(Int32.max))]),
    ("i64", [0, -1, .integer(.min), .integer(.max)]),
    (
      "double",
      [
        0.0, .double(-0.0), .double(.nan), .double(.infinity), .double(-.infinity), .double(.leastNonzeroMagnitude),
        .double(.greatestFiniteMagnitude), 0.1, .double(Double(bitPattern: 0x7FF8_0000_0000_1234)),
      ]
    ),
    (
      "float",
      [
        .float(0), .float(-0.0), .float(.nan), .float(.infinity), .float(.leastNonzeroMagnitude),
        .float(.greatestFiniteMagnitude), .float(0.1),
      ]
    ),
    (
      "string",
      [
        "", "a", "\u{0}", "👩‍👩‍👧‍👦 é e\u{301} 漢字 \u{10FFFF}", .string(String(repeating: "long ", count: 200_000)),
        .string(String(repeating: "x", count: 255)), .string(String(repeating: "x", count: 65_536)),
      ]
    ),
    ("boolean", [true, false]),
    ("date", [date(0), date(-0.0), date(.nan), date(0.1), date(-63_114_076_800), date(1e300), date(.infinity)]),
    ("binary", [.binary(Data()), .binary(Data([0])), .binary(Data((0..<1024).map { UInt8(truncatingIfNeeded: $0) }))]),
    ("archive", [.transformable(Data()), .transformable(Data([1, 2, 3]))]),
    (
      "uuid",
      [
        .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
        .uuid(UUID(uuid: (255, 254, 253, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
      ]
    ),
    ("uri", [.uri(""), .uri("https://example.org/ä?b=c#d"), .uri("no uri at all")]),
    (
      "place",
      [
        ["name": "Rome"], ["point": ["x": 1.5]], ["name": "", "point": ["x": .double(-0.0), "y": .double(.nan)]],
      ]
    ),
  ]

  @Test("values come back to the bit, after insert, after change and after reopening", arguments: values.map(\.0))
  func roundTrip(_ attribute: String) throws {
    let values = Self.values.filter { $0.0 == attribute }.flatMap(\.1)
    let id = try store.insert("Everything")
    var inserted: [ObjectID] = []
    for value in values {
      try store.set(id, attribute, value)
      #expect(try store.value(id, attribute) == value)
      #expect(try store.object(id)[attribute] == value)
      inserted.append(try store.insert("Everything", [attribute: value]))
    }
    try test.reopen()
    for (id, value) in zip(inserted, values) { #expect(try store.value(id, attribute) == value) }
    try store.set(id, attribute, nil)
    #expect(try store.value(id, attribute) == nil)
    try checked(store)
  }

  @Test(
    "decimals keep all of their digits",
    arguments: [
      "0", "-0.1", "12345678901234567890123456789012345678", "-99999999999999999999999999999999999999",
      "1e127", "-1e-127", "3.14159265358979323846264338327950288419", "0.000000000000000000000000000000000000001",
    ])
  func decimals(_ text: String) throws {
    let value = try decimal(text)
    let id = try store.insert("Everything", ["decimal": value])
    #expect(try store.value(id, "decimal") == value)
    guard case .decimal(let number) = try store.value(id, "decimal") else { return }
    #expect(number.description == Decimal(string: text)?.description)
    try store.set(id, "decimal", .decimal(.nan))
    #expect(try store.value(id, "decimal") == .decimal(.nan))
    try checked(store)
  }

  @Test("all attributes at once, changed in any order, do not disturb each other")
  func together() throws {
    let id = try store.insert("Everything")
    var expected: [String: AttributeValue] = ["label": "base"]
    for round in 0..<8 {
      var changes: [String: AttributeValue?] = [:]
      for (index, (attribute, values)) in Self.values.enumerated() where (index + round) % 3 != 0 {
        let value = (index + round) % 5 == 0 ? nil : values[(round + index) % values.count]
        changes[attribute] = .some(value)
        expected[attribute] = value
      }
      try store.write { [changes] tx in try tx.setAttributes(id, changes) }
      for (attribute, _) in Self.values {
        #expect(try store.value(id, attribute) == expected[attribute], "\(attribute), round \(round)")
      }
      #expect(try store.value(id, "label") == "base")
    }
    try checked(store)
  }

  @Test("elements of composites are set together, and one by one by their paths")
  func composites() throws {
    let id = try store.insert("Everything", ["place": ["name": "Rome", "point": ["x": 1, "y": 2]]])
    #expect(try store.value(id, "place") == ["name": "Rome", "point": ["x": 1.0, "y": 2.0]])
    #expect(try store.value(id, "place.point.y") == 2.0)
    try store.set(id, "place.point.x", 5)
    #expect(try store.value(id, "place") == ["name": "Rome", "point": ["x": 5.0, "y": 2.0]])
    // A composite is one value: omitted elements become nil.
    try store.set(id, "place", ["point": ["y": 3]])
    #expect(try store.value(id, "place") == ["point": ["y": 3.0]])
    try store.set(id, "place", nil)
    #expect(try store.value(id, "place") == nil)
    expectError(.unknownProperty) { try store.set(id, "place", ["nothing": 1]) }
    expectError(.wrongType) { try store.set(id, "place", "Rome") }
    expectError(.wrongType) { try store.set(id, "place", ["point": ["x": "far"]]) }
    try checked(store)
  }

  @Test("values are converted if nothing is lost")
  func conversions() throws {
    let id = try store.insert("Everything", ["double": 1, "float": 0.1, "decimal": 0.1, "i16": 2.0, "boolean": 1])
    #expect(try store.value(id, "double") == 1.0)
    #expect(try store.value(id, "float") == .float(0.1))
    #expect(try store.value(id, "decimal") == decimal("0.1"))
    #expect(try store.value(id, "i16") == 2)
    #expect(try store.value(id, "boolean") == true)
    try checked(store)
  }

  static let misfits: [(String, AttributeValue, StoreError.Kind)] = [
    ("i16", 32_768, .outOfRange), ("i16", -32_769, .outOfRange), ("i32", 2_147_483_648, .outOfRange),
    ("i16", "1", .wrongType), ("i64", 1.5, .wrongType), ("string", 1, .wrongType), ("boolean", 2, .wrongType),
    ("date", 1, .wrongType), ("uuid", "no", .wrongType), ("double", "1", .wrongType), ("binary", "a", .wrongType),
    ("binary", .transformable(Data([1])), .wrongType), ("decimal", .double(.infinity), .wrongType),
    ("uri", 1, .wrongType), ("string", ["a": 1], .wrongType), ("nothing", 1, .unknownProperty),
    ("sum", 1, .wrongType),
  ]

  @Test("what does not fit is an error that names entity and property", arguments: misfits)
  func misfit(_ attribute: String, _ value: AttributeValue, _ kind: StoreError.Kind) throws {
    let id = try store.insert("Everything")
    let error = expectError(kind) { try store.set(id, attribute, value) }
    #expect(error?.entity == "Everything" && error?.property == attribute)
    if attribute != "sum" { expectError(kind) { try store.insert("Everything", [attribute: value]) } }
    #expect(try store.objects("Everything") == [id])
    try checked(store)
  }

  @Test("defaults apply to omitted values, and nil can be passed instead")
  func defaults() throws {
    let id = try store.insert("Defaults")
    let object = try store.object(id)
    #expect(object["i16"] == -7 && object["string"] == "é" && object["boolean"] == true && object["label"] == "base")
    #expect(try object["decimal"] == decimal("0.1") && object["date"] == date(1.5) && object["empty"] == nil)
    let other = try store.insert("Defaults", ["string": nil, "i16": 3, "label": nil])
    #expect(try store.value(other, "string") == nil)
    #expect(try store.value(other, "i16") == 3)
    #expect(try store.value(other, "label") == nil)
    #expect(try store.value(other, "boolean") == true)
    try checked(store)
  }

  @Test("transient values live as long as the transaction")
  func transient() throws {
    let id = try store.write { tx in
      let id = try tx.insert("Everything", ["note": "now"])
      let seen = try tx.value(id, "note")
      #expect(seen == "now")
      let object = try tx.object(id)
      #expect(object["note"] == "now")
      try tx.set(id, "note", nil)
      let cleared = try tx.value(id, "note")
      #expect(cleared == nil)
      try tx.set(id, "note", "again")
      let draft = try tx.value(try tx.insert("Defaults"), "note")
      #expect(draft == "draft")
      return id
    }
    #expect(try store.value(id, "note") == nil)
    #expect(try store.object(id)["note"] == nil)
    try store.set(id, "note", "gone")
    #expect(try store.value(id, "note") == nil)
    try checked(store)
  }

  @Test("derived attributes are read-only")
  func derived() throws {
    let id = try store.insert("Everything", ["i16": 1])
    #expect(try store.value(id, "sum") == nil)
    expectError(.wrongType) { try store.set(id, "sum", 3) }
    try checked(store)
  }
}

@Suite("Entities that inherit")
struct InheritanceTests {
  @Test("abstract entities have no objects, unknown ones do not exist, concrete parents do have their own")
  func entities() throws {
    let test = try TestStore(typesModel)
    let store = test.store
    let error = expectError(.abstractEntity) { try store.insert("Base") }
    #expect(error?.entity == "Base")
    expectError(.unknownEntity) { try store.insert("Nothing") }
    expectError(.unknownEntity) { _ = try store.objects("Nothing") }
    let middle = try store.insert("Middle", ["rank": 1])
    let everything = try store.insert("Everything", ["rank": 2, "label": "x"])
    let defaults = try store.insert("Defaults")
    #expect(middle.rootCode == everything.rootCode && defaults.rootCode == middle.rootCode)
    #expect([middle, everything, defaults].map(\.serial) == [1, 2, 3])
    #expect(try store.objects("Base") == [middle, everything, defaults])
    #expect(try store.objects("Middle") == [middle, everything])
    #expect(try store.info().counts == ["Middle": 1, "Everything": 1, "Defaults": 1])
    #expect(try store.read { tx in try tx.entityName(of: everything) } == "Everything")
    #expect(try store.object(everything).name == "Everything/2")
    for name in ["Everything/2", "Middle/2", "Base/2"] {
      #expect(try store.read { tx in try tx.objectID(named: name) } == everything)
    }
    expectError(.objectNotFound) { _ = try store.read { tx in try tx.objectID(named: "Defaults/2") } }
    expectError(.unknownProperty) { try store.set(middle, "i16", 1) }
    #expect(try store.delete([everything]) == 1)
    #expect(try store.objects("Base") == [middle, defaults])
    try checked(store)
  }
}

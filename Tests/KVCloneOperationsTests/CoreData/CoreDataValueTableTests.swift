import Foundation
import KVCloneCoreData
import KVCloneTestSupport
import Testing

@testable import KVClone
@testable import KVCloneCore
@testable import KVCloneOperations

/// The table in FromCoreData.md: every attribute type with every storage class of SQLite.
@Suite("import of Core Data's stores: types and storage classes")
struct CoreDataValueTableTests {
  private static let types: [(name: String, type: AttributeType)] = [
    ("small", .integer16), ("middle", .integer32), ("large", .integer64), ("flag", .boolean), ("double", .double),
    ("single", .float), ("moment", .date), ("price", .decimal), ("text", .string), ("link", .uri), ("uuid", .uuid),
    ("bytes", .binary), ("thing", .transformable),
  ]

  /// The results of one stored value, in the order of ``types``; nil if it is rejected.
  private struct Row {
    let stored: SQLiteValue
    let values: [AttributeValue?]
    /// The attributes with a lossy conversion.
    var converted: Set<String> = []
  }

  private static func date(_ seconds: Double) -> AttributeValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

  private static func bytes(_ text: String) -> [AttributeValue?] {
    [.binary(Data(text.utf8)), .transformable(Data(text.utf8))]
  }

  private static let numbers: Set<String> = ["small", "middle", "large", "flag", "double", "single", "moment"]

  private static let rows: [Row] = [
    Row(stored: .null, values: Array(repeating: nil, count: 13)),
    Row(
      stored: .integer(7),
      values: [
        .integer(7), .integer(7), .integer(7), .boolean(true), .double(7), .float(7), date(7), .decimal(7),
        .string("7"),
        .uri("7"), nil,
      ] + bytes("7"), converted: ["flag"]),
    Row(
      stored: .integer(5_000_000_000),
      values: [
        nil, nil, .integer(5_000_000_000), .boolean(true), .double(5e9), .float(5e9), date(5e9),
        .decimal(5_000_000_000),
        .string("5000000000"), .uri("5000000000"), nil,
      ] + bytes("5000000000"), converted: ["flag"]),
    Row(
      stored: .real(-2.75),
      values: [
        .integer(-2), .integer(-2), .integer(-2), .boolean(true), .double(-2.75), .float(-2.75), date(-2.75),
        .decimal(-2.75), .string("-2.75"), .uri("-2.75"), nil,
      ] + bytes("-2.75"), converted: ["small", "middle", "large", "flag"]),
    Row(
      stored: .real(1e100),
      values: [
        nil, nil, .integer(.max), .boolean(true), .double(1e100), .float(.infinity), date(1e100),
        .decimal(Decimal(sign: .plus, exponent: 100, significand: 1)),
        .string("1.0e+100"), .uri("1.0e+100"), nil,
      ] + bytes("1.0e+100"), converted: ["large", "flag", "single"]),
    Row(
      stored: .text(" 12.5e1abc"),
      values: [
        .integer(12), .integer(12), .integer(12), .boolean(true), .double(125), .float(125), date(125), nil,
        .string(" 12.5e1abc"), .uri(" 12.5e1abc"), nil,
      ] + bytes(" 12.5e1abc"), converted: numbers),
    Row(
      stored: .text("-1"),
      values: [
        .integer(-1), .integer(-1), .integer(-1), .boolean(true), .double(-1), .float(-1), date(-1), .decimal(-1),
        .string("-1"), .uri("-1"), nil,
      ] + bytes("-1"), converted: ["flag"]),
    Row(
      stored: .text("words"),
      values: [
        .integer(0), .integer(0), .integer(0), .boolean(false), .double(0), .float(0), date(0), nil, .string("words"),
        .uri("words"), nil,
      ] + bytes("words"), converted: numbers),
    Row(
      stored: .blob(Array("31".utf8)),
      values: [
        .integer(31), .integer(31), .integer(31), .boolean(true), .double(31), .float(31), date(31), .decimal(31),
        .string("31"), .uri("31"), nil,
      ] + bytes("31"), converted: ["flag"]),
    Row(
      stored: .blob([0xFF, 0]),
      values: [
        .integer(0), .integer(0), .integer(0), .boolean(false), .double(0), .float(0), date(0), nil, nil, nil, nil,
        .binary(Data([0xFF, 0])), .transformable(Data([0xFF, 0])),
      ], converted: numbers),
    Row(
      stored: .blob(CoreDataFixture.uuid),
      values: [
        .integer(0), .integer(0), .integer(0), .boolean(false), .double(0), .float(0), date(0), nil,
        .string(String(decoding: CoreDataFixture.uuid, as: UTF8.self)),
        .uri(String(decoding: CoreDataFixture.uuid, as: UTF8.self)),
        .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
        .binary(Data(CoreDataFixture.uuid)), .transformable(Data(CoreDataFixture.uuid)),
      ], converted: numbers),
    // Too long to be kept in memory: the beginning of a number counts.
    Row(
      stored: .longBlob(byteCount: 70_000),
      values: [
        .integer(0), .integer(0), .integer(0), .boolean(false), .double(0), .float(0), date(0), nil, nil, nil, nil,
        .blob(BlobReference(id: 0, byteCount: 0)), .blob(BlobReference(id: 0, byteCount: 0)),
      ], converted: numbers),
  ]

  private static let model = ManagedObjectModel(
    name: "Table",
    entities: [EntityDescription(name: "Value", attributes: types.map { AttributeDescription($0.name, $0.type) })])

  private static func database() -> [UInt8] {
    var writer = SQLiteWriter()
    // Columns without a type, so that SQLite would keep any value.
    let columns =
      ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER"] + types.map { "Z\($0.name.uppercased())" }
    writer.add(
      "ZVALUE", "CREATE TABLE ZVALUE ( \(columns.joined(separator: ", ")) )",
      values: rows.map { row in [.null, .integer(1), .integer(1)] + types.map { _ in row.stored } })
    writer.add(
      "Z_PRIMARYKEY",
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
      [(1, [.null, .text("Value"), .integer(0), .integer(Int64(rows.count))])])
    return writer.bytes()
  }

  @Test("each is read as Core Data reads it, or refused by name")
  func table() throws {
    let root = try temporaryDirectory()
    defer { try? FileManager.default.removeItem(atPath: root) }
    try Data(Self.database()).write(to: URL(fileURLWithPath: root + "/Table.sqlite"))
    var options = CoreDataImportOptions()
    options.model = Self.model
    options.skipsBroken = true
    let report = try ObjectStore.importCoreData(from: root + "/Table.sqlite", to: root + "/store", options: options)
    #expect(report.objectCount == Self.rows.count)
    let skipped = Set(report.skipped.map { "\($0.error.object ?? "") \($0.error.property ?? "")" })
    let converted = Set(report.conversions.map { "\($0.object) \($0.property)" })
    #expect(report.skipped.count == skipped.count && report.conversionCount == converted.count)
    let store = try ObjectStore.open(at: root + "/store")
    defer { store.close() }
    try checked(store)
    for (place, row) in Self.rows.enumerated() {
      let object = "Value/\(place + 1)"
      for ((name, _), (read, wanted)) in zip(
        Self.types, zip(try store.values(object, Self.types.map(\.name)), row.values))
      {
        if case .blob(_)? = wanted {
          guard case .blob(let reference)? = read else {
            Issue.record("\(object) \(name) is no blob")
            continue
          }
          #expect(reference.byteCount == 70_000)
        } else {
          #expect(read == wanted, "\(object) \(name): \(row.stored)")
        }
        let isRefused = wanted == nil && row.stored != .null
        #expect(skipped.contains("\(object) \(name)") == isRefused, "\(object) \(name): \(row.stored)")
        #expect(
          converted.contains("\(object) \(name)") == row.converted.contains(name), "\(object) \(name): \(row.stored)")
      }
    }
  }
}

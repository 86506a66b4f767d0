import Foundation
import KVClone
import KVCloneTestSupport

/// The models and values in the tests of the second reader.
extension SecondReaderTests {
  static let listModel = ManagedObjectModel("Lists", version: "Lists 2") {
    EntityDescription("Base", abstract: true) {
      AttributeDescription("name", .string)
      RelationshipDescription("one", toOne: "Item")
      RelationshipDescription("loose", toMany: "Item")
    }
    EntityDescription("Owner", parent: "Base") {
      RelationshipDescription("bag", toMany: "Item", inverse: "bags")
      RelationshipDescription("list", toMany: "Item", inverse: "lists", ordered: true)
      RelationshipDescription("looseList", toMany: "Item", ordered: true)
    }
    EntityDescription("Item") {
      RelationshipDescription("bags", toMany: "Owner", inverse: "bag")
      RelationshipDescription("lists", toMany: "Owner", inverse: "list", ordered: true)
    }
  }

  static let valueModel = ManagedObjectModel("Values") {
    EntityDescription(
      "Thing",
      unique: [["serial"], ["unique"], ["string", "serial", "decimal"], ["place.point.x", "serial"]]
        + ["binary", "date", "double", "float", "uuid", "uri", "archive", "i16", "i32"].map { [$0, "serial"] },
      indexes: [
        fetchIndex("i16", "-i32", "i64", "-decimal"), fetchIndex("-i16", "decimal"), fetchIndex("double", "-float"),
        fetchIndex("-double", "float"), fetchIndex("-string", "~string"), fetchIndex("-~string", "string"),
        fetchIndex("boolean", "-date", "binary"), fetchIndex("-boolean", "date", "-binary"), fetchIndex("uuid", "-uri"),
        fetchIndex("archive", "-archive", "place.point.x"), fetchIndex("unique", "-unique"),
      ]
    ) {
      AttributeDescription("serial", .integer64)
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
      RelationshipDescription("unique", toOne: "Thing")
    }
    EntityDescription("Sub", parent: "Thing", unique: [["extra", "string"]]) {
      AttributeDescription("extra", .string, default: "always")
      AttributeDescription("string", .string)
    }
    CompositeAttributeDescription("Place") {
      AttributeDescription("name", .string)
      AttributeDescription("point", .composite, composite: "Point")
    }
    CompositeAttributeDescription("Point") {
      AttributeDescription("x", .double)
      AttributeDescription("y", .decimal)
    }
  }

  static let blobModel = ManagedObjectModel("Blobs") {
    EntityDescription("Image") {
      AttributeDescription("data", .binary)
      AttributeDescription("archive", .transformable)
    }
  }

  /// One value for each object; objects beyond the end of a list have nil.
  static let values: [String: [AttributeValue]] = [
    "i16": [-32_768, 32_767, 0, -1], "i32": [-2_147_483_648, 2_147_483_647, 0],
    "i64": [.integer(.min), .integer(.max), 0, -1], "boolean": [true, false],
    "double": doubles.map { .double($0) }, "float": doubles.map { .float(Float($0)) },
    "date": doubles.filter(\.isFinite).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
      + [-63_114_076_800, -978_307_200.1, 252_423_993_599.5, 252_423_993_600, -31_622_400.000_001, 5_097_600].map {
        .date(Date(timeIntervalSinceReferenceDate: $0))
      },
    "decimal": [
      "0", "-0", "1", "-1", "10", "100", "-150", "0.001", "-12.34", "99", "990",
      "12345678901234567890123456789012345678",
      "1e127", "1e-128", "-99999999999999999999999999999999999999e50",
    ].compactMap { Decimal(string: $0).map { .decimal($0) } } + [.decimal(.nan)],
    "string": texts.map { .string($0) }, "uri": texts.map { .uri("x:" + $0) },
    "binary": texts.map { .binary(Data($0.utf8)) } + [.binary(Data(repeating: 0, count: 2_000)), .binary(Data())],
    "archive": texts.map { .transformable(Data($0.utf8)) },
    "uuid": [.uuid(UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255)))],
    "place": [
      .composite([:]), .composite(["name": "here"]),
      .composite(["point": .composite(["x": 1.5, "y": .decimal(2)]), "name": ""]),
      .composite(["point": .composite([:])]),
    ],
  ]

  private static let doubles: [Double] = [
    0, -0.0, 1, -1, 0.1, -0.1, .pi, 1e21, -1e-7, 1e16, .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
    .greatestFiniteMagnitude, .leastNormalMagnitude,
    123_456_789, 0.5, -86_400.25, .infinity, -.infinity, .nan,
  ]

  /// Strings around the lengths at which keys of one, two and three values are truncated, with zeros at the border.
  private static let texts: [String] =
    ["", "\0", "a", "a\0", "a\0b", "é", "e\u{301}", "\u{7F} \u{2028} \u{FEFF} 👩‍👩‍👧‍👦", "\" \\ \t \r \n \u{1}"]
    + [152, 153, 154, 231, 232, 233, 466, 467, 468, 1_024].flatMap { length in
      ["", "\0", "\0x", "é"].map { String(repeating: "m", count: length - 1) + $0 }
    }
}

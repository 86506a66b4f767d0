import Foundation
package import KVCloneCoreData
package import KVCloneModel

/// A store in Core Data's format, with every form of attribute and relationship, written without Core Data.
package struct CoreDataFixture {
  /// Rows by table; tests change them before the file is written.
  package var rows: [String: [(id: Int64, values: [SQLiteValue])]] = [:]
  /// Join tables: their rows have no keys of their own.
  package var links: [String: [[SQLiteValue]]] = [:]
  package var pageSize = 4096
  /// The columns that the tables are declared with, and the contents of Z_PRIMARYKEY.
  package var columns = Self.columns
  package var numbers = Self.numbers
  /// The archive of the model in the store, or nil for a store without one.
  package var storedModel: [UInt8]?

  package static let columns: [String: [String]] = [
    "ZNOTE": [
      "Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZCOUNT INTEGER", "ZFLAG INTEGER", "ZSMALL INTEGER",
      "ZPARENT INTEGER", "ZSUMMARY INTEGER", "ZFOLDER INTEGER", "Z_FOK_FOLDER INTEGER", "ZPIN INTEGER", "ZPIN1 INTEGER",
      "ZCREATED TIMESTAMP", "ZPRICE DECIMAL", "ZRATIO FLOAT", "ZSINGLE FLOAT", "ZLINK VARCHAR", "ZNAME VARCHAR",
      "ZUUID BLOB",
      "ZIMAGE BLOB", "ZTAGS BLOB", "ZNUMBEROFLINES INTEGER",
    ],
    "ZFOLDER": [
      "Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZCOVER INTEGER", "Z5COVER INTEGER",
      "ZNAME VARCHAR",
    ],
    "ZSUMMARY": [
      "Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZNOTE INTEGER", "Z3NOTE INTEGER", "ZTEXT VARCHAR",
    ],
    "ZTAG": ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZNAME VARCHAR"],
    "Z_2LABELS": [
      "Z_2NOTES INTEGER", "Z_7LABELS INTEGER", "Z_FOK_7LABELS INTEGER", "PRIMARY KEY (Z_2NOTES, Z_7LABELS)",
    ],
    "Z_7RELATED": ["Z_7RELATED INTEGER", "REFLEXIVE INTEGER", "PRIMARY KEY (Z_7RELATED, REFLEXIVE)"],
    "Z_7NARROWER": ["Z_7NARROWER INTEGER", "Z_7BROADER INTEGER", "PRIMARY KEY (Z_7NARROWER, Z_7BROADER)"],
    "Z_1FAVOURITES": ["Z_1FOLDERS INTEGER", "Z_7FAVOURITES INTEGER", "PRIMARY KEY (Z_1FOLDERS, Z_7FAVOURITES)"],
  ]

  /// Z_ENT by entity.
  package static let numbers: [(Int64, String, Int64, Int64)] = [
    (1, "Folder", 0, 9), (2, "Note", 0, 60), (3, "ImageNote", 2, 0), (4, "LinkNote", 2, 0), (5, "PinnedNote", 3, 0),
    (6, "Summary", 0, 5), (7, "Tag", 0, 5), (16_001, "CHANGE", 0, 4), (17_001, "NSCKEvent", 0, 1),
  ]

  package static let model = ManagedObjectModel(
    name: "Fixture",
    entities: [
      EntityDescription(
        name: "Folder",
        attributes: [
          AttributeDescription("name", .string, optional: false),
          AttributeDescription("size", .integer64, derivation: "notes.@count"),
        ],
        relationships: [
          RelationshipDescription("notes", toMany: "Note", inverse: "folder", ordered: true, deleteRule: .cascade),
          RelationshipDescription("cover", toOne: "ImageNote"),
          RelationshipDescription("favourites", toMany: "Tag"),
        ]),
      EntityDescription(
        name: "Note",
        attributes: [
          AttributeDescription("count", .integer64, default: 5), AttributeDescription("flag", .boolean),
          AttributeDescription("small", .integer16), AttributeDescription("created", .date),
          AttributeDescription("price", .decimal), AttributeDescription("ratio", .double),
          AttributeDescription("single", .float), AttributeDescription("link", .uri),
          AttributeDescription("name", .string), AttributeDescription("uuid", .uuid),
          AttributeDescription("tags", .transformable), AttributeDescription("scratch", .string, transient: true),
          AttributeDescription("numberOfLines", .integer32),
        ],
        relationships: [
          RelationshipDescription("parent", toOne: "Note", inverse: "children"),
          RelationshipDescription("children", toMany: "Note", inverse: "parent"),
          RelationshipDescription("summary", toOne: "Summary", inverse: "note"),
          RelationshipDescription("folder", toOne: "Folder", inverse: "notes"),
          RelationshipDescription("labels", toMany: "Tag", inverse: "notes", ordered: true),
        ]),
      EntityDescription(
        name: "ImageNote", superentityName: "Note",
        attributes: [external(AttributeDescription("image", .binary)), AttributeDescription("pin", .integer32)]),
      EntityDescription(
        name: "LinkNote", superentityName: "Note", attributes: [AttributeDescription("pin", .integer32)]),
      EntityDescription(name: "PinnedNote", superentityName: "ImageNote"),
      EntityDescription(
        name: "Summary", attributes: [AttributeDescription("text", .string)],
        relationships: [RelationshipDescription("note", toOne: "Note", inverse: "summary")]),
      EntityDescription(
        name: "Tag", attributes: [AttributeDescription("name", .string)],
        relationships: [
          RelationshipDescription("notes", toMany: "Note", inverse: "labels"),
          RelationshipDescription("related", toMany: "Tag", inverse: "related"),
          RelationshipDescription("narrower", toMany: "Tag", inverse: "broader"),
          RelationshipDescription("broader", toMany: "Tag", inverse: "narrower"),
        ]),
    ])

  private static func external(_ attribute: AttributeDescription) -> AttributeDescription {
    var attribute = attribute
    attribute.allowsExternalBinaryDataStorage = true
    return attribute
  }

  package static let uuid: [UInt8] = Array(1...16)
  package static let fileName = "0A1B2C3D-0000-1111-2222-333344445555"

  package init() {
    rows["ZFOLDER"] = [
      (1, Self.folder("Home", cover: 20)), (2, Self.folder("Work", cover: nil)), (9, Self.folder("Empty", cover: nil)),
    ]
    rows["ZSUMMARY"] = [(3, Self.summary(note: 10)), (4, Self.summary(note: nil))]
    rows["ZTAG"] = (Int64(1)...5).map { (id: $0, values: Self.tag("tag \($0)")) }
    rows["ZNOTE"] = [
      (
        10,
        Self.note(
          2,
          [
            "ZCOUNT": .integer(.max), "ZFLAG": .integer(1), "ZSMALL": .integer(-32_768), "ZCREATED": .real(1.5),
            "ZPRICE": .real(12.25), "ZRATIO": .real(0.1), "ZSINGLE": .real(Double(Float(0.1))),
            "ZLINK": .text("https://a.b/c"),
            "ZNAME": .text("Ünïcödé 𝄞"), "ZUUID": .blob(Self.uuid), "ZTAGS": .blob([9, 8, 7]), "ZSUMMARY": .integer(3),
            "ZFOLDER": .integer(1), "Z_FOK_FOLDER": .integer(4_096), "ZNUMBEROFLINES": .integer(3),
          ])
      ),
      (
        20,
        Self.note(
          3,
          [
            "ZIMAGE": .blob([1] + [UInt8](repeating: 7, count: 100)), "ZPIN": .integer(33), "ZFOLDER": .integer(1),
            "Z_FOK_FOLDER": .integer(-100), "ZPARENT": .integer(10), "ZCREATED": .integer(-3), "ZPRICE": .text("NaN"),
          ])
      ),
      (
        30,
        Self.note(
          4,
          [
            "ZPIN1": .integer(44), "ZFOLDER": .integer(1), "Z_FOK_FOLDER": .integer(1 << 40), "ZPARENT": .integer(10),
            "ZPRICE": .integer(7), "ZCREATED": .real(1e300),
          ])
      ),
      (
        40,
        Self.note(
          5,
          [
            "ZIMAGE": .blob([2] + Array(Self.fileName.utf8) + [0]), "ZPARENT": .integer(40), "ZFOLDER": .integer(2),
            "Z_FOK_FOLDER": .integer(0),
          ])
      ),
      (50, Self.note(5, ["ZTAGS": .longBlob(byteCount: 2_000_000)])),
    ]
    links["Z_2LABELS"] = Self.keys([[10, 3, 30], [10, 1, 10], [10, 2, 20], [30, 1, 5]])
    links["Z_7RELATED"] = Self.keys([[1, 2], [2, 3], [3, 3]])
    links["Z_7NARROWER"] = Self.keys([[2, 1], [3, 1], [3, 2]])
    links["Z_1FAVOURITES"] = Self.keys([[1, 4], [1, 5], [2, 4]])
  }

  package static func tag(_ name: String) -> [SQLiteValue] { [.null, .integer(7), .integer(1), .text(name)] }

  package static func keys(_ rows: [[Int64]]) -> [[SQLiteValue]] {
    rows.map { row in row.map { SQLiteValue.integer($0) } }
  }

  /// Returns a row of ZNOTE, with NULL for columns without a value.
  package static func note(_ entity: Int64, _ values: [String: SQLiteValue]) -> [SQLiteValue] {
    (columns["ZNOTE"] ?? []).map { column in
      let name = String(column.prefix { $0 != " " })
      return name == "Z_ENT" ? .integer(entity) : name == "Z_OPT" ? .integer(1) : values[name] ?? .null
    }
  }

  package static func folder(_ name: String?, cover: Int64?) -> [SQLiteValue] {
    [
      .null, .integer(1), .integer(1), cover.map { .integer($0) } ?? .null, cover.map { _ in .integer(3) } ?? .null,
      name.map { .text($0) } ?? .null,
    ]
  }

  package static func summary(note: Int64?) -> [SQLiteValue] {
    [.null, .integer(6), .integer(1), note.map { .integer($0) } ?? .null, .integer(2), .text("summary")]
  }

  /// Returns the bytes of the database.
  package func bytes() -> [UInt8] {
    var writer = SQLiteWriter(pageSize: pageSize)
    for (name, columns) in columns.sorted(by: { $0.key < $1.key }) {
      let sql = "CREATE TABLE \(name) ( \(columns.joined(separator: ", ")) )"
      if let links = links[name] {
        writer.add(name, sql, values: links)
      } else {
        writer.add(name, sql, rows[name] ?? [])
      }
    }
    writer.add(
      "Z_PRIMARYKEY",
      "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
      numbers.map { ($0.0, [.null, .text($0.1), .integer($0.2), .integer($0.3)]) })
    if let storedModel {
      writer.add(
        "Z_MODELCACHE", "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)", values: [[.blob(Self.deflated(storedModel))]])
    }
    writer.add("ACHANGE", "CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY)", (1...4).map { ($0, [.null]) })
    return writer.bytes()
  }

  /// Returns a raw deflate stream of stored blocks.
  private static func deflated(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 65_535) {
      let part = bytes[start..<min(start + 65_535, bytes.count)]
      let length = UInt16(part.count)
      result.append(part.endIndex == bytes.count ? 1 : 0)
      for number in [length, ~length] { result += [UInt8(number & 0xFF), UInt8(number >> 8)] }
      result += part
    }
    return result
  }

  /// Writes `NAME.sqlite` and its external data file, and returns the path of the database.
  package func write(to directory: String, name: String = "App") throws -> String {
    let path = "\(directory)/\(name).sqlite"
    try Data(bytes()).write(to: URL(fileURLWithPath: path))
    let folder = "\(directory)/.\(name)_SUPPORT/_EXTERNAL_DATA"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(repeating: 0x5A, count: 300_000).write(to: URL(fileURLWithPath: "\(folder)/\(Self.fileName)"))
    return path
  }
}

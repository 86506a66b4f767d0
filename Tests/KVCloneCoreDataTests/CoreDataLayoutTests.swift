import KVCloneModel
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// The assignment of tables of links to relationships.
@Suite("tables of links")
struct CoreDataLayoutTests {
  /// A store of root entities with these tables of links.
  private struct Store {
    var entities: [EntityDescription]
    /// The names of the columns, by the table's name.
    var joins: [String: [String]]

    func layout() throws -> CoreDataLayout {
      var writer = SQLiteWriter()
      var numbers: [(id: Int64, values: [SQLiteValue])] = []
      let model = ManagedObjectModel(name: "M", entities: entities)
      let order = entities.map(\.name)
      for (place, entity) in entities.enumerated() {
        let parent = entity.superentityName.flatMap { order.firstIndex(of: $0) }.map { $0 + 1 } ?? 0
        numbers.append(
          (Int64(place + 1), [.null, .text(entity.name), .integer(Int64(parent)), .integer(0)]))
        if entity.superentityName == nil {
          writer.add(
            "Z\(entity.name.uppercased())",
            "CREATE TABLE Z\(entity.name.uppercased()) (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)", [])
        }
      }
      for (name, columns) in joins.sorted(by: { $0.key < $1.key }) {
        let list = columns.map { "\($0) INTEGER" }.joined(separator: ", ")
        writer.add(name, "CREATE TABLE \(name) (\(list))", [])
      }
      writer.add(
        "Z_PRIMARYKEY",
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)", numbers
      )
      let store = try CoreDataStore(try SQLiteFile(SQLiteBytes(writer.bytes())))
      return try CoreDataLayout(store, model, isModelComplete: true)
    }

    /// By relationship: its table, and the columns of the owners and members.
    func joined() throws -> [String: [String]] {
      var result: [String: [String]] = [:]
      for join in try layout().joins {
        result["\(join.entity).\(join.description.name)"] = [
          join.table.name, join.table.columns[join.ownerColumn].name, join.table.columns[join.memberColumn].name,
        ]
      }
      return result
    }

    func refusal() -> CoreDataStoreError? {
      do {
        _ = try layout()
        return nil
      } catch {
        return error as? CoreDataStoreError
      }
    }
  }

  private static func entity(
    _ name: String, _ relationships: [(name: String, to: String, inverse: String?)], parent: String? = nil
  ) -> EntityDescription {
    EntityDescription(
      name: name, superentityName: parent,
      relationships: relationships.map { RelationshipDescription($0.name, toMany: $0.to, inverse: $0.inverse) })
  }

  @Test("two root entities whose names differ only in case do not share a table")
  func oneTableForTwo() throws {
    let entities = ["Note", "NOTE"].map { EntityDescription(name: $0) }
    let refusal = Store(entities: entities, joins: [:]).refusal()
    #expect(refusal?.kind == .modelMismatch && refusal?.entity == "NOTE")
    #expect(refusal?.message.contains("Note and NOTE share the table") == true, "\(refusal?.message ?? "nothing")")
  }

  @Test("relationships that are called as others with a count")
  func countedNames() throws {
    var store = Store(
      entities: [
        Self.entity("Note", [("tag", "Tag", "notes"), ("tag1", "Tag", "notes1"), ("tag12", "Tag", "notes12")]),
        Self.entity("Tag", [("notes", "Note", "tag"), ("notes1", "Note", "tag1"), ("notes12", "Note", "tag12")]),
      ],
      joins: [
        "Z_1TAG": ["Z_1NOTES", "Z_2TAG"], "Z_1TAG1": ["Z_1NOTES1", "Z_2TAG1"], "Z_1TAG12": ["Z_2TAG12", "Z_1NOTES12"],
      ])
    #expect(
      try store.joined() == [
        "Note.tag": ["Z_1TAG", "Z_1NOTES", "Z_2TAG"], "Note.tag1": ["Z_1TAG1", "Z_1NOTES1", "Z_2TAG1"],
        "Note.tag12": ["Z_1TAG12", "Z_1NOTES12", "Z_2TAG12"],
      ])
    // Another relationship's table does not replace the missing one.
    store.joins["Z_1TAG"] = nil
    let refusal = store.refusal()
    #expect(
      refusal?.kind == .modelMismatch && refusal?.property == "tag"
        && refusal?.message.contains("no join table") == true)
  }

  /// As in Core Data's stores: column names are unique across all tables.
  @Test("a column whose name is taken has a number appended")
  func takenNames() throws {
    let store = Store(
      entities: [
        Self.entity("Album", [("artworks", "Artwork", "collections")]),
        Self.entity("Artwork", [("collections", "Album", "artworks"), ("shows", "Show", "artworks")]),
        Self.entity("Show", [("artworks", "Artwork", "shows")]),
      ],
      joins: ["Z_1ARTWORKS": ["Z_1COLLECTIONS", "Z_2ARTWORKS"], "Z_2SHOWS": ["Z_2ARTWORKS1", "Z_3SHOWS"]])
    #expect(
      try store.joined() == [
        "Album.artworks": ["Z_1ARTWORKS", "Z_1COLLECTIONS", "Z_2ARTWORKS"],
        "Artwork.shows": ["Z_2SHOWS", "Z_2ARTWORKS1", "Z_3SHOWS"],
      ])
  }

  @Test("entities side by side, each with a relationship of one name")
  func sideBySide() throws {
    let store = Store(
      entities: [
        Self.entity("Item", []), Self.entity("Text", [("tags", "Tag", nil)], parent: "Item"),
        Self.entity("Image", [("tags", "Tag", nil)], parent: "Item"), Self.entity("Tag", []),
      ],
      joins: ["Z_2TAGS": ["Z_2TEXTS", "Z_4TAGS"], "Z_3TAGS": ["Z_3IMAGES", "Z_4TAGS1"]])
    #expect(
      try store.joined() == [
        "Text.tags": ["Z_2TAGS", "Z_2TEXTS", "Z_4TAGS"], "Image.tags": ["Z_3TAGS", "Z_3IMAGES", "Z_4TAGS1"],
      ])
  }

  @Test("a relationship within an entity, in every spelling")
  func within() throws {
    func joined(_ relationships: [(name: String, to: String, inverse: String?)], _ columns: [String]) throws -> [String]
    {
      try Store(entities: [Self.entity("Tag", relationships)], joins: ["Z_1RELATED": columns]).joined()["Tag.related"]
        ?? []
    }
    let own: [(name: String, to: String, inverse: String?)] = [("related", "Tag", "related")]
    #expect(try joined(own, ["Z_1RELATED", "REFLEXIVE"]) == ["Z_1RELATED", "REFLEXIVE", "Z_1RELATED"])
    #expect(try Set(joined(own, ["Z_1RELATED", "Z_1RELATED1"])) == ["Z_1RELATED", "Z_1RELATED1"])
    #expect(
      try joined([("related", "Tag", nil)], ["Z_1TAGS", "Z_1RELATED"]) == ["Z_1RELATED", "Z_1TAGS", "Z_1RELATED"])
    let two: [(name: String, to: String, inverse: String?)] = [
      ("related", "Tag", "related1"), ("related1", "Tag", "related"),
    ]
    #expect(try joined(two, ["Z_1RELATED1", "Z_1RELATED"]) == ["Z_1RELATED", "Z_1RELATED1", "Z_1RELATED"])
  }

  @Test("what may be of either is refused")
  func ambiguous() throws {
    // Both tables are numbered after entities above the one that has the relationship.
    let store = Store(
      entities: [
        Self.entity("Top", []), Self.entity("Middle", [], parent: "Top"),
        Self.entity("Low", [("tags", "Tag", nil)], parent: "Middle"), Self.entity("Tag", []),
      ],
      joins: ["Z_1TAGS": ["Z_1TOPS", "Z_4TAGS"], "Z_2TAGS": ["Z_2MIDDLES", "Z_4TAGS"]])
    let refusal = store.refusal()
    #expect(refusal?.entity == "Low" && refusal?.property == "tags")
    #expect(refusal?.message.contains("several possible join tables") == true, "\(String(describing: refusal))")
    // One table for two relationships.
    let shared = Store(
      entities: [
        Self.entity("Top", []), Self.entity("Left", [("tags", "Tag", nil)], parent: "Top"),
        Self.entity("Right", [("tags", "Tag", nil)], parent: "Top"), Self.entity("Tag", []),
      ], joins: ["Z_1TAGS": ["Z_1TOPS", "Z_4TAGS"]])
    #expect(shared.refusal()?.property == "tags")
  }

  @Test("many relationships of one name and their tables are distinguished")
  func many() throws {
    let count = 150
    let entities =
      (1...count).map { Self.entity("E\($0)", [("tags", "Tag", "e\($0)")]) } + [
        Self.entity("Tag", (1...count).map { ("e\($0)", "E\($0)", "tags") })
      ]
    var joins: [String: [String]] = [:]
    for number in 1...count {
      joins["Z_\(number)TAGS"] = ["Z_\(number)E\(number)", "Z_\(count + 1)TAGS\(number == 1 ? "" : "\(number - 1)")"]
    }
    let joined = try Store(entities: entities, joins: joins).joined()
    #expect(joined.count == count)
    for number in 1...count { #expect(joined["E\(number).tags"]?.first == "Z_\(number)TAGS") }
  }

  @Test("two tables on the same pages are refused")
  func sharedPages() throws {
    var fixture = CoreDataFixture()
    // Otherwise the store has more pages than one byte can count.
    fixture.rows["ZNOTE"] = []
    let bytes = fixture.bytes()
    func layout(_ bytes: [UInt8]) throws -> CoreDataLayout {
      try CoreDataLayout(
        try CoreDataStore(try SQLiteFile(SQLiteBytes(bytes))), CoreDataFixture.model, isModelComplete: true)
    }
    #expect(try layout(bytes).joins.count == 4)
    let file = try SQLiteFile(SQLiteBytes(bytes))
    let (tag, folder) = (try #require(try file.table("ZTAG")), try #require(try file.table("ZFOLDER")))
    #expect(tag.root < 128 && folder.root < 128)
    // The root is the number before the statement, in the table's row of the schema.
    var changed = bytes
    let name = Array("ZTAGZTAG".utf8)
    let place = try #require((0..<4_096).first { bytes[$0..<$0 + name.count].elementsEqual(name) }) + name.count
    #expect(bytes[place] == UInt8(tag.root))
    changed[place] = UInt8(folder.root)
    #expect { try layout(changed) } throws: { ($0 as? SQLiteError)?.kind == .corruptedDatabase }
  }
}

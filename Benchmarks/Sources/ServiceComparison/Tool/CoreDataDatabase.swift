import Foundation
import GRDB
import PhotoStores

/// The photo graph in the schema of Core Data: a table for each entity, and one for the links to tags.
struct CoreDataDatabase: GraphSink {
  /// The numbers of the entities, which Core Data sorts by name.
  private enum EntityNumber {
    static let album = 1
    static let library = 2
    static let photo = 3
    static let tag = 4
  }

  private static let schema = """
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE ZALBUM (
      Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZLIBRARY INTEGER, ZTITLE VARCHAR);
    CREATE TABLE ZLIBRARY (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
    CREATE TABLE ZPHOTO (
      Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZWIDTH INTEGER, ZALBUM INTEGER, ZRATING FLOAT,
      ZTAKEN TIMESTAMP, ZTITLE VARCHAR, ZID BLOB, ZIMAGE BLOB);
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
    CREATE TABLE Z_3TAGS (Z_3PHOTOS INTEGER, Z_4TAGS INTEGER, PRIMARY KEY (Z_3PHOTOS, Z_4TAGS));
    """

  private let album, library, photo, tag, link: Statement

  static func make(at path: String, _ recipe: GraphRecipe) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.write { database in
      try database.execute(sql: schema)
      var sink = try CoreDataDatabase(database)
      try recipe.pour(into: &sink)
      let numbers = [
        ("Album", EntityNumber.album, recipe.albums), ("Library", EntityNumber.library, 1),
        ("Photo", EntityNumber.photo, recipe.photos), ("Tag", EntityNumber.tag, recipe.tagCount),
      ]
      for (name, number, last) in numbers {
        try database.execute(sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, 0, ?)", arguments: [number, name, last])
      }
    }
    try queue.close()
  }

  private init(_ database: Database) throws {
    album = try database.makeStatement(sql: "INSERT INTO ZALBUM VALUES (?, \(EntityNumber.album), 1, ?, ?)")
    library = try database.makeStatement(sql: "INSERT INTO ZLIBRARY VALUES (?, \(EntityNumber.library), 1, ?)")
    photo = try database.makeStatement(
      sql: "INSERT INTO ZPHOTO VALUES (?, \(EntityNumber.photo), 1, ?, ?, ?, ?, ?, ?, ?)")
    tag = try database.makeStatement(sql: "INSERT INTO ZTAG VALUES (?, \(EntityNumber.tag), 1, ?)")
    link = try database.makeStatement(sql: "INSERT INTO Z_3TAGS VALUES (?, ?)")
  }

  func addTag(_ id: Int64, name: String) throws { try tag.execute(arguments: [id, name]) }
  func addLibrary(_ id: Int64, name: String) throws { try library.execute(arguments: [id, name]) }
  func addAlbum(_ id: Int64, title: String, library: Int64) throws {
    try album.execute(arguments: [id, library, title])
  }
  func addNode(_ id: Int64, isLast: Bool) throws {}

  func addPhoto(_ one: SourcePhoto) throws {
    try photo.execute(
      arguments: [one.id, one.width, one.album, one.rating, one.taken, one.title, one.uuid, one.image])
    for tag in one.tags { try link.execute(arguments: [one.id, tag]) }
  }
}

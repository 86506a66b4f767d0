import GRDB
import PhotoStores

/// A set-based clone in SQL: one statement per table, with new ids by an offset; the images in parts.
///
/// Cloned photos keep their order, so rows are appended, and the joins follow the indexes from the library down.
/// Foreign keys are not checked: an id offset cannot violate them.
struct SQLiteSetCloner: Cloner {
  private let queue: DatabaseQueue
  private let isChain: Bool

  init(_ request: PeerRequest) throws {
    queue = try SQLiteStore.open(
      request.path, request.recipe, isFull: request.peer.isDurable, checksReferences: false)
    isChain = request.recipe.shape == .chain
  }

  mutating func clone() throws -> CloneOutcome {
    let isChain = isChain
    return try SQLiteClock.run(queue) { database in
      isChain ? try Self.cloneChain(database) : try Self.cloneLibrary(database)
    }
  }

  mutating func close() { try? queue.close() }

  private static func offset(_ database: Database, _ table: String) throws -> Int64 {
    try Int64.fetchOne(database, sql: "SELECT max(id) FROM \(table)") ?? 0
  }

  private static func cloneLibrary(_ database: Database) throws -> Int {
    let library = try offset(database, "library")
    let album = try offset(database, "album")
    let photo = try offset(database, "photo")
    var objects = 0
    func run(_ sql: String, _ arguments: StatementArguments, counts: Bool = true) throws {
      try database.execute(sql: sql, arguments: arguments)
      if counts { objects += database.changesCount }
    }
    try run("INSERT INTO library SELECT id + ?, name FROM library WHERE id = 1", [library])
    try run("INSERT INTO album SELECT id + ?, title, library_id + ? FROM album WHERE library_id = 1", [album, library])
    try run(
      """
      INSERT INTO photo SELECT p.id + ?, p.title, p.taken, p.rating, p.width, p.uuid, p.album_id + ?
      FROM album a CROSS JOIN photo p ON p.album_id = a.id WHERE a.library_id = 1
      """, [photo, album])
    try run(
      """
      INSERT INTO photo_tag SELECT pt.photo_id + ?, pt.tag_id
      FROM album a CROSS JOIN photo p ON p.album_id = a.id CROSS JOIN photo_tag pt ON pt.photo_id = p.id
      WHERE a.library_id = 1
      """, [photo], counts: false)
    // If a statement reads the table that it writes, SQLite first stores the rows in a temporary table. The images of
    // one album fit into its cache; those of all albums would be written twice more.
    let albums = try Int64.fetchAll(database, sql: "SELECT id FROM album WHERE library_id = 1")
    let images = try database.makeStatement(
      sql: """
        INSERT INTO image SELECT i.photo_id + ?, i.data
        FROM photo p CROSS JOIN image i ON i.photo_id = p.id WHERE p.album_id = ?
        """)
    for album in albums { try images.execute(arguments: [photo, album]) }
    return objects
  }

  /// Follows a chain in one recursive statement.
  private static func cloneChain(_ database: Database) throws -> Int {
    let offset = try offset(database, "node")
    try database.execute(
      sql: """
        WITH RECURSIVE chain (id, number, next_id) AS (
          SELECT id, number, next_id FROM node WHERE id = 1
          UNION ALL SELECT n.id, n.number, n.next_id FROM chain c JOIN node n ON n.id = c.next_id)
        INSERT INTO node SELECT id + ?, number, next_id + ? FROM chain
        """, arguments: [offset, offset])
    return database.changesCount
  }
}

import BenchmarkSupport
import Foundation
import GRDB
import PhotoStores

/// The graph in SQLite, in a schema for fast clones: images separate from the scanned rows, the tags' join table
/// without row ids, and an index for each direction in which a relationship is followed.
enum SQLiteStore {
  static let fileName = "graph.sqlite"

  static var version: String? {
    try? DatabaseQueue().read { database in try String.fetchOne(database, sql: "SELECT sqlite_version()") }
  }

  /// - Parameter isFull: synchronous FULL, with durable commits; otherwise NORMAL.
  static func open(_ path: String, _ recipe: GraphRecipe, isFull: Bool, checksReferences: Bool) throws -> DatabaseQueue
  {
    var configuration = Configuration()
    configuration.foreignKeysEnabled = checksReferences
    configuration.prepareDatabase { database in
      // Large images read faster from large pages (https://www.sqlite.org/intern-v-extern-blob.html).
      try database.execute(sql: "PRAGMA page_size = \(recipe.imageBytes >= 50_000 ? 16_384 : 4_096)")
      try database.execute(sql: "PRAGMA journal_mode = WAL")
      try database.execute(sql: "PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL")")
      // A page cache of 64 MiB, and memory-mapped reads; the checkpoint is measured separately, see `SQLiteClock`.
      try database.execute(sql: "PRAGMA cache_size = -65536")
      try database.execute(sql: "PRAGMA mmap_size = 1073741824")
      try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
    }
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return try DatabaseQueue(path: path + "/" + fileName, configuration: configuration)
  }

  static func make(at path: String, _ recipe: GraphRecipe) throws {
    let queue = try open(path, recipe, isFull: false, checksReferences: false)
    defer { try? queue.close() }
    try queue.write { database in
      try database.execute(sql: schema)
      var sink = try SQLiteSink(database)
      try recipe.pour(into: &sink)
      try database.execute(sql: indexes)
    }
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "ANALYZE")
      try database.checkpoint(.truncate)
    }
  }

  private static let schema = """
    CREATE TABLE library (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE album (id INTEGER PRIMARY KEY, title TEXT, library_id INTEGER REFERENCES library (id));
    CREATE TABLE photo (
      id INTEGER PRIMARY KEY, title TEXT, taken REAL, rating REAL, width INTEGER, uuid BLOB,
      album_id INTEGER REFERENCES album (id));
    CREATE TABLE image (photo_id INTEGER PRIMARY KEY REFERENCES photo (id), data BLOB);
    CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE photo_tag (
      photo_id INTEGER NOT NULL REFERENCES photo (id), tag_id INTEGER NOT NULL REFERENCES tag (id),
      PRIMARY KEY (photo_id, tag_id)) WITHOUT ROWID;
    CREATE TABLE node (id INTEGER PRIMARY KEY, number INTEGER, next_id INTEGER);
    """

  private static let indexes = """
    CREATE INDEX album_library ON album (library_id);
    CREATE INDEX photo_album ON photo (album_id);
    CREATE INDEX photo_tag_tag ON photo_tag (tag_id, photo_id);
    CREATE UNIQUE INDEX node_next ON node (next_id);
    """
}

private struct SQLiteSink: GraphSink {
  let library, album, photo, image, tag, photoTag, node: Statement

  init(_ database: Database) throws {
    library = try database.makeStatement(sql: "INSERT INTO library VALUES (?, ?)")
    album = try database.makeStatement(sql: "INSERT INTO album VALUES (?, ?, ?)")
    photo = try database.makeStatement(sql: "INSERT INTO photo VALUES (?, ?, ?, ?, ?, ?, ?)")
    image = try database.makeStatement(sql: "INSERT INTO image VALUES (?, ?)")
    tag = try database.makeStatement(sql: "INSERT INTO tag VALUES (?, ?)")
    photoTag = try database.makeStatement(sql: "INSERT INTO photo_tag VALUES (?, ?)")
    node = try database.makeStatement(sql: "INSERT INTO node VALUES (?, ?, ?)")
  }

  mutating func addTag(_ id: Int64, name: String) throws { try tag.execute(arguments: [id, name]) }
  mutating func addLibrary(_ id: Int64, name: String) throws { try library.execute(arguments: [id, name]) }

  mutating func addAlbum(_ id: Int64, title: String, library: Int64) throws {
    try album.execute(arguments: [id, title, library])
  }

  mutating func addNode(_ id: Int64, isLast: Bool) throws {
    try node.execute(arguments: [id, id, isLast ? nil : id + 1])
  }

  mutating func addPhoto(_ one: SourcePhoto) throws {
    let uuid = withUnsafeBytes(of: one.uuid.uuid) { Data($0) }
    try photo.execute(arguments: [one.id, one.title, one.taken, one.rating, one.width, uuid, one.album])
    if let data = one.image { try image.execute(arguments: [one.id, data]) }
    for tag in one.tags { try photoTag.execute(arguments: [one.id, tag]) }
  }
}

/// Measures a transaction of SQLite and the checkpoint after it.
///
/// By default, SQLite runs a checkpoint in the commit when the write-ahead log exceeds 1,000 pages. Here this is
/// disabled, and the same checkpoint runs after the commit, so that a report can show both times: until the clone is
/// durable in the log, and until a commit with the default settings returns.
enum SQLiteClock {
  private static let automaticCheckpointPages = 1_000

  static func run(_ queue: DatabaseQueue, _ body: (Database) throws -> Int) throws -> CloneOutcome {
    let clock = ContinuousClock()
    let start = clock.now
    let objects = try queue.writeWithoutTransaction { database in
      var objects = 0
      try database.inTransaction(.immediate) {
        objects = try body(database)
        return .commit
      }
      return objects
    }
    let committed = clock.now
    var log = stat()
    let pageSize = try queue.read { database in try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 4_096 }
    if stat(queue.path + "-wal", &log) == 0, Int(log.st_size) > automaticCheckpointPages * pageSize {
      _ = try queue.writeWithoutTransaction { database in try database.checkpoint(.passive) }
    }
    let end = clock.now
    return CloneOutcome(
      objects: objects, seconds: (end - start).seconds,
      parts: ["until the commit": (committed - start).seconds, "checkpoint": (end - committed).seconds])
  }
}

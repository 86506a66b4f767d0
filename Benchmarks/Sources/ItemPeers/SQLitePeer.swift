import BenchmarkSupport
import GRDB

/// The graph in SQLite through GRDB, according to their recommendations: integer keys, a join table without row ids, an
/// index for each query and each followed direction; prepared statements, and rows read by position.
package struct SQLitePeer: Contestant {
  package static let title = "SQLite"

  private static let fileName = "items.sqlite"
  package let pool: DatabasePool

  package static var version: String? {
    try? DatabaseQueue().read { database in try String.fetchOne(database, sql: "SELECT sqlite_version()") }
  }

  package init(making graph: ItemGraph, in folder: String) throws {
    pool = try DatabasePool(durableAt: folder, name: Self.fileName)
    try pool.write { database in
      try database.execute(sql: Self.schema)
      for number in 1...ItemGraph.listCount {
        try database.execute(sql: "INSERT INTO list VALUES (?, ?)", arguments: [number, "List \(number)"])
      }
      for number in 1...ItemGraph.tagCount {
        try database.execute(sql: "INSERT INTO tag VALUES (?, ?)", arguments: [number, "Tag \(number)"])
      }
      let insertion = try ItemInsertion(database)
      for id in 1...graph.itemCount { try insertion.run(graph.item(id)) }
      try database.execute(sql: Self.indexes)
    }
    try pool.writeWithoutTransaction { database in
      try database.execute(sql: "ANALYZE")
      try database.checkpoint(.truncate)
    }
  }

  private static let schema = """
    CREATE TABLE list (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE item (
      id INTEGER PRIMARY KEY, name TEXT, code INTEGER, rank INTEGER, price REAL, flag INTEGER, created REAL, note TEXT,
      list_id INTEGER REFERENCES list (id));
    CREATE TABLE item_tag (
      item_id INTEGER NOT NULL REFERENCES item (id), tag_id INTEGER NOT NULL REFERENCES tag (id),
      PRIMARY KEY (item_id, tag_id)) WITHOUT ROWID;
    """

  private static let indexes = """
    CREATE INDEX item_code ON item (code);
    CREATE INDEX item_rank ON item (rank);
    CREATE INDEX item_list ON item (list_id);
    CREATE INDEX item_tag_tag ON item_tag (tag_id, item_id);
    """

  package func close() throws { try pool.close() }
}

/// Inserts items with prepared statements in the current transaction.
package struct ItemInsertion {
  private let item, tag: Statement

  package init(_ database: Database) throws {
    item = try database.cachedStatement(sql: "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
    tag = try database.cachedStatement(sql: "INSERT INTO item_tag VALUES (?, ?)")
  }

  package func run(_ new: LinkedItem) throws {
    let one = new.item
    try item.execute(
      arguments: [one.id, one.name, one.code, one.rank, one.price, one.flag, one.created, one.note, new.list])
    for number in new.tags { try tag.execute(arguments: [one.id, number]) }
  }
}

extension Item: FetchableRecord {
  /// The columns that ``init(row:)`` expects.
  static let columns = "id, name, code, rank, price, flag, created, note"

  package init(row: Row) {
    self.init(
      id: row[0], name: row[1], code: row[2], rank: row[3], price: row[4], flag: row[5], created: row[6], note: row[7])
  }
}

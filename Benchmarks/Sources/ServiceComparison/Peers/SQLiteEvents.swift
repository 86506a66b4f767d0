import BenchmarkSupport
import Foundation
import GRDB
import ItemPeers

/// Events in SQLite through GRDB's pool: write-ahead log, synchronous FULL, prepared statements, rows read by position.
struct SQLiteEvents: DurablePeer, CrowdedPeer, NestingPeer {
  let title = "SQLite through GRDB"
  let filledCount: Int
  private let pool: DatabasePool
  private let digests: [UInt64]

  /// Creates a database with the events from 1 to `count`.
  init(in folder: String, isIndexed: Bool = false, filledWith count: Int) throws {
    filledCount = count
    pool = try DatabasePool(durableAt: folder, name: "events.sqlite")
    digests = (1...count).map { Event($0).digest }
    try pool.write { database in
      try database.execute(sql: Self.schema)
      if isIndexed { try database.execute(sql: "CREATE INDEX event_sequence ON event (sequence)") }
      for number in 1...count { try Self.insert(number, database) }
    }
    _ = try pool.writeWithoutTransaction { database in try database.checkpoint(.truncate) }
  }

  private static let schema =
    "CREATE TABLE event (id INTEGER PRIMARY KEY, sequence INTEGER, subject TEXT, body TEXT)"

  private static func insert(_ number: Int, _ database: Database) throws {
    let event = Event(number)
    try database.cachedStatement(sql: "INSERT INTO event (sequence, subject, body) VALUES (?, ?, ?)")
      .execute(arguments: [event.sequence, event.subject, event.body])
  }

  func insert(_ number: Int) async throws { try await pool.write { database in try Self.insert(number, database) } }

  func insertBlocking(_ number: Int) throws { try pool.write { database in try Self.insert(number, database) } }

  func insert(_ numbers: Range<Int>) throws {
    try pool.write { database in
      for number in numbers { try Self.insert(number, database) }
    }
  }

  func insertInSavepoints(_ numbers: Range<Int>) throws {
    try pool.write { database in
      for number in numbers {
        do {
          try database.inSavepoint {
            try Self.insert(number, database)
            if !number.isMultiple(of: 2) { throw Rejection() }
            return .commit
          }
        } catch is Rejection {}
      }
    }
  }

  func makeReader() throws -> (Int) throws -> Void {
    { number in
      try pool.read { database in
        let statement = try database.cachedStatement(sql: "SELECT sequence, subject, body FROM event WHERE id = ?")
        guard let event = try Event.fetchOne(statement, arguments: [number]), event.digest == digests[number - 1] else {
          throw PeerFailure("a reader of SQLite saw another event \(number) than was written")
        }
      }
    }
  }

  func contents() throws -> RowSum {
    try pool.read { database in
      var sum = RowSum()
      let events = try Event.fetchCursor(
        database.cachedStatement(sql: "SELECT sequence, subject, body FROM event"))
      while let event = try events.next() { sum.add(event.digest) }
      return sum
    }
  }

  func verify(count: Int) throws { try contents().verify(title, events: 1...count) }

  func close() throws { try pool.close() }
}

extension Event: FetchableRecord {
  init(row: Row) { self.init(sequence: row[0], subject: row[1], body: row[2]) }
}

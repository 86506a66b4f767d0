import BenchmarkSupport
import Foundation
import GRDB

extension DatabasePool {
  /// Makes a database with a write-ahead log whose commits are on the disk when they return.
  package convenience init(durableAt folder: String, name: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var configuration = Configuration()
    // One for each reader that there is at a time.
    configuration.maximumReaderCount = ReaderCrowd.readerCount
    configuration.prepareDatabase { database in
      // 64 MiB of pages for each connection, and reads from a map. A pool's database has a write-ahead log; checkpoints come
      // as they do by default, inside of commits.
      try database.execute(sql: "PRAGMA cache_size = -65536")
      try database.execute(sql: "PRAGMA mmap_size = 1073741824")
    }
    try self.init(path: folder + "/" + name, configuration: configuration)
    try writeWithoutTransaction { database in
      // Not while the connection is prepared: a pool then makes it NORMAL.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
        try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
      else { throw PeerFailure("SQLite does not sync its commits to a write-ahead log") }
    }
  }
}

import BenchmarkSupport
import Foundation
import GRDB

extension DatabasePool {
  /// Creates a database with a write-ahead log and durable commits.
  package convenience init(durableAt folder: String, name: String) throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    var configuration = Configuration()
    // One connection for each concurrent reader.
    configuration.maximumReaderCount = ReaderCrowd.readerCount
    // A writer waits for its turn, as the other peers do; by default, GRDB fails at once ("database is locked").
    configuration.busyMode = .timeout(60)
    configuration.prepareDatabase { database in
      // A page cache of 64 MiB for each connection, and memory-mapped reads. A pool's database has a write-ahead log;
      // checkpoints run within commits, as by default.
      try database.execute(sql: "PRAGMA cache_size = -65536")
      try database.execute(sql: "PRAGMA mmap_size = 1073741824")
    }
    try self.init(path: folder + "/" + name, configuration: configuration)
    try writeWithoutTransaction { database in
      // Set after the preparation of the connection, because a pool then sets NORMAL.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
        try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
      else { throw PeerFailure("SQLite does not sync its commits to a write-ahead log") }
    }
  }
}

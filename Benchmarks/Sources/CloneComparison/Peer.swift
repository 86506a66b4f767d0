import PhotoStores

/// A way to clone. Each runs in a separate process, on a store of its family made from the same recipe.
enum Peer: String, Codable, CaseIterable {
  case kvclone, kvcloneCopy
  case lmdb, lmdbPlain, lmdbFloor, lmdbCopy
  case sqliteSet, sqliteSetNormal, sqliteRows, sqliteRowsNormal
  case rocksdb

  /// The format of the store's files.
  enum Family: String, Codable, CaseIterable {
    case kvclone, sqlite, rocksdb
  }

  var family: Family {
    switch self {
    case .kvclone, .kvcloneCopy, .lmdb, .lmdbPlain, .lmdbFloor, .lmdbCopy: .kvclone
    case .sqliteSet, .sqliteSetNormal, .sqliteRows, .sqliteRowsNormal: .sqlite
    case .rocksdb: .rocksdb
    }
  }

  var title: String {
    switch self {
    case .kvclone: "KVClone"
    case .kvcloneCopy: "KVClone, images copied"
    case .lmdb: "C on LMDB"
    case .lmdbPlain: "C on LMDB, no checksums"
    case .lmdbFloor: "C on LMDB, scan and append"
    case .lmdbCopy: "C on LMDB, images copied"
    case .sqliteSet: "SQLite, set-based"
    case .sqliteSetNormal: "SQLite, set-based, NORMAL"
    case .sqliteRows: "SQLite, row by row"
    case .sqliteRowsNormal: "SQLite, row by row, NORMAL"
    case .rocksdb: "RocksDB, WriteBatch"
    }
  }

  /// The explanation of the title.
  var explanation: String {
    switch self {
    case .kvclone: "`store.clone([root])`, everything at its default: images are shared"
    case .kvcloneCopy: "the same with `blobs = .copy`: images are copied byte by byte"
    case .lmdb: "the same file, layout, mark and stream, written by hand in C; checksums verified and computed"
    case .lmdbPlain: "the same without checksums"
    case .lmdbFloor: "no mark, nothing patched or published: a cursor reads the records, `MDB_APPEND` writes them"
    case .lmdbCopy: "as C on LMDB, images copied byte by byte"
    case .sqliteSet:
      "`INSERT … SELECT` with an id offset for each table; WAL, synchronous FULL; the checkpoint that the commit is due is counted"
    case .sqliteSetNormal: "the same with synchronous NORMAL, which does not outlast a power loss"
    case .sqliteRows:
      "records through GRDB with an identity map, breadth first, as an ORM does it; WAL, synchronous FULL"
    case .sqliteRowsNormal: "the same with synchronous NORMAL, which does not outlast a power loss"
    case .rocksdb: "prefix iterators, ids by offset, one `WriteBatch` with a synchronous write"
    }
  }

  /// Whether a clone is durable when it returns.
  var isDurable: Bool { self != .sqliteSetNormal && self != .sqliteRowsNormal }

  /// Whether the peer writes the images' bytes.
  var copiesImages: Bool {
    switch self {
    case .kvclone, .lmdb, .lmdbPlain: false
    default: true
    }
  }
}

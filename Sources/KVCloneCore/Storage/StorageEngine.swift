public import KVCloneModel
package import KVCloneRecords

/// A named table of ordered byte keys, as an engine opened it.
@usableFromInline
package struct StorageTable: Sendable, Hashable {
  /// The code that seeds the checksums of the table's values (see `Format.md`).
  package let code: TableCode
  /// What the engine calls the table; meaningless to everybody else.
  package let handle: UInt32

  package init(code: TableCode, handle: UInt32) {
    self.code = code
    self.handle = handle
  }
}

/// Which entry a seek looks for.
@usableFromInline
package enum StorageSeek: Sendable {
  /// The least key that is equal or greater.
  case atOrAfter
  /// The greatest key that is equal or less.
  case atOrBefore
}

/// Where an engine's entry lies. The bytes are the engine's own; they live until the next change or the transaction's end.
@usableFromInline
package struct StorageEntryPointers {
  @usableFromInline package let key: UnsafeRawBufferPointer
  @usableFromInline package let value: UnsafeRawBufferPointer

  package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.key = key
    self.value = value
  }
}

/// The store's one seam to storage. LMDB is the engine; another one has to keep what LMDB promises: one writer, readers
/// that see the state at their begin, keys in byte order, all or nothing at commit.
package protocol StorageEngine: AnyObject, Sendable {
  /// Tables by name, created where they are missing (a write transaction of its own).
  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable]
  /// Begins a read transaction on the last committed state.
  func beginRead() throws(StoreError) -> any StorageBackend
  /// The same for a reader that stays open for long, with a name that `readers` tells.
  func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend
  /// Every reader of the storage, of whatever process, that has a transaction open, oldest state first; nil for an engine
  /// that knows of none but its own.
  func readers() throws(StoreError) -> [StorageReader]?
  /// Frees what readers held whose process is gone; how many there were.
  func clearStaleReaders() throws(StoreError) -> Int
  /// Begins the write transaction; waits at most `timeout` for another writer, then `busy`.
  func beginWrite(label: String, timeout: Duration) throws(StoreError) -> any StorageBackend
  /// Facts for `info`, `stat` and `check`.
  func facts() throws(StoreError) -> StorageFacts
  /// Who writes now, in whatever process; nil where nobody does.
  func writer() -> WriteLockHolder?
  /// Says before a transaction that is to write at least so many bytes that there is no room for them, where that is
  /// certain: `mapFull`, `diskFull`. Makes room if it can. Never within a transaction: that has the same call.
  func makeRoom(for byteCount: UInt64) throws(StoreError)
  /// Refuses, for a plan, more bytes than the storage can ever hold: `mapFull`, `diskFull`. Transactions may be open.
  func checkRoom(for byteCount: UInt64) throws(StoreError)
  /// Bytes that the last commit freed and the next one cannot use yet, but the one after it can.
  func lastFreedByteCount() throws(StoreError) -> UInt64
  /// Lets go of the file. Nothing may be called afterwards.
  func close()
}

extension StorageEngine {
  /// An engine whose room nobody knows finds out when it is full.
  package func makeRoom(for byteCount: UInt64) throws(StoreError) {}

  package func checkRoom(for byteCount: UInt64) throws(StoreError) {}

  package func lastFreedByteCount() throws(StoreError) -> UInt64 { 0 }

  package func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend { try beginRead() }

  package func readers() throws(StoreError) -> [StorageReader]? { nil }

  package func clearStaleReaders() throws(StoreError) -> Int { 0 }

  package func writer() -> WriteLockHolder? { nil }
}

/// A reader that an engine reports.
package struct StorageReader: Sendable {
  /// Its process, and the thread that took its place, where that is known.
  package var processID: Int32
  package var thread: UInt?
  package var isThisProcess: Bool
  /// The name under which it was pinned; nil where it was not, and of other processes.
  package var pinOwner: String?
  /// The process's name; empty where it cannot be told.
  package var processName: String
  /// How long it has been open; nil of other processes.
  package var age: Duration?
  /// How many commits there were since the one that it sees.
  package var lag: UInt64
  /// Bytes that could be used again without it; nil where that could not be looked at.
  package var retainedBytes: UInt64?
  /// Whether its process is gone.
  package var isStale: Bool
}

/// Sizes that an engine reports.
@usableFromInline
package struct StorageFacts: Sendable {
  /// Bytes of the data file.
  package var fileBytes: UInt64
  /// Pages in use or free, the file's extent.
  package var pageCount: Int
  /// Bytes a page.
  package var pageSize: Int
  /// Bytes by which the file can grow before its map has to; greatest where there is no such limit.
  package var freeMapBytes: UInt64
  /// Bytes by which the file can grow at most, before the disk is full or the file as long as the process may make it;
  /// greatest where nobody knows.
  package var freeDiskBytes: UInt64
  /// Bytes of address space that the file is mapped into; 0 where there is no map.
  package var mapBytes: UInt64

  package init(
    fileBytes: UInt64, pageCount: Int, pageSize: Int, freeMapBytes: UInt64 = .max, freeDiskBytes: UInt64 = .max,
    mapBytes: UInt64 = 0
  ) {
    self.mapBytes = mapBytes
    self.fileBytes = fileBytes
    self.pageCount = pageCount
    self.pageSize = pageSize
    self.freeMapBytes = freeMapBytes
    self.freeDiskBytes = freeDiskBytes
  }
}

/// What an engine's trees and free list look like to one transaction.
@usableFromInline
package struct StorageSizes: Sendable {
  /// In the order of the tables that were asked about.
  package var tables: [TreeSizes]
  /// What the engine keeps for itself: the list of tables, and that of free pages.
  package var own: [TreeSizes]
  /// By the number of the state that freed them, ascending: how many pages.
  package var freed: [(state: UInt64, pages: Int)]

  package init(tables: [TreeSizes], own: [TreeSizes], freed: [(state: UInt64, pages: Int)]) {
    self.tables = tables
    self.own = own
    self.freed = freed
  }
}

/// The sizes of one tree, in pages.
@usableFromInline
package struct TreeSizes: Sendable, Hashable {
  package var depth = 0
  package var branchPages = 0
  package var leafPages = 0
  package var overflowPages = 0
  package var entries: UInt64 = 0

  package init(depth: Int = 0, branchPages: Int = 0, leafPages: Int = 0, overflowPages: Int = 0, entries: UInt64 = 0) {
    self.depth = depth
    self.branchPages = branchPages
    self.leafPages = leafPages
    self.overflowPages = overflowPages
    self.entries = entries
  }

  package var pages: Int { branchPages + leafPages + overflowPages }
}

/// How far a write transaction has made the file grow.
@usableFromInline
package struct StorageGrowth: Sendable {
  /// Pages of the file when the transaction began, and those it has come to need.
  package var firstPageCount: Int
  package var pageCount: Int
  package var pageSize: Int
}

/// One transaction of an engine, in pointers. Only `StorageTransaction` calls it, and turns the pointers into spans that
/// cannot outlive their validity.
@usableFromInline
package protocol StorageBackend: AnyObject {
  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  /// Calls `body` with key and value of each entry from the first key at or after `key`, ascending, until it answers
  /// false or throws, which is passed on. The bytes live until `body` returns.
  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError)
  /// As `scan`, for who stops at `end` at the latest: where entries are hidden from the caller, nobody looks for more behind it.
  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer?,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError)
  /// Whether there are entries that the transaction does not show.
  var hidesEntries: Bool { get }
  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  /// As `put`, for a key above every other of the table.
  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  /// Many appends at once, which an engine may do faster than one by one.
  func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError)
  /// A hint: from now on these tables, and no others, are read and changed in about the order of their keys. An engine may
  /// keep its place in each; the calls mean the same.
  func retainCursors(in tables: [StorageTable])
  /// A hint: these entries of a table are about to be read, whose keys are ids. An engine may have them brought from memory.
  func prefetch(_ table: StorageTable, _ ids: ArraySlice<ObjectID>)
  /// Whether there was such a key.
  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool
  /// Whether the bytes of a blob whose last referrer goes have to stay, because a snapshot may show them.
  func keepsBlob(_ serial: UInt64) throws(StoreError) -> Bool
  /// A number of the state that the transaction reads, another one after each commit; 0 where the engine has none.
  var stateNumber: UInt64 { get }
  /// How many entries a table has.
  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64
  /// The sizes of tables, in this transaction's state; nil for an engine that has no pages. The free list is empty in a write
  /// transaction.
  func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes?
  /// How far this write transaction has made the file grow; nil where nobody knows.
  func growth() throws(StoreError) -> StorageGrowth?
  /// This write transaction ends in failure, because the file is too long: what was written out already may go.
  func refuseGrowth()
  /// Says that nothing but deletes was done, with what follows from them: on a full disk, there is room kept for such commits.
  func markDeleteOnly()
  /// Turns this write transaction into a dry run, which cannot be committed.
  func markDryRun()
  /// Refuses, for a dry run, what its commit would meet: `diskFull`.
  func checkCommitRoom() throws(StoreError)
  func commit() throws(StoreError)
  func abort()
  /// The engine's facts, as a write transaction found them at its begin; nil where only the engine has them.
  func facts() throws(StoreError) -> StorageFacts?
  /// Says that the transaction cannot write so many bytes more, where that is certain: `mapFull`, `diskFull`. Nothing was
  /// written then, and it goes on.
  func makeRoom(for byteCount: UInt64) throws(StoreError)
}

/// A write transaction of an engine that can make tables, which a migration does.
package protocol TableMaker {
  /// Makes tables that are missing, and opens them: for others, if the transaction is committed.
  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable]
}

extension StorageBackend {
  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer?,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try scan(table, from: key, body)
  }

  package var hidesEntries: Bool { false }

  package func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>)
    throws(StoreError)
  {
    for entry in entries { try append(table, entry.key, entry.value) }
  }

  package func retainCursors(in tables: [StorageTable]) {}

  package var stateNumber: UInt64 { 0 }

  package func keepsBlob(_ serial: UInt64) throws(StoreError) -> Bool { false }

  /// An engine that does not know counts them.
  package func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    var count: UInt64 = 0
    try withUnsafeBytes(of: UInt8(0)) { (first) throws(StoreError) in
      try scan(table, from: first) { (_, _) throws(StoreError) in
        count += 1
        return true
      }
    }
    return count
  }

  package func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes? { nil }

  package func growth() throws(StoreError) -> StorageGrowth? { nil }

  package func refuseGrowth() {}
  package func markDeleteOnly() {}
  package func markDryRun() {}
  package func checkCommitRoom() throws(StoreError) {}

  package func prefetch(_ table: StorageTable, _ ids: ArraySlice<ObjectID>) {}

  package func facts() throws(StoreError) -> StorageFacts? { nil }

  /// An engine whose room nobody knows finds out when it is full.
  package func makeRoom(for byteCount: UInt64) throws(StoreError) {}
}

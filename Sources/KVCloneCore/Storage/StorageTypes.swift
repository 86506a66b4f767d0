package import KVCloneRecords

/// An open table: ordered byte keys with values.
@usableFromInline
package struct StorageTable: Sendable, Hashable {
  /// The code that seeds the checksums of the table's values (see `Format.md`).
  package let code: TableCode
  /// The handle of the table, which only the engine interprets.
  package let handle: UInt32

  package init(code: TableCode, handle: UInt32) {
    self.code = code
    self.handle = handle
  }
}

/// The position that a seek looks for.
@usableFromInline
package enum StorageSeek: Sendable {
  /// The least key that is equal or greater.
  case atOrAfter
  /// The greatest key that is equal or less.
  case atOrBefore
}

/// Pointers to an entry in the memory of the engine, valid until the next change or the end of the transaction.
@usableFromInline
package struct StorageEntryPointers {
  @usableFromInline package let key: UnsafeRawBufferPointer
  @usableFromInline package let value: UnsafeRawBufferPointer

  package init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.key = key
    self.value = value
  }
}

/// An open read transaction, as reported by an engine.
package struct StorageReader: Sendable {
  /// The process, and the thread that took the reader slot if it is known.
  package var processID: Int32
  package var thread: UInt?
  package var isThisProcess: Bool
  /// The owner of a pinned snapshot of this process; nil for other readers.
  package var pinOwner: String?
  /// The name of the process; empty if it is unknown.
  package var processName: String
  /// The time since the reader was opened; nil for other processes.
  package var age: Duration?
  /// The number of commits since the one that the reader sees.
  package var lag: UInt64
  /// The number of bytes that become reusable when the reader ends; nil if it is unknown.
  package var retainedBytes: UInt64?
  /// Whether the process has ended.
  package var isStale: Bool
}

/// Sizes reported by an engine.
@usableFromInline
package struct StorageFacts: Sendable {
  /// The size of the data file in bytes.
  package var fileBytes: UInt64
  /// The number of pages, used and free.
  package var pageCount: Int
  /// The page size in bytes.
  package var pageSize: Int
  /// The number of bytes by which the file can grow within its map; `.max` without such a limit.
  package var freeMapBytes: UInt64
  /// The number of bytes by which the file can grow before the disk is full or the file size limit of the process is
  /// reached; `.max` if it is unknown.
  package var freeDiskBytes: UInt64
  /// The size of the memory map in bytes; 0 without a map.
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

/// The sizes of the B+trees and of the free list, as one transaction sees them.
@usableFromInline
package struct StorageSizes: Sendable {
  /// The sizes of the requested tables, in the order of the request.
  package var tables: [TreeSizes]
  /// The sizes of the internal trees of the engine: the list of tables, and the free list.
  package var own: [TreeSizes]
  /// The number of freed pages by the state that freed them, ascending.
  package var freed: [(state: UInt64, pages: Int)]

  package init(tables: [TreeSizes], own: [TreeSizes], freed: [(state: UInt64, pages: Int)]) {
    self.tables = tables
    self.own = own
    self.freed = freed
  }
}

/// The size of one B+tree, in pages.
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

/// The growth of the file by a write transaction.
@usableFromInline
package struct StorageGrowth: Sendable {
  /// The number of pages at the begin of the transaction, and now.
  package var firstPageCount: Int
  package var pageCount: Int
  package var pageSize: Int
}

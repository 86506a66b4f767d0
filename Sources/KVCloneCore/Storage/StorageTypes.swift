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

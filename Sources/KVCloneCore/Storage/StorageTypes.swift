package import KVCloneLMDB
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

/// Sizes reported by an engine.
@usableFromInline
package struct StorageFacts: Sendable {
  /// The size of the data file in bytes.
  package var fileBytes: UInt64
  /// The number of pages, used and free.
  package var pageCount: Int
  /// The page size in bytes.
  package var pageSize: Int
  /// The number of bytes by which the file can grow within its map; `.max` if it has no limit.
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

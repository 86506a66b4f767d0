import KVClone
public import KVCloneCore
import KVCloneLMDB

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Statistics of a store that are available without reading all of it; see ``ObjectStore/statistics()``.
///
/// All numbers belong to one committed state, except ``fileBytes``, ``mapBytes``, ``readerCount``, ``oldestReader`` and
/// ``writer``.
public struct StoreStatistics: Sendable, Hashable {
  /// The UUID of the store.
  public let uuid: UUID
  /// The number of committed write transactions.
  public let commit: UInt64
  /// The size of the data file in bytes.
  public let fileBytes: UInt64
  /// The size of the memory map in bytes of address space.
  public let mapBytes: UInt64
  /// The page size in bytes.
  public let pageSize: Int
  /// The number of pages, in use or free. The file can be longer (``tailBytes``), or shorter if its last pages are
  /// free.
  public let pageCount: Int
  /// The free pages.
  public let freePages: FreePages
  /// The number of objects.
  public let objectCount: Int
  /// The number of objects by concrete entity, including entities without objects.
  public let counts: [String: Int]
  /// The tables in the order of the format description, and the internal tables of the file.
  public let tables: [TableStatistics]
  /// The number of named snapshots.
  public let snapshotCount: Int
  /// The number of open readers in all processes, without this call.
  public let readerCount: Int
  /// The reader of the oldest state; nil without readers.
  public let oldestReader: ActiveReader?
  /// The holder of the write lock; nil if it is free.
  public let writer: WriteLockHolder?

  /// The number of bytes in the file after its last page.
  ///
  /// An aborted transaction wrote them, and later pages overwrite them. A compact copy has none.
  public var tailBytes: UInt64 {
    let pages = UInt64(pageCount) * UInt64(pageSize)
    return fileBytes > pages ? fileBytes - pages : 0
  }

  /// The number of pages in use: those of the tables, and two meta pages.
  public var usedPages: Int { pageCount - freePages.count }

  /// The numbers of free pages.
  public struct FreePages: Sendable, Hashable {
    /// The number of pages that the next write can use.
    public let reusable: Int
    /// The number of pages that cannot be used while the oldest reader is open.
    public let held: Int
    /// The number of pages freed by the last commit. The next write cannot use them, and the one after it can.
    public let recent: Int

    /// The total number of free pages.
    public var count: Int { reusable + held + recent }
  }
}

/// The statistics of a table.
public struct TableStatistics: Sendable, Hashable {
  /// The name of the root entity for a table of objects; otherwise the name of the table, such as `links`, `blobs` or
  /// `indexes`.
  public let name: String
  /// Whether the table contains objects.
  public let hasObjects: Bool
  /// The number of entries.
  public let entryCount: UInt64
  /// The depth of the B+tree: the number of pages to read to find an entry.
  public let depth: Int
  /// The number of branch pages.
  public let branchPages: Int
  /// The number of leaf pages.
  public let leafPages: Int
  /// The number of overflow pages, which hold values larger than a page.
  public let overflowPages: Int

  /// The total number of pages.
  public var pageCount: Int { branchPages + leafPages + overflowPages }

  init(_ name: String, hasObjects: Bool = false, _ sizes: TreeSizes) {
    self.name = name
    self.hasObjects = hasObjects
    entryCount = sizes.entries
    depth = sizes.depth
    branchPages = sizes.branchPages
    leafPages = sizes.leafPages
    overflowPages = sizes.overflowPages
  }
}

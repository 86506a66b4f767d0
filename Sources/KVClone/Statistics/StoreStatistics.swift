#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a store is made of, as far as that can be told without walking through it: see ``ObjectStore/statistics()``.
///
/// All numbers but ``fileBytes``, ``mapBytes``, ``readerCount``, ``oldestReader`` and ``writer`` are of one committed state.
public struct StoreStatistics: Sendable, Hashable {
  /// The store's identity.
  public let uuid: UUID
  /// How many write transactions have committed.
  public let commit: UInt64
  /// Bytes of the data file.
  public let fileBytes: UInt64
  /// Bytes of address space that the file is mapped into.
  public let mapBytes: UInt64
  /// Bytes of a page.
  public let pageSize: Int
  /// Pages of the file, in use or free. The file can be longer (``tailBytes``), or, where its last pages are free, shorter.
  public let pageCount: Int
  /// Pages that are free.
  public let freePages: FreePages
  /// How many objects there are.
  public let objectCount: Int
  /// Objects by concrete entity, those without objects included.
  public let counts: [String: Int]
  /// The tables of the file, in the order of the format's description, and what the file needs for itself.
  public let tables: [TableStatistics]
  /// How many named snapshots there are.
  public let snapshotCount: Int
  /// How many readers are open, of all processes; what asks is none of them.
  public let readerCount: Int
  /// The one of them that sees the oldest state.
  public let oldestReader: ActiveReader?
  /// Who writes.
  public let writer: WriteLockHolder?

  /// Bytes of the file behind its last page: a transaction that was given up has written them, and the next pages come to lie
  /// there. A compact copy has none.
  public var tailBytes: UInt64 {
    let pages = UInt64(pageCount) * UInt64(pageSize)
    return fileBytes > pages ? fileBytes - pages : 0
  }

  /// Pages in use: those of the tables, and two that say where everything is.
  public var usedPages: Int { pageCount - freePages.count }

  /// Pages of the file that nothing is in.
  public struct FreePages: Sendable, Hashable {
    /// Pages that the next write can use.
    public let reusable: Int
    /// Pages that cannot be used as long as the oldest reader is open.
    public let held: Int
    /// Pages that the last commit freed: the next write cannot use them, and the one after it can.
    public let recent: Int

    /// All of them.
    public var count: Int { reusable + held + recent }
  }
}

/// A table of the file.
public struct TableStatistics: Sendable, Hashable {
  /// The name of the root entity where it has objects, else the table's own, as `links`, `blobs`, `indexes`.
  public let name: String
  /// Whether it has objects.
  public let hasObjects: Bool
  /// How many entries it has.
  public let entryCount: UInt64
  /// How many pages have to be looked at to find an entry.
  public let depth: Int
  /// Pages that lead to others.
  public let branchPages: Int
  /// Pages that have entries.
  public let leafPages: Int
  /// Pages that large values have of their own.
  public let overflowPages: Int

  /// All of them.
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

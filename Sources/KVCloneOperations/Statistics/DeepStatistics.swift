import KVCloneRecords

/// The distribution of all bytes of a store; see
/// ``ObjectStore/deepStatistics(progress:cancellation:)-(_,Cancellation?)``.
///
/// Bytes of entities, relationships, blobs, indexes and preimages are those of keys and values, including checksums.
/// ``spaceUsage`` contains every byte of every page once.
public struct DeepStatistics: Sendable {
  /// The cheap statistics of the same state.
  public let summary: StoreStatistics
  /// The entities that can have objects, by name.
  public let entities: [EntityStatistics]
  /// The stored relationships, by entity and name.
  public let relationships: [RelationshipStatistics]
  /// The attributes with blobs, by entity and name.
  public let blobs: [BlobStatistics]
  /// The indexes, by entity and name.
  public let indexes: [IndexStatistics]
  /// The preimages for snapshots, by the kind of data.
  public let preimages: [SpaceUsage]
  /// The entries and the blobs of branches, by branch.
  public let branches: [SpaceUsage]
  /// The page utilization of each table.
  public let pageUtilization: [PageUtilization]
  /// The space usage by purpose. Every byte of every page counts once, and the sum is the number of pages times their
  /// size.
  public let spaceUsage: [SpaceUsage]

  /// The estimated number of pages of a compact copy. Leaf pages are assumed to be as full as in a copy, and branch
  /// pages to decrease in proportion.
  public var compactedPageCount: Int { 2 + pageUtilization.reduce(0) { $0 + $1.compactedPageCount } }
  /// The estimated number of bytes that a compact copy saves.
  public var compactionSavings: UInt64 {
    UInt64(max(0, summary.pageCount - compactedPageCount)) * UInt64(summary.pageSize)
  }
  /// The fraction of unused bytes in the pages in use, from 0 to 1; 0 for a store without pages.
  public var fragmentation: Double {
    let pages = pageUtilization.reduce(0) { $0 + $1.pageCount } * summary.pageSize
    return pages == 0 ? 0 : Double(pageUtilization.reduce(0) { $0 + $1.unusedBytes }) / Double(pages)
  }
}

/// The statistics of the objects of one concrete entity.
public struct EntityStatistics: Sendable, Hashable {
  /// The name of the entity.
  public let name: String
  /// The number of objects, without objects of subentities.
  public internal(set) var objectCount = 0
  /// The size of the records and keys in bytes, including members of short lists.
  public internal(set) var byteCount: UInt64 = 0
  /// The number of references to blobs.
  public internal(set) var blobCount = 0

  /// The mean size of a record with its key, in bytes; 0 without objects.
  public var meanByteCount: Double { objectCount == 0 ? 0 : Double(byteCount) / Double(objectCount) }
}

/// The statistics of the lists of one relationship.
public struct RelationshipStatistics: Sendable, Hashable {
  /// The entity that declares the relationship.
  public let entity: String
  /// The name of the relationship.
  public let name: String
  /// Whether the lists are hidden back references of a relationship without an inverse.
  public let isHidden: Bool
  /// The number of links from this side.
  public internal(set) var memberCount: UInt64 = 0
  /// The size of lists within records, in bytes. The bytes of the entities include it.
  public internal(set) var inlineBytes: UInt64 = 0
  /// The number of objects with a list outside of their record; 0 for hidden lists.
  public internal(set) var chunkedListCount: UInt64 = 0
  /// The size of the lists outside of records, in bytes.
  public internal(set) var chunkBytes: UInt64 = 0
}

/// The statistics of the blobs of one attribute.
///
/// A blob that objects share across attributes counts for the first attribute, in the order of entities and objects.
public struct BlobStatistics: Sendable, Hashable {
  /// The entity of the objects.
  public let entity: String
  /// The name of the attribute.
  public let attribute: String
  /// The number of blobs. A shared blob counts once.
  public internal(set) var count: UInt64 = 0
  /// The size of the blobs in bytes.
  public internal(set) var byteCount: UInt64 = 0
  /// The size of the blobs in the file, in bytes with checksums, keys and entries.
  public internal(set) var storedBytes: UInt64 = 0
  /// The number of references from objects.
  public internal(set) var referenceCount: UInt64 = 0
  /// The number of blobs with more than one reference.
  public internal(set) var sharedCount: UInt64 = 0
  /// The number of bytes saved by sharing: the additional size if each object had its own copy.
  public internal(set) var savedBytes: UInt64 = 0
  /// The number of blobs by size class, from the smallest to the largest.
  public internal(set) var histogram: [SizeClass] = SizeClass.all

  /// A size class: blobs larger than those of the previous class, up to a maximum size.
  public struct SizeClass: Sendable, Hashable {
    /// The maximum size in bytes; nil for no maximum.
    public let upTo: UInt64?
    /// The number of blobs in the class.
    public internal(set) var count: UInt64 = 0

    /// Powers of four, from 4 KiB to 1 GiB.
    static let all: [SizeClass] = (6...15).map { SizeClass(upTo: 1 << UInt64(2 * $0)) } + [SizeClass(upTo: nil)]
  }

  mutating func add(_ size: UInt64, references: UInt64) {
    count += 1
    byteCount = byteCount.saturatingAdd(size)
    if references > 1 {
      sharedCount += 1
      savedBytes = savedBytes.saturatingAdd(size.saturatingMultiply(references - 1))
    }
    if let place = histogram.firstIndex(where: { size <= $0.upTo ?? .max }) { histogram[place].count += 1 }
  }
}

/// The statistics of an index.
public struct IndexStatistics: Sendable, Hashable {
  /// The entity that declares the index.
  public let entity: String
  /// The columns, separated by commas.
  public let name: String
  /// Whether the index belongs to a uniqueness constraint. Otherwise it is a fetch index.
  public let isUnique: Bool
  /// The number of entries.
  public internal(set) var entryCount: UInt64 = 0
  /// The size of the entries in bytes.
  public internal(set) var byteCount: UInt64 = 0
}

/// The page utilization of a table. The three byte counts add up to all its pages.
public struct PageUtilization: Sendable, Hashable {
  /// The name of the table, as in ``TableStatistics/name``.
  public let name: String
  /// The number of pages.
  public let pageCount: Int
  /// The size of keys and values, in bytes.
  public let contentBytes: UInt64
  /// The size of page headers, entry headers and branch pages, in bytes.
  public let overheadBytes: UInt64
  /// The size of unused space, in bytes.
  public let unusedBytes: UInt64
  /// The estimated number of pages in a compact copy.
  public let compactedPageCount: Int
}

/// The space used for one purpose.
public struct SpaceUsage: Sendable, Hashable {
  /// The purpose of the space.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .objects, .lists, .blobs, .indexes, .history, .preimages, .snapshots, .branches, .provenance, .metadata,
      .overhead, .unused, .free, .unknown,
    ]

    /// Records of objects, by entity.
    public static let objects = Kind(rawValue: "objects")
    /// Lists outside of records, by relationship.
    public static let lists = Kind(rawValue: "lists")
    /// Blobs, by attribute.
    public static let blobs = Kind(rawValue: "largeValues")
    /// Index entries, by index.
    public static let indexes = Kind(rawValue: "indexes")
    /// The change history.
    public static let history = Kind(rawValue: "history")
    /// Preimages for snapshots, and blobs that only snapshots show.
    public static let preimages = Kind(rawValue: "previousStates")
    /// Descriptions of snapshots.
    public static let snapshots = Kind(rawValue: "snapshots")
    /// Entries of branches, blobs that were made on a branch, and descriptions of branches.
    public static let branches = Kind(rawValue: "branches")
    /// Provenance of clones, idempotency keys, and ids that a migration moved.
    public static let provenance = Kind(rawValue: "provenance")
    /// The model, counters and staged uploads.
    public static let metadata = Kind(rawValue: "metadata")
    /// Page headers, entry headers, branch pages, the list of tables and the free list.
    public static let overhead = Kind(rawValue: "overhead")
    /// Unused space in pages in use.
    public static let unused = Kind(rawValue: "unused")
    /// Free pages.
    public static let free = Kind(rawValue: "free")
    /// Data unknown to this library version, and pages that are neither in use nor free.
    public static let unknown = Kind(rawValue: "unknown")
  }

  /// The purpose of the space.
  public let kind: Kind
  /// The item of that purpose: an entity, a relationship, a table or another name.
  public let name: String
  /// The number of entries or pages; for lists, the number of chunks.
  public internal(set) var count: UInt64 = 0
  /// The size in bytes.
  public internal(set) var byteCount: UInt64 = 0
}

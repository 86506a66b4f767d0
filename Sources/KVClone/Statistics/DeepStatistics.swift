/// Where a store's bytes are: see ``ObjectStore/deepStatistics(progress:cancellation:)-(_,Cancellation?)``.
///
/// Bytes of entities, relationships, large values, indexes and previous states are those of keys and values, checksums
/// included. ``areas`` has every byte of every page once.
public struct DeepStatistics: Sendable {
  /// The cheap facts, of the same state.
  public let summary: StoreStatistics
  /// By name: every entity that can have objects.
  public let entities: [EntityStatistics]
  /// By entity and name: every relationship that is stored.
  public let relationships: [RelationshipStatistics]
  /// By entity and name: every attribute that has large values.
  public let blobs: [BlobStatistics]
  /// By entity and name.
  public let indexes: [IndexStatistics]
  /// Of what there are previous states, which snapshots show, with their bytes.
  public let preimages: [SpaceUsage]
  /// How full the pages of each table are.
  public let pageUtilization: [PageUtilization]
  /// Every byte of every page of the file, once: their sum is the number of pages times their size.
  public let spaceUsage: [SpaceUsage]

  /// About how many pages a compact copy of the store has. An estimate: leaves are counted as a copy fills them, branches are taken to
  /// become fewer as these do.
  public var compactedPageCount: Int { 2 + pageUtilization.reduce(0) { $0 + $1.compactedPageCount } }
  /// About how many bytes a compact copy saves.
  public var compactionSavings: UInt64 {
    UInt64(max(0, summary.pageCount - compactedPageCount)) * UInt64(summary.pageSize)
  }
  /// Bytes of the pages in use that nothing is in, as a part of all bytes of these pages; 0 for a store without pages.
  public var fragmentation: Double {
    let pages = pageUtilization.reduce(0) { $0 + $1.pageCount } * summary.pageSize
    return pages == 0 ? 0 : Double(pageUtilization.reduce(0) { $0 + $1.unusedBytes }) / Double(pages)
  }
}

/// Objects of one concrete entity.
public struct EntityStatistics: Sendable, Hashable {
  /// The entity's name.
  public let name: String
  /// How many objects it has, those of sub-entities not included.
  public internal(set) var objectCount = 0
  /// Bytes of their records and keys, members of short lists included.
  public internal(set) var byteCount: UInt64 = 0
  /// How many large values they name.
  public internal(set) var blobCount = 0

  /// Bytes of an object's record and key on average.
  public var meanByteCount: Double { objectCount == 0 ? 0 : Double(byteCount) / Double(objectCount) }
}

/// The lists of one relationship.
public struct RelationshipStatistics: Sendable, Hashable {
  /// The entity that declares it.
  public let entity: String
  /// Its name.
  public let name: String
  /// Whether these are the hidden lists of who refers to an object by a relationship without an inverse.
  public let isHidden: Bool
  /// How many links there are from this side.
  public internal(set) var memberCount: UInt64 = 0
  /// Bytes within records: they are part of the entities' bytes.
  public internal(set) var inlineBytes: UInt64 = 0
  /// How many objects have a list outside of their record; of hidden lists none is counted.
  public internal(set) var chunkedListCount: UInt64 = 0
  /// Bytes of the lists outside of records.
  public internal(set) var chunkBytes: UInt64 = 0
}

/// Large binary values of one attribute.
///
/// A value that objects of several attributes share counts for the first of them, in the order of entities and objects.
public struct BlobStatistics: Sendable, Hashable {
  /// The objects' entity.
  public let entity: String
  /// The attribute.
  public let attribute: String
  /// How many values there are, each once however many objects have it.
  public internal(set) var count: UInt64 = 0
  /// Their bytes.
  public internal(set) var byteCount: UInt64 = 0
  /// Bytes that they take in the file, with checksums, keys and descriptions.
  public internal(set) var storedBytes: UInt64 = 0
  /// How many objects have one of them.
  public internal(set) var referenceCount: UInt64 = 0
  /// How many of them more than one object has.
  public internal(set) var sharedCount: UInt64 = 0
  /// Bytes that there would be more if each object had its own.
  public internal(set) var savedBytes: UInt64 = 0
  /// How many are how large, smallest first.
  public internal(set) var histogram: [SizeClass] = SizeClass.all

  /// Values of up to so many bytes, and more than those of the class before.
  public struct SizeClass: Sendable, Hashable {
    /// The size of the largest; nil: there is no limit.
    public let upTo: UInt64?
    /// How many there are.
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

/// An index.
public struct IndexStatistics: Sendable, Hashable {
  /// The entity that declares it.
  public let entity: String
  /// Its columns, with commas between.
  public let name: String
  /// Whether it is that of a uniqueness constraint, and not a fetch index.
  public let isUnique: Bool
  /// How many entries it has.
  public internal(set) var entryCount: UInt64 = 0
  /// Their bytes.
  public internal(set) var byteCount: UInt64 = 0
}

/// How full the pages of a table are: the three sums of bytes are those of all its pages.
public struct PageUtilization: Sendable, Hashable {
  /// As in ``TableStatistics/name``.
  public let name: String
  /// Pages of the table.
  public let pageCount: Int
  /// Keys and values.
  public let contentBytes: UInt64
  /// Headers of pages and entries, and pages that lead to others.
  public let overheadBytes: UInt64
  /// Nothing.
  public let unusedBytes: UInt64
  /// About how many pages a compact copy has of it.
  public let compactedPageCount: Int
}

/// Bytes of the file that serve one purpose.
public struct SpaceUsage: Sendable, Hashable {
  /// The purposes.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// All kinds of this version.
    package static let allCases: [Kind] = [
      .objects, .lists, .blobs, .indexes, .history, .preimages, .snapshots, .provenance, .metadata, .overhead, .unused, .free, .unknown,
    ]

    /// Records of objects, by entity.
    public static let objects = Kind(rawValue: "objects")
    /// Lists outside of records, by relationship.
    public static let lists = Kind(rawValue: "lists")
    /// Large values, by attribute.
    public static let blobs = Kind(rawValue: "largeValues")
    /// Entries of indexes, by index.
    public static let indexes = Kind(rawValue: "indexes")
    /// What the commits changed, where the store keeps a history.
    public static let history = Kind(rawValue: "history")
    /// Previous states, for snapshots; large values that only snapshots show, too.
    public static let preimages = Kind(rawValue: "previousStates")
    /// Descriptions of snapshots.
    public static let snapshots = Kind(rawValue: "snapshots")
    /// What clones were cloned from, idempotency keys, ids that a migration moved.
    public static let provenance = Kind(rawValue: "provenance")
    /// The model, counters, and uploads that are under way.
    public static let metadata = Kind(rawValue: "metadata")
    /// Headers of pages and entries, pages that lead to others, the list of tables, the list of free pages.
    public static let overhead = Kind(rawValue: "overhead")
    /// What lies between the entries of pages in use.
    public static let unused = Kind(rawValue: "unused")
    /// Free pages.
    public static let free = Kind(rawValue: "free")
    /// What this version of the library cannot tell, and pages that are neither in use nor free.
    public static let unknown = Kind(rawValue: "unknown")
  }

  /// What they serve.
  public let kind: Kind
  /// Of what kind exactly: an entity, a relationship, a table …
  public let name: String
  /// How many entries or pages there are; of lists their pieces.
  public internal(set) var count: UInt64 = 0
  /// How many bytes.
  public internal(set) var byteCount: UInt64 = 0
}

/// How far a walk for statistics has come.
public struct StatisticsProgress: Sendable, Hashable {
  /// Bytes that were read.
  public let completed: UInt64
  /// How many there are at most: large values need not be read.
  public let total: UInt64
}

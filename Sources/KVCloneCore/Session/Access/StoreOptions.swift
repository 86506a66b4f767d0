#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import Logging

/// Options for opening a store. They apply to this process and are not stored in the file, except for
/// ``tracksHistory``.
///
/// A store in a cluster has no data file. Options that only tune the file have no effect on it, and opening logs a
/// warning with their names. Those that promise something about the file, ``maximumFileBytes`` and
/// ``verifiesPagesAtOpen``, are refused with `unsupportedByEngine`.
public struct StoreOptions: Sendable {
  /// The maximum wait for another writer, in this process or another, before a write throws `busy`; and for another
  /// process that opens or recovers the store, before opening throws `busy`. The default is 5 seconds.
  public var busyTimeout: Duration = .seconds(5)
  /// Whether the store is opened read-only. Every write then throws `readOnly`. The default is false.
  public var isReadOnly = false
  /// The logger for warnings; nil for none. Log messages never contain keys or values.
  public var logger: Logger?
  /// The size of the dirty pages that a write transaction keeps in memory before LMDB spills them to the file, in
  /// bytes. The default is 16 MiB. It has no effect on a store in a cluster.
  public var spillBudget = 16 << 20
  /// The way in which commits of this process become durable. The default is ``JournalMode/copyOnWrite``.
  ///
  /// With ``JournalMode/writeAheadLog``, small commits take about a third of the time; see <doc:WriteAheadLog>. Each
  /// process chooses for its own commits. It has no effect on a store in a cluster: the server makes commits durable.
  public var journalMode = JournalMode.copyOnWrite
  /// The size of the write-ahead log at which a checkpoint starts, in bytes. The minimum is about one million; the
  /// default is 64 MiB. It has no effect on a store in a cluster.
  public var walSizeLimit = 64 << 20
  /// The number of asynchronous writes that share one durable commit. Their callers do not wait longer for it.
  public var groupCommit = GroupCommitOptions()
  /// The number of reader slots: the maximum number of open read transactions in all processes together. The default is
  /// 126. It has no effect on a store in a cluster, where connections limit open transactions.
  public var maximumReaders = 126
  /// The maximum number of open ``PinnedSnapshot``s of this store in this process. One more throws `tooManySnapshots`.
  ///
  /// The default is 64, about half of ``maximumReaders``. A leak of snapshots therefore leaves slots for other readers.
  /// If the option is not set, the default of a store in a cluster is half of its connections.
  public var pinnedSnapshotLimit: Int {
    get { ownPinnedSnapshotLimit ?? 64 }
    set { ownPinnedSnapshotLimit = newValue }
  }
  /// The maximum age of a ``PinnedSnapshot``; nil for no limit. The default is 1 hour.
  ///
  /// An hour is more than exports and reports of large stores take. It also prevents a forgotten snapshot from growing
  /// the file overnight. If the option is not set, the default of a store in a cluster is 5 minutes, because the server
  /// cannot remove old row versions of any store while a snapshot is open.
  public var pinnedSnapshotMaximumAge: Duration? {
    get { ownPinnedSnapshotMaximumAge ?? .seconds(3600) }
    set { ownPinnedSnapshotMaximumAge = .some(newValue) }
  }
  private var ownPinnedSnapshotLimit: Int?
  private var ownPinnedSnapshotMaximumAge: Duration??

  /// The limits of pinned snapshots for a store in an engine.
  package func pinnedSnapshotLimits(of engine: any StorageEngine) -> (limit: Int, maximumAge: Duration?) {
    let defaults = engine.network?.pinnedSnapshotDefaults
    return (
      ownPinnedSnapshotLimit ?? defaults?.limit ?? pinnedSnapshotLimit,
      ownPinnedSnapshotMaximumAge ?? defaults?.maximumAge ?? pinnedSnapshotMaximumAge
    )
  }
  /// The maximum number of objects in the store; nil, the default, for no limit.
  ///
  /// An insert beyond the limit throws `limitExceeded`, and its transaction rolls back. Deletes and changes still
  /// commit above the limit. The limit applies to writes of this process and is not stored in the file; see
  /// <doc:Operating>.
  public var maximumObjectCount: Int?
  /// The maximum size of the data file in bytes; nil, the default, for no limit.
  ///
  /// A commit that grows the file beyond the limit throws `limitExceeded`, unless it leaves fewer pages in use, or
  /// fewer objects on no more pages. Free pages within the file are used first. The limit applies to writes of this
  /// process and is not stored in the file; see <doc:Operating>. A store in a cluster refuses it.
  public var maximumFileBytes: UInt64?
  /// Whether opening the store leaves stale reader slots in place, for tools that show them. The default is false.
  package var keepsStaleReaders = false
  /// Whether opening verifies every page of the file first. The default is false.
  ///
  /// Use it for files that were restored or come from an untrusted source: a file with a corrupted page is refused with
  /// `corrupted`. Only the first page of a blob is verified, because LMDB interprets none of the others. To verify
  /// those, use ``ObjectStore/check(_:)`` with ``CheckOptions/readData``. With false, only a file that is shorter than
  /// its meta page states is verified. A store in a cluster refuses true.
  public var verifiesPagesAtOpen = false
  /// Options that features add, by their types.
  package var features: [ObjectIdentifier: any Sendable] = [:]
  /// Whether a new store on btrfs keeps copy-on-write, and therefore the checksums of btrfs, for its files. The default
  /// is false.
  ///
  /// With false, the store turns copy-on-write off for its files, as `chattr +C` does. The store never overwrites a
  /// page that is still needed and has its own checksums. With btrfs copy-on-write, its file would get one extent per
  /// page, which makes reflinks slow. If btrfs stores its data twice (RAID 1, DUP), copy-on-write always stays on. See
  /// <doc:Operating>. It has no effect on a store in a cluster.
  public var usesBtrfsCopyOnWrite = false
  /// The value transformers for transformable attributes.
  public var transformers = ValueTransformerRegistry()

  /// Whether commits record their changes in the history, see <doc:Changes>; nil, the default, leaves the setting
  /// unchanged.
  ///
  /// True and false turn the history on and off for this and all later openings, in all processes. In a new store, the
  /// history is off. The option has no effect if the store is opened read-only.
  public var tracksHistory: Bool?
  /// The author that the history records for a transaction without an author of its own. The default is an empty
  /// string.
  public var author = ""

  /// The retention of the snapshots that the store creates automatically, applied when it creates another one.
  public var snapshotRetention = SnapshotRetention()

  /// Creates options with default values.
  public init() {}

  /// - Parameter path: of the store that was opened with the options.
  /// - Throws: `readOnly` if it was opened read-only.
  package func requireWritable(_ path: String) throws(StoreError) {
    if isReadOnly {
      throw StoreError(.readOnly, "the store at \(path) was opened read-only; open it without isReadOnly to write")
    }
  }
}

/// Basic facts about a store.
public struct StoreInfo: Sendable {
  /// The identifier of the store, which never changes.
  public let uuid: UUID
  /// The format version of the file in the state that was read. The first use of some features raises it.
  public let formatVersion: Int
  /// The name of the model.
  public let modelName: String
  /// The version identifier of the model, or nil if it has none.
  public let modelVersion: String?
  /// The hash of the model in hexadecimal.
  public let modelHash: String
  /// The number of objects.
  public let objectCount: Int
  /// The number of objects by concrete entity. Entities without objects are included with 0.
  public let counts: [String: Int]
  /// The size of the data file in bytes.
  public let fileBytes: UInt64
  /// The number of committed write transactions.
  public let commit: UInt64
  /// The number of named snapshots.
  public let snapshotCount: Int

  package init(
    uuid: UUID, formatVersion: Int, modelName: String, modelVersion: String?, modelHash: String, objectCount: Int,
    counts: [String: Int], fileBytes: UInt64, commit: UInt64, snapshotCount: Int
  ) {
    self.uuid = uuid
    self.formatVersion = formatVersion
    self.modelName = modelName
    self.modelVersion = modelVersion
    self.modelHash = modelHash
    self.objectCount = objectCount
    self.counts = counts
    self.fileBytes = fileBytes
    self.commit = commit
    self.snapshotCount = snapshotCount
  }
}

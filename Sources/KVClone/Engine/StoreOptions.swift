#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import Logging

/// How a store is opened.
public struct StoreOptions: Sendable {
  /// How long a write waits for another writer, in this process or another, before it ends in `busy`.
  public var busyTimeout: Duration = .seconds(5)
  /// Refuses every write.
  public var isReadOnly = false
  /// Where warnings go; keys and values never do.
  public var logger: Logger?
  /// Bytes of changed pages that a write transaction keeps in memory before it makes LMDB write them out.
  public var spillBudget = 16 << 20
  /// Turns off the kernel's read-ahead, for stores of large values that are much larger than memory.
  ///
  /// Measured on files that were not in memory, on a disk with 8 MiB of read-ahead: a clone of 5,000 photos with images of
  /// 100 kB had 1.3 MiB read instead of 466 MiB, in 25 ms instead of 403 ms; without images it took 17 ms instead of 6 ms.
  public var usesReadAhead = true
  /// Makes commits durable by a log beside the data file, `commit.log`, which takes a third of the time for small ones; see
  /// <doc:CommitLog>. Each process decides for its own commits.
  public var journalMode = JournalMode.copyOnWrite
  /// Bytes that the commit log may have before the data file is synced and the log begins anew; at least about a million.
  public var walSizeLimit = 64 << 20
  /// How many read transactions all processes together may have open.
  public var maximumReaders = 126
  /// How many ``PinnedSnapshot``s of this store may be alive at once; one more is refused with `tooManySnapshots`. About half
  /// of ``maximumReaders``, so that a leak of snapshots leaves places for others who read.
  public var pinnedSnapshotLimit = 64
  /// How long a ``PinnedSnapshot`` lives at most; nil for as long as it is kept. An hour is more than exports and reports of
  /// large stores take, and little enough that a snapshot that was forgotten does not let the file grow overnight.
  public var pinnedSnapshotMaximumAge: Duration? = .seconds(3600)
  /// How many objects the store may have; nil: as many as fit. Who would make one more is refused with `limitExceeded`, and
  /// nothing of the transaction happens; deletions and changes go on above the limit. It holds for what this opening of the store
  /// writes, and is not kept in the store: see <doc:Operating>.
  public var maximumObjectCount: Int?
  /// How many bytes the data file may have; nil: as many as the disk takes. A commit that makes the file longer than that is refused
  /// with `limitExceeded`, unless it leaves fewer pages in use, or fewer objects on no more pages. What is free within the file is
  /// used first. See <doc:Operating>.
  public var maximumFileBytes: UInt64?
  /// Leaves the places of dead readers as they are when the store opens, for who wants to see them.
  package var keepsStaleReaders = false
  /// Walks over every page of the file before it is opened, for files that were restored, or come from elsewhere: a file
  /// with a damaged page is refused with `damaged`. Of a large value's pages only the first is looked at, because LMDB believes nothing
  /// on the others: ``ObjectStore/check(_:)`` with ``CheckOptions/readData`` reads those. Without it, only a file that ends too early is walked
  /// over.
  public var verifiesPagesAtOpen = false
  /// How a store that holds another version of the model than the one it is opened with is migrated; nil: it is not, and opening it
  /// throws `incompatibleModel`. Such a migration rewrites what has to be rewritten before the store is open: look at
  /// ``ObjectStore/planMigration(at:to:migration:options:progress:cancellation:)`` before you leave it to a service
  /// that starts.
  public var automaticMigration: MigrationOptions?
  /// On btrfs: leaves copy-on-write, and with it the file system's checksums, on for a store that is made. Otherwise it is off for
  /// the store's files, as `chattr +C` turns it off: the store writes no page in place that could be needed and has checksums
  /// of its own, and its file would get an extent for each page, which makes reflinks slow. Where btrfs keeps its data twice, copy-on-write
  /// stays on by itself. See <doc:Operating>.
  public var usesBtrfsCopyOnWrite = false
  /// What values of transformable attributes are in Swift.
  public var transformers = ValueTransformerRegistry()

  /// Whether every commit writes down what it changed, see <doc:Changes>: true turns this on and false off, for the store and
  /// whoever opens it later; nil leaves it as it is, and off in a new store. A store that is opened read-only stays as it is.
  public var tracksHistory: Bool?
  /// Who the history says has written, unless the transaction says otherwise.
  public var author = ""

  /// Which of the snapshots that the store makes itself are kept when it makes another one.
  public var snapshotRetention = SnapshotRetention()

  /// The defaults.
  public init() {}
}

/// Cheap facts about a store.
public struct StoreInfo: Sendable {
  /// The store's identity, for its whole life.
  public let uuid: UUID
  /// The version of the file's format, as the state that was read says it: what a store begins to use may raise it.
  public let formatVersion: Int
  /// The model's name.
  public let modelName: String
  /// The model version's name, where it has one.
  public let modelVersion: String?
  /// The model's hash in hexadecimal.
  public let modelHash: String
  /// How many objects there are.
  public let objectCount: Int
  /// Objects by concrete entity, those without objects included.
  public let counts: [String: Int]
  /// Bytes of the data file.
  public let fileBytes: UInt64
  /// How many write transactions have committed.
  public let commit: UInt64
  /// How many named snapshots there are.
  public let snapshotCount: Int
}

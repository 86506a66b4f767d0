/// Options of a backup.
public struct BackupOptions: Sendable, Hashable {
  /// The part of a new backup that is read from the disk and verified before it is published.
  public enum Verification: String, Sendable, Hashable, CaseIterable {
    /// The format and the commit only.
    case none
    /// Every page, and every value and blob by its checksum: all bytes are present and unchanged.
    case values
    /// Everything that ``ObjectStore/check(_:)`` checks with all bytes of blobs: also both sides of each relationship,
    /// lists, counts and indexes. A store with an inconsistency of this kind is then not backed up.
    case everything
  }

  /// The verification of the new file. The default is ``Verification/values``.
  ///
  /// For an incremental backup, every setting except ``Verification/none`` reads all its pages and values.
  public var verification: Verification
  /// The name of the snapshot that an incremental backup starts from; nil for a full backup.
  ///
  /// An incremental backup contains only the changes since that snapshot; see <doc:Backups>.
  public var since: String?
  /// Whether the backup converts records that a migration left in layouts of earlier model versions. The default is
  /// false.
  ///
  /// Records that a snapshot of an earlier version shows keep their layout. The conversion works on a first copy, so it
  /// needs disk space for two copies. It is not available for incremental backups.
  public var finishesMigration: Bool
  /// Whether the backup contains the branches of the store. The default is true.
  ///
  /// Without them, it also lacks what only their bases retain. It is no start for incremental backups, which contain
  /// changes of branches only. An incremental backup always contains branches.
  public var includesBranches: Bool

  /// Creates options. Each argument has its default value.
  public init(
    verification: Verification = .values, since: String? = nil, finishesMigration: Bool = false,
    includesBranches: Bool = true
  ) {
    self.verification = verification
    self.since = since
    self.finishesMigration = finishesMigration
    self.includesBranches = includesBranches
  }
}

/// The result of a backup or a restore.
public struct BackupResult: Sendable, Hashable {
  /// The size of the new data file in bytes.
  public let byteCount: UInt64
  /// The number of pages of the new data file, each of 4,096 bytes. All are in use, except for a few after a backup of a
  /// store in a cluster, and after a restore of incremental backups.
  public let pageCount: Int
  /// The number of the commit that the file contains.
  public let commit: UInt64
  /// The duration, including fsync and verification.
  public let duration: Duration
  /// The snapshot that an incremental backup starts from; nil for a full backup.
  public var since: String?
  /// The number of table entries that incremental backups put or delete; nil for a full backup.
  public var entryCount: UInt64?
  /// The number of records that were converted to the layout of the current model
  /// (``BackupOptions/finishesMigration``).
  public var renewedCount: UInt64 = 0
  /// The number of records that keep an earlier layout because snapshots of earlier versions show them.
  public var keptCount: UInt64 = 0
  /// The branches that were left out (``BackupOptions/includesBranches``).
  public var omittedBranches: [OmittedBranch] = []
}

/// The result of ``ObjectStore/reflinkCopy(to:progress:cancellation:)-(_,_,Cancellation?)``.
public struct ReflinkResult: Sendable, Hashable {
  /// The reason why the file was copied instead of sharing its blocks with the store.
  public enum CopyReason: String, Sendable, Hashable {
    /// The file system cannot share blocks, or the copy is on another file system.
    case fileSystem
    /// The store was opened read-only, so the write lock is not available.
    case readOnlyStore
  }

  /// Whether the copy shares the blocks of the store's data file. A block is copied when one of the files changes it.
  public var isReflink: Bool { copyReason == nil }
  /// The reason for a full copy; nil for a reflink.
  public let copyReason: CopyReason?
  /// The size of the new data file in bytes.
  public let byteCount: UInt64
  /// The number of the commit that the file contains.
  public let commit: UInt64
  /// The duration, including fsync.
  public let duration: Duration
  /// The time for which the write lock was held; zero for a full copy.
  public let lockDuration: Duration
}

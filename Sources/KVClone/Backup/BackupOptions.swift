import Synchronization

/// How a backup is made.
public struct BackupOptions: Sendable, Hashable {
  /// What is read again, from the disk, before the backup gets its name.
  public enum Verification: String, Sendable, Hashable, CaseIterable {
    /// The format and the commit only.
    case none
    /// Every page, and every value by its checksum, large values included: that all bytes are there as they were stored.
    case values
    /// All that ``ObjectStore/check(_:)`` looks at, every byte of large values included: also both sides of each
    /// relationship, the lists, the counts and the indexes. A store with a damage of that kind is then not backed up.
    case everything
  }

  /// What is verified.
  public var verification: Verification

  /// The defaults, changed where an argument says so.
  public init(verification: Verification = .values) {
    self.verification = verification
  }
}

/// What a backup or a restoration made.
public struct BackupResult: Sendable, Hashable {
  /// Bytes of the new data file.
  public let byteCount: UInt64
  /// Pages of the new data file, all in use: of 4,096 bytes each.
  public let pageCount: Int
  /// The commit whose state it is.
  public let commit: UInt64
  /// How long it took, with syncs and verification.
  public let duration: Duration
}

/// What ``ObjectStore/snapshotFile(to:progress:cancellation:)`` made.
public struct FileSnapshotResult: Sendable, Hashable {
  /// Why the file was copied, and does not share its blocks with the store's.
  public enum CopyReason: String, Sendable, Hashable {
    /// The file system cannot share blocks, or not with where the snapshot is.
    case fileSystem
    /// The store was opened read-only, so the write lock cannot be had.
    case readOnlyStore
  }

  /// Whether the snapshot shares the blocks of the store's data file, until one of them changes.
  public var isReflink: Bool { copyReason == nil }
  /// Why it does not.
  public let copyReason: CopyReason?
  /// Bytes of the new data file.
  public let byteCount: UInt64
  /// The commit whose state it is.
  public let commit: UInt64
  /// How long it took, with syncs.
  public let duration: Duration
  /// How long writers were kept waiting; zero for a copy.
  public let lockDuration: Duration
}

/// How far a backup, a restoration or a file snapshot has come.
public struct BackupProgress: Sendable, Hashable {
  /// What is done, one after the other.
  public enum Phase: String, Sendable {
    /// Looking for damage in what is restored.
    case check
    /// Writing the new file.
    case copy
    /// Waiting for the disk.
    case sync
    /// Reading the new file.
    case verify
  }

  /// What is being done.
  public let phase: Phase
  /// Bytes that were read in this phase.
  public let completed: UInt64
  /// About how many it will be; nil while that is not known.
  public let total: UInt64?
}

/// Ends a backup, a restoration or a file snapshot from another thread. Asynchronous calls are ended by their task, too.
public final class BackupCancellation: Sendable {
  private let flag = Atomic<Bool>(false)

  /// Nothing is cancelled yet.
  public init() {}

  /// Has the call throw `cancelled` soon, if it has not finished by then, with nothing left of it.
  public func cancel() { flag.store(true, ordering: .relaxed) }

  /// Whether `cancel` was called.
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}

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

  /// What is verified. In an increment, all that is not ``Verification/none`` reads every page and value of the increment.
  public var verification: Verification
  /// The name of a snapshot: the backup is an increment then, which has only what changed since, see <doc:Backups>. Nil: it is the whole
  /// store.
  public var since: String?
  /// Whether the copy finishes what a migration left: records that no one has written since are in layouts of earlier versions of the
  /// model, and are written in the present one. Those that a snapshot of an earlier version shows stay as they are. It is done in a
  /// first copy, so it takes room for two. An increment cannot have it.
  public var finishesMigration: Bool

  /// The defaults, changed where an argument says so.
  public init(verification: Verification = .values, since: String? = nil, finishesMigration: Bool = false) {
    self.verification = verification
    self.since = since
    self.finishesMigration = finishesMigration
  }
}

/// What a backup or a restoration made.
public struct BackupResult: Sendable, Hashable {
  /// Bytes of the new data file.
  public let byteCount: UInt64
  /// Pages of the new data file, of 4,096 bytes each: all in use, but where increments were restored.
  public let pageCount: Int
  /// The commit whose state it is.
  public let commit: UInt64
  /// How long it took, with syncs and verification.
  public let duration: Duration
  /// The snapshot since which an increment has what changed; nil for a whole store.
  public var since: String?
  /// How many entries of tables an increment puts or deletes, or the increments of a restoration did; nil where there were none.
  public var entryCount: UInt64?
  /// How many records were brought to the layout of the present model (``BackupOptions/finishesMigration``).
  public var renewedCount: UInt64 = 0
  /// How many of them stay in an earlier one, because snapshots of earlier versions show them.
  public var keptCount: UInt64 = 0
}

/// What ``ObjectStore/reflinkCopy(to:progress:cancellation:)-(_,_,Cancellation?)`` made.
public struct ReflinkResult: Sendable, Hashable {
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
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Looking for damage in what is restored.
    public static let check = Phase(rawValue: "check")
    /// Looking for what changed since a snapshot, for an increment.
    public static let gather = Phase(rawValue: "gather")
    /// Writing the new file.
    public static let copy = Phase(rawValue: "copy")
    /// Bringing records to the layouts of the present model.
    public static let rebuild = Phase(rawValue: "renew")
    /// Putting an increment into what was restored before it.
    public static let apply = Phase(rawValue: "apply")
    /// Bringing together what was salvaged, and making anew what follows from it.
    public static let repair = Phase(rawValue: "mend")
    /// Waiting for the disk.
    public static let sync = Phase(rawValue: "sync")
    /// Reading the new file.
    public static let verify = Phase(rawValue: "verify")
  }

  /// What is being done.
  public let phase: Phase
  /// Bytes that were read in this phase.
  public let completed: UInt64
  /// About how many it will be; nil while that is not known.
  public let total: UInt64?
}

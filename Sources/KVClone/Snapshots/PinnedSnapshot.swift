import KVCloneLMDB
import KVCloneRecords

/// A consistent view of the store that lives as long as it is kept, for any number of reads, by any tasks and threads.
///
/// ```swift
/// let snapshot = try store.pinnedSnapshot(owner: "export")
/// defer { snapshot.close() }
/// let titles = try snapshot.read { tx in try tx.fetch("Note").map { try $0.value("title") } }
/// let again = try await snapshot.read { tx in try tx.count("Note") }
/// ```
///
/// It costs no copy and no write. What it shows stays in the file meanwhile: pages that writers let go of cannot be used again,
/// and the file grows, until it is closed. So it has a maximum age (``StoreOptions/pinnedSnapshotMaximumAge``), after which it is
/// let go and reads throw `snapshotExpired`; a store has a maximum number of them (``StoreOptions/pinnedSnapshotLimit``); and
/// ``ObjectStore/activeReaders()`` tells what each one costs. It ends with its process, too. See <doc:PinnedSnapshots>.
public final class PinnedSnapshot: Sendable {
  private let reader: PinnedReader
  private let number: UInt64
  private let siblings: PinnedSnapshots

  init(_ pinned: (number: UInt64, reader: PinnedReader), of siblings: PinnedSnapshots) {
    reader = pinned.reader
    number = pinned.number
    self.siblings = siblings
  }

  deinit { close() }

  /// Who pinned it, for those who look at the store's readers.
  public var owner: String { reader.owner }

  /// The last commit that it shows, as ``HistoryTransaction/commit`` counts them.
  public var commit: UInt64 { reader.commit }

  /// How long ago it was pinned.
  public var age: Duration { reader.age }

  /// Whether it is older than it may be. Its reads throw `snapshotExpired` then.
  public var isExpired: Bool {
    if siblings.isForked { return false }
    return switch reader.end {
    case .expired: true
    case .closed, .storeClosed: false
    case nil: reader.isPastDeadline
    }
  }

  /// Reads. `body` runs on this thread, when it is its turn: one thread reads a snapshot at a time, while others wait.
  ///
  /// A read within a read of the same snapshot is fine. What ends the snapshot meanwhile (its age, ``close()``, the store's
  /// end) waits for the read that is under way, and the next one throws.
  ///
  /// - Throws: what `body` throws; `snapshotExpired`; `closed`, also where the store was closed; `forked`.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try runRead(body)
  }

  /// Reads, from asynchronous code: the same, on the caller's own executor.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    try runRead(body)
  }

  private func runRead<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    if siblings.isForked { throw StoreError(LMDBError.forked) }
    return try reader.read(body)
  }

  /// Lets go of what it shows, now or when the read ends that is under way. Every later read throws `closed`.
  public func close() {
    // The parent's snapshot is not the child's to close.
    if siblings.isForked { return }
    siblings.remove(number, .closed)
  }
}

extension ObjectStore {
  /// Pins what is committed now: a consistent view for any number of reads, until it is closed.
  ///
  /// - Parameters:
  ///   - owner: what the list of readers calls it; not empty if you want to know later whose it is.
  ///   - maximumAge: how long it lives at most; the store's ``StoreOptions/pinnedSnapshotMaximumAge`` where it is nil, which it
  ///     cannot exceed.
  /// - Throws: `tooManySnapshots`, with the oldest one's owner; `readersFull`, `closed`, `forked`.
  public func pinnedSnapshot(owner: String = "", maximumAge: Duration? = nil) throws(StoreError) -> PinnedSnapshot {
    let age = [maximumAge, options.pinnedSnapshotMaximumAge].compactMap { $0 }.min()
    let pinned = try pinned.add { () throws(StoreError) in
      let began = monotonicNanoseconds()
      let storage = StorageTransaction(try engine.beginPinnedRead(owner: owner))
      let session = Session(
        storage: storage, schema: schema, commit: 0, storeUUID: uuid, serialFloor: serialFloor, engine: engine)
      let commit = try session.counter(MetadataKey.commitCounter)
      return PinnedReader(
        PinnedTransaction(session), owner: owner, commit: commit, began: began,
        deadline: age.map { began &+ $0.clampedNanoseconds })
    }
    return PinnedSnapshot(pinned, of: self.pinned)
  }
}

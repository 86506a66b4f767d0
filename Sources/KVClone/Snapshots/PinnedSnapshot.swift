public import KVCloneCore
import KVCloneLMDB
import KVCloneRecords
import KVCloneTracing

/// A consistent, long-lived view of the store for any number of reads by any tasks and threads.
///
/// ```swift
/// let snapshot = try store.pinnedSnapshot(owner: "export")
/// defer { snapshot.close() }
/// let titles = try snapshot.read { tx in try tx.fetch("Note").map { try $0.value("title") } }
/// let again = try await snapshot.read { tx in try tx.count("Note") }
/// ```
///
/// A pinned snapshot is an open read transaction. It needs no copy and no write. Pages that it shows cannot be reused
/// while it is open, so the file grows with later writes until it is closed. In a cluster, it occupies a connection.
/// Three limits apply:
///
/// - Its maximum age (``StoreOptions/pinnedSnapshotMaximumAge``). After that, it is closed, and reads throw
///   `snapshotExpired`.
/// - The number of pinned snapshots of a store (``StoreOptions/pinnedSnapshotLimit``).
/// - The lifetime of its process.
///
/// ``ObjectStore/activeReaders()`` reports the space that each one retains. See <doc:PinnedSnapshots>.
public final class PinnedSnapshot: Sendable {
  private let reader: PinnedReader
  private let number: UInt64
  private let siblings: PinnedSnapshots
  /// The threads for asynchronous reads; nil for an engine with local reads.
  private let threads: ReadThreads?

  /// Pins the latest committed state of a store.
  init(_ store: ObjectStore, owner: String, maximumAge: Duration?) throws(StoreError) {
    let limit = store.options.pinnedSnapshotLimits(of: store.engine).maximumAge
    let age = [maximumAge, limit].compactMap { $0 }.min()
    let siblings = PinnedSnapshots.of(store)
    (number, reader) = try siblings.add { () throws(StoreError) in
      let began = monotonicNanoseconds()
      let storage = StorageTransaction(try store.engine.beginPinnedRead(owner: owner))
      let session = store.context.session(storage, store.schema)
      let commit = try session.counter(MetadataKey.commitCounter)
      return PinnedReader(
        PinnedTransaction(session), owner: owner, commit: commit, began: began,
        deadline: age.map { began &+ $0.clampedNanoseconds })
    }
    self.siblings = siblings
    threads = store.engine.network?.readThreads
  }

  deinit { close() }

  /// The name of the owner, as shown in the list of readers.
  public var owner: String { reader.owner }

  /// The number of the last commit that the snapshot shows, as in ``HistoryTransaction/commit``.
  public var commit: UInt64 { reader.commit }

  /// The time since the snapshot was pinned.
  public var age: Duration { reader.age }

  /// Whether the snapshot exceeds its maximum age. Its reads then throw `snapshotExpired`.
  public var isExpired: Bool {
    if siblings.isForked { return false }
    return switch reader.end {
    case .expired: true
    case .closed, .storeClosed: false
    case nil: reader.isPastDeadline
    }
  }

  /// Runs `body` in the snapshot, on this thread. One thread at a time reads a snapshot; others wait.
  ///
  /// A read may be nested in a read of the same snapshot. If the snapshot ends during a read (by its age, ``close()``
  /// or closing the store), that read completes, and the next one throws.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: errors of `body`; `snapshotExpired`; `closed`, if the snapshot or the store is closed; `forked`.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try runRead(body)
  }

  /// Runs `body` in the snapshot from asynchronous code, on the executor of the caller, or, for a store in a cluster,
  /// on a thread for reads.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    guard let threads else { return try runRead(body) }
    return try await threads.run { try runRead(body) }
  }

  private func runRead<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    if siblings.isForked { throw StoreError(LMDBError.forked) }
    return try reader.read { transaction in
      // The snapshot itself does not keep the engine.
      try StoreSpan(.read, of: transaction._withSession { $0.engine }).run { try body(transaction) }
    }
  }

  /// Closes the snapshot, immediately or at the end of the running read. Every later read throws `closed`.
  public func close() {
    // A forked child must not close the parent's snapshot.
    if siblings.isForked { return }
    siblings.remove(number, .closed)
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import Dispatch
import KVCloneLMDB
public import KVCloneModel
import KVCloneRecords
import Synchronization

/// An embedded object store: a directory with one memory-mapped file, with any number of concurrent readers and one
/// writer at a time, across processes.
///
/// ```swift
/// let store = try ObjectStore.open(at: "notes.kvclone", model: model)
/// let copy = try store.write { tx in
///   let note = try tx.insert("Note", ["title": "Groceries"])
///   return try tx.clone(object: note)
/// }
/// ```
///
/// Reads have snapshot isolation (MVCC). Commits are durable: a write transaction that has returned survives a crash
/// and a power loss, because the commit returns after `fdatasync`. A store is safe to use from any thread.
public final class ObjectStore: Sendable {
  /// The absolute path of the store's directory at the time of opening.
  public let path: String
  /// The identifier of the store, which never changes.
  public let uuid: UUID
  /// The model of the store's objects.
  public var model: ManagedObjectModel { schema.model }
  /// The options that the store was opened with.
  public let options: StoreOptions

  let engine: any StorageEngine
  let schema: Schema
  /// The format version of the file at the time of opening; `info` returns the current one.
  let formatVersion: UInt32
  let serialFloor = SerialHighWaterMark()
  /// Lifecycle hooks, or nil if none are registered.
  let lifecycle = Mutex<LifecycleTable?>(nil)
  /// Model versions by which snapshots are read, compiled.
  let snapshotSchemas = SnapshotSchemas()
  /// How fast clones have been written lately.
  let clonePace = ClonePace()
  /// The size limits, or nil if none are set.
  let limits: StoreLimits?
  /// Wakes tasks that wait for commits.
  let commitSignal = CommitSignal()
  /// The uploads of this process that are in progress.
  let stagers: Stagers
  /// The pinned snapshots that are open.
  let pinned: PinnedSnapshots
  /// Asynchronous writes wait and sync here, one after the other, and never on the cooperative pool.
  let writerQueue = DispatchQueue(label: "KVClone.writer")

  init(
    path: String, uuid: UUID, options: StoreOptions, engine: any StorageEngine, schema: Schema, formatVersion: UInt32
  ) {
    self.path = path
    self.uuid = uuid
    self.options = options
    self.engine = engine
    self.schema = schema
    self.formatVersion = formatVersion
    limits = StoreLimits(options)
    pinned = PinnedSnapshots(limit: options.pinnedSnapshotLimit)
    let environment = (engine as? LMDBEngine)?.environment
    stagers = Stagers(directory: environment?.directory, beside: environment?.identity, isReadOnly: options.isReadOnly)
  }

  /// Closes the file as soon as the last open transaction has ended.
  ///
  /// Closing also ends all pinned snapshots. Every later call throws `closed`.
  public func close() {
    pinned.close()
    commitSignal.close()
    stagers.close()
    engine.close()
  }

  /// Runs `body` in a read transaction on the calling thread.
  ///
  /// `body` sees the last committed state. Concurrent commits do not change what it sees (snapshot isolation), and
  /// readers never wait for writers. Pages that the transaction can see are not reused until it ends, so keep it short.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; `readersFull`, `closed`, `forked`; `incompatibleModel` if another process has
  ///   migrated the store.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try runRead(body)
  }

  /// Runs `body` in a read transaction, from asynchronous code.
  ///
  /// `body` runs on the caller's executor, because a read never waits for other transactions.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the same errors as the synchronous form.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    try runRead(body)
  }

  /// Runs `body` in a write transaction on the calling thread. Returning commits durably before `write` returns;
  /// throwing rolls back.
  ///
  /// `body` runs at most once. If the map or the disk is full, the transaction rolls back with `mapFull` or `diskFull`,
  /// and nothing is written. After `mapFull`, run the transaction again: the map grows as soon as no transaction of
  /// this process is open. Clones, upload chunks and model changes that run in transactions of their own are retried
  /// once after `mapFull` without action by the caller.
  ///
  /// - Parameters:
  ///   - label: a text that describes the transaction. Other processes see it in `busy` errors and in the list of
  ///     readers.
  ///   - timeout: the maximum wait for another writer; nil for ``StoreOptions/busyTimeout``.
  ///   - mergePolicy: the resolution of conflicts over uniqueness constraints.
  ///   - body: the changes.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`; ``ValidationError`` with every rule of the model that the changes break; `busy`,
  ///   `nestedWrite`, `readOnly`, `mapFull`, `diskFull`, `limitExceeded`, `commitOutcomeUnknown`, and errors of the
  ///   file system.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func write<R>(
    label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    try runWrite(label: label, timeout: timeout, mergePolicy: mergePolicy, body)
  }

  /// Runs `body` in a write transaction, from asynchronous code. `body` runs on a thread of the store.
  ///
  /// Parameters and errors are those of the synchronous form.
  @discardableResult
  public func write<R: Sendable>(
    label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      writerQueue.async {
        continuation.resume(
          with: Result { try self.runWrite(label: label, timeout: timeout, mergePolicy: mergePolicy, body) })
      }
    }
  }

  /// Runs `body` on the writer thread of the store, from asynchronous code.
  package func onWriterQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      writerQueue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  func runRead<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    let transaction = ReadTransaction(try readSession())
    return try body(transaction)
  }

  func runWrite<R>(
    label: String, timeout: Duration?, mergePolicy: MergePolicy = .error, dryRun reasons: PlanReasons? = nil,
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    var transaction = WriteTransaction(try writeSession(label: label, timeout: timeout))
    if reasons != nil { transaction.session.storage.markDryRun() }
    transaction.mergePolicy = mergePolicy
    let result: R
    do {
      result = try body(&transaction)
    } catch {
      noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    try commit(transaction.takeSession(), dryRun: reasons)
    return result
  }

  func readSession() throws(StoreError) -> Session {
    let storage = StorageTransaction(try engine.beginRead())
    guard try schema.catalogWatch.isReadable(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has migrated the store at \(path) to another model version; close the store and open it again"
      )
    }
    var session = Session(
      storage: storage, schema: schema, commit: 0, storeUUID: uuid, serialFloor: serialFloor, engine: engine)
    session.limits = limits
    return session
  }

  /// Throws `readOnly` if the store was opened read-only.
  func requireWritable() throws(StoreError) {
    if options.isReadOnly {
      throw StoreError(.readOnly, "the store at \(path) was opened read-only; open it without isReadOnly to write")
    }
  }

  func writeSession(label: String, timeout: Duration? = nil) throws(StoreError) -> Session {
    try requireWritable()
    var storage = StorageTransaction(try engine.beginWrite(label: label, timeout: timeout ?? options.busyTimeout))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has changed the model, fetch indexes or derived attributes of the store at \(path), and this "
          + "process cannot maintain them; close the store and open it again")
    }
    let commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter)
    try storage.record(schema, commit: commit + 1)
    var session = Session(
      storage: storage, schema: schema, commit: commit + 1, storeUUID: uuid, serialFloor: serialFloor, engine: engine,
      lifecycle: lifecycle.withLock { $0 })
    session.limits = limits
    try session.beginLimits()
    try session.beginHistory(author: options.author)
    return session
  }

  /// Checks what changed and makes it durable; whatever it throws, nothing happened.
  ///
  /// - Parameter reasons: collects, for a dry run, what a commit throws; nothing is committed then.
  func commit(_ session: consuming Session, dryRun reasons: PlanReasons? = nil) throws {
    noteSerials(of: session.changes, dryRun: reasons)
    if let failure = session.changes.failure { throw failure }
    // Nothing was written: there is nothing to commit, and the counter stays.
    if session.changes.isEmpty && session.storage.changeCount == 0 { return }
    var transaction = WriteTransaction(session)
    let announced: [SavedObjects]
    do {
      try transaction.prepareToSave()
      announced = try transaction.announced()
    } catch {
      noteSerials(of: transaction.session.changes, dryRun: reasons)
      throw error
    }
    session = transaction.takeSession()
    noteSerials(of: session.changes, dryRun: reasons)
    if let reasons {
      return try session.checkCommit(reasons)
    }
    let issues = session.changes.refusals + (try session.validationIssues())
    guard issues.isEmpty else { throw ValidationError(issues: issues) }
    try session.writeHistory()
    try session.writeCounters()
    try session.checkLimits()
    if session.changes.takesAway { session.storage.markDeleteOnly() }
    try session.storage.commit()
    commitSignal.noteCommit()
    for saved in announced { saved.announce(self) }
  }

  /// Keeps serials that a transaction gave out from being given out again. Those of a dry run were seen by hooks only.
  func noteSerials(of changes: borrowing PendingChanges, dryRun reasons: PlanReasons?) {
    if reasons == nil || lifecycle.withLock({ $0 != nil }) { serialFloor.note(changes) }
  }
}

extension Session {
  /// Checks, for a dry run, all that a commit checks, in the same order, and collects every reason instead of throwing
  /// the first.
  fileprivate mutating func checkCommit(_ reasons: PlanReasons) throws {
    reasons.note(changes.refusals)
    try validateChanges { issues in
      reasons.note(issues)
      return true
    }
    do {
      try writeHistory()
      try writeCounters()
      try checkLimits()
      if changes.takesAway { storage.markDeleteOnly() }
      try storage.checkCommitRoom()
    } catch {
      try reasons.note(thrown: error)
    }
  }
}

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

/// A store of objects: a directory with one memory-mapped file, for many readers and one writer at a time, in this
/// process and others.
///
/// ```swift
/// let store = try ObjectStore.open(at: "notes.kvclone", model: model)
/// let copy = try store.write { tx in
///   let note = try tx.insert("Note", ["title": "Groceries"])
///   return try tx.clone(object: note)
/// }
/// ```
///
/// A write transaction that was acknowledged survives a crash and a power loss: the commit returns after fdatasync.
public final class ObjectStore: Sendable {
  /// The store's directory: its absolute path when it was opened.
  public let path: String
  /// The store's identity, for its whole life.
  public let uuid: UUID
  /// The model that the objects follow.
  public var model: ManagedObjectModel { schema.model }
  /// How the store was opened.
  public let options: StoreOptions

  let engine: any StorageEngine
  let schema: Schema
  /// The file format's version when the store was opened; `info` tells what it is now.
  let formatVersion: UInt32
  let serialFloor = SerialHighWaterMark()
  /// Hooks, once some are registered.
  let lifecycle = Mutex<LifecycleTable?>(nil)
  /// Model versions by which snapshots are read, compiled.
  let snapshotSchemas = SnapshotSchemas()
  /// How fast clones have been written lately.
  let clonePace = ClonePace()
  /// How large it may become; nil where nobody limits it.
  let limits: StoreLimits?
  /// Wakes those who wait for commits.
  let commitSignal = CommitSignal()
  /// Uploads of this process that are under way.
  let stagers: Stagers
  /// Snapshots that are pinned.
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

  /// Lets go of the file, as soon as the last transaction has ended. Every later call throws `closed`. Pinned snapshots end
  /// with their store.
  public func close() {
    pinned.close()
    commitSignal.close()
    stagers.close()
    engine.close()
  }

  /// Reads: `body` sees one consistent state, whatever is written meanwhile.
  ///
  /// Readers never wait for anybody. `body` runs on this thread.
  @available(*, noasync, message: "use the asynchronous form")
  public func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try runRead(body)
  }

  /// Reads, from asynchronous code: the same, on the caller's own executor, because a read never waits.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    try runRead(body)
  }

  /// Changes: what `body` does is committed when it returns, durable before this call does; when it throws, nothing
  /// happened.
  ///
  /// `body` runs once, whatever happens. When it met the map's end, or a full disk, which ends it in `mapFull` or
  /// `diskFull` with nothing written, it is the caller's to run it again: the map grows as soon as no transaction of this
  /// process is open. A clone of its own, a piece of an upload, and the adoption of a model are run once more for a full
  /// map: their transactions are the store's.
  ///
  /// - Parameters:
  ///   - label: what others who wait are told is holding the lock.
  ///   - timeout: how long to wait for another writer; the store's ``StoreOptions/busyTimeout`` where it is nil.
  ///   - mergePolicy: what becomes of two objects with the same values under a uniqueness constraint.
  ///   - body: the changes.
  /// - Throws: what `body` throws; ``ValidationError`` with every broken rule of the model; `busy`, `nestedWrite`,
  ///   `mapFull`, `diskFull`, and what else the file system has to say.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func write<R>(
    label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    try runWrite(label: label, timeout: timeout, mergePolicy: mergePolicy, body)
  }

  /// Changes, from asynchronous code: `body` runs on a thread of the store's own.
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

  /// Runs what writes on a thread of the store's own, from asynchronous code.
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
        "another process has migrated the store at \(path) to another version of its model; close the store and open it again"
      )
    }
    var session = Session(
      storage: storage, schema: schema, commit: 0, storeUUID: uuid, serialFloor: serialFloor, engine: engine)
    session.limits = limits
    return session
  }

  /// Throws `readOnly` where every write would.
  func requireWritable() throws(StoreError) {
    if options.isReadOnly { throw StoreError(.readOnly, "the store at \(path) was opened read-only") }
  }

  func writeSession(label: String, timeout: Duration? = nil) throws(StoreError) -> Session {
    try requireWritable()
    var storage = StorageTransaction(try engine.beginWrite(label: label, timeout: timeout ?? options.busyTimeout))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process gave the store at \(path) another version of its model, or other fetch indexes or derived attributes, "
          + "which this one does not keep in step; close the store and open it again")
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

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords
import KVCloneTracing

/// Runs transactions, and prepares what they use.
extension ObjectStore {
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
  /// `body` runs on the caller's executor, because a read never waits for other transactions; for a store in a cluster,
  /// on a thread for reads, because it waits for the network.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: the same errors as the synchronous form.
  public func read<R: Sendable>(_ body: @Sendable (borrowing ReadTransaction) throws -> R) async throws -> R {
    guard let network = engine.network else { return try runRead(body) }
    return try await network.readThreads.run { try runRead(body) }
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
  /// Writes that wait at the same time share one durable commit (see ``StoreOptions/groupCommit`` and
  /// <doc:GroupCommit>). Each still succeeds or fails by itself: it has its own commit number, and sees the changes of
  /// the writes before it. `write` returns when its changes are durable. If the common commit fails, all writes of the
  /// group throw its error, and nothing of them is stored; after `commitOutcomeUnknown`, all or nothing of them is
  /// stored. After `mapFull` and `diskFull`, run the write again. The synchronous form commits by itself: its closure
  /// stays on the calling thread.
  ///
  /// Cancelling the task before its turn throws `CancellationError`, and `body` does not run. Later, it has no effect.
  ///
  /// Parameters and other errors are those of the synchronous form.
  @discardableResult
  public func write<R: Sendable>(
    label: String = "write", timeout: Duration? = nil, mergePolicy: MergePolicy = .error,
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> R
  ) async throws -> R {
    try await QueuedTransaction(self, label: label, timeout: timeout, mergePolicy: mergePolicy, body).value()
  }

  /// Uploads a blob from a slow source without holding the write lock, see ``StagedBlob``.
  ///
  /// The bytes are written in chunks, each in a short write transaction. ``WriteTransaction/setData(_:_:_:)`` later
  /// makes them the value of an attribute.
  ///
  /// ```swift
  /// let image = try store.stageBlob { writer in
  ///   while let piece = try connection.read() { try writer.append(piece) }
  /// }
  /// try store.write { tx in try tx.setData(photo, "image", image) }
  /// ```
  ///
  /// The call uses a few MiB of memory for any length. The bytes are invisible to readers until they are a value. Bytes
  /// that never become a value are deleted later.
  ///
  /// - Parameters:
  ///   - timeout: the maximum wait of each short transaction for another writer; nil for ``StoreOptions/busyTimeout``.
  ///   - source: appends the bytes. It runs outside any transaction. Do not call `stageBlob` inside a transaction.
  /// - Returns: the staged upload.
  /// - Throws: the error of `source`; `busy`, `nestedWrite`, `closed`, and errors of the file system. Nothing of the
  ///   upload remains then.
  @available(*, noasync, message: "use stageBlob(from:)")
  public func stageBlob(timeout: Duration? = nil, _ source: (inout BlobUploader) throws -> Void) throws -> StagedBlob {
    try BlobStaging(self, timeout: timeout).stage(source)
  }

  /// Uploads a blob from an asynchronous sequence, like the synchronous form.
  ///
  /// - Parameter source: chunks of any length, as `Data` or arrays of bytes.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  public func stageBlob<Source: AsyncSequence>(from source: Source, timeout: Duration? = nil) async throws -> StagedBlob
  where Source.Element: ContiguousBytes {
    try await BlobStaging(self, timeout: timeout).stage(from: source)
  }

  /// Registers hooks for the objects of an entity and its subentities.
  ///
  /// They run after the hooks that were registered before. Transactions that have already begun do not call them.
  ///
  /// - Throws: `unknownEntity`.
  public func register(_ hooks: ObjectLifecycle, for entity: String) throws(StoreError) {
    let entity = try schema.entity(entity)
    attachments.value(of: RegisteredHooks.self).table.withLock { table in
      table = LifecycleTable(adding: hooks, to: entity, table, schema)
    }
  }

  /// Resolves an attribute, or an element of a composite attribute such as `place.latitude`.
  ///
  /// ```swift
  /// let title = try store.attribute("Note", "title", as: String.self)
  /// ```
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`; `wrongType` if the attribute never has values of the type.
  public func attribute<Value>(_ entity: String, _ name: String, as type: Value.Type = Value.self) throws(StoreError)
    -> AttributeKey<Value>
  {
    try AttributeKey(schema, entity, name)
  }

  // MARK: Inside the library

  /// Runs `body` on the writer thread of the store, from asynchronous code.
  package func onWriterQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      writerQueue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  package func runRead<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    try StoreSpan(.read, of: engine).run {
      let transaction = ReadTransaction(try readSession())
      return try body(transaction)
    }
  }

  package func runWrite<R>(
    label: String, timeout: Duration?, mergePolicy: MergePolicy = .error, dryRun reasons: PlanReasons? = nil,
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
    try StoreSpan(.write, of: engine).run {
      var transaction = WriteTransaction(try writeSession(label: label, timeout: timeout, isDryRun: reasons != nil))
      transaction.mergePolicy = mergePolicy
      let result: R
      do {
        result = try body(&transaction)
      } catch {
        noteSerials(of: transaction.session.changes, dryRun: reasons)
        throw error
      }
      try transaction.commit(self, dryRun: reasons)
      return result
    }
  }

  /// Reserves the serials that a transaction allocated, so that they are not allocated again. Only hooks have seen
  /// those of a dry run.
  package func noteSerials(of changes: borrowing PendingChanges, dryRun reasons: PlanReasons?) {
    if reasons == nil || registeredHooks != nil { context.serialFloor.note(changes) }
  }

  package func readSession() throws(StoreError) -> Session {
    let storage = StorageTransaction(try engine.beginRead())
    guard try schema.catalogWatch.isReadable(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has migrated the store at \(path) to another model version; close the store and open it again"
      )
    }
    return context.session(storage, schema)
  }

  /// Begins a write transaction; one of a dry run can only be aborted.
  package func writeSession(label: String, timeout: Duration? = nil, isDryRun: Bool = false) throws(StoreError)
    -> Session
  {
    try options.requireWritable(path)
    let storage = StorageTransaction(
      try engine.beginWrite(label: label, timeout: timeout ?? options.busyTimeout, isDryRun: isDryRun))
    guard try schema.catalogWatch.isCurrent(schema, storage, schema.tables.metadata) else {
      throw StoreError(
        .incompatibleModel,
        "another process has changed the model, fetch indexes or derived attributes of the store at \(path), and this "
          + "process cannot maintain them; close the store and open it again")
    }
    let commit = try Metadata.counter(storage, schema.tables.metadata, MetadataKey.commitCounter)
    var session = writeContext.session(storage, schema, commit: commit + 1)
    try session.beginWrite(author: options.author)
    return session
  }

  /// The shared context of the store's write sessions.
  package var writeContext: StoreContext { context.with(registeredHooks) }

  private var registeredHooks: LifecycleTable? { attachments.value(of: RegisteredHooks.self).table.withLock { $0 } }
}

extension Session {
  /// Prepares a new write session: for snapshots, limits and the history.
  package mutating func beginWrite(author: String) throws(StoreError) {
    try storage.record(schema, commit: commit)
    try StoreLimits.begin(in: &self)
    try HistoryWriter.begin(author: author, in: &self)
  }
}

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
  /// Writes that wait at the same time share one durable commit (see ``StoreOptions/groupCommit`` and <doc:GroupCommit>).
  /// Each still succeeds or fails by itself: it has its own commit number, and sees the changes of the writes before it.
  /// `write` returns when its changes are durable. If the common commit fails, all writes of the group throw its error,
  /// and nothing of them is stored; after `commitOutcomeUnknown`, all or nothing of them is stored. After `mapFull` and
  /// `diskFull`, run the write again. The synchronous form commits by itself: its closure stays on the calling thread.
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

  /// Runs `body` on the writer thread of the store, from asynchronous code.
  package func onWriterQueue<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      writerQueue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  package func runRead<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
    let transaction = ReadTransaction(try readSession())
    return try body(transaction)
  }

  package func runWrite<R>(
    label: String, timeout: Duration?, mergePolicy: MergePolicy = .error, dryRun reasons: PlanReasons? = nil,
    _ body: (inout WriteTransaction) throws -> R
  ) throws -> R {
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

  /// Keeps serials that a transaction gave out from being given out again. Those of a dry run were seen by hooks only.
  package func noteSerials(of changes: borrowing PendingChanges, dryRun reasons: PlanReasons?) {
    if reasons == nil || hooks.withLock({ $0 != nil }) { serialFloor.note(changes) }
  }
}

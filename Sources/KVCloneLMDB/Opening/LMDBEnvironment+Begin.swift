import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Begins a snapshot of the last commit. Costs some ten nanoseconds when a pooled reader can be renewed.
  package func beginRead() throws(LMDBError) -> LMDBReadTransaction {
    try core.beginRead()
  }

  /// Takes the write lock, and begins a transaction.
  ///
  /// Waits for the writers of this process, then for those of others, in all at most `timeout` (nil: forever; zero: not
  /// at all), and throws `busy` with the holder's name. `label` describes this writer to others.
  package func beginWrite(timeout: Duration? = nil, label: String = "") throws(LMDBError) -> LMDBWriteTransaction {
    if options.isReadOnly { throw .readOnly }
    if isForked { throw .forked }
    let deadline = timeout.map { monotonicNanoseconds() &+ $0.clampedNanoseconds }
    let label = WriterLockFile.cleaned(label)
    try slot.acquire(deadline: deadline, label: label)
    do {
      try lockFile?.acquire(deadline: deadline, label: label)
    } catch {
      slot.release()
      throw error
    }
    do {
      try core.enter()
    } catch {
      releaseWriter()
      throw error
    }
    do {
      core.growIfTight()
      var handle = try beginRaw(0)
      try prepareLog(handle)
      if hasUnsafeFreeList(handle) {
        try fillFreeList(handle)
        handle = try beginRaw(0)
        try prepareLog(handle)
      }
      return LMDBWriteTransaction(environment: self, handle: handle, spillBudget: options.spillBudget)
    } catch {
      releaseWriter()
      core.leave()
      throw error
    }
  }

  /// Prepares the write-ahead log for a transaction; aborts the transaction on failure.
  private func prepareLog(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    guard let log = core.commitLog, let descriptor = core.descriptor else { return }
    do throws(LMDBError) {
      try log.prepare(after: handle.commitNumber &- 1, data: descriptor)
    } catch {
      unsafe mdb_txn_abort(handle.pointer)
      throw error
    }
  }

  /// The current writer, in this process or another one, for display: it may have changed when the value arrives.
  package var currentWriter: WriterHolder? {
    slot.holder ?? lockFile?.foreignHolder()
  }

  // MARK: Ends

  // MARK: LMDB's begin

  /// Begins a transaction of the caller, which is counted as live once. Handles what a retry can solve: a file that
  /// another process grew, stale readers, and an environment that must be reopened.
  func beginRaw(_ flags: UInt32) throws(LMDBError) -> LMDBTransactionHandle {
    var transaction: OpaquePointer?
    var code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    if canRetry(code) { code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction) }
    guard code == 0, let transaction = unsafe transaction else {
      if code == MDB_PANIC, let reopeningError = core.state.withLock({ $0.reopeningError }) { throw reopeningError }
      throw error(code, "mdb_txn_begin")
    }
    return unsafe LMDBTransactionHandle(pointer: transaction)
  }

  private func canRetry(_ code: Int32) -> Bool {
    switch code {
    case MDB_MAP_RESIZED:
      return core.state.withLock { state in
        var isAdopted = false
        let isIdle = core.whileIdle(&state, own: 1) { state in isAdopted = core.setMapSize(0, &state) }
        return isIdle && isAdopted
      }
    case MDB_READERS_FULL:
      return unsafe mdb_reader_check(pointer, nil) == 0
    case MDB_PANIC:
      return core.state.withLock { state in
        state.isFatal = true
        core.demandAttention()
        core.settle(&state, own: 1)
        return !state.isFatal
      }
    default:
      return false
    }
  }
}

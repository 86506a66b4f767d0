import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// A snapshot of what is committed now. Costs some ten nanoseconds when a pooled reader can be renewed.
  package func beginRead() throws(LMDBError) -> LMDBReadTransaction {
    try core.beginRead()
  }

  /// The right to write, and a transaction that has it.
  ///
  /// Waits for the writers of this process, then for those of others, in all at most `timeout` (nil: without end; zero:
  /// not at all), and throws `busy` with the holder's name. `label` says what this writer does; others see it.
  /// `isEager` finds the moment between two transactions of another process; for short ones, because it keeps a processor busy.
  package func beginWrite(
    timeout: Duration? = nil, label: String = "", isEager: Bool = false
  ) throws(LMDBError) -> LMDBWriteTransaction {
    if options.isReadOnly { throw .readOnly }
    if isForked { throw .forked }
    let deadline = timeout.map { monotonicNanoseconds() &+ $0.clampedNanoseconds }
    let label = WriterLockFile.cleaned(label)
    try slot.acquire(deadline: deadline, label: label)
    do {
      try lockFile?.acquire(deadline: deadline, label: label, isEager: isEager)
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

  /// Readies the commit log for a transaction; aborts that if it cannot.
  private func prepareLog(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    guard let log = core.commitLog, let descriptor = core.descriptor else { return }
    do throws(LMDBError) {
      try log.prepare(after: handle.commitNumber &- 1, data: descriptor)
    } catch {
      unsafe mdb_txn_abort(handle.pointer)
      throw error
    }
  }

  /// Who writes now, in this process or another one, for display: it may have changed when the answer arrives.
  package var currentWriter: WriterHolder? {
    slot.holder ?? lockFile?.foreignHolder()
  }

  // MARK: Ends

  /// Commits. An error means that nothing was committed and the next write can try again, with one exception:
  /// `commitFailed`, whose outcome says what is known.
  func commitWrite(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    if isForked { throw .forked }
    let failure = commitRaw(handle)
    releaseWriter()
    core.leave()
    if let failure { throw failure }
  }

  /// Commits, and keeps the right to write.
  func commitRaw(_ handle: LMDBTransactionHandle) -> LMDBError? {
    let number = handle.commitNumber
    let code = unsafe mdb_txn_commit(handle.pointer)
    unsafe SpillList.free(of: handle.pointer)
    var failure: LMDBError?
    if code != 0 {
      failure = error(code, "mdb_txn_commit")
      if code == MDB_MAP_FULL { core.noteMapFull() }
      if failure?.isDiskFull == true { core.cutFile() }
      if core.isPanicked() {
        var outcome = core.recover(commit: number)
        // In the file it is; without a record, the next opening would undo it.
        if outcome == .committed, makeDurable(number) != 0 { outcome = .unknown }
        failure = .commitFailed(outcome: outcome, errno: code)
      }
    } else {
      let code = makeDurable(number)
      if code != 0 { failure = .commitFailed(outcome: .unknown, errno: code) }
      core.countCommit()
    }
    return failure
  }

  /// By the commit log, where there is one; 0 or an error's number.
  private func makeDurable(_ number: UInt64) -> Int32 {
    guard let log = core.commitLog, log.isOn else { return 0 }
    return core.pageSource.map { log.makeDurable(number, $0) } ?? EBADF
  }

  /// Aborts. `failure` is the error that made the transaction fail, if one did.
  func abortWrite(_ handle: LMDBTransactionHandle, _ failure: LMDBError?) {
    // In a forked child the transaction is the parent's: its lock, its pages.
    if isForked { return }
    unsafe mdb_txn_abort(handle.pointer)
    unsafe SpillList.free(of: handle.pointer)
    if failure?.leavesLongFile ?? false { core.cutFile() }
    releaseWriter()
    core.leave()
  }

  func releaseWriter() {
    lockFile?.release()
    slot.release()
  }

  // MARK: LMDB's begin

  /// A transaction of the caller's, who is counted as live once. Handles what can be handled once: a file that another
  /// process grew, slots of dead readers, and an environment that must be reopened.
  func beginRaw(_ flags: UInt32) throws(LMDBError) -> LMDBTransactionHandle {
    var transaction: OpaquePointer?
    var code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    if canRetry(code) { code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction) }
    guard code == 0, let transaction = unsafe transaction else { throw error(code, "mdb_txn_begin") }
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

extension Duration {
  /// Not less than zero, and at most about 146 years, so that it can be added to a clock's reading.
  package var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds >= Int64.max / 2_000_000_000 { return UInt64(Int64.max / 2) }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}

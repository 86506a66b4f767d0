import CKVCloneLMDB

/// The end of write transactions.
extension LMDBEnvironment {
  /// Commits. An error means that nothing was committed and the next write can try again, except `commitFailed` with
  /// its outcome.
  func commitWrite(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    if isForked { throw .forked }
    let failure = commitRaw(handle)
    releaseWriter()
    core.leave()
    if let failure { throw failure }
  }

  /// Commits, and keeps the write lock.
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
        // The commit is in the file; without a record, the next opening would undo it.
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

  /// Makes a commit durable through the write-ahead log, if there is one; returns 0 or an error's number.
  private func makeDurable(_ number: UInt64) -> Int32 {
    guard let log = core.commitLog, log.isOn else { return 0 }
    return core.pageSource.map { log.makeDurable(number, $0) } ?? EBADF
  }

  /// Aborts. `failure` is the error that failed the transaction, if any.
  func abortWrite(_ handle: LMDBTransactionHandle, _ failure: LMDBError?) {
    // In a forked child, the transaction's lock and pages belong to the parent.
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
}

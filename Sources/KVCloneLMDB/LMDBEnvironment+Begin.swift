import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// A snapshot of what is committed now. Costs a fraction of a microsecond when a pooled one can be renewed.
  package func beginRead() throws(LMDBError) -> LMDBReadTransaction {
    let pooled = try enter(wantsPooled: true)
    let begun = beginOrRenew(pooled)
    guard begun.code == 0, let handle = begun.handle else {
      leave(returning: nil)
      // The slot's process lock is held by a process that, in its own PID namespace, has our number.
      if begun.code == EAGAIN { throw .pidNamespace }
      throw error(begun.code, "mdb_txn_begin")
    }
    return LMDBReadTransaction(environment: self, handle: handle)
  }

  /// The right to write, and a transaction that has it.
  ///
  /// Waits for the writers of this process, then for those of others, in all at most `timeout` (nil: without end; zero:
  /// not at all), and throws `busy` with the holder's name. `label` says what this writer does; others see it.
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
      _ = try enter(wantsPooled: false)
    } catch {
      releaseWriter()
      throw error
    }
    do {
      if spillSupport == .unknown { try probeSpill() }
      let handle = try beginRaw(0)
      return LMDBWriteTransaction(environment: self, handle: handle, spillBudget: options.spillBudget)
    } catch {
      releaseWriter()
      leave(returning: nil)
      throw error
    }
  }

  /// Who writes now, in this process or another one, for display: it may have changed when the answer arrives.
  package var currentWriter: WriterHolder? {
    slot.holder ?? lockFile?.foreignHolder()
  }

  // MARK: Ends

  func endRead(_ handle: LMDBTransactionHandle) {
    if isForked { return }
    unsafe mdb_txn_reset(handle.pointer)
    leave(returning: handle)
  }

  func commitWrite(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    if isForked { throw .forked }
    let code = unsafe mdb_txn_commit(handle.pointer)
    releaseWriter()
    leave(returning: nil)
    if code != 0 { throw error(code, "mdb_txn_commit") }
  }

  func abortWrite(_ handle: LMDBTransactionHandle) {
    // In a forked child the transaction is the parent's: its lock, its pages.
    if isForked { return }
    unsafe mdb_txn_abort(handle.pointer)
    releaseWriter()
    leave(returning: nil)
  }

  func releaseWriter() {
    lockFile?.release()
    slot.release()
  }

  // MARK: Counting

  /// Counts one more live transaction, and takes an idle reader if there is one.
  func enter(wantsPooled: Bool) throws(LMDBError) -> LMDBTransactionHandle? {
    // Before the lock: in a forked child another thread's copy of it may be locked for ever.
    if isForked { throw .forked }
    let entered = state.withLock { state -> (isOpen: Bool, handle: LMDBTransactionHandle?) in
      if state.isClosing { return (false, nil) }
      state.live += 1
      return (true, wantsPooled ? state.pool.popLast() : nil)
    }
    guard entered.isOpen else { throw .closed }
    return entered.handle
  }

  /// Counts one live transaction less. The handle given is a reset reader, kept or freed.
  func leave(returning handle: LMDBTransactionHandle?) {
    let surplus = state.withLock { state -> LMDBTransactionHandle? in
      var surplus: LMDBTransactionHandle?
      if let handle {
        if state.pool.count < Self.maximumPooledReaders && !state.isClosing {
          state.pool.append(handle)
        } else {
          surplus = handle
        }
      }
      if surplus == nil {
        state.live -= 1
        closeIfIdle(&state)
      }
      return surplus
    }
    guard let surplus else { return }
    // Freed outside the lock, and counted as live until then, so that the environment is still open.
    unsafe mdb_txn_abort(surplus.pointer)
    state.withLock { state in
      state.live -= 1
      closeIfIdle(&state)
    }
  }

  // MARK: LMDB's begin

  private func beginOrRenew(_ pooled: LMDBTransactionHandle?) -> (code: Int32, handle: LMDBTransactionHandle?) {
    if let pooled {
      var code = unsafe mdb_txn_renew(pooled.pointer)
      if code == MDB_MAP_RESIZED, adoptMapSize() { code = unsafe mdb_txn_renew(pooled.pointer) }
      if code == 0 { return (0, pooled) }
      unsafe mdb_txn_abort(pooled.pointer)
      return (code, nil)
    }
    do throws(LMDBErrorCode) {
      return (0, try begin(UInt32(MDB_RDONLY)))
    } catch {
      return (error.code, nil)
    }
  }

  func beginRaw(_ flags: UInt32) throws(LMDBError) -> LMDBTransactionHandle {
    do throws(LMDBErrorCode) { return try begin(flags) } catch { throw self.error(error.code, "mdb_txn_begin") }
  }

  /// Begins, and handles what can be handled once: a file that another process grew, and slots of dead readers.
  private func begin(_ flags: UInt32) throws(LMDBErrorCode) -> LMDBTransactionHandle {
    var transaction: OpaquePointer?
    var code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    if code == MDB_MAP_RESIZED, adoptMapSize() {
      code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    } else if code == MDB_READERS_FULL {
      var dead: Int32 = 0
      unsafe mdb_reader_check(pointer, &dead)
      code = unsafe mdb_txn_begin(pointer, nil, flags, &transaction)
    }
    guard code == 0, let transaction = unsafe transaction else { throw LMDBErrorCode(code: code) }
    return unsafe LMDBTransactionHandle(pointer: transaction)
  }

  /// Follows a map that another process grew. LMDB allows it only while no transaction of this process is active; the
  /// caller's own, not yet begun, is the one that may be counted.
  private func adoptMapSize() -> Bool {
    state.withLock { state in
      guard state.live == 1 else { return false }
      return unsafe mdb_env_set_mapsize(pointer, 0) == 0
    }
  }
}

/// A bare return code on its way to the place that knows the operation.
struct LMDBErrorCode: Error {
  let code: Int32
}

extension Duration {
  /// Not less than zero, and at most about 146 years, so that it can be added to a clock's reading.
  var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    if seconds >= Int64.max / 2_000_000_000 { return UInt64(Int64.max / 2) }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}

import CKVCloneLMDB
import Glibc
import Synchronization

/// The begin of read transactions.
extension EnvironmentCore {
  /// Begins in the first free slot: a compare-and-swap, and `mdb_txn_renew`, with a check of a meta page.
  @inline(__always)
  func beginRead() throws(LMDBError) -> LMDBReadTransaction {
    if !forkGuard.isForked {
      for index in 0..<Self.slotCount {
        let slot = unsafe slots + index
        if unsafe !slot.pointee.claim() { continue }
        if unsafe !slot.pointee.needsAttention, let transaction = unsafe slot.pointee.content.pointee.transaction {
          if unsafe renew(transaction) == 0 {
            let handle = unsafe LMDBTransactionHandle(pointer: transaction)
            unsafe slot.pointee.noteBegin(handle)
            return unsafe LMDBReadTransaction(slot: slot, handle: handle)
          }
        }
        return try unsafe beginRead(claimed: slot)
      }
    }
    return try unsafe beginRead(claimed: nil)
  }

  // MARK: Consistency of number and commit

  /// Calls `mdb_txn_renew`, and ensures that the transaction's number is that of the commit that it sees.
  @inline(__always)
  private func renew(_ transaction: OpaquePointer) -> Int32 {
    let code = unsafe mdb_txn_renew(transaction)
    return unsafe code == 0 && isPassed(transaction) ? renewAgain(transaction) : code
  }

  /// Whether another writer committed since the reader took its number, so that it may see a later commit.
  ///
  /// LMDB reads the number of the last commit first, and then the roots from that number's meta page. Two commits later
  /// the page belongs to another commit: a reader that is delayed in between for so long gets the roots of the second
  /// one, with the number of neither. LMDB tolerates that, but everything cached by number, such as trees
  /// (``ReaderMap``) and the catalog, would belong to another state. As long as the other meta page has no later
  /// commit, this page is unchanged.
  @inline(__always)
  private func isPassed(_ transaction: OpaquePointer) -> Bool {
    let number = unsafe UInt64(truncatingIfNeeded: mdb_txn_id(transaction))
    let start = mapStart.load(ordering: .relaxed)
    guard start > Self.noMapStart, let map = unsafe UnsafeRawPointer(bitPattern: start) else {
      return isPassedByInfo(number)
    }
    // After the roots were read.
    atomicMemoryFence(ordering: .acquiring)
    let other = Int(truncatingIfNeeded: (number &+ 1) & 1) &* PageView.size &+ MetaPages.commitOffset
    return unsafe map.load(fromByteOffset: other, as: UInt64.self) > number
  }

  /// Used until the start of the map is known, from the first lookup of a tree.
  @inline(never)
  private func isPassedByInfo(_ number: UInt64) -> Bool {
    atomicMemoryFence(ordering: .acquiring)
    var raw = unsafe MDB_envinfo()
    return unsafe mdb_env_info(pointer, &raw) == 0 && raw.lastCommit > number
  }

  @inline(never)
  private func renewAgain(_ transaction: OpaquePointer) -> Int32 {
    // Some nanoseconds each, and a commit takes microseconds. Bounded, because a writer that was killed after its meta
    // page leaves the number for readers outdated until the next write begins.
    for _ in 0..<16 {
      unsafe mdb_txn_reset(transaction)
      let code = unsafe mdb_txn_renew(transaction)
      if unsafe code != 0 || !isPassed(transaction) { return code }
    }
    return 0
  }

  // MARK: The slow path

  /// Begins in a slot that was never used, or could not be renewed; while an operation requires attention; or without a
  /// slot (nil).
  @inline(never)
  private func beginRead(claimed slot: UnsafeMutablePointer<ReaderSlot>?) throws(LMDBError) -> LMDBReadTransaction {
    if forkGuard.isForked { throw .forked }
    if let slot = unsafe slot {
      if unsafe slot.pointee.needsAttention {
        // As if it had not been claimed: the waiting operation needs it idle.
        unsafe slot.pointee.state.store(ReaderSlot.idle, ordering: .sequentiallyConsistent)
        return try beginReadUnpooled()
      }
      return try unsafe beginRead(in: slot)
    }
    return try beginReadUnpooled()
  }

  /// Begins a long-lived reader. It takes none of the slots, which are for short reads.
  func beginPinnedRead(owner: String) throws(LMDBError) -> LMDBReadTransaction {
    try beginReadUnpooled(owner: owner)
  }

  /// Begins beyond the slots, or while an operation waits: counted under the lock, and freed at its end. Pinned if it
  /// has an owner.
  private func beginReadUnpooled(owner: String? = nil) throws(LMDBError) -> LMDBReadTransaction {
    try enter()
    let slot = UnsafeMutablePointer<ReaderSlot>.allocate(capacity: 1)
    unsafe slot.initialize(to: ReaderSlot(core: Unmanaged.passUnretained(self), isPooled: false))
    do throws(LMDBError) {
      let transaction = try unsafe beginRead(in: slot)
      let reader = UnpooledReader(
        commitNumber: transaction.commitNumber, since: monotonicNanoseconds(), thread: Threads.currentID, owner: owner)
      let place = UInt(bitPattern: slot)
      state.withLock { $0.unpooled[place] = reader }
      return transaction
    } catch {
      let content = unsafe slot.pointee.content
      unsafe content.pointee.map.forget()
      unsafe slot.deinitialize(count: 1)
      unsafe slot.deallocate()
      leave()
      throw error
    }
  }

  /// Renews the slot's transaction, or begins one in it. On failure, a pooled slot is idle again.
  private func beginRead(in slot: UnsafeMutablePointer<ReaderSlot>) throws(LMDBError) -> LMDBReadTransaction {
    var code: Int32 = 0
    let content = unsafe slot.pointee.content
    var transaction = unsafe content.pointee.transaction
    if let renewed = unsafe transaction {
      code = unsafe renew(renewed)
      if code == MDB_MAP_RESIZED, unsafe adoptMapSize(slot) { code = unsafe renew(renewed) }
      if code != 0 { unsafe mdb_txn_abort(renewed) }
    } else {
      code = unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
      if code == MDB_MAP_RESIZED, unsafe adoptMapSize(slot) {
        code = unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
      } else if code == MDB_READERS_FULL {
        unsafe mdb_reader_check(pointer, nil)
        code = unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
      }
      if code == 0, let begun = unsafe transaction, unsafe isPassed(begun) { code = unsafe renewAgain(begun) }
    }
    guard code == 0, let begun = unsafe transaction else {
      let failure = error(code, "mdb_txn_begin")
      unsafe content.pointee.transaction = nil
      unsafe content.pointee.map.forget()
      if code == MDB_PANIC { state.withLock { $0.isFatal = true } }
      if unsafe slot.pointee.isPooled {
        unsafe slot.pointee.state.store(ReaderSlot.idle, ordering: .sequentiallyConsistent)
        if code == MDB_PANIC { return try beginReadUnpooled() }
      }
      throw failure
    }
    unsafe content.pointee.transaction = begun
    let handle = unsafe LMDBTransactionHandle(pointer: begun)
    unsafe slot.pointee.noteBegin(handle)
    return unsafe LMDBReadTransaction(slot: slot, handle: handle)
  }

  /// Adopts a map that another process grew. LMDB allows it only while no transaction of this process is active; the
  /// one in `slot`, which has not begun, does not count.
  private func adoptMapSize(_ slot: UnsafeMutablePointer<ReaderSlot>) -> Bool {
    let isPooled = unsafe slot.pointee.isPooled
    let index = unsafe isPooled ? slot - slots : nil
    return state.withLock { state in
      var isAdopted = false
      let isIdle = whileIdle(&state, own: isPooled ? 0 : 1, except: index) { state in
        isAdopted = setMapSize(0, &state)
      }
      return isIdle && isAdopted
    }
  }
}

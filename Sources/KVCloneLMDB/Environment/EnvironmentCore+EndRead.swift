import CKVCloneLMDB
import Glibc

/// How read transactions end.
extension EnvironmentCore {
  @inline(__always)
  static func endRead(_ slot: UnsafeMutablePointer<ReaderSlot>, _ handle: LMDBTransactionHandle) {
    // In a forked child the slot in the reader table is the parent's.
    if unsafe slot.pointee.core._withUnsafeGuaranteedRef({ $0.forkGuard.isForked }) { return }
    unsafe slot.pointee.noteEnd()
    unsafe mdb_txn_reset(handle.pointer)
    if unsafe slot.pointee.isPooled {
      if unsafe !slot.pointee.release() { return }
    }
    unsafe endReadSlowly(slot)
  }

  @inline(never)
  private static func endReadSlowly(_ slot: UnsafeMutablePointer<ReaderSlot>) {
    let core = unsafe slot.pointee.core.takeUnretainedValue()
    if unsafe slot.pointee.isPooled {
      core.state.withLock { state in
        if state.wantsAttention { core.settle(&state) }
      }
      return
    }
    let content = unsafe slot.pointee.content
    if let transaction = unsafe content.pointee.transaction { unsafe mdb_txn_abort(transaction) }
    unsafe content.pointee.map.forget()
    unsafe slot.deinitialize(count: 1)
    core.leave(UInt(bitPattern: slot))
    // Not before: another reader's slot may lie here then, and what is noted of it must stay.
    unsafe slot.deallocate()
  }
}

/// A reader beyond the slots, as those see it who list readers.
struct UnpooledReader {
  let commitNumber: UInt64
  let since: UInt64
  let thread: UInt
  /// Nil for one that is not pinned.
  let owner: String?
}

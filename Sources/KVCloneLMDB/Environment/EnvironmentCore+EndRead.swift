import CKVCloneLMDB
import Glibc

/// The end of read transactions.
extension EnvironmentCore {
  @inline(__always)
  static func endRead(_ slot: UnsafeMutablePointer<ReaderSlot>, _ handle: LMDBTransactionHandle) {
    // In a forked child, the slot in the reader table belongs to the parent.
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
    // Last: another reader's slot may be allocated at this address, and its entry must stay.
    unsafe slot.deallocate()
  }
}

/// A reader without a pooled slot, as reader lists show it.
struct UnpooledReader {
  let commitNumber: UInt64
  let since: UInt64
  let thread: UInt
  /// Nil for readers that are not pinned.
  let owner: String?
}

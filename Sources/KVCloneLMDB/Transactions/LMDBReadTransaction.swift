import CKVCloneLMDB

/// A snapshot of the whole environment: what was committed when it began.
///
/// It sees no later write, blocks no other transaction, and keeps the pages it can see from being reused while it
/// lives. Spans it returns point into the memory map and cannot outlive it. Threads may use it alternately, never at
/// once (`MDB_NOTLS`), so it is not Sendable; guard a shared one with a lock.
///
/// It holds no reference to its environment, which would cost as much as the rest of its begin: the part that it needs
/// is never freed, and the file stays open until the transaction ends (`EnvironmentCore`).
@safe
public struct LMDBReadTransaction: ~Copyable {
  let handle: LMDBTransactionHandle
  let slot: UnsafeMutablePointer<ReaderSlot>

  @inline(__always)
  init(slot: UnsafeMutablePointer<ReaderSlot>, handle: LMDBTransactionHandle) {
    unsafe self.slot = slot
    self.handle = handle
  }

  /// The number of the commit that the transaction sees.
  package var commitNumber: UInt64 { handle.commitNumber }

  /// Opens a cursor over `table`, starting at the first key that is not less than `start`, or at the first key.
  @usableFromInline
  @_lifetime(borrow self)
  package borrowing func cursor(_ table: LMDBTable, from start: RawSpan? = nil) throws(LMDBError) -> LMDBCursor {
    try LMDBLimits.checkBound(start)
    let cursor = try LMDBCursor(transaction: handle, table: table, from: start)
    return unsafe _overrideLifetime(cursor, borrowing: self)
  }

  /// Calls `body` with key and value of each entry from `start` on, in key order, until it returns false.
  @inlinable
  package borrowing func scan(
    _ table: LMDBTable, from start: RawSpan? = nil, _ body: (RawSpan, RawSpan) throws(LMDBError) -> Bool
  ) throws(LMDBError) {
    var cursor = try cursor(table, from: start)
    while let entry = try cursor.next() {
      if try !body(entry.key, entry.value) { return }
    }
  }

  @inline(__always)
  deinit {
    unsafe EnvironmentCore.endRead(slot, handle)
  }
}

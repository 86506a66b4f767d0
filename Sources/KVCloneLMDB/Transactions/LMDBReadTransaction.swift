import CKVCloneLMDB

/// A snapshot of the whole environment: what was committed when it began.
///
/// It sees no later write, blocks nobody, and keeps the pages it can see from being reused while it lives. Spans it
/// returns point into the memory map and cannot outlive it. Threads may use it in turns, never at once (`MDB_NOTLS`),
/// so it is not Sendable; guard a shared one with a lock.
///
/// It holds no reference to its environment, which would cost as much as all the rest of its begin: what it needs of it
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

  /// The number of the commit it sees.
  package var commitNumber: UInt64 { handle.commitNumber }

  /// The value of `key`, or nil. Throws `keyEmpty`, `keyTooLong`, `corrupted`, `badTable`.
  @_lifetime(borrow self)
  package borrowing func get(_ table: LMDBTable, _ key: RawSpan) throws(LMDBError) -> RawSpan? {
    try LMDBLimits.checkKey(key)
    let raw = handle.get(table, key)
    guard raw.code == 0 else {
      try throwUnlessNotFound(raw.code)
      return nil
    }
    let value = unsafe RawSpan(_unsafeStart: orEmpty(raw.base), byteCount: raw.count)
    return unsafe _overrideLifetime(value, borrowing: self)
  }

  /// The entry nearest to `key` in the direction `position` says, or nil if there is none.
  @_lifetime(borrow self)
  package borrowing func seek(
    _ table: LMDBTable, _ key: RawSpan, _ position: LMDBSeek
  ) throws(LMDBError) -> LMDBEntry? {
    try LMDBLimits.checkBound(key)
    let raw = handle.seek(table, key, position)
    guard raw.code == 0 else {
      try throwUnlessNotFound(raw.code)
      return nil
    }
    let foundKey = unsafe RawSpan(_unsafeStart: orEmpty(raw.entry.key), byteCount: raw.entry.keyCount)
    let value = unsafe RawSpan(_unsafeStart: orEmpty(raw.entry.value), byteCount: raw.entry.valueCount)
    return unsafe _overrideLifetime(LMDBEntry(key: foundKey, value: value), borrowing: self)
  }

  /// A cursor over `table`, beginning at the first key that is not less than `start`, or at the first key of all.
  @usableFromInline
  @_lifetime(borrow self)
  package borrowing func cursor(_ table: LMDBTable, from start: RawSpan? = nil) throws(LMDBError) -> LMDBCursor {
    try LMDBLimits.checkBound(start)
    let cursor = try LMDBCursor(transaction: handle, table: table, from: start)
    return unsafe _overrideLifetime(cursor, borrowing: self)
  }

  /// Gives `body` key and value of each entry from `start` on, in key order, until it returns false.
  @inlinable
  package borrowing func scan(
    _ table: LMDBTable, from start: RawSpan? = nil, _ body: (RawSpan, RawSpan) throws(LMDBError) -> Bool
  ) throws(LMDBError) {
    var cursor = try cursor(table, from: start)
    while let entry = try cursor.next() {
      if try !body(entry.key, entry.value) { return }
    }
  }

  /// The same for a body with errors of its own; an error of LMDB's arrives converted.
  @inlinable
  package borrowing func scan<E: LMDBErrorConvertible>(
    _ table: LMDBTable, from start: RawSpan? = nil, _ body: (RawSpan, RawSpan) throws(E) -> Bool
  ) throws(E) {
    var cursor: LMDBCursor
    do { cursor = try self.cursor(table, from: start) } catch { throw E(error) }
    while true {
      let next: LMDBEntry?
      do { next = try cursor.next() } catch { throw E(error) }
      guard let entry = next else { return }
      if try !body(entry.key, entry.value) { return }
    }
  }

  @inline(__always)
  deinit {
    unsafe EnvironmentCore.endRead(slot, handle)
  }
}

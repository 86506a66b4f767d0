import CKVCloneLMDB

/// A reading cursor of one table. It borrows its transaction, so no write can happen while it lives: LMDB's rule that a
/// value is valid until the next write is thereby checked by the compiler.
@safe
package struct LMDBCursor: ~Copyable, ~Escapable {
  private let handle: OpaquePointer
  /// The entry that `init` found, which `next` returns first.
  private var pending: RawEntry?
  private var isAtEnd = false

  /// Opens a cursor whose first `next` gives the first entry at or after `start`, or the table's first.
  @_lifetime(borrow transaction)
  init(transaction: borrowing LMDBTransactionHandle, table: LMDBTable, from start: RawSpan?) throws(LMDBError) {
    let cursor = try unsafe openCursor(transaction.pointer, table)
    unsafe handle = cursor
    pending = nil
    if let start, start.byteCount > 0 {
      pending = unsafe start.withUnsafeBytes { key in unsafe rawMove(cursor, MDB_SET_RANGE, to: key) }
    }
  }

  /// The next entry in key order, or nil after the last one.
  @inlinable
  @_lifetime(copy self)
  package mutating func next() throws(LMDBError) -> LMDBEntry? {
    let raw = step()
    guard raw.code == 0 else {
      try throwUnlessNotFound(raw.code)
      return nil
    }
    let key = unsafe RawSpan(_unsafeStart: orEmpty(raw.key), byteCount: raw.keyCount)
    let value = unsafe RawSpan(_unsafeStart: orEmpty(raw.value), byteCount: raw.valueCount)
    return unsafe _overrideLifetime(LMDBEntry(key: key, value: value), copying: self)
  }

  @usableFromInline
  mutating func step() -> RawEntry {
    if isAtEnd { return RawEntry.notFound }
    // On a cursor that was not placed yet, MDB_NEXT gives the first entry.
    let raw = unsafe pending ?? rawMove(handle, MDB_NEXT)
    pending = nil
    if raw.code != 0 { isAtEnd = true }
    return raw
  }

  deinit {
    unsafe mdb_cursor_close(handle)
  }
}

extension RawEntry {
  static var notFound: RawEntry {
    unsafe RawEntry(code: MDB_NOTFOUND, key: nil, keyCount: 0, value: nil, valueCount: 0)
  }
}

/// A fresh cursor. The caller closes it before its transaction writes or ends.
func openCursor(_ transaction: OpaquePointer, _ table: LMDBTable) throws(LMDBError) -> OpaquePointer {
  var cursor: OpaquePointer?
  let code = unsafe mdb_cursor_open(transaction, table.dbi, &cursor)
  guard code == 0, let cursor = unsafe cursor else {
    throw LMDBError(code: code, operation: "mdb_cursor_open")
  }
  return unsafe cursor
}

@usableFromInline
func throwUnlessNotFound(_ code: Int32) throws(LMDBError) {
  if code != MDB_NOTFOUND { throw LMDBError(code: code, operation: "mdb_cursor_get") }
}

/// A span needs an address even when it has no bytes.
@inlinable
@inline(__always)
func orEmpty(_ base: UnsafeRawPointer?) -> UnsafeRawPointer {
  if let base = unsafe base { return unsafe base }
  return unsafe UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
}

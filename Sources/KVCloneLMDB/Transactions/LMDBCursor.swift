import CKVCloneLMDB

/// A reading cursor of one table. It borrows its transaction, so no write can happen while it lives: LMDB's rule that a
/// value is valid until the next write is thereby checked by the compiler.
///
/// The type is public, though no member is: the compiler (6.3) inlines `@inlinable package` functions into other
/// modules only if their type is public, which saves a call per record.
@safe
public struct LMDBCursor: ~Copyable, ~Escapable {
  private let handle: OpaquePointer
  private var operation: MDB_cursor_op
  /// The memory for the entries that LMDB finds: stored here, to avoid copies between calls.
  @usableFromInline var entry = StorageEntryPointers()

  /// Opens a cursor positioned before the first entry at or after `start`, or before the table's first.
  @_lifetime(borrow transaction)
  init(transaction: borrowing LMDBTransactionHandle, table: LMDBTable, from start: RawSpan?) throws(LMDBError) {
    let cursor = try unsafe openCursor(transaction.pointer, table)
    // On a cursor without a position, MDB_NEXT returns the first entry.
    var operation = MDB_NEXT
    if let start, start.byteCount > 0 {
      let code = unsafe start.withUnsafeBytes { key in unsafe rawMove(cursor, MDB_SET_RANGE, to: key).code }
      operation = code == 0 ? MDB_GET_CURRENT : Self.atEnd
      if code != 0, code != MDB_NOTFOUND {
        unsafe mdb_cursor_close(cursor)
        throw LMDBError(code: code, operation: "mdb_cursor_get")
      }
    }
    unsafe handle = cursor
    self.operation = operation
  }

  /// Returns the next entry in key order, or nil after the last one.
  @inlinable
  @inline(__always)
  @_lifetime(copy self)
  package mutating func next() throws(LMDBError) -> StorageEntry? {
    let code = step()
    guard code == 0 else {
      try throwUnlessNotFound(code)
      return nil
    }
    let key = unsafe RawSpan(_unsafeBytes: entry.key)
    let value = unsafe RawSpan(_unsafeBytes: entry.value)
    return unsafe _overrideLifetime(StorageEntry(key: key, value: value), copying: self)
  }

  @usableFromInline
  mutating func step() -> Int32 {
    if operation.rawValue == Self.atEnd.rawValue { return MDB_NOTFOUND }
    let code = unsafe rawMove(handle, operation, &entry)
    operation = code == 0 ? MDB_NEXT : Self.atEnd
    return code
  }

  /// Not an operation of LMDB.
  private static var atEnd: MDB_cursor_op { MDB_cursor_op(rawValue: UInt32.max) }

  deinit {
    unsafe mdb_cursor_close(handle)
  }
}

/// Opens a cursor. The caller closes it before its transaction writes or ends.
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

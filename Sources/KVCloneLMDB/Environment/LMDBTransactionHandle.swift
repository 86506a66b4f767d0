import CKVCloneLMDB

/// LMDB's transaction pointer.
///
/// Sendable, because the pool hands reset read transactions from thread to thread, which `MDB_NOTLS` allows; who has
/// one uses it alone.
@safe
struct LMDBTransactionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// The number of the commit that it sees, or is to make. Any number can be in a file, and C's comes as one with a sign.
  @inline(__always)
  var commitNumber: UInt64 { unsafe UInt64(truncatingIfNeeded: mdb_txn_id(pointer)) }
}

extension LMDBTransactionHandle {
  /// One placement of a short-lived cursor.
  func seek(_ table: LMDBTable, _ key: RawSpan, _ position: StorageSeek) -> (code: Int32, entry: StorageEntryPointers) {
    var opened: OpaquePointer?
    let code = unsafe mdb_cursor_open(pointer, table.dbi, &opened)
    guard code == 0, let cursor = unsafe opened else { return (code, StorageEntryPointers()) }
    defer { unsafe mdb_cursor_close(cursor) }
    return unsafe rawSeek(cursor, key, position)
  }
}

extension LMDBLimits {
  /// For seeks and scans, where an empty key means the table's beginning.
  @inline(__always)
  static func checkBound(_ key: RawSpan?) throws(LMDBError) {
    if let key, key.byteCount > maximumKeyLength { throw .keyTooLong(length: key.byteCount) }
  }
}

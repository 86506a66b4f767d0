import CKVCloneLMDB

/// LMDB's transaction pointer.
///
/// Sendable, because the pool hands reset read transactions from thread to thread, which `MDB_NOTLS` allows; one thread
/// uses it at a time.
@safe
struct LMDBTransactionHandle: @unchecked Sendable {
  let pointer: OpaquePointer

  /// The number of the commit that the transaction sees, or will make. A file may hold any number, and C's is signed.
  @inline(__always)
  var commitNumber: UInt64 { unsafe UInt64(truncatingIfNeeded: mdb_txn_id(pointer)) }
}

extension LMDBTransactionHandle {
  /// Positions a short-lived cursor once.
  func seek(_ table: LMDBTable, _ key: RawSpan, _ position: StorageSeek) -> (code: Int32, entry: StorageEntryPointers) {
    var opened: OpaquePointer?
    let code = unsafe mdb_cursor_open(pointer, table.dbi, &opened)
    guard code == 0, let cursor = unsafe opened else { return (code, StorageEntryPointers()) }
    defer { unsafe mdb_cursor_close(cursor) }
    return unsafe rawSeek(cursor, key, position)
  }
}

extension LMDBLimits {
  /// Checks a bound of seeks and scans, where an empty key means the beginning of the table.
  @inline(__always)
  static func checkBound(_ key: RawSpan?) throws(LMDBError) {
    if let key, key.byteCount > maximumKeyLength { throw .keyTooLong(length: key.byteCount) }
  }
}

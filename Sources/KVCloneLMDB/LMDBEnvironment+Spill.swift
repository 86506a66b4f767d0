import CKVCloneLMDB

extension LMDBEnvironment {
  /// More than LMDB can list as dirty (131,071 entries, doubled "for good measure"), so that everything is spilled, and
  /// less than 4 GiB, so that it is not refused as too long a value.
  private static let spillValueLength = 600 << 20

  /// The main database's handle in LMDB: names of tables are its keys.
  static let mainDatabase: UInt32 = 1

  /// Makes LMDB spill. Returns `MDB_INCOMPATIBLE` if it went as it should. See `LMDBWriteTransaction.spill`.
  func forceSpill(_ transaction: OpaquePointer) -> Int32 {
    guard let name = state.withLock({ $0.tables.keys.first }) else { return MDB_INCOMPATIBLE }
    let key = Array(name.utf8)
    return unsafe key.withUnsafeBytes { key in
      unsafe rawReserve(transaction, Self.mainDatabase, key, Self.spillValueLength, 0).code
    }
  }

  /// Tries a forced spill in a transaction of its own that has written nothing and is aborted, whatever comes out. The
  /// caller has the right to write.
  func probeSpill() throws(LMDBError) {
    // Nothing to try it on before the first table is open.
    if state.withLock({ $0.tables.isEmpty }) { return }
    let handle = try beginRaw(0)
    let code = unsafe forceSpill(handle.pointer)
    unsafe mdb_txn_abort(handle.pointer)
    if code == MDB_INCOMPATIBLE {
      spillSupport = .supported
    } else if Self.isOtherOrder(code) {
      disableSpill()
    }
    // Anything else, such as a full disk, says nothing about the library: the next transaction tries again.
  }

  /// Whether a code says that the library does not do things in the order that forced spills need: it took the value, or
  /// refused its length first.
  static func isOtherOrder(_ code: Int32) -> Bool {
    code == 0 || code == MDB_BAD_VALSIZE
  }
}

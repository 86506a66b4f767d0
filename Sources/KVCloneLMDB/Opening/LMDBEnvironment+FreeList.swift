import CKVCloneLMDB

/// A file that was copied page by page has no list of free pages, and keeps its commit number. LMDB 0.9.24 is not made for that: its
/// own compacted copies begin at commit 1 again.
///
/// When the first transaction then frees some five hundred pages, `mdb_freelist_save` begins the list with a record that needs pages of
/// its own, and `mdb_page_alloc` looks for them in the list's new leaf, which has no entry: `mdb_cursor_first` does not ask, and
/// takes for one what the memory held before. It does not look while it believes that the list's first record is too young, which in
/// commits 1 and 2 it is; nor does it read further than a young record, where there is one.
extension LMDBEnvironment {
  private static let freeTable: UInt32 = 0
  private static let mainTable: UInt32 = 1

  /// Whether a large transaction with this handle could meet a list without an entry.
  func hasUnsafeFreeList(_ handle: LMDBTransactionHandle) -> Bool {
    handle.commitNumber > 2 && entryCount(handle, Self.freeTable) == 0 && entryCount(handle, Self.mainTable) != 0
  }

  private func entryCount(_ handle: LMDBTransactionHandle, _ table: UInt32) -> Int? {
    var facts = MDB_stat()
    return unsafe mdb_stat(handle.pointer, table, &facts) == 0 ? facts.ms_entries : nil
  }

  /// Ends the transaction with a commit that changes nothing and frees a page or two, so that the list has an entry.
  func fillFreeList(_ handle: LMDBTransactionHandle) throws(LMDBError) {
    var failure: LMDBError?
    let code = unsafe touchTables(handle.pointer)
    if code == 0 {
      failure = commitRaw(handle)
    } else {
      unsafe mdb_txn_abort(handle.pointer)
      failure = error(code, "mdb_put")
      if code == MDB_MAP_FULL { core.noteMapFull() }
    }
    if let failure { throw failure }
  }

  /// Puts an entry into the list of tables and deletes it: its pages are copied by that.
  private func touchTables(_ transaction: OpaquePointer) -> Int32 {
    var table: UInt32 = 0
    var code = unsafe mdb_dbi_open(transaction, nil, 0, &table)
    if code != 0 { return code }
    // No table has such a name.
    var name: UInt8 = 0
    unsafe withUnsafeMutablePointer(to: &name) { name in
      var key = unsafe MDB_val(mv_size: 1, mv_data: name)
      var value = unsafe MDB_val(mv_size: 0, mv_data: nil)
      code = unsafe mdb_put(transaction, table, &key, &value, 0)
      if code == 0 { code = unsafe mdb_del(transaction, table, &key, nil) }
    }
    return code
  }
}

import CKVCloneLMDB

extension LMDBEnvironment {
  /// Sizes and counters, at this moment.
  package func info() throws(LMDBError) -> LMDBInfo {
    try whileOpen { () throws(LMDBError) in try liveInfo() }
  }

  /// How many pages of the file can be used again. Walks the free list, until it has counted `limit`.
  package func freePageCount(upTo limit: Int = .max) throws(LMDBError) -> Int {
    let transaction = try beginRead()
    return try freePageCount(transaction.handle, upTo: limit)
  }

  /// How many pages the last commit freed. The next write transaction cannot use them, because a reader may still begin on
  /// the state before; the one after it can, if no reader is that old.
  package func lastFreedPageCount() throws(LMDBError) -> Int {
    let transaction = try beginRead()
    // The free list is ordered by the number of the commit that freed.
    let cursor = try unsafe openCursor(transaction.handle.pointer, LMDBTable(dbi: LMDBLimits.freeDatabase))
    defer { unsafe mdb_cursor_close(cursor) }
    let last = unsafe rawMove(cursor, MDB_LAST)
    if last.code == MDB_NOTFOUND { return 0 }
    guard last.code == 0 else { throw error(last.code, "mdb_cursor_get") }
    let key = unsafe last.entry.key
    guard key.count == 8, unsafe key.loadUnaligned(as: UInt64.self) == transaction.commitNumber else { return 0 }
    return LMDBLimits.length(ofIDList: unsafe RawSpan(_unsafeBytes: last.entry.value))
  }

  /// Makes the file durable. A commit does that by itself.
  package func sync() throws(LMDBError) {
    try whileOpen { () throws(LMDBError) in
      let code = unsafe mdb_env_sync(pointer, 1)
      if code != 0 { throw error(code, "mdb_env_sync") }
    }
  }

  /// Enlarges the map. Throws `transactionsActive` while any transaction of this process is live: LMDB cannot move the
  /// map under one.
  package func growMap(toAtLeast byteCount: Int) throws(LMDBError) {
    if isForked { throw .forked }
    let current = try info().mapSize
    if byteCount <= current { return }
    // Whole mebibytes: any multiple of the page size would do.
    let mebibyte = 1 << 20
    let size = (byteCount + mebibyte - 1) / mebibyte * mebibyte
    let failure = core.state.withLock { state -> LMDBError? in
      if let failure = core.admit(&state) { return failure }
      var isDone = false
      let isIdle = core.whileIdle(&state) { state in isDone = core.setMapSize(size, &state) }
      if !isIdle { return .transactionsActive(count: max(1, core.liveCount(state))) }
      return isDone ? nil : .outOfMemory
    }
    if let failure { throw failure }
  }

  /// The store's directory as it is named now: one that was moved while the store is open is followed. Where the system does
  /// not tell, the name that it was opened by.
  package var currentDirectory: String {
    let path = try? whileOpen { () throws(LMDBError) -> String? in
      core.descriptor.flatMap(FileSystem.path(ofDescriptor:))
    }
    guard let path, path.hasSuffix("/data.mdb") else { return directory }
    return String(path.dropLast("/data.mdb".utf8.count))
  }

  /// The same through a read transaction.
  private func freePageCount(_ handle: LMDBTransactionHandle, upTo limit: Int = .max) throws(LMDBError) -> Int {
    var count = 0
    var cursor = try LMDBCursor(transaction: handle, table: LMDBTable(dbi: LMDBLimits.freeDatabase), from: nil)
    while count < limit, let entry = try cursor.next() {
      count = count.saturatingAdd(LMDBLimits.length(ofIDList: entry.value))
    }
    return count
  }
}

/// A file that was copied page by page has no list of free pages, and keeps its commit number. LMDB 0.9.24 is not made for that: its
/// own compacted copies begin at commit 1 again.
///
/// When the first transaction then frees some five hundred pages, `mdb_freelist_save` begins the list with a record that needs pages of
/// its own, and `mdb_page_alloc` looks for them in the list's new leaf, which has no entry: `mdb_cursor_first` does not ask, and
/// takes for one what the memory held before. It does not look while it believes that the list's first record is too young, which in
/// commits 1 and 2 it is; nor does it read further than a young record, where there is one.
extension LMDBEnvironment {
  /// Whether a large transaction with this handle could meet a list without an entry.
  func hasUnsafeFreeList(_ handle: LMDBTransactionHandle) -> Bool {
    handle.commitNumber > 2 && entryCount(handle, LMDBLimits.freeDatabase) == 0
      && entryCount(handle, LMDBLimits.mainDatabase) != 0
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

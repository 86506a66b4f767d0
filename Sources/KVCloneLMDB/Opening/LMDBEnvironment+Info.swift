import CKVCloneLMDB

extension LMDBEnvironment {
  /// The current sizes and counters.
  package func info() throws(LMDBError) -> LMDBInfo {
    try whileOpen { () throws(LMDBError) in try liveInfo() }
  }

  /// The number of free pages. Walks the free list, until it has counted `limit`.
  package func freePageCount(upTo limit: Int = .max) throws(LMDBError) -> Int {
    let transaction = try beginRead()
    return try freePageCount(transaction.handle, upTo: limit)
  }

  /// The number of pages that the last commit freed. The next write transaction cannot use them, because a reader may
  /// still begin on the state before; the one after it can, if no reader is that old.
  package func lastFreedPageCount() throws(LMDBError) -> Int {
    let transaction = try beginRead()
    // The free list is ordered by the number of the freeing commit.
    let cursor = try unsafe openCursor(transaction.handle.pointer, LMDBTable(dbi: LMDBLimits.freeDatabase))
    defer { unsafe mdb_cursor_close(cursor) }
    let last = unsafe rawMove(cursor, MDB_LAST)
    if last.code == MDB_NOTFOUND { return 0 }
    guard last.code == 0 else { throw error(last.code, "mdb_cursor_get") }
    let key = unsafe last.entry.key
    guard key.count == 8, unsafe key.loadUnaligned(as: UInt64.self) == transaction.commitNumber else { return 0 }
    return LMDBLimits.length(ofIDList: unsafe RawSpan(_unsafeBytes: last.entry.value))
  }

  /// Makes the file durable. Commits do so themselves.
  package func sync() throws(LMDBError) {
    try whileOpen { () throws(LMDBError) in
      let code = unsafe mdb_env_sync(pointer, 1)
      if code != 0 { throw error(code, "mdb_env_sync") }
    }
  }

  /// Grows the map. Throws `transactionsActive` while a transaction of this process is live: LMDB cannot move the map
  /// under one.
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

  /// The current name of the store's directory, which may have moved since it was opened. The name at opening if the
  /// system does not report it.
  package var currentDirectory: String {
    let path = try? whileOpen { () throws(LMDBError) -> String? in
      core.descriptor.flatMap(FileSystem.path(ofDescriptor:))
    }
    guard let path, path.hasSuffix("/data.mdb") else { return directory }
    return String(path.dropLast("/data.mdb".utf8.count))
  }

  /// Counts through a read transaction.
  private func freePageCount(_ handle: LMDBTransactionHandle, upTo limit: Int = .max) throws(LMDBError) -> Int {
    var count = 0
    var cursor = try LMDBCursor(transaction: handle, table: LMDBTable(dbi: LMDBLimits.freeDatabase), from: nil)
    while count < limit, let entry = try cursor.next() {
      count = count.saturatingAdd(LMDBLimits.length(ofIDList: entry.value))
    }
    return count
  }
}

/// Works around a bug of LMDB 0.9.24 with files that were copied page by page: they have an empty free list, and keep
/// their commit number, whereas LMDB's own compacted copies start at commit 1.
///
/// When the first transaction then frees some five hundred pages, `mdb_freelist_save` starts the list with a record
/// that needs overflow pages, and `mdb_page_alloc` searches for them in the list's new leaf, which has no entry:
/// `mdb_cursor_first` does not check that, and reads an entry from uninitialized memory. It does not search while it
/// considers the list's first record too young, as in commits 1 and 2; nor does it read further than a young record, if
/// there is one.
extension LMDBEnvironment {
  /// Whether a large transaction with this handle could meet an empty free list.
  func hasUnsafeFreeList(_ handle: LMDBTransactionHandle) -> Bool {
    handle.commitNumber > 2 && entryCount(handle, LMDBLimits.freeDatabase) == 0
      && entryCount(handle, LMDBLimits.mainDatabase) != 0
  }

  private func entryCount(_ handle: LMDBTransactionHandle, _ table: UInt32) -> Int? {
    var facts = MDB_stat()
    return unsafe mdb_stat(handle.pointer, table, &facts) == 0 ? facts.ms_entries : nil
  }

  /// Ends the transaction with a commit that changes nothing and frees a page or two, so that the free list has an
  /// entry.
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

  /// Puts an entry into the list of tables and deletes it, which copies its pages.
  private func touchTables(_ transaction: OpaquePointer) -> Int32 {
    var table: UInt32 = 0
    var code = unsafe mdb_dbi_open(transaction, nil, 0, &table)
    if code != 0 { return code }
    // No table has a name of one zero byte.
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

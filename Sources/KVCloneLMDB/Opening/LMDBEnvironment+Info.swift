import CKVCloneLMDB

/// Where the file's pages are.
package struct LMDBPageAudit: Sendable, Equatable {
  /// Pages of the trees, and the two meta pages.
  package let used: Int
  /// Pages on the free list.
  package let free: Int
  /// Pages of the file: the last page number plus one.
  package let total: Int
  /// Whether each page is either used or free: none leaked, none counted twice.
  package var isConsistent: Bool { used + free == total }
}

extension LMDBEnvironment {
  /// Sizes and counters, at this moment.
  package func info() throws(LMDBError) -> LMDBInfo {
    try whileOpen { () throws(LMDBError) in try liveInfo() }
  }

  /// Sizes of a table's tree, as last committed.
  package func statistics(_ table: LMDBTable) throws(LMDBError) -> LMDBStatistics {
    let transaction = try beginRead()
    return try statistics(table, transaction.handle)
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
    let last = transaction.handle.seek(LMDBTable(dbi: LMDBLimits.freeDatabase), RawSpan(), .last)
    if last.code == MDB_NOTFOUND { return 0 }
    guard last.code == 0 else { throw error(last.code, "mdb_cursor_get") }
    let key = unsafe RawSpan(_unsafeStart: orEmpty(last.entry.key), byteCount: last.entry.keyCount)
    let value = unsafe RawSpan(_unsafeStart: orEmpty(last.entry.value), byteCount: last.entry.valueCount)
    let commit = transaction.commitNumber
    guard key.byteCount == 8, unsafe key.unsafeLoadUnaligned(as: UInt64.self) == commit else { return 0 }
    return LMDBLimits.length(ofIDList: value)
  }

  /// Counts every page once. All tables of the file must be open. Meaningful while nobody writes.
  package func auditPages() throws(LMDBError) -> LMDBPageAudit {
    let names = try tableNames()
    let transaction = try beginRead()
    var used = 2
    for dbi in [LMDBLimits.freeDatabase, LMDBLimits.mainDatabase] {
      used += try statistics(LMDBTable(dbi: dbi), transaction.handle).pages
    }
    for name in names { used += try statistics(table(named: name), transaction.handle).pages }
    return LMDBPageAudit(used: used, free: try freePageCount(transaction.handle), total: try info().lastPage + 1)
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

  private func statistics(
    _ table: LMDBTable, _ handle: LMDBTransactionHandle
  ) throws(LMDBError) -> LMDBStatistics {
    var raw = MDB_stat()
    let code = unsafe mdb_stat(handle.pointer, table.dbi, &raw)
    if code != 0 { throw error(code, "mdb_stat") }
    return LMDBStatistics(raw)
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

import CKVCloneLMDB

extension LMDBEnvironment {
  /// The handle of an open table.
  package func table(named name: String) throws(LMDBError) -> LMDBTable {
    guard let table = core.state.withLock({ $0.tables[name] }) else { throw .noTable(name: name) }
    return table
  }

  /// Opens tables, in one committed transaction, and creates missing ones if `create` is set. Otherwise, a missing
  /// table throws `noTable` and nothing is opened. Tables that are open already stay so.
  ///
  /// Live transactions keep seeing the tables that were open when they began.
  @discardableResult
  package func openTables(
    _ names: [String], create: Bool, timeout: Duration? = nil
  ) throws(LMDBError) -> [LMDBTable] {
    if create {
      let transaction = try beginWrite(timeout: timeout, label: "open tables")
      let opened = try openTables(names, transaction.handle, UInt32(MDB_CREATE))
      try transaction.commit()
      return register(opened)
    }
    // LMDB forbids that two transactions of a process open tables at once; the slot excludes writers too.
    if isForked { throw .forked }
    let deadline = timeout.map { monotonicNanoseconds() &+ $0.clampedNanoseconds }
    try slot.acquire(deadline: deadline, label: "open tables")
    defer { slot.release() }
    try core.enter()
    defer { core.leave() }
    let handle = try beginRaw(UInt32(MDB_RDONLY))
    let opened: [(name: String, table: LMDBTable)]
    do {
      opened = try openTables(names, handle, 0)
    } catch {
      unsafe mdb_txn_abort(handle.pointer)
      throw error
    }
    // Only a commit of the read transaction keeps the handles.
    let code = unsafe mdb_txn_commit(handle.pointer)
    if code != 0 { throw error(code, "mdb_txn_commit") }
    return register(opened)
  }

  /// The names of all tables in the file, open or not, in byte order.
  package func tableNames() throws(LMDBError) -> [String] {
    let transaction = try beginRead()
    var names: [String] = []
    try transaction.scan(LMDBTable(dbi: LMDBLimits.mainDatabase)) { key, _ in
      names.append(unsafe key.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) })
      return true
    }
    return names
  }

  func openTables(
    _ names: [String], _ handle: LMDBTransactionHandle, _ flags: UInt32
  ) throws(LMDBError) -> [(name: String, table: LMDBTable)] {
    var opened: [(name: String, table: LMDBTable)] = []
    opened.reserveCapacity(names.count)
    for name in names {
      var dbi: UInt32 = 0
      let code = unsafe mdb_dbi_open(handle.pointer, name, flags, &dbi)
      if code == MDB_NOTFOUND { throw .noTable(name: name) }
      if code != 0 { throw error(code, "mdb_dbi_open") }
      opened.append((name, LMDBTable(dbi: dbi)))
    }
    return opened
  }
}

extension LMDBWriteTransaction {
  /// Creates or opens tables: for this transaction at once, for others when it commits. An abort discards them. Tables
  /// that are open already stay so.
  package mutating func makeTables(_ names: [String]) throws(LMDBError) -> [LMDBTable] {
    let opened = try environment.openTables(names, handle, UInt32(MDB_CREATE))
    madeTables += opened
    return opened.map(\.table)
  }
}

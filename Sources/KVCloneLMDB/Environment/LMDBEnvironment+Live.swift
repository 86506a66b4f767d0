import CKVCloneLMDB

/// The environment's services for transactions.
extension LMDBEnvironment {
  /// Runs `body` as a live user, so that the environment stays open.
  func whileOpen<T>(_ body: () throws(LMDBError) -> T) throws(LMDBError) -> T {
    try core.enter()
    defer { core.leave() }
    return try body()
  }

  /// Sizes and counters, for a caller that is counted as live.
  func liveInfo() throws(LMDBError) -> LMDBInfo {
    var raw = unsafe MDB_envinfo()
    let code = unsafe mdb_env_info(pointer, &raw)
    if code != 0 { throw error(code, "mdb_env_info") }
    return unsafe LMDBInfo(
      mapSize: raw.me_mapsize, lastPage: raw.lastPage, commitNumber: raw.lastCommit,
      maximumReaders: Int(raw.me_maxreaders), readerCount: Int(raw.me_numreaders), fileSize: core.fileSize ?? 0)
  }

  /// Registers tables that a transaction has made and committed.
  func registerMade(_ made: [(name: String, table: LMDBTable)]) { _ = register(made) }

  func register(_ opened: [(name: String, table: LMDBTable)]) -> [LMDBTable] {
    core.state.withLock { state in
      for (name, table) in opened { state.tables[name] = table }
    }
    return opened.map(\.table)
  }
}

extension LMDBEnvironment {
  /// Makes LMDB spill. Returns `MDB_INCOMPATIBLE` on success, and also if no table is open yet, so that there is
  /// nothing to spill.
  func forceSpill(_ transaction: OpaquePointer) -> Int32 {
    guard let name = core.state.withLock({ $0.tables.keys.first }) else { return MDB_INCOMPATIBLE }
    let key = Array(name.utf8)
    return unsafe key.withUnsafeBytes { key in unsafe SpillProbe.force(transaction, key) }
  }

  /// Starts writing spilled pages to the disk while the transaction continues.
  func beginWritingBack() {
    if let descriptor = core.descriptor { core.writeback.begin(descriptor) }
  }

  /// Waits until that has started, at the end of a transaction that spilled. A forked child has no thread for it.
  func endWritingBack() {
    if !core.forkGuard.isForked { core.writeback.finish() }
  }

  /// Whether a code reveals that the library checks in another order than forced spills need: it took the value, or
  /// rejected its length first.
  static func isOtherOrder(_ code: Int32) -> Bool {
    code == 0 || code == MDB_BAD_VALSIZE
  }
}

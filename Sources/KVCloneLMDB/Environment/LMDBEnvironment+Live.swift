import CKVCloneLMDB

/// What transactions need of their environment.
extension LMDBEnvironment {
  /// Counts as a live transaction, so that the environment is not closed meanwhile.
  func whileOpen<T>(_ body: () throws(LMDBError) -> T) throws(LMDBError) -> T {
    try core.enter()
    defer { core.leave() }
    return try body()
  }

  /// Sizes and counters, for a caller who is counted as live.
  func liveInfo() throws(LMDBError) -> LMDBInfo {
    var raw = unsafe MDB_envinfo()
    let code = unsafe mdb_env_info(pointer, &raw)
    if code != 0 { throw error(code, "mdb_env_info") }
    return unsafe LMDBInfo(
      mapSize: raw.me_mapsize, lastPage: raw.lastPage, commitNumber: raw.lastCommit,
      maximumReaders: Int(raw.me_maxreaders), readerCount: Int(raw.me_numreaders), fileSize: core.fileSize ?? 0)
  }

  /// Makes tables known that a transaction made and has committed.
  func registerMade(_ made: [(name: String, table: LMDBTable)]) { _ = register(made) }

  func register(_ opened: [(name: String, table: LMDBTable)]) -> [LMDBTable] {
    core.state.withLock { state in
      for (name, table) in opened { state.tables[name] = table }
    }
    return opened.map(\.table)
  }
}

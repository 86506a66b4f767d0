import CKVCloneLMDB

/// A limit to the file, which the operator sets and LMDB does not know: its own, the map's size, would refuse deletions as well.
extension LMDBWriteTransaction {
  /// How far the file has grown, where that is looked after (`LMDBOptions.maximumFileBytes`).
  package var growth: StorageGrowth? {
    guard let first = firstPageCount else { return nil }
    return StorageGrowth(firstPageCount: first, pageCount: max(first, nextPage ?? usedPages()))
  }

  /// Begins to look after the file's length.
  mutating func beginGrowth() {
    guard environment.options.maximumFileBytes != nil, let info = try? environment.liveInfo() else { return }
    firstPageCount = info.lastPage + 1
    firstUsedPages = usedPages()
    knowsNextPage = NextPageProbe.isSupported && handle.nextPageWord == UInt64(info.lastPage + 1)
  }

  private var nextPage: Int? { knowsNextPage ? Int(clamping: handle.nextPageWord) : nil }

  /// Pages of the trees, as the transaction has them.
  private func usedPages() -> Int {
    let tables = environment.core.state.withLock { Array($0.tables.values) }
    var pages = 2
    for dbi in tables.map(\.dbi) + [LMDBLimits.mainDatabase, LMDBLimits.freeDatabase] {
      var raw = MDB_stat()
      if unsafe mdb_stat(handle.pointer, dbi, &raw) == 0 { pages += TreeSizes(raw).pages }
    }
    return pages
  }

  /// Refuses to write out what makes the file an eighth longer than its limit, unless the transaction has made the trees
  /// smaller: what is only in memory yet is for who commits to judge.
  mutating func checkGrowth() throws(LMDBError) {
    guard let limit = environment.options.maximumFileBytes, let growth else { return }
    let slack = limit / 8 + 1 << 20
    guard growth.pageCount > growth.firstPageCount, growth.pageCount > limit.saturatingAdd(slack) / LMDBLimits.pageSize,
      usedPages() > firstUsedPages
    else { return }
    throw fail(.fileTooLarge(limit: limit))
  }

  /// Ends in failure, because the file is longer than its limit: what was written out already is cut off again.
  package mutating func refuseGrowth() {
    if let limit = environment.options.maximumFileBytes { _ = fail(.fileTooLarge(limit: limit)) }
  }
}

extension LMDBEnvironment {
  /// Settles, before a commit, whether there is room for it: what is kept for deletes is for nothing else.
  func settleReserve(_ handle: LMDBTransactionHandle, takesAway: Bool) throws(LMDBError) {
    if isForked { return }
    try lockFile?.settleReserve(
      takesAway: takesAway, hasLittleRoom: core.hasLittleRoom, grows: makesLonger(handle))
  }

  /// Whether a transaction has pages beyond the file's last one, as far as anybody can tell.
  private func makesLonger(_ handle: LMDBTransactionHandle) -> Bool {
    guard NextPageProbe.isSupported, let info = try? liveInfo() else { return true }
    return handle.nextPageWord != UInt64(info.lastPage + 1)
  }
}

extension LMDBTransactionHandle {
  /// What LMDB has as the number of the next new page, if it keeps that where `NextPageProbe` looks.
  var nextPageWord: UInt64 { unsafe NextPageProbe.word(pointer, at: NextPageProbe.offset) }
}

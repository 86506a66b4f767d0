import CKVCloneLMDB

/// The operator's limit of the file size, which LMDB does not know: its own limit, the map's size, would reject
/// deletions as well.
extension LMDBWriteTransaction {
  /// The growth of the file, if it is limited (`LMDBOptions.maximumFileBytes`).
  package var growth: StorageGrowth? {
    guard let first = firstPageCount else { return nil }
    return StorageGrowth(firstPageCount: first, pageCount: max(first, nextPage ?? usedPages()))
  }

  /// Starts to track the file's size.
  mutating func beginGrowth() {
    guard environment.options.maximumFileBytes != nil, let info = try? environment.liveInfo() else { return }
    firstPageCount = info.lastPage + 1
    firstUsedPages = usedPages()
    knowsNextPage = NextPageProbe.isSupported && handle.nextPageWord == UInt64(info.lastPage + 1)
  }

  private var nextPage: Int? { knowsNextPage ? Int(clamping: handle.nextPageWord) : nil }

  /// The number of pages of the trees, as the transaction sees them.
  private func usedPages() -> Int { environment.usedPages(handle) }

  /// Rejects spilling pages that make the file an eighth longer than its limit, unless the transaction has made the
  /// trees smaller: pages in memory are judged at commit.
  mutating func checkGrowth() throws(LMDBError) {
    guard let limit = environment.options.maximumFileBytes, let growth else { return }
    let slack = limit / 8 + 1 << 20
    guard growth.pageCount > growth.firstPageCount, growth.pageCount > limit.saturatingAdd(slack) / LMDBLimits.pageSize,
      usedPages() > firstUsedPages
    else { return }
    throw fail(.fileTooLarge(limit: limit))
  }

  /// Fails the transaction because the file exceeds its limit: spilled pages are truncated.
  package mutating func refuseGrowth() {
    if let limit = environment.options.maximumFileBytes { _ = fail(.fileTooLarge(limit: limit)) }
  }
}

extension LMDBEnvironment {
  /// Checks before a commit whether there is space for it; the reserve is for deletes only.
  func settleReserve(_ handle: LMDBTransactionHandle, isDeleteOnly: Bool) throws(LMDBError) {
    if isForked { return }
    try lockFile?.settleReserve(
      isDeleteOnly: isDeleteOnly, hasLittleRoom: core.hasLittleRoom, grows: makesLonger(handle),
      freeBytes: freePages(handle) * LMDBLimits.pageSize)
  }

  /// The pages of the file that are in no tree when a transaction that does not grow it has committed.
  private func freePages(_ handle: LMDBTransactionHandle) -> Int {
    guard let info = try? liveInfo() else { return 0 }
    return max(0, info.lastPage + 1 - usedPages(handle))
  }

  /// The number of pages of the trees, as a transaction sees them.
  fileprivate func usedPages(_ handle: LMDBTransactionHandle) -> Int {
    let tables = core.state.withLock { Array($0.tables.values) }
    var pages = 2
    for dbi in tables.map(\.dbi) + [LMDBLimits.mainDatabase, LMDBLimits.freeDatabase] {
      var raw = MDB_stat()
      if unsafe mdb_stat(handle.pointer, dbi, &raw) == 0 { pages += TreeSizes(raw).pages }
    }
    return pages
  }

  /// Whether a transaction has pages beyond the file's last one, as far as known.
  private func makesLonger(_ handle: LMDBTransactionHandle) -> Bool {
    guard NextPageProbe.isSupported, let info = try? liveInfo() else { return true }
    return handle.nextPageWord != UInt64(info.lastPage + 1)
  }
}

extension LMDBTransactionHandle {
  /// LMDB's number of the next new page, if it keeps it where `NextPageProbe` looks.
  var nextPageWord: UInt64 { unsafe NextPageProbe.word(pointer, at: NextPageProbe.offset) }
}

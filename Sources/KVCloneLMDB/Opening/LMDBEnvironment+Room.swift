import CKVCloneLMDB

/// Checks for space before a large write (rule 8), so that it does not run out half way.
///
/// Rejects only certain failures and leaves the rest to LMDB. Sizes are those of the last commit, which a transaction
/// begins with: it gets pages only beyond the file's last one and from the free list, so what exceeds both cannot fit,
/// whatever the transaction has written and deleted before.
extension LMDBEnvironment {
  /// The free space at this moment. Free pages of the file are not counted.
  package func room() throws(LMDBError) -> LMDBRoom {
    try whileOpen { () throws(LMDBError) in room(try liveInfo()) }
  }

  /// Throws if a transaction certainly cannot write `byteCount` bytes. Grows the map if necessary and there are no live
  /// users. For a caller without a transaction; `LMDBWriteTransaction` has the same.
  ///
  /// - Throws: `diskFull`, `fileSizeLimit`, `mapFull`, `closed`, `forked`.
  package func makeRoom(for byteCount: UInt64) throws(LMDBError) {
    let needed = min(Int(clamping: byteCount), EnvironmentCore.maximumMapSize)
    // The check needs a reader slot; if all are taken, nothing is rejected.
    let size = try whileOpen { () throws(LMDBError) -> Int? in
      guard let info = try? liveInfo() else { return nil }
      try checkDisk(needed, info) { limit in try? freePageCount(upTo: limit) }
      return Self.withReserve(needed) > room(info).freeMapBytes ? Self.mapSize(info, needed) : nil
    }
    guard let size else { return }
    if (try? growMap(toAtLeast: size)) != nil { return }
    try whileOpen { () throws(LMDBError) in
      guard let info = try? liveInfo() else { return }
      try checkMap(needed, info) { limit in try? freePageCount(upTo: limit) }
    }
  }

  /// Rejects, for a dry run, what no transaction can write: more bytes than the disk has, or than a map can ever have.
  /// The map does not grow, so that other transactions may be open.
  ///
  /// - Throws: `diskFull`, `fileSizeLimit`, `mapFull`, `closed`, `forked`.
  package func checkRoom(for byteCount: UInt64) throws(LMDBError) {
    let needed = min(Int(clamping: byteCount), EnvironmentCore.maximumMapSize)
    try whileOpen { () throws(LMDBError) in
      guard let info = try? liveInfo() else { return }
      try checkDisk(needed, info) { limit in try? freePageCount(upTo: limit) }
      let used = (info.lastPage + 1) * LMDBLimits.pageSize
      let isTooMuch = Self.isTooMuch(needed, EnvironmentCore.maximumMapSize - used) { limit in
        try? freePageCount(upTo: limit)
      }
      if isTooMuch { throw .mapFull }
    }
  }

  /// Makes room within a transaction, which is counted as live.
  fileprivate func makeRoom(for byteCount: UInt64, _ handle: LMDBTransactionHandle) throws(LMDBError) {
    guard let info = try? liveInfo() else { return }
    let needed = min(Int(clamping: byteCount), EnvironmentCore.maximumMapSize)
    try checkDisk(needed, info) { _ in freePageBound(handle) }
    try checkMap(needed, info) { _ in freePageBound(handle) }
  }

  /// An upper bound of the pages on the committed free list: the capacity of its own pages. LMDB does not let a write
  /// transaction read the list, and a reader would need a slot.
  private func freePageBound(_ handle: LMDBTransactionHandle) -> Int? {
    var raw = MDB_stat()
    guard unsafe mdb_stat(handle.pointer, LMDBLimits.freeDatabase, &raw) == 0 else { return nil }
    let pages = max(0, Int(raw.ms_leaf_pages)).saturatingAdd(max(0, Int(raw.ms_overflow_pages)))
    let (numbers, overflow) = pages.multipliedReportingOverflow(by: LMDBLimits.pageSize / 8)
    return overflow ? .max : numbers
  }

  private func checkDisk(_ needed: Int, _ info: LMDBInfo, _ countFree: (Int) -> Int?) throws(LMDBError) {
    let room = room(info)
    if Self.isTooMuch(needed, room.freeDiskBytes, countFree) { throw room.diskError }
  }

  private func checkMap(_ needed: Int, _ info: LMDBInfo, _ countFree: (Int) -> Int?) throws(LMDBError) {
    guard Self.isTooMuch(needed, room(info).freeMapBytes, countFree) else { return }
    core.noteMapFull(wanting: Self.mapSize(info, needed))
    throw .mapFull
  }

  /// Whether so many bytes do not fit even if every free page of the file is reused, which readers may prevent. A free
  /// page counts for both: it is in the map, and the disk has it.
  private static func isTooMuch(_ needed: Int, _ free: Int, _ countFree: (_ limit: Int) -> Int?) -> Bool {
    if needed <= free { return false }
    let pages = (needed - free + LMDBLimits.pageSize - 1) / LMDBLimits.pageSize
    guard let reusable = countFree(pages) else { return false }
    return reusable < pages
  }

  fileprivate func room(_ info: LMDBInfo) -> LMDBRoom {
    let used = (info.lastPage + 1) * LMDBLimits.pageSize
    var free = core.descriptor.flatMap { FileSystem.freeSpace(descriptor: $0)?.largest } ?? .max
    let limit = kvclone_file_size_limit()
    var isLimitedBySize = false
    if limit < UInt64(Int.max), info.fileSize > 0 {
      let rest = max(0, Int(limit) - info.fileSize)
      isLimitedBySize = rest < free
      free = min(free, rest)
    }
    return LMDBRoom(
      freeMapBytes: max(0, info.mapSize - used), freeDiskBytes: free.saturatingAdd(max(0, info.fileSize - used)),
      isLimitedBySize: isLimitedBySize)
  }

  /// An upper estimate of writing `byteCount` bytes: keys, branches, partly filled pages, the free list, the metadata.
  private static func withReserve(_ byteCount: Int) -> Int {
    byteCount + byteCount / 4 + 64 * LMDBLimits.pageSize
  }

  /// Twice the needed size, because address space costs nothing.
  private static func mapSize(_ info: LMDBInfo, _ byteCount: Int) -> Int {
    let mebibyte = 1 << 20
    let size = (info.lastPage + 1) * LMDBLimits.pageSize + 2 * withReserve(byteCount)
    return min(EnvironmentCore.maximumMapSize, (size + mebibyte - 1) / mebibyte * mebibyte)
  }
}

extension LMDBWriteTransaction {
  /// The sizes of the file and its free space when the transaction began. Uses only the transaction itself, and so
  /// works while the environment is being closed.
  package borrowing func facts() throws(LMDBError) -> (info: LMDBInfo, room: LMDBRoom) {
    let info = try environment.liveInfo()
    return (info, environment.room(info))
  }

  /// Throws if this transaction certainly cannot write `byteCount` bytes more; the map then grows once there are no
  /// live users. Nothing was written, and the transaction continues.
  ///
  /// - Throws: `diskFull`, `mapFull`.
  package borrowing func makeRoom(for byteCount: UInt64) throws(LMDBError) {
    try environment.makeRoom(for: byteCount, handle)
  }
}

extension LMDBWriteTransaction {
  /// Rejects, for a dry run, a commit that would exceed the disk.
  ///
  /// - Throws: `diskFull`, `fileSizeLimit`, `transactionFailed`.
  package borrowing func checkCommitRoom() throws(LMDBError) {
    if failure != nil { throw .transactionFailed }
    try environment.settleReserve(handle, isDeleteOnly: isDeleteOnly)
    let (info, room) = try facts()
    guard room.freeDiskBytes != .max, NextPageProbe.isSupported else { return }
    // The commit adds pages for the free list: 512 numbers a page, and the path to them.
    let grown = max(0, Int(clamping: handle.nextPageWord) - (info.lastPage + 1))
    let pages = grown + grown / 512 + 8
    // With a write-ahead log, every page is written twice.
    let copies = environment.options.walSizeLimit != nil ? 2 : 1
    let (needed, overflow) = pages.multipliedReportingOverflow(by: copies * LMDBLimits.pageSize)
    if overflow || needed > room.freeDiskBytes { throw room.diskError }
  }
}

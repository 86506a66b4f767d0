import CKVCloneLMDB

/// How much more an environment's file can hold.
package struct LMDBRoom: Sendable, Equatable {
  /// Bytes of the map beyond the file's last page. The map can grow, as long as nobody uses it.
  package let freeMapBytes: Int
  /// Bytes by which the file's pages can still grow: what the file system has for this user, and has given the file
  /// already, but no more than the process may make a file long.
  package let freeDiskBytes: Int
}

/// Looking for room before a large write (rule 8), so that it does not run out half way.
extension LMDBEnvironment {
  /// Pages that a commit needs besides what it writes: new branches, the free list, the metadata.
  private static let reservedPages = 64

  /// The room that there is now. Pages of the file that can be used again are not counted.
  package func room() throws(LMDBError) -> LMDBRoom {
    try room(info())
  }

  /// Says beforehand that `byteCount` bytes cannot be written, where that is certain: with a reserve, and though every free
  /// page of the file be used again. Makes the map larger if it has to be, now if nobody uses it, or else as soon as that is
  /// so.
  ///
  /// - Parameters:
  ///   - byteCount: what is to be written, in one transaction.
  ///   - pendingByteCount: what that transaction has written before, which no size tells before its commit.
  /// - Throws: `diskFull`, `mapFull`.
  package func makeRoom(for byteCount: Int, after pendingByteCount: Int = 0) throws(LMDBError) {
    let info = try info()
    let room = try room(info)
    let byteCount = min(max(0, byteCount), EnvironmentCore.maximumMapSize)
    let needed = byteCount + byteCount / 100 + Self.reservedPages * LMDBLimits.pageSize
    let neededInMap = needed + min(max(0, pendingByteCount), EnvironmentCore.maximumMapSize)
    // A free page serves both: it is in the map, and the disk has it.
    if needed > room.freeDiskBytes, try needed > room.freeDiskBytes.saturatingAdd(reusableBytes()) { throw .diskFull }
    if neededInMap <= room.freeMapBytes { return }
    if try growMap(by: neededInMap, info) { return }
    if try neededInMap > room.freeMapBytes + reusableBytes() {
      core.noteMapFull(wanting: Self.mapSize(info, neededInMap))
      throw .mapFull
    }
  }

  /// Pages of the file that are free. Readers may keep some of them from being used again.
  private func reusableBytes() throws(LMDBError) -> Int {
    try freePageCount() * LMDBLimits.pageSize
  }

  private func room(_ info: LMDBInfo) throws(LMDBError) -> LMDBRoom {
    let used = (info.lastPage + 1) * LMDBLimits.pageSize
    var free = try FileSystem.freeBytes(directory)
    let limit = kvclone_file_size_limit()
    if limit < UInt64(Int.max) { free = min(free, max(0, Int(limit) - info.fileSize)) }
    return LMDBRoom(
      freeMapBytes: max(0, info.mapSize - used), freeDiskBytes: free.saturatingAdd(max(0, info.fileSize - used)))
  }

  /// Whether the map could be made large enough; not while somebody uses it, or a limit of the process forbids it.
  private func growMap(by byteCount: Int, _ info: LMDBInfo) throws(LMDBError) -> Bool {
    do throws(LMDBError) {
      try growMap(toAtLeast: Self.mapSize(info, byteCount))
      return true
    } catch {
      switch error {
      case .transactionsActive, .outOfMemory: return false
      default: throw error
      }
    }
  }

  /// Twice what is needed, because pages are not filled to the last byte, and address space costs nothing.
  private static func mapSize(_ info: LMDBInfo, _ byteCount: Int) -> Int {
    let mebibyte = 1 << 20
    let size = (info.lastPage + 1) * LMDBLimits.pageSize + 2 * byteCount
    return min(EnvironmentCore.maximumMapSize, (size + mebibyte - 1) / mebibyte * mebibyte)
  }
}

extension Int {
  /// The sum of two numbers that are not negative, or the greatest number there is.
  fileprivate func saturatingAdd(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

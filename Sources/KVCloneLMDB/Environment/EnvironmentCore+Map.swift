import CKVCloneLMDB
import Glibc
import Synchronization

/// The size of the map: following other processes, and growing.
extension EnvironmentCore {
  /// The greatest map size: half of a process's address space on x86-64.
  static let maximumMapSize = 1 << 46
  /// A map with less free space than this, or than a quarter of its size if that is less, is doubled before a write.
  private static let comfortableRoom = 64 << 20

  /// Moves the map, while there are no live users. Zero adopts the size that another process has set:
  /// ``followedSize(_:_:)``.
  ///
  /// `mdb_env_set_mapsize` unmaps before it maps: if that fails, nothing is mapped, and the next begin would crash.
  /// Growth is therefore tried out first; if it fails nevertheless, the environment counts as fatal and is reopened
  /// with a smaller map.
  func setMapSize(_ size: Int, _ state: inout State) -> Bool {
    var raw = unsafe MDB_envinfo()
    if unsafe mdb_env_info(pointer, &raw) != 0 { return false }
    let current = unsafe raw.me_mapsize
    let wanted = unsafe size > 0 ? size : followedSize(current, (raw.lastPage + 1) * LMDBLimits.pageSize)
    if wanted > current, kvclone_can_reserve(UInt64(wanted - current)) == 0 { return false }
    forgetMap()
    let code = unsafe mdb_env_set_mapsize(pointer, wanted)
    if code == 0 { return true }
    // EINVAL before the map was touched: a write transaction is active.
    if code != EINVAL { state.isFatal = true }
    return false
  }

  /// The size that the file's commits name, whichever process set it; if a limit of this process forbids that, two,
  /// four … times its own size, as far as the file needs. LMDB's own way of following would try only the first, after
  /// unmapping.
  private func followedSize(_ current: Int, _ needed: Int) -> Int {
    var named = 0
    var descriptor: Int32 = -1
    if unsafe mdb_env_get_fd(pointer, &descriptor) == 0 {
      for page in [0, LMDBLimits.pageSize] {
        // mm_mapsize, after a page's header, the magic number, the version and the address.
        var size: UInt64 = 0
        if unsafe pread(descriptor, &size, 8, page + 32) == 8 { named = max(named, Int(clamping: size)) }
      }
    }
    if named >= needed, named <= Self.maximumMapSize,
      named <= current || kvclone_can_reserve(UInt64(named - current)) != 0
    {
      return named
    }
    var size = max(current, LMDBLimits.pageSize)
    while size < needed { size *= 2 }
    return size
  }

  /// Doubles a map with little free space, if the caller (counted once) is the only live user. Best effort.
  func growIfTight() {
    var raw = unsafe MDB_envinfo()
    if unsafe mdb_env_info(pointer, &raw) != 0 { return }
    let size = unsafe raw.me_mapsize
    let room = unsafe size - (raw.lastPage + 1) * LMDBLimits.pageSize
    if room >= min(size / 4, Self.comfortableRoom) || size >= Self.maximumMapSize { return }
    state.withLock { state in
      _ = whileIdle(&state, own: 1) { state in _ = setMapSize(size * 2, &state) }
    }
  }

  /// Records that a transaction reached the end of the map: pages retained by stale readers are freed, and the map
  /// grows once there are no live users, to twice its size or to `size` if that is greater. Called by the live
  /// transaction, or by a caller that predicts the failure.
  func noteMapFull(wanting size: Int = 0) {
    unsafe mdb_reader_check(pointer, nil)
    state.withLock { state in
      state.wantsGrowth = true
      state.wantedMapSize = max(state.wantedMapSize, size)
      demandAttention()
    }
  }

  /// Performs the growth that `noteMapFull` requested. If a limit forbids it, the next full map requests it again.
  func growAfterFailure(_ state: inout State) {
    let wanted = state.wantedMapSize
    state.wantsGrowth = false
    state.wantedMapSize = 0
    var raw = unsafe MDB_envinfo()
    if unsafe mdb_env_info(pointer, &raw) != 0 { return }
    let size = unsafe raw.me_mapsize
    if size >= Self.maximumMapSize { return }
    if wanted > size * 2, setMapSize(wanted, &state) { return }
    if !state.isFatal { _ = setMapSize(size * 2, &state) }
  }

  /// Truncates what a failed transaction added to the file when the disk is full.
  ///
  /// LMDB keeps the file's length. Bytes beyond the last page of the last commit are garbage, and on a full disk they
  /// are exactly the space that the next, smaller write needs. There is no other writer: a transaction of this process
  /// holds LMDB's lock. No reader reads there, because last page numbers only grow.
  func cutFile() {
    var transaction: OpaquePointer?
    guard unsafe mdb_txn_begin(pointer, nil, 0, &transaction) == 0 else { return }
    defer { unsafe mdb_txn_abort(transaction) }
    var raw = unsafe MDB_envinfo()
    var descriptor: Int32 = -1
    guard unsafe mdb_env_info(pointer, &raw) == 0, unsafe mdb_env_get_fd(pointer, &descriptor) == 0 else { return }
    let length = unsafe (raw.lastPage + 1) * LMDBLimits.pageSize
    // On failure, the file stays as LMDB left it.
    if let facts = try? FileSystem.facts(descriptor: descriptor), facts.byteCount > length {
      _ = ftruncate(descriptor, length)
    }
  }

  /// Clears stale readers every ``commitsBetweenReaderChecks`` commits: they would keep the file growing.
  func countCommit() {
    let count = commitCount.add(1, ordering: .relaxed).newValue
    if count % Self.commitsBetweenReaderChecks == 0 { unsafe mdb_reader_check(pointer, nil) }
  }

  /// Counted instead of timed: needs no clock, and tests can rely on it.
  static let commitsBetweenReaderChecks: UInt64 = 256
}

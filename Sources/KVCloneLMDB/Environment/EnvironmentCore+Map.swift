import CKVCloneLMDB
import Glibc
import Synchronization

/// The map's size: following other processes, and growing.
extension EnvironmentCore {
  /// Half of what a process can address on x86-64: no map grows further.
  static let maximumMapSize = 1 << 46
  /// A map with less room than this, or than a quarter of itself if that is less, is doubled before a write.
  private static let comfortableRoom = 64 << 20

  /// Moves the map, while nobody is live. Zero means what another process has made of it: ``followedSize(_:_:)``.
  ///
  /// `mdb_env_set_mapsize` unmaps before it maps: if that fails, nothing is mapped, and the next begin would crash. So
  /// growth is tried out first, and if it fails even so, the environment counts as fatal: it is reopened, with less.
  func setMapSize(_ size: Int, _ state: inout State) -> Bool {
    var raw = unsafe MDB_envinfo()
    if unsafe mdb_env_info(pointer, &raw) != 0 { return false }
    let current = unsafe raw.me_mapsize
    let wanted = unsafe size > 0 ? size : followedSize(current, (raw.lastPage + 1) * LMDBLimits.pageSize)
    if wanted > current, kvclone_can_reserve(UInt64(wanted - current)) == 0 { return false }
    forgetMap()
    let code = unsafe mdb_env_set_mapsize(pointer, wanted)
    if code == 0 { return true }
    // EINVAL before the map was touched: a write transaction is active after all.
    if code != EINVAL { state.isFatal = true }
    return false
  }

  /// The size that the file's commits name, by whichever process; where a limit of this one forbids that, twice, four times … its own
  /// size, as far as the file goes. LMDB's own way to follow would try the first one alone, after it has unmapped what there was.
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

  /// Doubles a map in which little is left, if nobody but the caller (counted once) is live. It need not succeed.
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

  /// A transaction met the map's end: pages that dead readers hold are freed, and the map grows as soon as nobody is
  /// live, to twice its size or to `size` if that is more. Called by that transaction, which is live, or by whoever
  /// sees that it would.
  func noteMapFull(wanting size: Int = 0) {
    unsafe mdb_reader_check(pointer, nil)
    state.withLock { state in
      state.wantsGrowth = true
      state.wantedMapSize = max(state.wantedMapSize, size)
      demandAttention()
    }
  }

  /// The growth that `noteMapFull` asked for. A limit may forbid it; then the next full map asks again.
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

  /// Gives back what a failed transaction added to the file, when the disk is full.
  ///
  /// LMDB leaves the file as long as it became. What lies beyond the last page of the last commit is garbage, and on a
  /// full disk it is just the room that the next, smaller write needs. Nobody else writes: LMDB's lock is held by a
  /// transaction of our own. No reader looks there, because last pages only grow.
  func cutFile() {
    var transaction: OpaquePointer?
    guard unsafe mdb_txn_begin(pointer, nil, 0, &transaction) == 0 else { return }
    defer { unsafe mdb_txn_abort(transaction) }
    var raw = unsafe MDB_envinfo()
    var descriptor: Int32 = -1
    guard unsafe mdb_env_info(pointer, &raw) == 0, unsafe mdb_env_get_fd(pointer, &descriptor) == 0 else { return }
    let length = unsafe (raw.lastPage + 1) * LMDBLimits.pageSize
    // A failure leaves the file as LMDB left it.
    if let facts = try? FileSystem.facts(descriptor: descriptor), facts.byteCount > length {
      _ = ftruncate(descriptor, length)
    }
  }

  /// Frees the slots of readers whose process is gone, every so many commits: such a reader would keep the file
  /// growing.
  func countCommit() {
    let count = commitCount.add(1, ordering: .relaxed).newValue
    if count % Self.commitsBetweenReaderChecks == 0 { unsafe mdb_reader_check(pointer, nil) }
  }

  /// Counted, not timed, so that it costs no clock and tests can rely on it.
  static let commitsBetweenReaderChecks: UInt64 = 256
}

import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Opens LMDB's environment with the largest map up to `options.mapSize` that the process may have, and clears stale
  /// readers.
  ///
  /// - Parameter deadline: when waiting ends for another process that opens the store (`openingBusy`).
  /// - Throws: `lockFileUnusable` if `lock.mdb` has destroyed mutexes, and another program has the store open.
  static func openRaw(
    _ directory: String, _ options: LMDBOptions, minimumMap: Int, deadline: UInt64
  ) throws(LMDBError) -> RawEnvironment {
    kvclone_fill_standard_descriptors()
    if !options.isReadOnly { kvclone_ignore_file_size_signal() }
    let path = StorePaths(directory).readerLock
    for _ in 0..<maximumReplacements {
      let lockFile = try ReaderLockFile(path: path, isReadOnly: options.isReadOnly)
      do throws(LMDBError) {
        guard let pointer = try unsafe openRaw(directory, options, minimumMap, lockFile, deadline) else {
          lockFile?.close()
          continue
        }
        lockFile?.unlockOpening()
        var dead: Int32 = 0
        if !options.keepsDeadReaders { unsafe mdb_reader_check(pointer, &dead) }
        return unsafe RawEnvironment(pointer: pointer, lockFile: lockFile)
      } catch {
        lockFile?.close()
        throw error
      }
    }
    throw .replacedWhileOpening(path: path)
  }

  /// The number of times that `lock.mdb` may be replaced before it counts as an error.
  private static let maximumReplacements = 3
  /// Programs that inspect a store briefly end within these attempts, one every 20 ms.
  private static let maximumRepairs = 25

  /// Opens under the opening lock of `lock.mdb`; nil if another file has that name by then.
  private static func openRaw(
    _ directory: String, _ options: LMDBOptions, _ minimumMap: Int, _ lockFile: ReaderLockFile?, _ deadline: UInt64
  ) throws(LMDBError) -> OpaquePointer? {
    guard let lockFile else { return try unsafe openMapped(directory, options, minimumMap) }
    try lockFile.lockOpening(deadline: deadline)
    let path = lockFile.path
    for _ in 0..<maximumRepairs {
      let pointer = try unsafe openMapped(directory, options, minimumMap)
      do throws(LMDBError) {
        try lockFile.beginUse()
        if try !lockFile.isStill(at: path) {
          unsafe mdb_env_close(pointer)
          return nil
        }
      } catch {
        unsafe mdb_env_close(pointer)
        throw error
      }
      if unsafe ReaderLockFile.isUsable(pointer) { return unsafe pointer }
      // The next attempt initializes the file if no other process has it open.
      unsafe mdb_env_close(pointer)
      lockFile.endUse()
      usleep(20_000)
    }
    throw .lockFileUnusable(path: path)
  }

  private static func openMapped(
    _ directory: String, _ options: LMDBOptions, _ minimumMap: Int
  ) throws(LMDBError) -> OpaquePointer {
    var mapSize = max(options.mapSize, minimumMap)
    var attempt = 0
    while true {
      var code: Int32 = 0
      if let pointer = unsafe openRaw(directory, options, mapSize, &code) { return unsafe pointer }
      // A recovery that did not see this process has invalidated the lock file while LMDB waited for it.
      attempt += 1
      if code == MDB_INVALID, attempt <= 3 { continue }
      // RLIMIT_AS or an analyser that emulates the address space forbids it: a smaller map suffices as long as the file
      // fits.
      let isTooMuch = (code == ENOMEM || code == EINVAL) && mapSize / 2 >= max(minimumMap, 1 << 20)
      if !isTooMuch { throw LMDBError(code: code, operation: "mdb_env_open") }
      mapSize /= 2
    }
  }

  private static func openRaw(
    _ directory: String, _ options: LMDBOptions, _ mapSize: Int, _ code: inout Int32
  ) -> OpaquePointer? {
    var environment: OpaquePointer?
    code = unsafe mdb_env_create(&environment)
    guard code == 0, let environment = unsafe environment else { return nil }
    unsafe mdb_env_set_maxdbs(environment, UInt32(options.maximumTables))
    unsafe mdb_env_set_maxreaders(environment, UInt32(options.maximumReaders))
    code = unsafe mdb_env_set_mapsize(environment, mapSize)
    if code == 0 {
      // Reads request their pages explicitly: see LeafReadAhead.
      var flags = MDB_NOTLS | MDB_NORDAHEAD | (options.isReadOnly ? MDB_RDONLY : 0)
      // The write-ahead log makes commits durable. (mdb_txn_begin takes the flag too, and 0.9.24 then forgets it.)
      if options.walSizeLimit != nil, !options.isReadOnly { flags |= MDB_NOSYNC }
      code = unsafe mdb_env_open(environment, directory, UInt32(flags), 0o600)
    }
    if code == 0 {
      var descriptor: Int32 = -1
      code = unsafe mdb_env_get_fd(environment, &descriptor)
      if code == 0 { code = kvclone_set_close_on_exec(descriptor) }
    }
    if code == 0 { return unsafe environment }
    unsafe mdb_env_close(environment)
    return nil
  }

  /// Whether LMDB opened without its lock file, as it does read-only on a read-only file system (`mdb_env_setup_locks`:
  /// EROFS). Only its reader list reveals it.
  static func hasNoReaderTable(_ pointer: OpaquePointer) -> Bool {
    var hasNone = false
    unsafe withUnsafeMutablePointer(to: &hasNone) { flag in
      _ = unsafe mdb_reader_list(
        pointer,
        { text, context in
          if let text = unsafe text, unsafe strcmp(text, "(no reader locks)\n") == 0 {
            unsafe context?.assumingMemoryBound(to: Bool.self).pointee = true
          }
          return 0
        }, flag)
    }
    return hasNone
  }

  static func descriptorIdentity(_ pointer: OpaquePointer) throws(LMDBError) -> FileSystem.Identity {
    var descriptor: Int32 = -1
    let code = unsafe mdb_env_get_fd(pointer, &descriptor)
    if code != 0 { throw LMDBError(code: code, operation: "mdb_env_get_fd") }
    return try FileSystem.facts(descriptor: descriptor).identity
  }
}

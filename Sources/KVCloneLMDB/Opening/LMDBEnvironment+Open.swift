import CKVCloneLMDB
import Glibc

extension LMDBEnvironment {
  /// Opens an existing store. Nothing is made if there is none (`noStore`).
  ///
  /// Before LMDB maps the file, its names, owner, mode, links, file system and meta pages are checked; see
  /// `isShorterThanLastPage` for the one finding that is not an error. Tables are opened with `openTables`.
  package static func open(at directory: String, options: LMDBOptions = LMDBOptions()) throws(LMDBError)
    -> LMDBEnvironment
  {
    // Errors name what the caller named; everything later goes by a path that no change of directory bends.
    let given = StorePaths(directory)
    try LMDBLibrary.check()
    let identity = try StoreFileCheck.identify(given, isReadOnly: options.isReadOnly)
    try NetworkFileSystems.check(given.directory, trustedFuse: options.trustedFuseFileSystems)
    guard EnvironmentRegistry.claim(identity) else { throw .alreadyOpen(path: given.data) }
    do {
      // Until LMDB's environment is open, nobody else recovers the store, or opens it.
      let lock = try CommitLogRecovery.run(given)
      defer { withExtendedLifetime(lock) {} }
      let found = try StoreFileCheck.inspect(given, identity)
      return try open(try given.resolved(), options, found)
    } catch {
      EnvironmentRegistry.release(identity)
      throw error
    }
  }

  private static func open(
    _ paths: StorePaths, _ options: LMDBOptions, _ found: StoreFileCheck.Result
  ) throws(LMDBError) -> LMDBEnvironment {
    let lockFile =
      try options.isReadOnly
      ? WriterLockFile(readOnlyPath: paths.writerLock) : WriterLockFile(path: paths.writerLock)
    let raw = try openRaw(paths.directory, options, minimumMap: found.byteCount)
    var commitLog: CommitLog?
    var others: [FileSystem.Identity] = []
    do throws(LMDBError) {
      let opened = try unsafe descriptorIdentity(raw.pointer)
      if opened != found.identity { throw .replacedWhileOpening(path: paths.data) }
      if let lockFile, !options.isReadOnly {
        commitLog = try CommitLog(paths, lockFile, byteLimit: options.walSizeLimit, identity: opened)
      }
      // A lock file that is not known here could be opened by another name, and closing it would drop LMDB's locks.
      for path in [paths.readerLock, paths.writerLock, paths.stagerLock] {
        if let other = try FileSystem.facts(path) { others.append(other.identity) }
      }
    } catch {
      raw.close()
      throw error
    }
    if !options.isReadOnly { lockFile?.beginReserve() }
    EnvironmentRegistry.attach(others, to: found.identity)
    return LMDBEnvironment(
      raw: raw, directory: paths.directory, options: options, identity: found.identity, lockFile: lockFile,
      commitLog: commitLog, isShorterThanLastPage: found.isShorterThanLastPage)
  }
}

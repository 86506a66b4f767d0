import CKVCloneLMDB
import Glibc

/// The checks before a store is opened. They map no file, and open none that this process has in use.
enum StoreFileCheck {
  /// The result of the checks.
  struct Result {
    let identity: FileSystem.Identity
    let lastPage: UInt64
    let isShorterThanLastPage: Bool

    /// The minimum size of the map.
    var byteCount: Int { Int((lastPage + 1) * UInt64(LMDBLimits.pageSize)) }
  }

  /// Returns the identity of `data.mdb` after checking its directory and the other files.
  static func identify(_ paths: StorePaths, isReadOnly: Bool) throws(LMDBError) -> FileSystem.Identity {
    guard let directory = try FileSystem.facts(paths.directory) else { throw .storeNotFound(path: paths.directory) }
    if directory.kind == .symlink { throw .symlink(path: paths.directory) }
    if directory.kind != .directory { throw .notRegularFile(path: paths.directory) }
    if directory.owner == geteuid(), hasNoData(paths, directory.mode) { throw .storeNotFound(path: paths.directory) }
    try checkOwnerAndMode(directory, paths.directory, needed: 0o500)
    guard let data = try FileSystem.facts(paths.data) else { throw .storeNotFound(path: paths.directory) }
    try checkFile(data, paths.data, needed: isReadOnly ? 0o400 : 0o600)
    for path in [paths.readerLock, paths.writerLock, paths.stagerLock, paths.commitLog] {
      if let lock = try FileSystem.facts(path) { try checkFile(lock, path, needed: 0o600) }
    }
    if data.byteCount == 0 { throw .emptyFile(path: paths.data) }
    return data.identity
  }

  /// Whether a directory of this user certainly holds no store, whatever its mode: a fresh volume, as opposed to a
  /// store with a mode that has to be corrected. Without search permission, the list of names decides.
  private static func hasNoData(_ paths: StorePaths, _ mode: UInt32) -> Bool {
    do throws(LMDBError) {
      return try FileSystem.facts(paths.data) == nil
    } catch {
      return (try? StoreDirectories.isEmpty(paths.directory, mode: mode)) ?? false
    }
  }

  /// Opens `data.mdb`, reads its meta pages and closes it. Only while the file is claimed in the registry, and not
  /// open.
  static func inspect(_ paths: StorePaths, _ identity: FileSystem.Identity) throws(LMDBError) -> Result {
    let file = unsafe kvclone_open(paths.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: paths.data) }
      throw LMDBError(code: -file, operation: "open data.mdb")
    }
    defer { close(file) }
    let facts = try FileSystem.facts(descriptor: file)
    if facts.identity != identity { throw .replacedWhileOpening(path: paths.data) }
    let metas = try MetaPages(descriptor: file, path: paths.data)
    // The size is read after the meta pages, so that a file that another process is growing never looks truncated.
    let byteCount = try FileSystem.facts(descriptor: file).byteCount
    return Result(
      identity: identity, lastPage: metas.lastPage,
      isShorterThanLastPage: UInt64(byteCount) < (metas.lastPage + 1) * UInt64(LMDBLimits.pageSize))
  }

  private static func checkFile(
    _ facts: FileSystem.Facts, _ path: String, needed: UInt32
  ) throws(LMDBError) {
    if facts.kind == .symlink { throw .symlink(path: path) }
    if facts.kind != .regularFile { throw .notRegularFile(path: path) }
    try checkOwnerAndMode(facts, path, needed: needed)
    if facts.links != 1 { throw .hardLinked(path: path, links: facts.links) }
  }

  private static func checkOwnerAndMode(
    _ facts: FileSystem.Facts, _ path: String, needed: UInt32
  ) throws(LMDBError) {
    if facts.owner != geteuid() { throw .wrongOwner(path: path, owner: facts.owner) }
    if facts.mode & 0o077 != 0 || facts.mode & needed != needed { throw .wrongMode(path: path, mode: facts.mode) }
  }
}

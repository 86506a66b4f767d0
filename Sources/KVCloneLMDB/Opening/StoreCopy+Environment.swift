import CKVCloneLMDB
import Glibc

extension StoreCopy {
  /// Opens the copied data, or an empty file, for writing with LMDB: to change a copy, and to sort unordered input,
  /// before it is published.
  ///
  /// Nothing is synced until `sync`: an unpublished copy need not be durable. Close the environment, and then call
  /// `removeReaderLock`, before the copy is read in other ways, or published.
  package borrowing func openEnvironment(tables: [String]) throws(LMDBError) -> LMDBEnvironment {
    var options = LMDBOptions()
    // Only the flag that it implies: an environment opened like this creates no log.
    options.walSizeLimit = 0
    let byteCount = Int(clamping: byteCount)
    try LMDBLibrary.check()
    let raw = try LMDBEnvironment.openRaw(
      directory, options, minimumMap: byteCount, deadline: options.openingDeadline)
    let environment: LMDBEnvironment
    do throws(LMDBError) {
      let identity = try unsafe LMDBEnvironment.descriptorIdentity(raw.pointer)
      _ = EnvironmentRegistry.claim(identity)
      environment = LMDBEnvironment(
        raw: raw, directory: directory, options: options, identity: identity, lockFile: nil,
        isShorterThanLastPage: false)
    } catch {
      raw.close()
      throw error
    }
    do throws(LMDBError) {
      try environment.openTables(tables, create: true)
    } catch {
      environment.close()
      throw error
    }
    return environment
  }

  /// Removes the lock file of the environment.
  package borrowing func removeReaderLock() { FileSystem.removeFile(StorePaths(directory).readerLock) }

  /// Reflinks the file from the source; returns false if the file systems do not support it. The caller holds the write
  /// lock of the source.
  package func shareBlocks(of source: LMDBEnvironment) throws(LMDBError) -> Bool {
    try source.whileOpen { () throws(LMDBError) in
      guard let descriptor = source.core.descriptor else { throw .closed }
      let code = kvclone_share_blocks(data.descriptor, descriptor)
      if [EOPNOTSUPP, EXDEV, EINVAL, ENOTTY, ENOSYS, EPERM].contains(code) { return false }
      if code != 0 { throw LMDBError(code: code, operation: "ioctl(FICLONE)") }
      return true
    }
  }
}

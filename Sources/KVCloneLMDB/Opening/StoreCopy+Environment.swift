import CKVCloneLMDB
import Glibc

extension StoreCopy {
  /// Opens what was copied, or an empty file, for writing with LMDB: how a copy is changed, and how what comes in no order is sorted,
  /// before anybody knows of it.
  ///
  /// Nothing is synced: `sync` does that in the end, and without a name nobody misses it. Close the environment, and then call
  /// `removeReaderLock`, before the copy is read otherwise, or published.
  package borrowing func openEnvironment(tables: [String]) throws(LMDBError) -> LMDBEnvironment {
    var options = LMDBOptions()
    // Only the flag that it stands for: no log is made for an environment that is opened like this.
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

  /// Removes what the environment leaves beside the file.
  package borrowing func removeReaderLock() { FileSystem.removeFile(StorePaths(directory).readerLock) }

  /// Makes the file one that shares all of the source's blocks; false where the file systems cannot. The caller has the right
  /// to write the source.
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

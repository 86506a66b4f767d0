import CKVCloneLMDB
import Glibc

/// Records which staged uploads into the store are alive: `stagers.lock`, in which each upload locks one byte.
///
/// The locks belong to the open file description (OFD): the kernel drops them with the process, however it ends, and
/// opening and closing the file a second time does not release them. The file itself stays empty; the bytes need not
/// exist. A copy of the file next to a copied store has no locks.
package final class StagerLockFile: Sendable {
  private let descriptor: Int32
  private let forkGuard = ForkGuard()

  /// Opens `stagers.lock` of the store at `directory`, creating it (0600) if it does not exist.
  ///
  /// - Parameter data: the identity of the store's `data.mdb`: another store may have the name by now, with uploads of
  ///   its own.
  package init(directory: String, beside data: FileSystem.Identity? = nil) throws(LMDBError) {
    let paths = StorePaths(directory)
    let path = paths.stagerLock
    let found = try FileSystem.facts(paths.data)?.identity
    if let data, found != data { throw .storeNotFound(path: directory) }
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open stagers.lock")
    }
    descriptor = file
    // The file may have been created after the environment registered its files.
    if let found, let own = try? FileSystem.facts(descriptor: file).identity {
      EnvironmentRegistry.attach([own], to: found)
    }
  }

  /// Locks the byte at `offset`; returns false if another process has it. Returns true if this object holds it already:
  /// the caller tracks the uploads within the process.
  package func lock(_ offset: UInt16) throws(LMDBError) -> Bool {
    while true {
      let code = kvclone_ofd_lock_byte(descriptor, Int64(offset), 1)
      if code == 0 { return true }
      if code == EAGAIN || code == EACCES { return false }
      if code != EINTR { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)") }
    }
  }

  /// Unlocks the byte at `offset`.
  package func unlock(_ offset: UInt16) {
    // A forked child shares the description: unlocking would release the parent's lock.
    if forkGuard.isForked { return }
    _ = kvclone_ofd_lock_byte(descriptor, Int64(offset), 0)
  }

  deinit {
    close(descriptor)
  }
}

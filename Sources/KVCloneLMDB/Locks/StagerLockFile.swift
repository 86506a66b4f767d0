import CKVCloneLMDB
import Glibc

/// Says which uploads into the store are alive: `stagers.lock`, of which each upload has one byte locked.
///
/// The locks are of the open file description (OFD): the kernel drops them with the process that held them, however it
/// ended, and a process that opens and closes the file a second time keeps those it has. The file itself stays empty; the
/// bytes need not exist. A file that was copied along with the store is another file: nobody holds anything of it.
package final class StagerLockFile: Sendable {
  private let descriptor: Int32
  private let forkGuard = ForkGuard()

  /// Opens the side file of the store at `directory`, making it (0600) if there is none.
  ///
  /// - Parameter data: which file the store's `data.mdb` is: another store may have the name by now, and its uploads are
  ///   none of ours.
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
    // It may be new, later than the opening, which noted what was there.
    if let found, let own = try? FileSystem.facts(descriptor: file).identity {
      EnvironmentRegistry.attach([own], to: found)
    }
  }

  /// Takes the byte at `offset`; false if another process has it. A byte that this object has already is given again: who
  /// has what within the process, the caller knows.
  package func lock(_ offset: UInt16) throws(LMDBError) -> Bool {
    while true {
      let code = kvclone_ofd_lock_byte(descriptor, Int64(offset), 1)
      if code == 0 { return true }
      if code == EAGAIN || code == EACCES { return false }
      if code != EINTR { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)") }
    }
  }

  /// Gives the byte at `offset` back.
  package func unlock(_ offset: UInt16) {
    // A forked child shares the description: its unlocking would take the parent's lock away.
    if forkGuard.isForked { return }
    _ = kvclone_ofd_lock_byte(descriptor, Int64(offset), 0)
  }

  deinit {
    close(descriptor)
  }
}

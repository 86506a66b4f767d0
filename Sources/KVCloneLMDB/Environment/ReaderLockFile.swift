import CKVCloneLMDB
import Glibc

/// A second descriptor of `lock.mdb`, which prevents that a process uses mutexes that another one destroys.
///
/// LMDB keeps the reader table and two mutexes in `lock.mdb`. Byte 0 says whether they are ready: `mdb_env_open` takes
/// a write lock on it without waiting, initializes the file, and turns the lock into a read lock, which it keeps until
/// the environment closes; an opener that cannot have the write lock waits for a read lock and takes what it finds.
/// Three things go wrong with that:
///
/// - `mdb_env_close` of 0.9.26 to 0.9.31 tries for the write lock, and destroys the mutexes if it gets it (ITS#9278).
///   An opener that waits for its read lock at that moment gets destroyed mutexes: `mdb_txn_begin` fails with EINVAL,
///   for it and for every process that joins it, until all have closed (ITS#10095).
/// - An opening that fails after it had the write lock, such as for lack of address space, destroys them in the same
///   way.
/// - A process that is killed between the write lock and the read lock, in any release, leaves a waiting opener what it
///   had not initialized: mutexes, or the number of the last commit, which then is 0, so that the opener reads, and
///   writes upon, an old state.
///
/// So this descriptor holds two open-file-description (OFD) locks:
///
/// - The opening lock, on a byte that the file never has: one process at a time is inside `mdb_env_open`, so that none
///   waits there for another one of ours.
/// - A read lock on byte 0 for as long as the environment is open. OFD locks and LMDB's POSIX locks conflict even
///   within a process, so LMDB never gets the write lock at closing, and destroys nothing; the next process that is
///   alone initializes the file.
///
/// The kernel drops both with the process. The descriptor belongs to `lock.mdb` itself because closing it drops the
/// process's POSIX locks on the file first: when a process that initializes the file is killed, byte 0 is free before
/// the opening lock is. For the same reason this file is opened before LMDB's environment and closed after it, and
/// never while it is open.
///
/// Programs that do not know the opening lock (`mdb_stat`) can still destroy the mutexes under an opening;
/// ``isUsable(_:)`` finds that, and the opening is repeated. Once the environment is open, its read lock keeps every
/// process from destroying them.
@safe
final class ReaderLockFile: Sendable {
  let descriptor: Int32
  let path: String

  /// Opens `lock.mdb` for writing, as LMDB does, and creates it (0600) if it does not exist. Nil where LMDB does
  /// without, which is read-only on a read-only file system.
  init?(path: String, isReadOnly: Bool) throws(LMDBError) {
    let file = unsafe kvclone_open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      if -file == EROFS, isReadOnly { return nil }
      if -file == ELOOP { throw .symlink(path: path) }
      throw LMDBError(code: -file, operation: "open lock.mdb")
    }
    descriptor = file
    self.path = path
  }

  static let useOffset: Int64 = 0

  /// Waits until no other process is inside `mdb_env_open` for this store, and locks others out.
  ///
  /// The holder waits for byte 0 only, never for a lock of this project, so the order is always: the opening lock of
  /// `commit.log`, this one, LMDB's byte 0.
  ///
  /// - Throws: `openingBusy` at the deadline: the holder may be stopped.
  func lockOpening(deadline: UInt64) throws(LMDBError) {
    try OpeningLock.acquire(descriptor, path: path, deadline: deadline)
  }

  func unlockOpening() { OpeningLock.release(descriptor) }

  /// Prevents LMDB from taking the write lock on byte 0. Call while the process's environment is open.
  func beginUse() throws(LMDBError) {
    let code = kvclone_ofd_share_byte(descriptor, Self.useOffset)
    if code != 0 { throw LMDBError(code: code, operation: "fcntl(F_OFD_SETLK)") }
  }

  /// Releases the read lock on byte 0, after LMDB's environment is closed.
  func endUse() { _ = kvclone_ofd_lock_byte(descriptor, Self.useOffset, 0) }

  /// Whether `path` still names the open file: LMDB opens it by its path.
  func isStill(at path: String) throws(LMDBError) -> Bool {
    try FileSystem.facts(path)?.identity == FileSystem.facts(descriptor: descriptor).identity
  }

  /// Releases everything, after LMDB's environment is closed. Not in a forked child, where the locks are the parent's.
  func close() {
    // Explicitly, and not only by closing: a child that was forked in between has the descriptor, too.
    endUse()
    unlockOpening()
    Glibc.close(descriptor)
  }

  // MARK: Leftovers of other programs

  /// Whether the mutexes can be locked, and the lock file has the last commit number. The caller holds the opening
  /// lock, and its environment is open.
  static func isUsable(_ pointer: OpaquePointer) -> Bool {
    var raw = unsafe MDB_envinfo()
    var transaction: OpaquePointer?
    guard unsafe mdb_env_info(pointer, &raw) == 0 else { return true }
    // Takes a slot in the reader table, for which it locks a mutex. Both are destroyed, or not initialized, together.
    let code = unsafe mdb_txn_begin(pointer, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == 0, let transaction = unsafe transaction else { return code != EINVAL }
    defer { unsafe mdb_txn_abort(transaction) }
    // `mdb_env_info` reads the meta pages, and a transaction reads the lock file, which a commit updates after its meta
    // page.
    return unsafe UInt64(truncatingIfNeeded: mdb_txn_id(transaction)) &+ 1 >= raw.lastCommit
  }
}

/// LMDB's environment, and the lock file held for it.
@safe
struct RawEnvironment {
  let pointer: OpaquePointer
  /// Nil where LMDB has no lock file.
  let lockFile: ReaderLockFile?

  func close() {
    unsafe mdb_env_close(pointer)
    lockFile?.close()
  }
}

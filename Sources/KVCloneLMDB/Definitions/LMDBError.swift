/// Who holds the right to write a store, as written into `writer.lock` by the holder.
@usableFromInline
package struct WriterHolder: Sendable, Equatable {
  /// The holder's process id, as seen in the holder's own PID namespace.
  package let pid: Int32
  /// What the holder said it is doing. At most 64 bytes of UTF-8.
  package let label: String
  /// When it began: nanoseconds since 1970-01-01T00:00:00Z, by the holder's clock.
  package let sinceNanoseconds: Int64
  /// Whether the holder is a thread of this process.
  package let isThisProcess: Bool
}

/// Why a commit log stands in the way.
@usableFromInline
package enum CommitLogProblem: Sendable, Equatable {
  /// It is in use, and not that of the `data.mdb` beside it.
  case foreign
  /// A record whose sum is right cannot be.
  case corrupted
  /// It has to be written back into `data.mdb`, and this user may not, or the file system refuses.
  case needsWriting
  /// Neither the log nor the file could be synced, so that what is in memory is not to be relied on.
  case broken
}

/// Everything that can go wrong between this package and LMDB or the file system.
///
/// `message` says what failed and what to do about it. No case carries a stored key or value.
@usableFromInline
package enum LMDBError: Error, Sendable, Equatable {
  // MARK: LMDB's own return codes

  /// `MDB_MAP_FULL`: the reserved address space is used up.
  case mapFull
  /// `MDB_READERS_FULL`: every reader slot is taken, also after stale ones were cleared.
  case readersFull
  /// `MDB_TLS_FULL`: the process has no thread-local storage key left.
  case threadStorageFull
  /// `MDB_TXN_FULL`: one transaction touched more pages than LMDB can list.
  case transactionFull
  /// The file would become longer than `LMDBOptions.maximumFileBytes`.
  case fileTooLarge(limit: Int)
  /// `MDB_CURSOR_FULL`: a tree is deeper than LMDB's cursors; the file is damaged.
  case cursorFull
  /// `MDB_PAGE_FULL`: an internal limit of a page was met; the file is damaged.
  case pageFull
  /// `MDB_CORRUPTED` or `MDB_PAGE_NOTFOUND`: the file is damaged.
  case corrupted
  /// A commit's meta page could not be written. `errno` is LMDB's code for it, in most cases that of a system call.
  case commitFailed(outcome: LMDBCommitOutcome, errno: Int32)
  /// `MDB_PANIC`: after `commitFailed`, the environment must be reopened, and live transactions keep it from that.
  case panic
  /// `MDB_VERSION_MISMATCH`: the file or the lock file was made by an incompatible LMDB.
  case versionMismatch
  /// `MDB_INVALID`: not an LMDB file.
  case invalid
  /// `MDB_MAP_RESIZED`: another process grew the file beyond our map, and transactions of this process keep us from
  /// following.
  case mapResized
  /// `MDB_INCOMPATIBLE`: the operation does not fit the table.
  case incompatible
  /// `MDB_BAD_RSLOT`: the reader slot was not usable.
  case badReaderSlot
  /// `MDB_BAD_TXN`: the transaction must be aborted.
  case badTransaction
  /// `MDB_BAD_DBI`: the table handle is not (or no longer) valid in this transaction.
  case badTable
  /// `MDB_DBS_FULL`: more tables than the environment was opened for.
  case tablesFull
  /// A table that was asked for does not exist.
  case noTable(name: String)

  // MARK: Arguments

  /// Keys have 1 to 511 bytes.
  case keyTooLong(length: Int)
  /// Keys have at least one byte.
  case keyEmpty
  /// Values have less than 4 GiB.
  case valueTooLong(length: Int)
  /// An append's key is not greater than the table's last key.
  case notAscending

  // MARK: Use

  /// This thread already holds the writer.
  case nestedWrite
  /// Another writer kept its place until the timeout.
  case busy(holder: WriterHolder?)
  /// Another process has been opening the store for longer than the timeout; it may be stopped. `path` names the file
  /// whose lock it holds, `process` is its number, if it can be found, and `name` its name, or "".
  case openingBusy(path: String, process: Int32?, name: String)
  /// An earlier operation of this write transaction failed, so it cannot be committed.
  case transactionFailed
  /// The process forked after the environment was opened.
  case forked
  /// This process has the file open already.
  case alreadyOpen(path: String)
  /// A write was begun in an environment opened read-only.
  case readOnly
  /// The environment was closed.
  case closed
  /// The operation needs that no transaction of this process is live.
  case transactionsActive(count: Int)

  // MARK: The file system

  /// There is a file or directory where the store should be created.
  case storeExists(path: String)
  /// There is no store.
  case storeNotFound(path: String)
  /// The directory that is to be made at `path` cannot be, for a reason that lies in the directory above it, `parent`.
  case destination(path: String, parent: String, errno: Int32)
  /// What is to be written at `path` would lie in the directory of a store.
  case insideStore(path: String, store: String)
  /// A file is there, and it is not a store.
  case invalidStore(path: String, reason: String)
  /// `data.mdb` has no bytes; LMDB would silently make a new store of it.
  case emptyFile(path: String)
  /// A symbolic link stands where a file or directory of the store belongs.
  case symlink(path: String)
  /// Something other than a regular file (or, for the store itself, a directory).
  case notRegularFile(path: String)
  /// The file belongs to another user.
  case wrongOwner(path: String, owner: UInt32)
  /// Other users may read or write the file, or we may not.
  case wrongMode(path: String, mode: UInt32)
  /// The file has more than one name.
  case hardLinked(path: String, links: Int)
  /// The store lies on a network file system.
  case networkFileSystem(name: String)
  /// The page size is not 4096.
  case unsupportedPageSize(UInt32)
  /// The operating system's page size, in bytes, is not 4096.
  case unsupportedSystemPageSize(Int)
  /// The LMDB library that is loaded is of another series than the header that this was built with: "1.0.0" and
  /// "0.9.24".
  case unsupportedLibrary(loaded: String, built: String)
  /// `lock.mdb` has destroyed mutexes, or does not know the last commit, and a program that does not coordinate with
  /// this one still has the store open.
  case lockFileUnusable(path: String)
  /// The file was exchanged for another while it was being opened.
  case replacedWhileOpening(path: String)
  /// A reader of another PID namespace has our process id.
  case pidNamespace
  /// The disk is full.
  case diskFull
  /// The user's disk quota is used up.
  case quotaExceeded
  /// The file would be longer than the process's limit, or the file system's.
  case fileSizeLimit
  /// The process may not have more memory or address space.
  case outOfMemory
  /// The commit log keeps the store from being opened or written.
  case commitLog(CommitLogProblem, path: String)
  /// A system call failed. `operation` names it.
  case io(errno: Int32, operation: String)
}

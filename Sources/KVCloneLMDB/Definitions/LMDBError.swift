/// The holder of a store's write lock, as the holder writes itself into `writer.lock`.
@usableFromInline
package struct WriterHolder: Sendable, Equatable {
  /// The holder's process id, as seen in the holder's own PID namespace.
  package let pid: Int32
  /// The holder's label of its work. At most 64 bytes of UTF-8.
  package let label: String
  /// The start time: nanoseconds since 1970-01-01T00:00:00Z, by the holder's clock.
  package let sinceNanoseconds: Int64
  /// Whether the holder is a thread of this process.
  package let isThisProcess: Bool
}

/// Why a write-ahead log blocks an operation.
@usableFromInline
package enum CommitLogProblem: Sendable, Equatable {
  /// The log is in use, and belongs to a different `data.mdb`.
  case foreign
  /// A record has a valid checksum and impossible content.
  case corrupted
  /// The log needs a checkpoint into `data.mdb`, which this user's permissions or the file system do not allow.
  case needsWriting
  /// Neither the log nor the file could be synced, so cached pages are not reliable.
  case broken
}

/// The errors of LMDB and of the file system below it.
///
/// `message` says what failed and what to do about it. No case carries a stored key or value.
@usableFromInline
package enum LMDBError: Error, Sendable, Equatable {
  // MARK: LMDB's own return codes

  /// `MDB_MAP_FULL`: the reserved address space is used up.
  case mapFull
  /// `MDB_READERS_FULL`: every reader slot is taken, even after stale ones were cleared.
  case readersFull
  /// `MDB_TLS_FULL`: the process has no thread-local storage key left.
  case threadStorageFull
  /// `MDB_TXN_FULL`: one transaction touched more pages than LMDB can list.
  case transactionFull
  /// The file would exceed `LMDBOptions.maximumFileBytes`.
  case fileTooLarge(limit: Int)
  /// `MDB_CURSOR_FULL`: a tree is deeper than LMDB's cursors; the file is corrupted.
  case cursorFull
  /// `MDB_PAGE_FULL`: a page exceeded an internal limit; the file is corrupted.
  case pageFull
  /// `MDB_CORRUPTED` or `MDB_PAGE_NOTFOUND`: the file is corrupted.
  case corrupted
  /// A commit's meta page could not be written. `errno` is LMDB's code, in most cases that of a system call.
  case commitFailed(outcome: LMDBCommitOutcome, errno: Int32)
  /// `MDB_PANIC`: after `commitFailed`, the environment must be reopened, which open transactions prevent.
  case panic
  /// `MDB_VERSION_MISMATCH`: an incompatible LMDB wrote the file or the lock file.
  case versionMismatch
  /// `MDB_INVALID`: not an LMDB file.
  case invalid
  /// `MDB_MAP_RESIZED`: another process grew the file beyond the map, and open transactions of this process prevent
  /// remapping.
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
  /// The table does not exist.
  case noTable(name: String)

  // MARK: Arguments

  /// Keys have 1 to 511 bytes.
  case keyTooLong(length: Int)
  /// Keys have at least one byte.
  case keyEmpty
  /// Values have less than 4 GiB.
  case valueTooLong(length: Int)
  /// The key of an append is not greater than the table's last key.
  case notAscending

  // MARK: Use

  /// This thread already holds the write lock.
  case nestedWrite
  /// Another writer held the write lock until the timeout.
  case busy(holder: WriterHolder?)
  /// Another process has been opening the store for longer than the timeout; it may be stopped. `path` is the file that
  /// it has locked, `process` its process id if known, and `name` its name, or "".
  case openingBusy(path: String, process: Int32?, name: String)
  /// An earlier operation of this write transaction failed; it is abort-only.
  case transactionFailed
  /// The process forked after the environment was opened.
  case forked
  /// This process already has the file open.
  case alreadyOpen(path: String)
  /// The environment was opened read-only.
  case readOnly
  /// The environment was closed.
  case closed
  /// The operation requires that this process has no open transaction.
  case transactionsActive(count: Int)

  // MARK: The file system

  /// The path of the new store already exists.
  case storeExists(path: String)
  /// The store does not exist.
  case storeNotFound(path: String)
  /// The directory `path` cannot be created because of its parent directory, `parent`.
  case destination(path: String, parent: String, errno: Int32)
  /// The output path `path` is inside a store's directory.
  case insideStore(path: String, store: String)
  /// The file exists, and is not a store.
  case invalidStore(path: String, reason: String)
  /// `data.mdb` is empty; LMDB would silently initialize it as a new store.
  case emptyFile(path: String)
  /// A file or directory of the store is a symbolic link.
  case symlink(path: String)
  /// The path is not a regular file (or, for the store itself, not a directory).
  case notRegularFile(path: String)
  /// The file belongs to another user.
  case wrongOwner(path: String, owner: UInt32)
  /// Other users may read or write the file, or this user may not.
  case wrongMode(path: String, mode: UInt32)
  /// The file has more than one hard link.
  case hardLinked(path: String, links: Int)
  /// The store is on a network file system.
  case networkFileSystem(name: String)
  /// The page size is not 4096.
  case unsupportedPageSize(UInt32)
  /// The operating system's page size, in bytes, is not 4096.
  case unsupportedSystemPageSize(Int)
  /// The loaded LMDB library belongs to another release series than the header of this build: "1.0.0" and "0.9.24".
  case unsupportedLibrary(loaded: String, built: String)
  /// `lock.mdb` has destroyed mutexes or lacks the last commit number, and a program that does not use the opening lock
  /// still has the store open.
  case lockFileUnusable(path: String)
  /// The file was replaced while it was being opened.
  case replacedWhileOpening(path: String)
  /// A reader in another PID namespace has the process id of this process.
  case pidNamespace
  /// The disk is full.
  case diskFull
  /// The user's disk quota is exhausted.
  case quotaExceeded
  /// The file would exceed the size limit of the process or of the file system.
  case fileSizeLimit
  /// The process has reached its limit of memory or address space.
  case outOfMemory
  /// The write-ahead log prevents opening or writing the store.
  case commitLog(CommitLogProblem, path: String)
  /// A system call failed. `operation` is its name.
  case io(errno: Int32, operation: String)
}

import Glibc

extension LMDBError: CustomStringConvertible {
  @usableFromInline
  package var description: String { message }

  /// The failure and its remedy. Contains paths and numbers; never a stored key or value.
  package var message: String {
    switch self {
    case .mapFull, .readersFull, .threadStorageFull, .transactionFull, .fileTooLarge, .cursorFull, .pageFull,
      .corrupted, .panic,
      .commitFailed, .versionMismatch, .invalid, .mapResized, .incompatible, .badReaderSlot, .badTransaction, .badTable,
      .tablesFull,
      .noTable:
      return engineMessage
    case .keyTooLong, .keyEmpty, .valueTooLong, .notAscending:
      return argumentMessage
    case .nestedWrite, .busy, .openingBusy, .transactionFailed, .forked, .alreadyOpen, .readOnly, .closed,
      .transactionsActive:
      return useMessage
    case .storeExists, .storeNotFound, .destination, .insideStore, .invalidStore, .emptyFile, .symlink, .notRegularFile,
      .wrongOwner, .wrongMode,
      .hardLinked, .networkFileSystem, .unsupportedPageSize, .replacedWhileOpening, .pidNamespace, .diskFull,
      .quotaExceeded, .fileSizeLimit, .outOfMemory, .commitLog, .io:
      return fileMessage
    case .unsupportedSystemPageSize, .unsupportedLibrary, .lockFileUnusable:
      return platformMessage
    }
  }

  private var engineMessage: String {
    switch self {
    case .mapFull:
      """
      The reserved address space is full. It grows as soon as no transaction or pinned snapshot of this process is \
      open; then try again.
      """
    case .readersFull:
      "All reader slots are in use. End long reads, or open the store with more reader slots in every process."
    case .threadStorageFull: "The process has no thread-local storage key left. Open fewer environments."
    case .fileTooLarge(let limit):
      "The file would exceed its limit of \(limit) bytes. Delete data or raise the limit; nothing was changed."
    case .transactionFull: "The transaction changes too many pages. Split it."
    case .cursorFull, .pageFull, .corrupted:
      "The file is corrupted. Stop writing, run a full check, and restore a backup or salvage the readable objects."
    case .panic:
      """
      A meta page could not be written, so the file must be reopened. End every transaction and pinned snapshot of this \
      process and try again.
      """
    case .commitFailed(.committed, let errno):
      """
      The commit reported error \(errno) (\(errorText(errno))), but it is complete and durable. Do not repeat \
      the write; \(SystemErrorAdvice.clause(errno)).
      """
    case .commitFailed(.notCommitted, let errno) where Self.isDiskFull(errno):
      Self(code: errno, operation: "commit").fileMessage
    case .commitFailed(.notCommitted, let errno):
      """
      The commit failed with error \(errno) (\(errorText(errno))); nothing was changed. \
      \(SystemErrorAdvice.sentence(errno)) Then repeat the write.
      """
    case .commitFailed(.unknown, let errno):
      """
      The commit failed with error \(errno) (\(errorText(errno))), and its outcome is unknown. \
      \(SystemErrorAdvice.sentence(errno)) Reopen the store and read its commit counter before repeating the write.
      """
    case .versionMismatch: "Another version of LMDB created the file or its lock file. Open it with that version."
    case .invalid: "The file is not an LMDB file. Check the path, or restore a backup."
    case .mapResized:
      "Another process grew the file. End every transaction and pinned snapshot of this process and try again."
    case .incompatible: "The operation does not fit the table, because another program wrote the file. Check the file."
    case .badReaderSlot: "A reader slot is in use twice. Close and reopen the store in this process."
    case .badTransaction: "The transaction has failed. Abort it and begin a new one."
    case .badTable: "The table was opened after the transaction began. Begin a new transaction."
    case .tablesFull: "Too many tables are open. Open the store with a larger table limit."
    case .noTable(let name): "The store has no open table “\(name)”. Open it, or migrate the store."
    default: ""
    }
  }

  private var platformMessage: String {
    switch self {
    case .unsupportedSystemPageSize(let size):
      """
      The operating system has pages of \(size) bytes, but stores have pages of 4096 bytes. Use a kernel with pages of \
      4096 bytes.
      """
    case .unsupportedLibrary(let loaded, let built):
      """
      LMDB \(loaded) is loaded, but this program was built for LMDB \(built), which has another data format. Install \
      liblmdb 0.9, or add the directory of liblmdb.so.0 to LD_LIBRARY_PATH.
      """
    case .lockFileUnusable(let path):
      """
      \(path) is unusable: a program that does not coordinate with KVClone, such as mdb_stat, destroyed its mutexes on \
      closing (LMDB 0.9.26 to 0.9.31), or was killed while it opened the store. End every program that has the store \
      open, then try again.
      """
    default: ""
    }
  }

  private var argumentMessage: String {
    switch self {
    case .keyTooLong(let length):
      "A key has \(length) bytes, but the maximum is \(LMDBLimits.maximumKeyLength). Shorten it."
    case .keyEmpty: "A key is empty. Use a key of at least one byte."
    case .valueTooLong(let length):
      "A value has \(length) bytes, but values must be smaller than 4 GiB. Split it into chunks."
    case .notAscending: "An appended key is not greater than the table's last key. Sort the keys, or use a put."
    default: ""
    }
  }

  private var useMessage: String {
    switch self {
    case .nestedWrite: "This thread already has a write transaction. End it first, or use it."
    case .busy(let holder?):
      """
      The write lock is held by process \(holder.pid)\(holder.isThisProcess ? " (this one)" : "")\
      \(holder.label.isEmpty ? "" : ", “\(holder.label)”")\(since(holder)). Wait for it, or try again with a longer timeout.
      """
    case .busy(nil): "The write lock is in use. Try again with a longer timeout."
    case .openingBusy(let path, let process?, let name):
      """
      Process \(process)\(name.isEmpty ? "" : " (\(name))") is opening the store, and holds the opening lock of \
      \(path). If it is stopped, resume it (kill -CONT \(process)) or end it; otherwise try again with a longer timeout.
      """
    case .openingBusy(let path, nil, _):
      """
      Another process is opening the store, and holds the opening lock of \(path). If it is stopped, resume or end it \
      (`fuser \(path)` lists processes); otherwise try again with a longer timeout.
      """
    case .transactionFailed:
      "An operation of the write transaction failed, and the transaction is abort-only. Abort it and try again."
    case .forked: "The process forked after opening the store. Open it again in the child."
    case .alreadyOpen(let path): "This process already has \(path) open. Share that environment."
    case .readOnly: "The store was opened read-only. Open it for writing."
    case .closed: "The store was closed. Open it again."
    case .transactionsActive(let count):
      "\(count) transactions of this process are open. End them and all pinned snapshots, and try again."
    default: ""
    }
  }

  /// Formats the time as RFC 3339 in UTC, to the second: the message may be read much later.
  private func since(_ holder: WriterHolder) -> String {
    if holder.sinceNanoseconds <= 0 { return "" }
    var seconds = time_t(holder.sinceNanoseconds / 1_000_000_000)
    var parts = unsafe tm()
    guard unsafe gmtime_r(&seconds, &parts) != nil else { return "" }
    func digits(_ number: Int32, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let date = unsafe [digits(parts.tm_year + 1900, 4), digits(parts.tm_mon + 1, 2), digits(parts.tm_mday, 2)]
    let time = unsafe [digits(parts.tm_hour, 2), digits(parts.tm_min, 2), digits(parts.tm_sec, 2)]
    return ", since " + date.joined(separator: "-") + "T" + time.joined(separator: ":") + "Z"
  }

  private var fileMessage: String {
    switch self {
    case .storeExists(let path): "\(path) already exists. Choose another path."
    case .storeNotFound(let path): "No store exists at \(path). Check the path, or create a store."
    case .destination(let path, let parent, let errno): destinationMessage(path, parent, errno)
    case .insideStore(let path, let store):
      "\(path) is inside \(store), the directory of a store. Choose a path outside it; nothing was written."
    case .invalidStore(let path, let reason): "\(path) is not a valid store: \(reason). Check it, or restore a backup."
    case .emptyFile(let path): "\(path) is empty. Restore a backup, or remove the directory and create the store."
    case .symlink(let path): "\(path) is a symbolic link. Use the real path, and remove links within the store."
    case .notRegularFile(let path): "\(path) has the wrong file type. A store is a directory of regular files."
    case .wrongOwner(let path, let owner): "\(path) belongs to user \(owner). Run as that user, or chown it."
    case .wrongMode(let path, let mode):
      "\(path) has mode 0\(String(mode, radix: 8)). Only its owner may be able to read and write it: chmod u+rw,go= it."
    case .hardLinked(let path, let links): "\(path) has \(links) hard links. Remove the other links, or copy the file."
    case .networkFileSystem(let name): "The store is on \(name), where LMDB is unsafe. Move it to a local disk."
    case .unsupportedPageSize(let size):
      "The file has pages of \(size) bytes instead of 4096. Dump it on the original machine and load the dump here."
    case .replacedWhileOpening(let path): "\(path) was replaced while it was being opened. Try again."
    case .pidNamespace:
      "A reader in another PID namespace has the id of this process. Let the containers share one PID namespace."
    case .diskFull: "The disk is full. Free disk space and try again; nothing was changed."
    case .quotaExceeded:
      "The user's disk quota is exceeded. Free disk space or raise the quota, and try again; nothing was changed."
    case .fileSizeLimit:
      """
      The file cannot grow: the limit on file sizes is reached. Raise it (ulimit -f, or LimitFSIZE of a systemd unit) \
      and try again; nothing was changed.
      """
    case .outOfMemory:
      "The process is out of memory or address space. Raise its limits (ulimit -v, or the container's memory), or reserve a smaller map."
    case .commitLog(.foreign, let path):
      """
      \(path) has commits that do not belong to the data.mdb next to it. If data.mdb was restored, remove the log; otherwise, \
      restore the data.mdb that belongs to the log.
      """
    case .commitLog(.corrupted, let path):
      "\(path) is corrupted. Copy the store's directory, then restore a backup, or remove the log and check the store."
    case .commitLog(.needsWriting, let path):
      """
      \(path) has commits that need a checkpoint, but data.mdb cannot be written. Open the store once with \
      write permission.
      """
    case .commitLog(.broken, _):
      """
      A sync failed, and further writes are refused. Close and reopen the store in every process; committed data is \
      recovered from the log. See the kernel's log for the device.
      """
    case .io(EROFS, let operation):
      "\(operation) failed: the file system is mounted read-only. Remount it, or open the store read-only."
    case .io(let errno, let operation):
      "\(operation) failed with error \(errno) (\(errorText(errno))). \(SystemErrorAdvice.sentence(errno))"
    default: ""
    }
  }

  private func destinationMessage(_ path: String, _ parent: String, _ errno: Int32) -> String {
    if path.isEmpty { return "The path of the directory to create is empty. Pass a path." }
    let (reason, advice) =
      switch errno {
      case ENOENT: ("the directory \(parent) does not exist", "Create it first, or choose another path.")
      case ENOTDIR: ("\(parent) is not a directory", "Choose another path.")
      default: ("\(parent): \(errorText(errno))", SystemErrorAdvice.sentence(errno))
      }
    return "\(path) cannot be created: \(reason). \(advice)"
  }
}

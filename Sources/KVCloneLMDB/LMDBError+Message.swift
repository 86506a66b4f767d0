import Glibc

extension LMDBError: CustomStringConvertible {
  @usableFromInline
  package var description: String { message }

  /// What failed and what to do about it. Paths and numbers only; never a stored key or value.
  package var message: String {
    switch self {
    case .mapFull, .readersFull, .threadStorageFull, .transactionFull, .fileTooLarge, .cursorFull, .pageFull,
      .corrupted, .panic,
      .commitFailed, .versionMismatch, .invalid, .mapResized, .incompatible, .badReaderSlot, .badTransaction, .badTable,
      .tablesFull,
      .noTable:
      return engineMessage
    case .keyTooLong, .keyEmpty, .valueTooLong, .notAscending, .incompleteValue:
      return argumentMessage
    case .nestedWrite, .busy, .transactionFailed, .forked, .alreadyOpen, .readOnly, .closed, .transactionsActive:
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
      The reserved address space is used up. It grows as soon as no transaction or pinned snapshot of this process is \
      open; then try again.
      """
    case .readersFull: "All reader slots are taken. End long reads, or open the store with more readers everywhere."
    case .threadStorageFull: "The process has no thread-local storage key left. Open fewer environments."
    case .fileTooLarge(let limit):
      "The file would become longer than its limit, \(limit) bytes. Delete something, or raise the limit; nothing was changed."
    case .transactionFull: "The transaction touches too many pages. Split it."
    case .cursorFull, .pageFull, .corrupted:
      "The file is damaged. Stop writing, run a full check, and restore a backup or rescue what is readable."
    case .panic:
      """
      A meta page could not be written, so the file must be reopened. End every transaction and pinned snapshot of this \
      process and try again.
      """
    case .commitFailed(.committed, let errno):
      """
      The commit reported error \(errno) (\(errorText(errno))), and was found to be complete and durable. Do not repeat \
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
      The commit failed with error \(errno) (\(errorText(errno))), and whether it happened is unknown. \
      \(SystemErrorAdvice.sentence(errno)) Open the store again and look at its commit counter before repeating the write.
      """
    case .versionMismatch: "Another version of LMDB made the file or its lock file. Open it with that version."
    case .invalid: "The file is not an LMDB file. Check the path, or restore a backup."
    case .mapResized:
      "Another process grew the file. End every transaction and pinned snapshot of this process and try again."
    case .incompatible: "The operation does not fit the table. The file was written by another program; check it."
    case .badReaderSlot: "A reader slot is in use twice. Close the store in this process and open it again."
    case .badTransaction: "The transaction failed before. Abort it and begin a new one."
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
      The operating system has pages of \(size) bytes, and stores have pages of 4096 bytes. Use a kernel with pages of \
      4096 bytes.
      """
    case .unsupportedLibrary(let loaded, let built):
      """
      LMDB \(loaded) is loaded, and this program was built for LMDB \(built), which has another data format. Install \
      liblmdb 0.9, or name the directory of liblmdb.so.0 in LD_LIBRARY_PATH.
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
      "A key has \(length) bytes, and \(LMDBLimits.maximumKeyLength) are possible. Shorten it."
    case .keyEmpty: "A key has no bytes. Give it at least one."
    case .valueTooLong(let length): "A value has \(length) bytes, and less than 4 GiB are possible. Cut it into chunks."
    case .notAscending: "An appended key is not greater than the table's last one. Sort the keys, or put it instead."
    case .incompleteValue(let reserved, let written):
      "\(reserved) bytes were reserved for a value and \(written) written. Reserve as many as will be written."
    default: ""
    }
  }

  private var useMessage: String {
    switch self {
    case .nestedWrite: "This thread is writing already. End that write transaction first, or use it."
    case .busy(let holder?):
      """
      The store is being written by process \(holder.pid)\(holder.isThisProcess ? " (this one)" : "")\
      \(holder.label.isEmpty ? "" : ", “\(holder.label)”")\(since(holder)). Wait for it, or try again with a longer timeout.
      """
    case .busy(nil): "The store is being written. Try again with a longer timeout."
    case .transactionFailed: "An operation of the write transaction failed, so it cannot go on. Abort it and try again."
    case .forked: "The process forked after opening the store. Open it again in the child."
    case .alreadyOpen(let path): "This process has \(path) open already. Share that environment."
    case .readOnly: "The store was opened read-only. Open it for writing."
    case .closed: "The store was closed. Open it again."
    case .transactionsActive(let count):
      "\(count) transactions of this process are open. End them, pinned snapshots too, and try again."
    default: ""
    }
  }

  /// As RFC 3339 in UTC, to the second: whoever reads the message may do so much later.
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
    case .storeExists(let path): "Something is at \(path) already. Choose another path."
    case .storeNotFound(let path): "There is no store at \(path). Check the path, or create one."
    case .destination(let path, let parent, let errno): destinationMessage(path, parent, errno)
    case .insideStore(let path, let store):
      "\(path) lies in \(store), the directory of a store. Choose a path outside it; nothing was written."
    case .invalidStore(let path, let reason): "\(path) is not a healthy store: \(reason). Check it, or restore a backup."
    case .emptyFile(let path): "\(path) has no bytes. Restore a backup, or remove the directory and create the store."
    case .symlink(let path): "\(path) is a symbolic link. Give the real path, and no links within the store."
    case .notRegularFile(let path): "\(path) is of the wrong kind. A store is a directory of regular files."
    case .wrongOwner(let path, let owner): "\(path) belongs to user \(owner). Run as that user, or chown it."
    case .wrongMode(let path, let mode):
      "\(path) has mode 0\(String(mode, radix: 8)). Its owner, and nobody else, must be able to read and write it: chmod u+rw,go= it."
    case .hardLinked(let path, let links): "\(path) has \(links) names. Remove the other hard links, or copy it."
    case .networkFileSystem(let name): "The store lies on \(name), where LMDB is unsafe. Move it to a local disk."
    case .unsupportedPageSize(let size):
      "The file has pages of \(size) bytes, not 4096. Dump it there and load it here."
    case .replacedWhileOpening(let path): "\(path) was replaced while it was being opened. Try again."
    case .pidNamespace:
      "A reader in another PID namespace has our process id. Let the containers share one PID namespace."
    case .diskFull: "The disk is full. Make room and try again; nothing was changed."
    case .quotaExceeded:
      "The user's disk quota is used up. Make room within it, or have it raised, and try again; nothing was changed."
    case .fileSizeLimit:
      """
      The file may not become longer: the limit on file sizes is reached. Raise it (ulimit -f, or LimitFSIZE of a systemd unit) \
      and try again; nothing was changed.
      """
    case .outOfMemory:
      "No memory or address space is left. Raise the process's limits (ulimit -v, or the container's memory), or reserve a smaller map."
    case .commitLog(.foreign, let path):
      """
      \(path) has commits that are not those of the data.mdb beside it. If data.mdb was restored, remove the log; if not, \
      bring back the data.mdb that belongs to it.
      """
    case .commitLog(.corrupted, let path):
      "\(path) is damaged. Copy the store's directory away, then restore a backup, or remove the log and check the store."
    case .commitLog(.needsWriting, let path):
      """
      \(path) has commits that are to be written back into data.mdb, and that may not be written. Open the store once with \
      the right to write.
      """
    case .commitLog(.broken, _):
      """
      A sync failed, so nothing more is written. Close the store in every process and open it again; what was committed \
      comes from the log. See the kernel's log for the device.
      """
    case .io(EROFS, let operation):
      "\(operation) failed: the file system is mounted read-only. Remount it, or open the store read-only."
    case .io(let errno, let operation):
      "\(operation) failed with error \(errno) (\(errorText(errno))). \(SystemErrorAdvice.sentence(errno))"
    default: ""
    }
  }

  private func destinationMessage(_ path: String, _ parent: String, _ errno: Int32) -> String {
    if path.isEmpty { return "The path of a directory to be made is empty. Give one." }
    let (reason, advice) =
      switch errno {
      case ENOENT: ("the directory \(parent) does not exist", "Make it first, or choose another path.")
      case ENOTDIR: ("\(parent) is not a directory", "Choose another path.")
      default: ("\(parent): \(errorText(errno))", SystemErrorAdvice.sentence(errno))
      }
    return "\(path) cannot be made: \(reason). \(advice)"
  }
}

import CKVCloneLMDB
import Glibc

extension LMDBError {
  /// Whether the file has to be truncated after a transaction that ended with this error.
  var leavesLongFile: Bool {
    if case .fileTooLarge = self { return true }
    return isDiskFull
  }

  /// Whether a disk, a quota or the file size limit is used up.
  package var isDiskFull: Bool { [.diskFull, .quotaExceeded, .fileSizeLimit].contains(self) }

  /// Whether an `errno` value reports a full disk, an exhausted quota or the file size limit.
  package static func isDiskFull(_ errno: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(errno) }

  /// Whether an `errno` value reports that a path does not exist or is no directory.
  package static func isNoDirectory(_ errno: Int32) -> Bool { [ENOENT, ENOTDIR].contains(errno) }

  /// Converts a return code of LMDB: one of its own negative codes or an `errno` value.
  init(code: Int32, operation: StaticString) {
    switch code {
    case MDB_KEYEXIST: self = .notAscending
    case MDB_PAGE_NOTFOUND, MDB_CORRUPTED: self = .corrupted
    case MDB_PANIC: self = .panic
    case MDB_VERSION_MISMATCH: self = .versionMismatch
    case MDB_INVALID: self = .invalid
    case MDB_MAP_FULL: self = .mapFull
    case MDB_DBS_FULL: self = .tablesFull
    case MDB_READERS_FULL: self = .readersFull
    case MDB_TLS_FULL: self = .threadStorageFull
    case MDB_TXN_FULL: self = .transactionFull
    case MDB_CURSOR_FULL: self = .cursorFull
    case MDB_PAGE_FULL: self = .pageFull
    case MDB_MAP_RESIZED: self = .mapResized
    case MDB_INCOMPATIBLE: self = .incompatible
    case MDB_BAD_RSLOT: self = .badReaderSlot
    case MDB_BAD_TXN: self = .badTransaction
    case MDB_BAD_DBI: self = .badTable
    case ENOSPC: self = .diskFull
    case EDQUOT: self = .quotaExceeded
    case EFBIG: self = .fileSizeLimit
    case ENOMEM: self = .outOfMemory
    default: self = .io(errno: code, operation: String(describing: operation))
    }
  }
}

/// Returns the C library's text for an `errno` value.
func errorText(_ code: Int32) -> String {
  // Thread-safe since glibc 2.32.
  guard let words = unsafe strerror(code) else { return "unknown" }
  return unsafe String(cString: words)
}

package import KVCloneLMDB

/// Runs calls of the LMDB layer and converts its errors.
package func storeErrors<R: ~Copyable>(_ body: () throws(LMDBError) -> R) throws(StoreError) -> R {
  do throws(LMDBError) { return try body() } catch { throw StoreError(error) }
}

extension StoreError {
  /// Converts an error of the LMDB layer.
  package init(_ error: LMDBError) {
    let kind: Kind =
      switch error {
      case .mapFull, .mapResized: .mapFull
      case .readersFull, .badReaderSlot, .pidNamespace: .readersFull
      case .diskFull, .quotaExceeded, .fileSizeLimit: .diskFull
      case .commitFailed(.notCommitted, let errno) where LMDBError.isDiskFull(errno): .diskFull
      case .busy, .openingBusy, .lockFileUnusable: .busy
      case .nestedWrite: .nestedWrite
      case .transactionFailed: .transactionAborted
      case .forked: .forked
      case .alreadyOpen: .alreadyOpen
      case .readOnly: .readOnly
      case .closed, .transactionsActive: .closed
      case .storeExists: .storeExists
      case .storeNotFound: .storeNotFound
      case .destination(_, _, let errno) where LMDBError.isNoDirectory(errno): .invalidDestination
      case .destination(_, _, let errno) where LMDBError.isDiskFull(errno): .diskFull
      case .destination: .io
      case .insideStore: .invalidDestination
      case .corrupted, .pageFull: .corrupted
      // A commit that turned out to exist has the same kind: after `io`, a caller would repeat the write.
      case .commitFailed(.unknown, _), .commitFailed(.committed, _): .commitOutcomeUnknown
      case .invalidStore, .emptyFile, .symlink, .notRegularFile, .wrongOwner, .wrongMode, .hardLinked,
        .networkFileSystem,
        .unsupportedPageSize, .unsupportedSystemPageSize, .unsupportedLibrary, .replacedWhileOpening, .versionMismatch,
        .invalid, .noTable, .incompatible:
        .invalidStore
      case .keyTooLong, .keyEmpty, .valueTooLong, .notAscending, .tablesFull, .threadStorageFull,
        .transactionFull, .cursorFull, .fileTooLarge:
        .limitExceeded
      case .commitLog(.foreign, _): .invalidStore
      case .commitLog(.corrupted, _): .corrupted
      case .commitLog(.needsWriting, _): .readOnly
      case .commitLog(.broken, _), .commitFailed, .panic, .badTransaction, .badTable, .outOfMemory, .io: .io
      }
    self.init(kind, error.message)
  }
}

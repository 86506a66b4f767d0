import KVCloneLMDB
import KVCloneRecords
import Synchronization

/// LMDB behind the seam.
final class LMDBEngine: StorageEngine {
  let environment: LMDBEnvironment

  init(_ environment: LMDBEnvironment) {
    self.environment = environment
  }

  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try storeErrors { () throws(LMDBError) in
      let handles = try environment.openTables(tables.map { $0.name ?? "" }, create: create)
      return zip(tables, handles).map { StorageTable(code: $0, handle: $1.dbi) }
    }
  }

  func beginRead() throws(StoreError) -> any StorageBackend {
    try storeErrors { () throws(LMDBError) in LMDBReader(try environment.beginRead()) }
  }

  func beginWrite(label: String, timeout: Duration) throws(StoreError) -> any StorageBackend {
    try storeErrors { () throws(LMDBError) in LMDBWriter(try environment.beginWrite(timeout: timeout, label: label)) }
  }

  func facts() throws(StoreError) -> StorageFacts {
    try storeErrors { () throws(LMDBError) in
      let info = try environment.info()
      let bytes = FileSystem.byteCount(environment.directory + "/data.mdb") ?? 0
      return StorageFacts(fileBytes: UInt64(bytes), pageCount: info.lastPage + 1, pageSize: LMDBLimits.pageSize)
    }
  }

  func close() {
    environment.close()
  }
}

/// A transaction of LMDB's in the seam's shape. It ends with this object, which its owner lets go of when it ends.
private class LMDBBackend<Transaction: PointerReading & ~Copyable>: StorageBackend {
  fileprivate var transaction: Transaction

  init(_ transaction: consuming Transaction) {
    self.transaction = transaction
  }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    do throws(LMDBError) { return try transaction.pointer(table.lmdb, key) } catch { throw StoreError(error) }
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    do throws(LMDBError) { return try transaction.pointers(table.lmdb, key, mode.lmdb) } catch {
      throw StoreError(error)
    }
  }

  func scan(_ table: StorageTable, from key: UnsafeRawBufferPointer, _ body: (StorageEntryPointers) -> Bool)
    throws(StoreError)
  {
    do throws(LMDBError) { try transaction.scanPointers(table.lmdb, from: key, body) } catch { throw StoreError(error) }
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    throw StoreError.readTransaction
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    throw StoreError.readTransaction
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    throw StoreError.readTransaction
  }

  func commit() throws(StoreError) {}

  func abort() {}
}

private final class LMDBReader: LMDBBackend<LMDBReadTransaction> {}

private final class LMDBWriter: LMDBBackend<LMDBWriteTransaction> {
  override func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    do throws(LMDBError) {
      try transaction.put(table.lmdb, RawSpan(_unsafeBytes: key), RawSpan(_unsafeBytes: value))
    } catch {
      throw StoreError(error)
    }
  }

  override func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    do throws(LMDBError) {
      try transaction.append(table.lmdb, RawSpan(_unsafeBytes: key), RawSpan(_unsafeBytes: value))
    } catch {
      throw StoreError(error)
    }
  }

  override func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    do throws(LMDBError) {
      return try transaction.delete(table.lmdb, RawSpan(_unsafeBytes: key))
    } catch {
      throw StoreError(error)
    }
  }

  override func commit() throws(StoreError) {
    do throws(LMDBError) { try transaction.commitInPlace() } catch { throw StoreError(error) }
  }
}

/// What LMDB's two kinds of transaction read, in pointers: the one place where spans become pointers, for the way
/// through an existential. `StorageTransaction` makes spans of them again, bound to its own lifetime.
private protocol PointerReading: ~Copyable {
  borrowing func pointer(_ table: LMDBTable, _ key: UnsafeRawBufferPointer) throws(LMDBError) -> UnsafeRawBufferPointer?
  borrowing func pointers(_ table: LMDBTable, _ key: UnsafeRawBufferPointer, _ mode: LMDBSeek) throws(LMDBError)
    -> StorageEntryPointers?
  borrowing func scanPointers(
    _ table: LMDBTable, from key: UnsafeRawBufferPointer, _ body: (StorageEntryPointers) -> Bool) throws(LMDBError)
}

extension LMDBReadTransaction: PointerReading {
  fileprivate borrowing func pointer(_ table: LMDBTable, _ key: UnsafeRawBufferPointer) throws(LMDBError)
    -> UnsafeRawBufferPointer?
  {
    guard let value = try get(table, RawSpan(_unsafeBytes: key)) else { return nil }
    return value.withUnsafeBytes { $0 }
  }

  fileprivate borrowing func pointers(_ table: LMDBTable, _ key: UnsafeRawBufferPointer, _ mode: LMDBSeek)
    throws(LMDBError) -> StorageEntryPointers?
  {
    guard let entry = try seek(table, RawSpan(_unsafeBytes: key), mode) else { return nil }
    return StorageEntryPointers(entry.key, entry.value)
  }

  fileprivate borrowing func scanPointers(
    _ table: LMDBTable, from key: UnsafeRawBufferPointer, _ body: (StorageEntryPointers) -> Bool
  ) throws(LMDBError) {
    try scan(table, from: RawSpan(_unsafeBytes: key)) { body(StorageEntryPointers($0, $1)) }
  }
}

extension LMDBWriteTransaction: PointerReading {
  fileprivate borrowing func pointer(_ table: LMDBTable, _ key: UnsafeRawBufferPointer) throws(LMDBError)
    -> UnsafeRawBufferPointer?
  {
    guard let value = try get(table, RawSpan(_unsafeBytes: key)) else { return nil }
    return value.withUnsafeBytes { $0 }
  }

  fileprivate borrowing func pointers(_ table: LMDBTable, _ key: UnsafeRawBufferPointer, _ mode: LMDBSeek)
    throws(LMDBError) -> StorageEntryPointers?
  {
    guard let entry = try seek(table, RawSpan(_unsafeBytes: key), mode) else { return nil }
    return StorageEntryPointers(entry.key, entry.value)
  }

  fileprivate borrowing func scanPointers(
    _ table: LMDBTable, from key: UnsafeRawBufferPointer, _ body: (StorageEntryPointers) -> Bool
  ) throws(LMDBError) {
    try scan(table, from: RawSpan(_unsafeBytes: key)) { body(StorageEntryPointers($0, $1)) }
  }
}

extension StorageEntryPointers {
  fileprivate init(_ key: RawSpan, _ value: RawSpan) {
    self.init(key: key.withUnsafeBytes { $0 }, value: value.withUnsafeBytes { $0 })
  }
}

extension StorageTable {
  fileprivate var lmdb: LMDBTable { LMDBTable(dbi: handle) }
}

extension StoreError {
  fileprivate static var readTransaction: StoreError {
    StoreError(.readOnly, "a read transaction cannot change anything; use write")
  }
}

extension StorageSeek {
  fileprivate var lmdb: LMDBSeek {
    switch self {
    case .atOrAfter: .atOrAfter
    case .atOrBefore: .atOrBefore
    }
  }
}

/// Runs calls of the LMDB layer and turns its errors into the store's.
func storeErrors<R>(_ body: () throws(LMDBError) -> R) throws(StoreError) -> R {
  do throws(LMDBError) { return try body() } catch { throw StoreError(error) }
}

extension StoreError {
  /// The store's word for an error of the LMDB layer.
  init(_ error: LMDBError) {
    let kind: Kind =
      switch error {
      case .mapFull, .mapResized: .mapFull
      case .readersFull, .badReaderSlot, .pidNamespace: .readersFull
      case .diskFull: .diskFull
      case .busy: .busy
      case .nestedWrite: .nestedWrite
      case .transactionFailed: .transactionAborted
      case .forked: .forked
      case .alreadyOpen: .alreadyOpen
      case .readOnly: .readOnly
      case .closed, .transactionsActive: .closed
      case .storeExists: .storeExists
      case .noStore: .noStore
      case .corrupted, .pageFull: .damaged
      case .panic: .commitUnknown
      case .notAStore, .emptyFile, .symlink, .notRegularFile, .wrongOwner, .wrongMode, .hardLinked, .networkFileSystem,
        .unsupportedPageSize, .replacedWhileOpening, .versionMismatch, .invalid, .noTable, .incompatible:
        .notAStore
      case .keyTooLong, .keyEmpty, .valueTooLong, .notAscending, .incompleteValue, .tablesFull, .threadStorageFull,
        .transactionFull, .cursorFull:
        .limitExceeded
      case .badTransaction, .badTable, .outOfMemory, .io: .io
      }
    self.init(kind, error.message)
  }
}

import KVCloneCore
import KVCloneLMDB

/// A view of a transaction that ends at a deadline: reads after it throw `cancelled`.
///
/// So every query is bounded, such as one without an index in ten million objects, in all engines.
final class DeadlineBackend: StorageBackend {
  /// The number of reads between two looks at the clock. A query can take a tenth of a second for a value, such as for
  /// a regular expression.
  private static let interval = 16
  /// The length of a value that counts as another read, in bytes.
  private static let longLength = 64 << 10

  private let inner: any StorageBackend
  private let deadline: Deadline
  private var readsUntilCheck = interval

  init(_ inner: any StorageBackend, _ deadline: Deadline) {
    self.inner = inner
    self.deadline = deadline
  }

  @inline(__always)
  private func countRead() throws(StoreError) {
    readsUntilCheck -= 1
    if readsUntilCheck <= 0 { try check() }
  }

  private func check() throws(StoreError) {
    readsUntilCheck = Self.interval
    do throws(ExplorerError) {
      try deadline.check()
    } catch {
      throw StoreError(.cancelled, error.message)
    }
  }

  var nextIndexID: UInt16 { inner.nextIndexID }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try countRead()
    let value = try inner.get(table, key)
    readsUntilCheck -= (value?.count ?? 0) / Self.longLength
    return value
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    try countRead()
    return try inner.seek(table, key, mode)
  }

  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try countRead()
    try inner.scan(table, from: key, before: end) { (key, value) throws(StoreError) in
      try countRead()
      readsUntilCheck -= value.byteCount / Self.longLength
      return try body(key, value)
    }
  }

  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 { try inner.entryCount(table) }

  var stateNumber: UInt64 { inner.stateNumber }

  var space: (any TransactionSpace)? { inner.space }

  func retainCursors(in tables: [StorageTable]) { inner.retainCursors(in: tables) }

  func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  func beginReadScope() -> Int { inner.beginReadScope() }

  func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  func abort() { inner.abort() }

  // MARK: Write operations (unsupported)

  private static var readOnly: StoreError {
    StoreError(.readOnly, "transactions of pages are read-only; use a write transaction of the store")
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    throw Self.readOnly
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    throw Self.readOnly
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool { throw Self.readOnly }

  func commit() throws(StoreError) { throw Self.readOnly }
}

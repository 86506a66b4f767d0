import KVCloneCore
import KVCloneRecords

/// Writes entries into the new store, in many transactions, so that memory stays flat: it is not published before it is
/// complete.
final class SalvageWriter {
  private static let batchByteCount = 16 << 20

  let engine: LMDBEngine
  private let run: BackupRun
  private(set) var backend: any StorageBackend
  private var byteCount = 0

  init(_ engine: LMDBEngine, _ run: BackupRun) throws(StoreError) {
    self.engine = engine
    self.run = run
    backend = try engine.beginWrite(label: "salvage", timeout: .zero)
  }

  /// Appends an entry with a key above all others of its table.
  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    try backend.append(table, key, value)
    try advance(key.count + value.count)
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    try backend.put(table, key, value)
    try advance(key.count + value.count)
  }

  func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
    try put(table, unsafePointers(key.span.bytes), unsafePointers(value.span.bytes))
  }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try backend.get(table, key)
  }

  func delete(_ table: StorageTable, _ key: ShortKey) throws(StoreError) {
    _ = try backend.delete(table, unsafePointers(key.bytes))
    try advance(key.count)
  }

  private func advance(_ count: Int) throws(StoreError) {
    byteCount += count
    if byteCount >= Self.batchByteCount { try flush() }
  }

  /// Commits what was written. Invalidates what was read from the transaction before.
  func flush() throws(StoreError) {
    byteCount = 0
    try run.check()
    try backend.commit()
    backend = try engine.beginWrite(label: "salvage", timeout: .zero)
  }

  func finish() throws(StoreError) { try backend.commit() }
}

import KVCloneCore
import KVCloneRecords

/// The destination of entries in a backup or restore: tables by their codes, in any order.
final class IncrementSink {
  let backend: any StorageBackend
  private let tables: [TableCode: StorageTable]
  private let run: BackupRun
  private let deletion = ReusedBytes()
  private var unreported = 0
  /// The number of entries put and deleted.
  private(set) var entryCount: UInt64 = 0

  /// The number of bytes between progress reports, which may cancel.
  private static let reportStep = 64 << 10

  init(_ backend: any StorageBackend, _ tables: [StorageTable], _ run: BackupRun) {
    self.backend = backend
    self.tables = Dictionary(tables.map { ($0.code, $0) }, uniquingKeysWith: { first, _ in first })
    self.run = run
  }

  func table(_ code: TableCode) throws(StoreError) -> StorageTable {
    guard let table = tables[code] else {
      throw StoreError(.corrupted, "the table \(code.name ?? String(code.rawValue)) is missing; run `check`")
    }
    return table
  }

  func put(_ code: TableCode, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    try backend.put(try table(code), key, value)
    try advance(key.count + value.count)
  }

  func put(_ code: TableCode, _ key: [UInt8], _ value: [UInt8]) throws(StoreError) {
    try put(code, unsafePointers(key.span.bytes), unsafePointers(value.span.bytes))
  }

  func get(_ code: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try backend.get(try table(code), key)
  }

  func delete(_ code: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) {
    _ = try backend.delete(try table(code), key)
    try advance(key.count)
  }

  /// Adds the deletion of a key to an incremental backup.
  func noteDeletion(_ code: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) {
    DeletionKey.write(table: code, key: key, to: deletion)
    var value = ValueEnvelope.emptyValue(seed: ValueEnvelope.seed(tableCode: .deletions, key: deletion.bytes))
    try withUnsafeBytes(of: &value) { (value) throws(StoreError) in try put(.deletions, deletion.bytes, value) }
  }

  /// Deletes all chunks of a blob.
  func deleteChunks(of blob: UInt64) throws(StoreError) {
    let first = ShortKey.blobChunk(blob, chunk: 0)
    try deleteAll(.blobs, from: unsafePointers(first.bytes)) { key in
      key.count >= 8 && SnapshotHorizon.number(key, at: 0) == blob
    }
  }

  /// Deletes entries from a key on until `isWanted` returns false.
  func deleteAll(
    _ code: TableCode, from first: UnsafeRawBufferPointer, while isWanted: (UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    let table = try table(code)
    let bound = ReusedBytes()
    bound.append(first)
    while let found = try backend.seek(table, bound.bytes, .atOrAfter), isWanted(found.key) {
      // Copied: a deleted key must not be in the engine's own memory.
      bound.removeAll()
      bound.append(found.key)
      try delete(code, bound.bytes)
    }
  }

  fileprivate func advance(_ byteCount: Int) throws(StoreError) {
    entryCount &+= 1
    unreported += byteCount
    if unreported < Self.reportStep, entryCount % 256 != 0 { return }
    run.advance(unreported)
    unreported = 0
    try run.check()
  }
}

extension IncrementSink {
  /// Copies the entries of a table from a key on, while their keys begin with `prefix`.
  func copy(
    _ table: StorageTable, from first: RawSpan, within prefix: RawSpan = RawSpan(), of session: borrowing Session
  ) throws(StoreError) {
    let wanted = unsafePointers(prefix)
    try session.storage.scan(table, from: first, within: prefix) { (key, value) throws(StoreError) in
      let key = unsafePointers(copy key)
      guard key.starts(with: wanted) else { return false }
      try put(table.code, key, unsafePointers(copy value))
      return true
    }
  }

  /// Copies all entries of a table to an empty one, in full pages.
  func append(_ table: StorageTable, of session: borrowing Session) throws(StoreError) {
    let target = try self.table(table.code)
    try session.forEachEntry(table) { (key, value) throws(StoreError) in
      try backend.append(target, unsafePointers(copy key), unsafePointers(copy value))
      try advance(key.byteCount + value.byteCount)
      return true
    }
  }
}

import KVCloneLMDB
import KVCloneRecords

/// A write transaction with changes that can be undone: before a key is changed, its value is copied into a log.
///
/// It is in front of the engine only while a savepoint is open. Undoing applies the log backwards, so it takes as long
/// as the changes took, regardless of the transaction's earlier changes. Nested transactions of LMDB would do the same
/// in fewer reads, but they merge all dirty pages of the outer transaction at their end, and cannot spill.
final class UndoLog: StorageBackend {
  let inner: any StorageBackend
  /// The entries: key, earlier value, and ``Trailer``, by which they are read backwards.
  private let bytes: ScratchArray<UInt8>
  /// Whether a savepoint is open.
  var isOpen = false
  /// The number of bytes written since the engine last made room.
  private var unaskedByteCount = 0

  /// The engine makes room in advance: running out of space in the middle of a change aborts the whole transaction, but
  /// a failed reservation can still be undone.
  private static let roomStep = 1 << 20

  private struct Trailer: BitwiseCopyable {
    var handle: UInt32
    var code: UInt16
    var keyLength: UInt16
    /// ``absent`` if the key did not exist.
    var valueLength: UInt32

    static let absent = UInt32.max
  }

  /// - Parameter directory: the directory for a log that exceeds memory.
  init(_ inner: any StorageBackend, directory: @escaping () -> String) {
    self.inner = inner
    bytes = ScratchArray(in: ScratchSpace(directory: directory()))
  }

  /// The length of the log, to which ``undo(to:)`` returns.
  var length: Int { bytes.count }

  // MARK: Recording

  private func record(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?)
    throws(StoreError)
  {
    let trailer = Trailer(
      handle: table.handle, code: table.code.rawValue, keyLength: UInt16(key.count),
      valueLength: value.map { UInt32($0.count) } ?? Trailer.absent)
    let valueCount = value?.count ?? 0
    var place = try bytes.extend(by: key.count + valueCount + MemoryLayout<Trailer>.size)
    if let base = key.baseAddress { place.copyMemory(from: base, byteCount: key.count) }
    place += key.count
    if let base = value?.baseAddress { place.copyMemory(from: base, byteCount: valueCount) }
    (place + valueCount).storeBytes(of: trailer, as: Trailer.self)
  }

  private func recordEarlierValue(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) {
    try record(table, key, try inner.get(table, key))
  }

  /// Removes all entries. Returns false if the log should not be kept, because it is in a file.
  func clear() -> Bool {
    isOpen = false
    bytes.removeAll()
    return bytes.capacity < ScratchSpace.mappedFrom
  }

  private func askForRoom(_ byteCount: Int) throws(StoreError) {
    unaskedByteCount += byteCount
    guard unaskedByteCount >= Self.roomStep, let space = inner.space else { return }
    try space.makeRoom(toContinueFor: Self.roomStep)
    unaskedByteCount = 0
  }

  /// Undoes all changes since the log had this length.
  ///
  /// - Throws: the error of the engine; the transaction can then only be aborted.
  func undo(to length: Int) throws(StoreError) {
    while bytes.count > length {
      let all = bytes.rawBytes
      let end = all.count - MemoryLayout<Trailer>.size
      let trailer = all.loadUnaligned(fromByteOffset: end, as: Trailer.self)
      let valueLength = trailer.valueLength == Trailer.absent ? 0 : Int(trailer.valueLength)
      let start = end - valueLength - Int(trailer.keyLength)
      let key = UnsafeRawBufferPointer(rebasing: all[start..<start + Int(trailer.keyLength)])
      let table = StorageTable(code: TableCode(rawValue: trailer.code), handle: trailer.handle)
      if trailer.valueLength == Trailer.absent {
        _ = try inner.delete(table, key)
      } else {
        try inner.put(table, key, UnsafeRawBufferPointer(rebasing: all[end - valueLength..<end]))
      }
      bytes.removeLast(all.count - start)
    }
  }

  // MARK: Changes

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    try askForRoom(key.count + value.count)
    try recordEarlierValue(table, key)
    try inner.put(table, key, value)
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    try askForRoom(key.count + value.count)
    // A key above all others does not exist. If it is not above all others, the engine fails, and refuses to undo.
    try record(table, key, nil)
    try inner.append(table, key, value)
  }

  func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError) {
    try askForRoom(entries.reduce(0) { $0 + $1.key.count + $1.value.count })
    for entry in entries { try record(table, entry.key, nil) }
    try inner.appendRun(table, entries)
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard let value = try inner.get(table, key) else { return false }
    try record(table, key, value)
    return try inner.delete(table, key)
  }

  /// Tables that a savepoint creates remain, empty.
  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] { try inner.makeTables(tables) }

  // MARK: Passed through

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try inner.get(table, key)
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    try inner.seek(table, key, mode)
  }

  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try inner.scan(table, from: key, before: end, body)
  }

  func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool { try inner.countsReferences(toBlob: serial) }

  var nextIndexID: UInt16 { inner.nextIndexID }

  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 { try inner.entryCount(table) }

  func retainCursors(in tables: [StorageTable]) { inner.retainCursors(in: tables) }

  func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  func beginReadScope() -> Int { inner.beginReadScope() }

  func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  func markDeleteOnly() { inner.markDeleteOnly() }

  var space: (any TransactionSpace)? { inner.space }

  func commit() throws(StoreError) { try inner.commit() }

  func abort() { inner.abort() }
}

import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// A position in the entries of a table of a layer. The entries are copied, because concurrent lookups may move the
/// engine's own bytes, and read ahead, because a scan is cheaper than a lookup of each.
final class OverlayCursor {
  private static let greatestCount = 64
  private static let greatestByteCount = 1 << 16

  /// A copied entry: its key and its value, one after the other.
  private struct Entry {
    let start: Int
    let keyLength: Int
    /// Nil for a tombstone.
    let valueLength: Int?
  }

  private let layer: UInt32
  private let table: TableCode
  private let reader: OverlayReader
  private let bytes = ReusedBytes()
  private var entries: [Entry] = []
  private var index = 0
  /// Whether the copied entries are the last of the table.
  private var isLast = false
  /// The number of entries to read next, which grows: most scans need few.
  private var wantedCount = 4
  private let from = ReusedBytes()
  private let limit = ReusedBytes()

  init(_ layer: UInt32, _ table: TableCode, _ reader: OverlayReader) {
    (self.layer, self.table, self.reader) = (layer, table, reader)
    OverlayKey.writeEnd(layer: layer, table: table, to: limit)
  }

  var isThere: Bool { index < entries.count }
  /// Whether the key has a value, and is not a tombstone.
  var hasValue: Bool { entries[index].valueLength != nil }

  /// The number below which keys of 8 bytes precede the entry: the greatest one without an entry, 0 for other keys.
  var number: UInt64 {
    guard isThere else { return .max }
    return entries[index].keyLength == 8 ? SnapshotHorizon.number(keyBytes, at: 0) : 0
  }

  var keyBytes: UnsafeRawBufferPointer {
    let entry = entries[index]
    return UnsafeRawBufferPointer(rebasing: bytes.bytes[entry.start..<entry.start + entry.keyLength])
  }

  var valueBytes: UnsafeRawBufferPointer {
    let entry = entries[index]
    let start = entry.start + entry.keyLength
    return UnsafeRawBufferPointer(rebasing: bytes.bytes[start..<start + (entry.valueLength ?? 0)])
  }

  /// Moves to the first entry at or after a key.
  func move(to start: UnsafeRawBufferPointer, _ inner: any StorageBackend) throws(StoreError) {
    let mark = inner.beginReadScope()
    defer { inner.endReadScope(mark) }
    let found = try reader.entry(layer, table, start, .atOrAfter, inner)
    clear()
    isLast = found == nil
    if let found { try append(found.key, found.value) }
  }

  /// Moves to the next entry.
  ///
  /// - Parameter isWritten: whether the layer may have changed since the last move, so that copied entries are useless.
  func advance(isWritten: Bool, _ inner: any StorageBackend) throws(StoreError) {
    if !isWritten {
      index += 1
      if isThere || isLast { return }
      index -= 1
    }
    KeyBound.moveAfter(keyBytes, from)
    if isWritten { return try move(to: from.bytes, inner) }
    try readAhead(inner)
  }

  /// Copies the entries from the key in `from`.
  private func readAhead(_ inner: any StorageBackend) throws(StoreError) {
    let start = ReusedBytes()
    OverlayKey.write(layer: layer, table: table, key: from.bytes, to: start)
    clear()
    isLast = true
    let mark = inner.beginReadScope()
    defer { inner.endReadScope(mark) }
    try inner.scan(reader.table, from: start.bytes, before: limit.bytes) { (key, stored) throws(StoreError) in
      let key = unsafePointers(copy key)
      guard OverlayKey.isOf(layer: layer, table: table, key) else { return false }
      try append(key, unsafePointers(copy stored))
      isLast = entries.count < wantedCount && bytes.count < Self.greatestByteCount
      return isLast
    }
    wantedCount = min(2 * wantedCount, Self.greatestCount)
  }

  private func append(_ key: UnsafeRawBufferPointer, _ stored: UnsafeRawBufferPointer) throws(StoreError) {
    let value = try reader.value(stored, at: key)
    let original = OverlayKey.key(of: key)
    entries.append(Entry(start: bytes.count, keyLength: original.count, valueLength: value?.count))
    bytes.append(original)
    if let value { bytes.append(value) }
  }

  private func clear() {
    bytes.removeAll()
    entries.removeAll(keepingCapacity: true)
    index = 0
  }
}

import KVCloneCore
import KVCloneLMDB
import KVCloneRecords

/// Reads the entries of the branches in `overlays`, through a transaction that may be decorated during the reads.
struct OverlayReader {
  let table: StorageTable
  /// The name of the branch, for errors.
  let branch: String
  /// Reused, so that lookups do not allocate.
  private let wanted = ReusedBytes()

  init(_ table: StorageTable, branch: String) {
    self.table = table
    self.branch = branch
  }

  /// Whether a layer has any entry of a table, tombstones included.
  func hasAny(_ layer: UInt32, _ code: TableCode, _ inner: any StorageBackend) throws(StoreError) -> Bool {
    try entry(layer, code, .noBytes, .atOrAfter, inner) != nil
  }

  /// The state of a key in a layer. The bytes are the engine's.
  func state(
    _ layer: UInt32, _ code: TableCode, _ key: UnsafeRawBufferPointer, _ inner: any StorageBackend
  ) throws(StoreError) -> PreimageReader.State {
    OverlayKey.write(layer: layer, table: code, key: key, to: wanted)
    guard let stored = try inner.get(table, wanted.bytes) else { return .unchanged }
    return try value(stored, at: wanted.bytes).map { .present($0) } ?? .absent
  }

  /// The entry of a layer that `mode` looks for, under its key in `overlays`; nil if none exists.
  func entry(
    _ layer: UInt32, _ code: TableCode, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek,
    _ inner: any StorageBackend
  ) throws(StoreError) -> StorageEntryPointers? {
    OverlayKey.write(layer: layer, table: code, key: key, to: wanted)
    guard let found = try inner.seek(table, wanted.bytes, mode),
      OverlayKey.isOf(layer: layer, table: code, found.key)
    else { return nil }
    return found
  }

  /// Calls `body` with the key of each entry of a table of a layer, tombstones included, until it returns false.
  func forEachKey(
    _ layer: UInt32, _ code: TableCode, _ inner: any StorageBackend, _ body: (UnsafeRawBufferPointer) -> Bool
  ) throws(StoreError) {
    let (from, limit) = (ReusedBytes(), ReusedBytes())
    OverlayKey.write(layer: layer, table: code, key: .noBytes, to: from)
    OverlayKey.writeEnd(layer: layer, table: code, to: limit)
    try inner.scan(table, from: from.bytes, before: limit.bytes) { (found, _) throws(StoreError) in
      let found = unsafePointers(copy found)
      return OverlayKey.isOf(layer: layer, table: code, found) && body(OverlayKey.key(of: found))
    }
  }

  /// Calls `body` with each entry of a table of a layer from the first key at or after `key`, without tombstones, until
  /// it returns false.
  func scan(
    _ layer: UInt32, _ code: TableCode, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ inner: any StorageBackend, _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // Of its own: `body` may read, too.
    let (from, limit) = (ReusedBytes(), ReusedBytes())
    OverlayKey.write(layer: layer, table: code, key: key, to: from)
    if end.isEmpty {
      OverlayKey.writeEnd(layer: layer, table: code, to: limit)
    } else {
      OverlayKey.write(layer: layer, table: code, key: end, to: limit)
    }
    try inner.scan(table, from: from.bytes, before: limit.bytes) { (found, stored) throws(StoreError) in
      let found = unsafePointers(copy found)
      guard OverlayKey.isOf(layer: layer, table: code, found) else { return false }
      guard let value = try value(unsafePointers(copy stored), at: found) else { return true }
      return try body(
        RawSpan(_unsafeBytes: OverlayKey.key(of: found)), RawSpan(_unsafeBytes: value))
    }
  }

  /// The value of a stored entry; nil for a tombstone.
  func value(_ stored: UnsafeRawBufferPointer, at key: UnsafeRawBufferPointer) throws(StoreError)
    -> UnsafeRawBufferPointer?
  {
    do throws(RecordError) {
      return try PreimageView.value(of: stored) { ValueEnvelope.seed(tableCode: .overlays, key: key) }
    } catch {
      throw StoreError(
        .corrupted, "an entry of the branch \(branch) is corrupted: \(error) Run `check` to see the extent")
    }
  }
}

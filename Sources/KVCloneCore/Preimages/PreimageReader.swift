import Foundation
package import KVCloneLMDB
package import KVCloneRecords

/// The preimages that a snapshot needs: of its own epoch and later ones, the earliest of each key.
package struct PreimageReader {
  private let inner: any StorageBackend
  private let preimages: StorageTable
  private let epoch: UInt64
  /// Reused, so that lookups do not allocate.
  private let bound = ReusedBytes()
  private let lastState = ReusedBytes()

  package enum State {
    case unchanged
    case absent
    case present(UnsafeRawBufferPointer)
  }

  package init(_ inner: any StorageBackend, _ preimages: StorageTable, epoch: UInt64) {
    self.inner = inner
    self.preimages = preimages
    self.epoch = epoch
  }

  /// Whether a table has any preimage, of any epoch.
  package func hasAny(of table: TableCode) throws(StoreError) -> Bool {
    bound.removeAll()
    bound.appendBigEndian(table.rawValue)
    guard let found = try inner.seek(preimages, bound.bytes, .atOrAfter) else { return false }
    return Self.isOf(table, found.key)
  }

  /// Whether a key has a preimage with a value, of any epoch. A corrupted one counts.
  package func hasValue(of table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    PreimageKey.write(table: table, key: key, epoch: 0, to: bound)
    let wanted = bound.bytes
    var isFound = false
    PreimageKey.write(table: table, key: key, epoch: .max, to: lastState)
    lastState.append(0)
    try inner.scan(preimages, from: wanted, before: lastState.bytes) { (key, value) throws(StoreError) in
      let key = unsafePointers(copy key)
      guard PreimageKey.isOfSameKey(key, wanted) else { return false }
      let entry = StorageEntryPointers(key: key, value: unsafePointers(copy value))
      do throws(StoreError) { isFound = try Self.value(entry) != nil } catch { isFound = true }
      return !isFound
    }
    return isFound
  }

  /// Calls `body` with the key of each preimage of a table, of any epoch, until it returns false.
  package func forEachKey(of table: TableCode, _ body: (UnsafeRawBufferPointer) -> Bool) throws(StoreError) {
    bound.removeAll()
    bound.appendBigEndian(table.rawValue)
    let end = ReusedBytes()
    if table.rawValue < .max { end.appendBigEndian(table.rawValue + 1) }
    try inner.scan(preimages, from: bound.bytes, before: end.bytes) { (key, _) throws(StoreError) in
      let key = unsafePointers(copy key)
      return Self.isOf(table, key) ? body(try Self.place(key).key) : false
    }
  }

  /// The preimage of a key. The bytes are the engine's.
  package func state(of table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> State {
    PreimageKey.write(table: table, key: key, epoch: epoch, to: bound)
    let wanted = bound.bytes
    guard let found = try inner.seek(preimages, wanted, .atOrAfter), PreimageKey.isOfSameKey(found.key, wanted) else {
      return .unchanged
    }
    return try Self.value(found).map { .present($0) } ?? .absent
  }

  /// A key with its preimage, or, if it is not certain, a key that may have one that the snapshot needs. The bytes are
  /// the engine's.
  package struct Entry {
    package let key: UnsafeRawBufferPointer
    /// Nil for a tombstone.
    package let value: UnsafeRawBufferPointer?
    var isCertain = true
  }

  /// The nearest key with a preimage at or after another, or at or before it; nil if none exists, or none nearer than
  /// `limit`.
  package func entry(
    _ table: TableCode, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek, limit: UnsafeRawBufferPointer?
  )
    throws(StoreError) -> Entry?
  {
    guard mode == .atOrAfter else { return try lastEntry(table, key, limit: limit) }
    guard let found = try firstEntry(table, key, epoch: 0, limit: limit), found.isCertain else { return nil }
    return found
  }

  /// The first preimage at or after a key. A bound need not be a key of the store, so what is found from it may be the
  /// preimage of another key: a prefix of it, or one that it is a prefix of.
  ///
  /// - Parameter limit: where to stop skipping preimages that are too old, of which earlier snapshots may have any
  ///   number: at the first key behind it, which is returned as not certain.
  private func firstEntry(
    _ table: TableCode, _ key: UnsafeRawBufferPointer, epoch start: UInt64, limit: UnsafeRawBufferPointer?
  ) throws(StoreError) -> Entry? {
    PreimageKey.write(table: table, key: key, epoch: start, to: bound)
    while let found = try inner.seek(preimages, bound.bytes, .atOrAfter), Self.isOf(table, found.key) {
      let place = try Self.place(found.key)
      let order = KeyBound.compare(place.key, key)
      let isBefore = start == .max ? order <= 0 : order < 0
      if !isBefore {
        if place.epoch >= epoch { return Entry(key: place.key, value: try Self.value(found)) }
        if let limit, KeyBound.compare(place.key, limit) > 0 {
          return Entry(key: place.key, value: nil, isCertain: false)
        }
      }
      // No preimage has the greatest epoch, so that is behind all preimages of the key.
      PreimageKey.write(table: table, key: place.key, epoch: isBefore ? .max : epoch, to: bound)
    }
    return nil
  }

  private func lastEntry(_ table: TableCode, _ key: UnsafeRawBufferPointer, limit: UnsafeRawBufferPointer?)
    throws(StoreError) -> Entry?
  {
    PreimageKey.write(table: table, key: key, epoch: .max, to: bound)
    while let found = try inner.seek(preimages, bound.bytes, .atOrBefore), Self.isOf(table, found.key) {
      let place = try Self.place(found.key)
      if let limit, KeyBound.compare(place.key, limit) < 0 { return nil }
      // The last preimage of the key: if it is too old, the snapshot has no preimage of the key. No preimage has epoch
      // 0.
      if KeyBound.compare(place.key, key) <= 0, place.epoch >= epoch {
        PreimageKey.write(table: table, key: place.key, epoch: epoch, to: bound)
        guard let first = try inner.seek(preimages, bound.bytes, .atOrAfter) else { return nil }
        return Entry(key: try Self.place(first.key).key, value: try Self.value(first))
      }
      PreimageKey.write(table: table, key: place.key, epoch: 0, to: bound)
    }
    return nil
  }

  /// Copies the first preimage at or after a key; if none is at or before the limit, a key behind it that may have one.
  package func next(
    _ table: TableCode, from key: UnsafeRawBufferPointer, limit: UnsafeRawBufferPointer?, into state: SavedState
  ) throws(StoreError) {
    let mark = inner.beginReadScope()
    defer { inner.endReadScope(mark) }
    state.take(try firstEntry(table, key, epoch: 0, limit: limit))
  }

  /// Copies the preimage after another one, or determines it if it is not certain.
  package func next(_ table: TableCode, after state: SavedState, limit: UnsafeRawBufferPointer?) throws(StoreError) {
    let mark = inner.beginReadScope()
    defer { inner.endReadScope(mark) }
    state.take(
      try firstEntry(table, state.keyBytes, epoch: state.isCertain ? .max : epoch, limit: limit))
  }

  private static func isOf(_ table: TableCode, _ key: UnsafeRawBufferPointer) -> Bool {
    key.count >= 2 && UInt16(bigEndian: key.loadUnaligned(as: UInt16.self)) == table.rawValue
  }

  private static func place(_ key: UnsafeRawBufferPointer) throws(StoreError)
    -> (key: UnsafeRawBufferPointer, epoch: UInt64)
  {
    let end = key.count - PreimageKey.suffixLength
    guard end > PreimageKey.prefixLength else { throw corrupted(.badKey) }
    return (
      UnsafeRawBufferPointer(rebasing: key[PreimageKey.prefixLength..<end]), SnapshotHorizon.number(key, at: end)
    )
  }

  private static func value(_ found: StorageEntryPointers) throws(StoreError) -> UnsafeRawBufferPointer? {
    do throws(RecordError) {
      return try PreimageView.value(of: found.value) { ValueEnvelope.seed(tableCode: .preimages, key: found.key) }
    } catch {
      throw corrupted(error)
    }
  }

  package static func corrupted(_ error: RecordError) -> StoreError {
    StoreError(.corrupted, "a preimage of a snapshot is corrupted: \(error) Run `check` to see the extent")
  }
}

/// A copied key and its preimage: concurrent lookups may move the engine's own bytes.
package final class SavedState {
  package private(set) var isThere = false
  /// Whether the snapshot needs the preimage. Otherwise the key is a position to continue from, without a value.
  package private(set) var isCertain = true
  /// Whether the key had a value.
  package private(set) var isPresent = false
  private let key = ReusedBytes()
  private let value = ReusedBytes()

  package init() {}

  fileprivate func take(_ found: PreimageReader.Entry?) {
    isThere = found != nil
    guard let found else { return }
    isCertain = found.isCertain
    key.removeAll()
    key.append(found.key)
    isPresent = found.value != nil
    value.removeAll()
    if let bytes = found.value { value.append(bytes) }
  }

  package var keyBytes: UnsafeRawBufferPointer { key.bytes }
  package var valueBytes: UnsafeRawBufferPointer { value.bytes }

  package func compare(to other: UnsafeRawBufferPointer) -> Int { KeyBound.compare(keyBytes, other) }
}

import Foundation
package import KVCloneLMDB
package import KVCloneRecords

/// The previous states that a snapshot needs: those of its own epoch and later ones, of each key the earliest.
package struct SavedStates {
  private let inner: any StorageBackend
  private let preimages: StorageTable
  private let epoch: UInt64
  /// Used again and again, so that looking takes no memory of its own.
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

  /// Whether there is any previous state of a table, of whatever epoch.
  package func hasAny(of table: TableCode) throws(StoreError) -> Bool {
    bound.removeAll()
    bound.appendBigEndian(table.rawValue)
    guard let found = try inner.seek(preimages, bound.bytes, .atOrAfter) else { return false }
    return Self.isOf(table, found.key)
  }

  /// Whether a key has a state, of whatever epoch, in which it had a value. One that is damaged may be.
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

  /// Calls `body` with the key of each state of a table, of whatever epoch, until it answers false.
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

  /// The state of a key. The bytes are the engine's.
  package func state(of table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> State {
    PreimageKey.write(table: table, key: key, epoch: epoch, to: bound)
    let wanted = bound.bytes
    guard let found = try inner.seek(preimages, wanted, .atOrAfter), PreimageKey.isOfSameKey(found.key, wanted) else {
      return .unchanged
    }
    return try Self.value(found).map { .present($0) } ?? .absent
  }

  /// A key with a state, or, where it is not certain, one that may have a state that the snapshot needs. The bytes are the engine's.
  package struct Entry {
    package let key: UnsafeRawBufferPointer
    /// Nil for a key that was not there.
    package let value: UnsafeRawBufferPointer?
    var isCertain = true
  }

  /// The nearest key with a state at or after another, or at or before it; nil where there is none, or none nearer than `limit`.
  package func entry(
    _ table: TableCode, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek, limit: UnsafeRawBufferPointer?
  )
    throws(StoreError) -> Entry?
  {
    guard mode == .atOrAfter else { return try lastEntry(table, key, limit: limit) }
    guard let found = try firstEntry(table, key, epoch: 0, limit: limit), found.isCertain else { return nil }
    return found
  }

  /// The first state at or after a key. A bound need not be a key that a store has, so what is found from it may be the state of
  /// another key: of one that it begins with, or that begins with it.
  ///
  /// - Parameter limit: where to stop passing over states that are too old, of which earlier snapshots may have any number: at the
  ///   first key behind it, which is answered as not certain.
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
      // No state has the greatest epoch, so that is behind all states of the key.
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
      // The last state of the key: where that is too old, there is none to be seen. No state has epoch 0.
      if KeyBound.compare(place.key, key) <= 0, place.epoch >= epoch {
        PreimageKey.write(table: table, key: place.key, epoch: epoch, to: bound)
        guard let first = try inner.seek(preimages, bound.bytes, .atOrAfter) else { return nil }
        return Entry(key: try Self.place(first.key).key, value: try Self.value(first))
      }
      PreimageKey.write(table: table, key: place.key, epoch: 0, to: bound)
    }
    return nil
  }

  /// Copies the first state at or after a key; where none is at or before the limit, a key behind it that may have one.
  package func next(
    _ table: TableCode, from key: UnsafeRawBufferPointer, limit: UnsafeRawBufferPointer?, into state: SavedState
  ) throws(StoreError) {
    state.take(try firstEntry(table, key, epoch: 0, limit: limit))
  }

  /// Copies the state after another one, or, where that is not certain, finds out.
  package func next(_ table: TableCode, after state: SavedState, limit: UnsafeRawBufferPointer?) throws(StoreError) {
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

/// A key and its saved state, copied: what is looked up meanwhile may move the engine's own bytes.
package final class SavedState {
  package private(set) var isThere = false
  /// Whether the snapshot needs the state. Else the key is one to go on from, and has no value.
  package private(set) var isCertain = true
  /// Whether the key had a value.
  package private(set) var isPresent = false
  private let key = ReusedBytes()
  private let value = ReusedBytes()

  package init() {}

  fileprivate func take(_ found: SavedStates.Entry?) {
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

package import KVCloneCore
package import KVCloneLMDB
import KVCloneModel
import KVCloneRecords

/// A view of the store at a snapshot: the earliest preimage that was saved since, if there is one, else the current
/// value. Later entries are hidden.
///
/// A decorator around the storage engine, so that all reading code works with it unchanged.
package final class SnapshotBackend: StorageBackend {
  package let inner: any StorageBackend
  private let preimages: PreimageReader
  private let horizon: SnapshotHorizon
  /// Whether preimages may be saved during the reads. Then the absence of preimages is not cached.
  private let isWritten: Bool
  /// Whether a table has any preimage, by root code and by the code of the other tables; nil until the first lookup.
  private var objectTables: [Bool?] = []
  private var changedObjects: [ChangedObjects] = []
  private var otherTables = [Bool?](repeating: nil, count: 16)

  package init(
    _ inner: any StorageBackend, preimages: StorageTable, _ horizon: SnapshotHorizon, isWritten: Bool = false
  ) {
    self.inner = inner
    self.isWritten = isWritten
    self.preimages = PreimageReader(inner, preimages, epoch: horizon.epoch)
    self.horizon = horizon
  }

  private func isChanged(_ table: TableCode) throws(StoreError) -> Bool {
    if isWritten { return true }
    if let root = table.rootCode {
      while objectTables.count <= Int(root) {
        objectTables.append(nil)
        changedObjects.append(ChangedObjects())
      }
      if let known = objectTables[Int(root)] { return known }
      let isChanged = try preimages.hasAny(of: table)
      objectTables[Int(root)] = isChanged
      return isChanged
    }
    let place = Int(table.rawValue) % otherTables.count
    if let known = otherTables[place] { return known }
    let isChanged = try preimages.hasAny(of: table)
    otherTables[place] = isChanged
    return isChanged
  }

  @inline(__always)
  private func isUnchanged(_ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard !isWritten, let root = table.rootCode, key.count == 8 else { return false }
    return try changedObjects[Int(root)].isUnchanged(key) { (body) throws(StoreError) in
      try preimages.forEachKey(of: table, body)
    }
  }

  package func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    guard SnapshotHorizon.isVersioned(table.code) else { return try inner.get(table, key) }
    guard horizon.sees(table.code, key) else { return nil }
    if try isChanged(table.code), try !isUnchanged(table.code, key) {
      switch try preimages.state(of: table.code, key) {
      case .present(let value): return value
      case .absent: return nil
      case .unchanged: break
      }
    }
    return try inner.get(table, key)
  }

  /// Scans only entries of the snapshot, and the caller can stop only at these. Between two of them, there may be any
  /// number of entries and preimages of other times, which `end` limits.
  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let code = table.code
    let isBounded = !end.isEmpty
    guard SnapshotHorizon.isVersioned(code) else { return try inner.scan(table, from: key, before: end, body) }
    let isChanged = try isChanged(code)
    let saved = SavedState()
    if isChanged { try preimages.next(code, from: key, limit: key, into: saved) }
    var isStopped = false
    // Most objects are unchanged: one comparison is enough for them.
    var firstOther = firstOtherNumber(code, saved)
    try inner.scan(table, from: key, before: end) { (key, value) throws(StoreError) in
      let live = unsafePointers(copy key)
      if isBounded, KeyBound.compare(live, end) >= 0 { return false }
      if live.count == 8, SnapshotHorizon.number(live, at: 0) < firstOther {
        isStopped = try !body(key, value)
        return !isStopped
      }
      defer { firstOther = firstOtherNumber(code, saved) }
      while saved.isThere {
        let order = saved.compare(to: live)
        if order > 0 { break }
        guard saved.isCertain else {
          try preimages.next(code, after: saved, limit: live)
          continue
        }
        if saved.isPresent, horizon.sees(code, saved.keyBytes) {
          isStopped = try !body(RawSpan(_unsafeBytes: saved.keyBytes), RawSpan(_unsafeBytes: saved.valueBytes))
        }
        if isStopped { return false }
        try preimages.next(code, after: saved, limit: live)
        if order == 0 { return true }
      }
      if horizon.sees(code, live) {
        isStopped = try !body(key, value)
        return !isStopped
      }
      return !SnapshotHorizon.isInOrderOfAge(code)
    }
    // The remaining preimages are behind the last current entry.
    while !isStopped, saved.isThere {
      if isBounded, saved.compare(to: end) >= 0 { break }
      if saved.isPresent, horizon.sees(code, saved.keyBytes) {
        isStopped = try !body(RawSpan(_unsafeBytes: saved.keyBytes), RawSpan(_unsafeBytes: saved.valueBytes))
      }
      if !isStopped { try preimages.next(code, after: saved, limit: isBounded ? end : nil) }
    }
  }

  /// Returns the id below which objects have their current state.
  private func firstOtherNumber(_ table: TableCode, _ saved: SavedState) -> UInt64 {
    guard let rootCode = table.rootCode else { return 0 }
    let limit = horizon.firstLater(rootCode: rootCode).rawValue
    guard saved.isThere else { return limit }
    return saved.keyBytes.count == 8 ? min(limit, SnapshotHorizon.number(saved.keyBytes, at: 0)) : 0
  }

  package func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    let code = table.code
    guard SnapshotHorizon.isVersioned(code) else { return try inner.seek(table, key, mode) }
    let isChanged = try isChanged(code)
    let bound = ReusedBytes()
    bound.append(key)
    while true {
      var live = try inner.seek(table, bound.bytes, mode)
      if isChanged {
        let saved = try preimages.entry(code, bound.bytes, mode, limit: live?.key)
        if let saved, Self.isFirst(saved.key, live?.key, mode) {
          if let value = saved.value, horizon.sees(code, saved.key) {
            return StorageEntryPointers(key: saved.key, value: value)
          }
          // A key that did not exist then, or that was created later: its current value is hidden.
          live = StorageEntryPointers(key: saved.key, value: saved.key)
        } else if let live, horizon.sees(code, live.key) {
          return live
        }
      } else if let live, horizon.sees(code, live.key) {
        return live
      }
      guard let hidden = live else { return nil }
      if mode == .atOrAfter {
        if SnapshotHorizon.isInOrderOfAge(code), !horizon.sees(code, hidden.key) { return nil }
        KeyBound.moveAfter(hidden.key, bound)
      } else if SnapshotHorizon.isInOrderOfAge(code), !horizon.sees(code, hidden.key) {
        // Skips any number of later entries with one seek.
        guard horizon.moveToLast(code, bound) else { return nil }
      } else if !KeyBound.moveBefore(hidden.key, bound) {
        return nil
      }
    }
  }

  /// Whether a saved key precedes a current one in the direction of a seek, or equals it.
  private static func isFirst(
    _ saved: UnsafeRawBufferPointer, _ live: UnsafeRawBufferPointer?, _ mode: StorageSeek
  ) -> Bool {
    guard let live else { return true }
    let order = KeyBound.compare(saved, live)
    return mode == .atOrAfter ? order <= 0 : order >= 0
  }

  package var nextIndexID: UInt16 { min(inner.nextIndexID, horizon.nextIndexID) }

  package func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  package func beginReadScope() -> Int { inner.beginReadScope() }

  package func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  // MARK: Write operations (unsupported)

  private static var readOnly: StoreError {
    StoreError(.readOnly, "snapshots are read-only; roll the store back to it, or clone from it")
  }

  package func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    throw Self.readOnly
  }

  package func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    throw Self.readOnly
  }

  package func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    throw Self.readOnly
  }

  package func commit() throws(StoreError) {}

  package func abort() {}
}

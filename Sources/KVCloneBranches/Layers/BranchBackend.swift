package import KVCloneCore
package import KVCloneLMDB
package import KVCloneRecords

/// A transaction on a branch: reads show the entries of its layer, and those of its base with other keys; writes change
/// the layer. `Format.md` states for each table whether a branch has entries of its own.
///
/// A decorator in front of the storage engine, so that all code above works on a branch unchanged. It is behind the
/// recorder of preimages: the snapshots of a branch are ordinary ones of this view.
package final class BranchBackend: StorageDecorator {
  package var inner: any StorageBackend
  let tables: BranchTables
  let name: String
  package let base: SnapshotBackend
  let horizon: SnapshotHorizon
  let reader: OverlayReader
  /// The branch, with the changes of this transaction.
  package internal(set) var record: BranchValue
  /// Whether the layer is not the present one of the branch, and its record has other numbers than the branch's.
  package let isFrozen: Bool
  /// Whether the transaction has changed entries of the branch since its record was last written.
  package internal(set) var isChanged = false
  /// Whether the transaction may have written to the layer.
  var isWritten: Bool
  /// Whether the layer has any entry of a table, by root code and by the code of the other tables; nil if it is not
  /// known.
  private var objectTables: [Bool?] = []
  private var otherTables = [Bool?](repeating: nil, count: 16)
  /// The objects with entries of the layer, by root code; unused once the transaction has written.
  private var changedObjects: [ChangedObjects] = []
  // Reused, so that writing does not allocate.
  let entryKey = ReusedBytes()
  let entryValue = ReusedBytes()
  /// The place of the last used count in the record.
  var lastCount = 0

  /// - Parameter isStoreWritten: whether the store may change while the view is read: that of its base then caches
  ///   nothing.
  package init(
    _ inner: any StorageBackend, _ tables: BranchTables, name: String, _ record: BranchValue,
    _ horizon: SnapshotHorizon, isFrozen: Bool = false, isStoreWritten: Bool = false
  ) {
    self.isFrozen = isFrozen
    isWritten = isStoreWritten
    self.inner = inner
    self.tables = tables
    self.name = name
    self.record = record
    self.horizon = horizon
    base = SnapshotBackend(inner, preimages: tables.store.preimages, horizon, isWritten: isStoreWritten)
    reader = OverlayReader(tables.overlays, branch: name)
  }

  // MARK: Places

  /// The part of the file that has the entries of a table.
  enum Place {
    /// The layer over the base.
    case layered
    /// The layer over the base, and the store for pending blobs.
    case blobInfo
    /// Only the range with this number.
    case own(UInt32)
    case store
  }

  /// The layer that the transaction shows.
  var layer: UInt32 { record.present.code }

  @inline(__always)
  func place(_ table: TableCode) -> Place {
    if table.rootCode != nil { return .layered }
    switch table {
    case .links, .indexes, .provenance: return .layered
    case .blobInfo: return .blobInfo
    case .preimages, .snapshots: return .own(layer)
    case .changes: return .own(record.number)
    default: return .store
    }
  }

  /// The place of one entry: some names in `metadata` are the branch's.
  @inline(__always)
  func place(_ table: TableCode, _ key: UnsafeRawBufferPointer) -> Place {
    guard table == .metadata else { return place(table) }
    if MetadataKey.youngestSnapshotKey.withUnsafeBytes({ key.elementsEqual($0) }) { return .own(layer) }
    if MetadataKey.historyKey.withUnsafeBytes({ key.elementsEqual($0) }) { return .own(record.number) }
    return .store
  }

  /// Whether the layer may have entries of a table.
  @inline(__always)
  func hasEntries(_ table: TableCode) throws(StoreError) -> Bool {
    if let root = table.rootCode {
      if Int(root) < objectTables.count, let known = objectTables[Int(root)] { return known }
    } else if let known = otherTables[Int(table.rawValue) % otherTables.count] {
      return known
    }
    let found = try reader.hasAny(layer, table, inner)
    noteEntries(table, found)
    return found
  }

  func noteEntries(_ table: TableCode, _ has: Bool) {
    guard let root = table.rootCode else {
      otherTables[Int(table.rawValue) % otherTables.count] = has
      return
    }
    while objectTables.count <= Int(root) { objectTables.append(nil) }
    objectTables[Int(root)] = has
  }

  // MARK: Reading

  package func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    switch place(table.code, key) {
    case .store: return try inner.get(table, key)
    case .own(let number):
      if case .present(let value) = try reader.state(number, table.code, key, inner) { return value }
      return nil
    case .layered, .blobInfo:
      switch try state(table.code, key) {
      case .present(let value): return value
      case .absent: return nil
      case .unchanged: break
      }
      if let value = try base.get(table, key) { return value }
      return try pendingBlob(table, key)
    }
  }

  /// The state of a key in the layer.
  @inline(__always)
  func state(_ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> PreimageReader.State {
    guard try hasEntries(table), try !isUnchanged(table, key) else { return .unchanged }
    return try reader.state(layer, table, key, inner)
  }

  /// Whether an object has no entry in the layer, if that is known already.
  @inline(__always)
  private func isUnchanged(_ table: TableCode, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    guard !isWritten, let root = table.rootCode, key.count == 8 else { return false }
    while changedObjects.count <= Int(root) { changedObjects.append(ChangedObjects()) }
    return try changedObjects[Int(root)].isUnchanged(key) { (body) throws(StoreError) in
      try reader.forEachKey(layer, table, inner, body)
    }
  }

  package func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    let code = table.code
    switch place(code) {
    case .store: return try inner.seek(table, key, mode)
    case .own(let number): return try seekOwn(number, code, key, mode)
    case .layered, .blobInfo: break
    }
    guard try hasEntries(code) else { return try base.seek(table, key, mode) }
    let bound = ReusedBytes()
    bound.append(key)
    while true {
      let shown = try base.seek(table, bound.bytes, mode)
      guard let own = try reader.entry(layer, code, bound.bytes, mode, inner) else { return shown }
      let ownKey = OverlayKey.key(of: own.key)
      if let shown {
        let order = KeyBound.compare(ownKey, shown.key)
        if mode == .atOrAfter ? order > 0 : order < 0 { return shown }
      }
      if let value = try reader.value(own.value, at: own.key) {
        return StorageEntryPointers(key: ownKey, value: value)
      }
      // A deleted key hides the entry of the base.
      if mode == .atOrAfter {
        KeyBound.moveAfter(ownKey, bound)
      } else if !KeyBound.moveBefore(ownKey, bound) {
        return nil
      }
    }
  }

  private func seekOwn(
    _ number: UInt32, _ table: TableCode, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek
  ) throws(StoreError) -> StorageEntryPointers? {
    guard let own = try reader.entry(number, table, key, mode, inner) else { return nil }
    // These tables have no tombstones: there is nothing that one could hide.
    guard let value = try reader.value(own.value, at: own.key) else { throw PreimageReader.corrupted(.badFlag) }
    return StorageEntryPointers(key: OverlayKey.key(of: own.key), value: value)
  }

  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let code = table.code
    switch place(code) {
    case .store: return try inner.scan(table, from: key, before: end, body)
    case .own(let number): return try reader.scan(number, code, from: key, before: end, inner, body)
    case .layered, .blobInfo: break
    }
    guard try hasEntries(code) else { return try base.scan(table, from: key, before: end, body) }
    let next = OverlayCursor(layer, code, reader)
    try next.move(to: key, inner)
    var isStopped = false
    // Most objects are unchanged: one comparison is enough for them.
    var firstOwn = next.number
    try base.scan(table, from: key, before: end) { (shown, value) throws(StoreError) in
      let shownKey = unsafePointers(copy shown)
      if shownKey.count == 8, SnapshotHorizon.number(shownKey, at: 0) < firstOwn {
        isStopped = try !body(shown, value)
        return !isStopped
      }
      defer { firstOwn = next.number }
      while next.isThere {
        let order = KeyBound.compare(next.keyBytes, shownKey)
        if order > 0 { break }
        if next.hasValue {
          isStopped = try !body(RawSpan(_unsafeBytes: next.keyBytes), RawSpan(_unsafeBytes: next.valueBytes))
          if isStopped { return false }
        }
        try next.advance(isWritten: isWritten, inner)
        if order == 0 { return true }
      }
      isStopped = try !body(shown, value)
      return !isStopped
    }
    // The rest is behind the last entry of the base, as new objects are.
    if isStopped || !next.isThere { return }
    try reader.scan(layer, code, from: next.keyBytes, before: end, inner, body)
  }

  /// The numbers of objects are in the record. Other tables are counted, which are small, or are not asked for.
  package func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    if let root = table.code.rootCode { return record.objectCounts.first { $0.rootCode == root }?.count ?? 0 }
    if case .store = place(table.code) { return try inner.entryCount(table) }
    var count: UInt64 = 0
    let first: [UInt8] = [0]
    try scan(table, from: unsafePointers(first.span.bytes), before: .noBytes) { (_, _) throws(StoreError) in
      count += 1
      return true
    }
    return count
  }

  // MARK: The transaction

  package func stateRestorer() throws(StoreError) -> () -> Void {
    let (record, isChanged) = (record, isChanged)
    return { [unowned self] in
      self.record = record
      self.isChanged = isChanged
      // Entries that the savepoint deleted are there again.
      objectTables.removeAll()
      for place in otherTables.indices { otherTables[place] = nil }
    }
  }

  package func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] { try inner.makeTables(tables) }

  package var stateNumber: UInt64 { inner.stateNumber }

  package var nextIndexID: UInt16 { horizon.nextIndexID }

  package func commit() throws(StoreError) {
    do throws(StoreError) {
      try writeRecord()
    } catch {
      inner.abort()
      throw error
    }
    try inner.commit()
  }

  package func abort() { inner.abort() }

  // MARK: Hints

  package func retainCursors(in tables: [StorageTable]) {
    inner.retainCursors(in: tables.isEmpty ? [] : tables + [self.tables.overlays])
  }

  package func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
    guard stride > 0, case .layered = place(table.code), (try? hasEntries(table.code)) != false else { return }
    let own = ReusedBytes(capacity: keys.count / stride * (stride + OverlayKey.prefixLength))
    for place in Swift.stride(from: 0, to: keys.count, by: stride) {
      let key = UnsafeRawBufferPointer(rebasing: keys[place..<place + stride])
      OverlayKey.write(layer: layer, table: table.code, key: key, to: entryKey)
      own.append(entryKey.bytes)
    }
    inner.prefetch(tables.overlays, own.bytes, stride: stride + OverlayKey.prefixLength, mode)
  }

  package func beginReadScope() -> Int { inner.beginReadScope() }

  package func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  package func markDeleteOnly() { inner.markDeleteOnly() }

  package var space: (any TransactionSpace)? { inner.space }
}

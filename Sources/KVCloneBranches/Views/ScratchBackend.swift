package import KVCloneCore
package import KVCloneLMDB
package import KVCloneRecords

/// A write transaction that never writes: changes stay in memory, over a read transaction that shows them nowhere else.
///
/// It holds no lock. The memory is that of the changed entries. It is no decorator: savepoints record its entries as
/// those of an engine.
package final class ScratchBackend: StorageBackend {
  private let inner: any StorageBackend
  private let opened: [StorageTable]
  private var tables: [StorageTable: ScratchTable] = [:]
  /// The numbers of added entries, less those of deleted ones.
  private var addedCounts: [StorageTable: Int] = [:]

  /// - Parameters:
  ///   - inner: a read transaction, which must outlive this one.
  ///   - opened: tables that only some stores have, opened before the read transaction began.
  package init(_ inner: any StorageBackend, _ opened: [StorageTable]) {
    self.inner = inner
    self.opened = opened
  }

  // MARK: Reading

  package func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    if let changed = tables[table]?.find(key) { return changed.hasValue ? changed.value : nil }
    return try inner.get(table, key)
  }

  package func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    guard let changes = tables[table] else { return try inner.seek(table, key, mode) }
    let bound = ReusedBytes()
    bound.append(key)
    while true {
      let shown = try inner.seek(table, bound.bytes, mode)
      let position = changes.position(bound.bytes)
      guard let own = mode == .atOrAfter ? changes.entry(position) : changes.last(atOrBefore: bound.bytes) else {
        return shown
      }
      if let shown {
        let order = KeyBound.compare(own.key, shown.key)
        if mode == .atOrAfter ? order > 0 : order < 0 { return shown }
      }
      if own.hasValue { return StorageEntryPointers(key: own.key, value: own.value) }
      // A deleted key hides the entry of the read transaction.
      if mode == .atOrAfter {
        KeyBound.moveAfter(own.key, bound)
      } else if !Self.moveBefore(own.key, bound) {
        return nil
      }
    }
  }

  /// Moves `bound` to a key before another that is at or after all keys before it; returns false if no key precedes it.
  private static func moveBefore(_ key: UnsafeRawBufferPointer, _ bound: ReusedBytes) -> Bool {
    guard let last = key.last else { return false }
    bound.removeAll()
    bound.append(UnsafeRawBufferPointer(rebasing: key.dropLast()))
    if last > 0 {
      bound.append(last - 1)
      // No engine has longer keys.
      while bound.count < 511 { bound.append(.max) }
    }
    return bound.count > 0
  }

  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard let changes = tables[table] else { return try inner.scan(table, from: key, before: end, body) }
    var position = changes.position(key)
    var isStopped = false
    /// Passes the changed entries before a key, and returns whether one of them has it.
    func passChanges(before limit: UnsafeRawBufferPointer?) throws(StoreError) -> Bool {
      while !isStopped, let own = changes.entry(position) {
        let order = limit.map { KeyBound.compare(own.key, $0) } ?? -1
        if order > 0 { return false }
        position = changes.next(position)
        if own.hasValue {
          isStopped = try !body(RawSpan(_unsafeBytes: own.key), RawSpan(_unsafeBytes: own.value))
        }
        if order == 0 { return true }
      }
      return false
    }
    try inner.scan(table, from: key, before: end) { (shown, value) throws(StoreError) in
      let isChanged = try passChanges(before: unsafePointers(copy shown))
      if isStopped { return false }
      if isChanged { return true }
      isStopped = try !body(shown, value)
      return !isStopped
    }
    // An engine need not pass entries at or after the end, and `body` stops there.
    _ = try passChanges(before: nil)
  }

  package func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    UInt64(max(0, Int(try inner.entryCount(table)) + addedCounts[table, default: 0]))
  }

  // MARK: Writing

  package func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    if try get(table, key) == nil { addedCounts[table, default: 0] += 1 }
    changes(of: table).put(key, value)
  }

  /// A key above all others of the store may be below changed ones.
  package func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    try put(table, key, value)
  }

  package func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    if try get(table, key) == nil { return false }
    addedCounts[table, default: 0] -= 1
    changes(of: table).put(key, nil)
    return true
  }

  private func changes(of table: StorageTable) -> ScratchTable {
    if let known = tables[table] { return known }
    let new = ScratchTable()
    tables[table] = new
    return new
  }

  package func makeTables(_ codes: [TableCode]) throws(StoreError) -> [StorageTable] {
    var found: [StorageTable] = []
    for code in codes {
      guard let table = opened.first(where: { $0.code == code }) else { return try inner.makeTables(codes) }
      found.append(table)
    }
    return found
  }

  // MARK: The transaction

  package func commit() throws(StoreError) {
    throw StoreError(.readOnly, "a preview cannot be committed; merge instead")
  }

  /// The read transaction is not ended.
  package func abort() {}

  package func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool {
    try inner.countsReferences(toBlob: serial)
  }

  package var nextIndexID: UInt16 { inner.nextIndexID }

  // MARK: Hints

  package func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  package func beginReadScope() -> Int { inner.beginReadScope() }

  package func endReadScope(_ mark: Int) { inner.endReadScope(mark) }
}

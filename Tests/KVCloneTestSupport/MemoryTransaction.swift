import Foundation
package import KVClone
package import KVCloneLMDB
package import KVCloneRecords

/// One transaction of `MemoryStorage`.
package final class MemoryTransaction: StorageBackend {
  private let engine: MemoryStorage
  private var tables: [MemoryStorage.Table]
  private let isWriting: Bool
  private var isOpen = true
  private var hasFailed = false
  private var lent: [UnsafeMutableRawBufferPointer] = []
  /// The keys of objects that were announced.
  private var announced: Set<[UInt8]> = []

  init(_ engine: MemoryStorage, _ tables: [MemoryStorage.Table], isWriting: Bool) {
    self.engine = engine
    self.tables = tables
    self.isWriting = isWriting
  }

  deinit {
    if isOpen { abort() }
  }

  package var nextIndexID: UInt16 { .max }

  package func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try Self.check(key)
    if engine.window > 0, table.code.rootCode != nil {
      let isExpected = announced.contains(Array(key))
      engine.note { reads in
        if isExpected { reads.expectedCount += 1 } else { reads.unexpectedCount += 1 }
      }
    }
    let entries = tables[Int(table.handle)]
    let index = Self.lowerBound(entries, key)
    guard index < entries.count, Self.order(entries[index].key, key) == 0 else { return nil }
    return lend(entries[index].value)
  }

  package func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    if !key.isEmpty { try Self.check(key) }
    let entries = tables[Int(table.handle)]
    var index = Self.lowerBound(entries, key)
    if mode == .atOrBefore, index == entries.count || Self.order(entries[index].key, key) != 0 { index -= 1 }
    guard entries.indices.contains(index) else { return nil }
    return StorageEntryPointers(key: lend(entries[index].key), value: lend(entries[index].value))
  }

  package func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if !key.isEmpty { try Self.check(key) }
    let entries = tables[Int(table.handle)]
    // Like an engine across a network, it returns nothing beyond the end.
    for entry in entries[Self.lowerBound(entries, key)...] {
      if !end.isEmpty, Self.order(entry.key, end) >= 0 { return }
      if try !body(entry.key.span.bytes, entry.value.span.bytes) { return }
    }
  }

  package func prefetchWindow(isAscending: Bool) -> Int { engine.window }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    let count = keys.count / stride
    for place in 0..<count { announced.insert(Array(keys[place * stride..<(place + 1) * stride])) }
    engine.note { reads in
      reads.announcedCount += count
      reads.greatestWindow = max(reads.greatestWindow, count)
    }
  }

  package func makeTables(_ codes: [TableCode]) throws(StoreError) -> [StorageTable] {
    // The engine may contain the tables from now on, empty, which has no visible effect.
    let opened = try engine.openTables(codes, create: true)
    while tables.count <= opened.map({ Int($0.handle) }).max() ?? 0 { tables.append([]) }
    return opened
  }

  package func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    let entry = try beginChange(key, value)
    let index = entry.key.withUnsafeBytes { Self.lowerBound(tables[Int(table.handle)], $0) }
    if index < tables[Int(table.handle)].count, tables[Int(table.handle)][index].key == entry.key {
      tables[Int(table.handle)][index] = entry
    } else {
      tables[Int(table.handle)].insert(entry, at: index)
    }
  }

  package func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer)
    throws(StoreError)
  {
    let entry = try beginChange(key, value)
    if let last = tables[Int(table.handle)].last, !last.key.lexicographicallyPrecedes(entry.key) {
      throw failed(StoreError(.limitExceeded, "an appended key is not above all others"))
    }
    tables[Int(table.handle)].append(entry)
  }

  package func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    let entry = try beginChange(key, UnsafeRawBufferPointer(start: nil, count: 0))
    let index = entry.key.withUnsafeBytes { Self.lowerBound(tables[Int(table.handle)], $0) }
    guard index < tables[Int(table.handle)].count, tables[Int(table.handle)][index].key == entry.key else {
      return false
    }
    tables[Int(table.handle)].remove(at: index)
    return true
  }

  package func commit() throws(StoreError) {
    isOpen = false
    takeBack()
    if isWriting { engine.endWrite(hasFailed ? nil : tables) }
    if hasFailed { throw Self.aborted }
  }

  package func abort() {
    isOpen = false
    takeBack()
    if isWriting { engine.endWrite(nil) }
  }

  /// Copies the bytes to store, which may be part of lent memory, then invalidates all lent bytes.
  private func beginChange(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    -> MemoryEntry
  {
    guard isWriting else { throw StoreError(.readOnly, "a read transaction cannot change anything") }
    precondition(isOpen, "changes belong into an open transaction")
    if hasFailed { throw Self.aborted }
    do throws(StoreError) {
      try Self.check(key)
      try engine.takeChange()
    } catch {
      throw failed(error)
    }
    let entry = MemoryEntry(key: Array(key), value: Array(value))
    takeBack()
    return entry
  }

  private func failed(_ error: StoreError) -> StoreError {
    hasFailed = true
    return error
  }

  private static var aborted: StoreError {
    StoreError(.transactionAborted, "an earlier change failed; the transaction can only be given up")
  }

  private static func check(_ key: UnsafeRawBufferPointer) throws(StoreError) {
    // As in a data file.
    guard (1...511).contains(key.count) else {
      throw StoreError(.limitExceeded, "a key has 1 to 511 bytes, not \(key.count)")
    }
  }

  private func lend(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    // An odd offset, because LMDB aligns values to two bytes only.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 2, alignment: 16)
    let part = UnsafeMutableRawBufferPointer(rebasing: memory[2...])
    part.copyBytes(from: bytes)
    lent.append(memory)
    return UnsafeRawBufferPointer(part)
  }

  package func beginReadScope() -> Int { lent.count }

  package func endReadScope(_ mark: Int) { takeBack(to: mark) }

  private func takeBack(to count: Int = 0) {
    noteLent()
    while lent.count > count {
      let memory = lent.removeLast()
      memory.initializeMemory(as: UInt8.self, repeating: 0xDD)
      memory.deallocate()
    }
  }

  private func noteLent() {
    let count = lent.count
    if count > 0 { engine.note { $0.greatestLentCount = max($0.greatestLentCount, count) } }
  }

  private static func order(_ left: [UInt8], _ right: UnsafeRawBufferPointer) -> Int {
    left.withUnsafeBytes { left in
      let common = min(left.count, right.count)
      if common > 0, let first = left.baseAddress, let second = right.baseAddress {
        let order = memcmp(first, second, common)
        if order != 0 { return Int(order) }
      }
      return left.count - right.count
    }
  }

  private static func lowerBound(_ entries: MemoryStorage.Table, _ key: UnsafeRawBufferPointer) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if order(entries[middle].key, key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

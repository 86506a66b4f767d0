import Foundation
import KVCloneRecords
import Synchronization

@testable import KVClone

/// An engine in memory: the oracle that LMDB is compared with, and a place to plant damage and failures.
///
/// It keeps what the seam promises, and shows a breach: bytes that `get` and `seek` return are copies, overwritten with 0xDD
/// at the next change.
final class MemoryStorage: StorageEngine {
  typealias Table = [MemoryEntry]

  struct State {
    /// By handle.
    var tables: [Table] = []
    var codes: [TableCode] = []
    var isWriting = false
    /// Changes that still succeed; nil for all.
    var changesUntilFailure: Int?
  }

  private let state = Mutex(State())

  /// Lets `count` changes of coming write transactions succeed, and each one after that fail as on a full disk.
  func failChanges(after count: Int?) {
    state.withLock { $0.changesUntilFailure = count }
  }

  func takeChange() throws(StoreError) {
    let isAllowed = state.withLock { state in
      guard let left = state.changesUntilFailure else { return true }
      state.changesUntilFailure = max(0, left - 1)
      return left > 0
    }
    if !isAllowed { throw StoreError(.diskFull, "the test's disk is full") }
  }

  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    let opened = state.withLock { state -> [StorageTable] in
      tables.compactMap { code in
        if let handle = state.codes.firstIndex(of: code) { return StorageTable(code: code, handle: UInt32(handle)) }
        guard create else { return nil }
        state.codes.append(code)
        state.tables.append([])
        return StorageTable(code: code, handle: UInt32(state.codes.count - 1))
      }
    }
    guard opened.count == tables.count else { throw StoreError(.notAStore, "a table is missing") }
    return opened
  }

  func beginRead() throws(StoreError) -> any StorageBackend {
    MemoryTransaction(self, state.withLock { $0.tables }, isWriting: false)
  }

  func beginWrite(label: String, timeout: Duration) throws(StoreError) -> any StorageBackend {
    let deadline = ContinuousClock.now.advanced(by: timeout)
    while true {
      let tables = state.withLock { state -> [Table]? in
        if state.isWriting { return nil }
        state.isWriting = true
        return state.tables
      }
      if let tables { return MemoryTransaction(self, tables, isWriting: true) }
      guard ContinuousClock.now < deadline else { throw StoreError(.busy, "another writer is at work") }
      Thread.sleep(forTimeInterval: 0.001)
    }
  }

  func endWrite(_ tables: [Table]?) {
    state.withLock { state in
      if let tables { state.tables = tables }
      state.isWriting = false
    }
  }

  func facts() throws(StoreError) -> StorageFacts {
    StorageFacts(fileBytes: 0, pageCount: 0, pageSize: FormatLimits.pageSize)
  }

  func close() {}

  /// Changes committed entries behind the store's back.
  func tamper(_ table: StorageTable, _ change: (inout Table) -> Void) {
    state.withLock { change(&$0.tables[Int(table.handle)]) }
  }

  /// The committed entries of a table.
  func entries(_ table: StorageTable) -> Table {
    state.withLock { $0.tables[Int(table.handle)] }
  }
}

/// A key and its value.
struct MemoryEntry: Equatable {
  var key: [UInt8]
  var value: [UInt8]
}

/// One transaction of `MemoryStorage`.
final class MemoryTransaction: StorageBackend {
  private let engine: MemoryStorage
  private var tables: [MemoryStorage.Table]
  private let isWriting: Bool
  private var isOpen = true
  private var lent: [UnsafeMutableRawBufferPointer] = []

  init(_ engine: MemoryStorage, _ tables: [MemoryStorage.Table], isWriting: Bool) {
    self.engine = engine
    self.tables = tables
    self.isWriting = isWriting
  }

  deinit {
    if isOpen { abort() }
  }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    let entries = tables[Int(table.handle)]
    let index = Self.lowerBound(entries, key)
    guard index < entries.count, Self.order(entries[index].key, key) == 0 else { return nil }
    return lend(entries[index].value)
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    let entries = tables[Int(table.handle)]
    var index = Self.lowerBound(entries, key)
    if mode == .atOrBefore, index == entries.count || Self.order(entries[index].key, key) != 0 { index -= 1 }
    guard entries.indices.contains(index) else { return nil }
    return StorageEntryPointers(key: lend(entries[index].key), value: lend(entries[index].value))
  }

  func scan(_ table: StorageTable, from key: UnsafeRawBufferPointer, _ body: (StorageEntryPointers) -> Bool)
    throws(StoreError)
  {
    let entries = tables[Int(table.handle)]
    for entry in entries[Self.lowerBound(entries, key)...] {
      let goesOn = entry.key.withUnsafeBytes { key in
        entry.value.withUnsafeBytes { value in body(StorageEntryPointers(key: key, value: value)) }
      }
      if !goesOn { return }
    }
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    let entry = try beginChange(key, value)
    let index = entry.key.withUnsafeBytes { Self.lowerBound(tables[Int(table.handle)], $0) }
    if index < tables[Int(table.handle)].count, tables[Int(table.handle)][index].key == entry.key {
      tables[Int(table.handle)][index] = entry
    } else {
      tables[Int(table.handle)].insert(entry, at: index)
    }
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    let entry = try beginChange(key, value)
    if let last = tables[Int(table.handle)].last {
      precondition(last.key.lexicographicallyPrecedes(entry.key), "appended keys ascend")
    }
    tables[Int(table.handle)].append(entry)
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    let entry = try beginChange(key, UnsafeRawBufferPointer(start: nil, count: 0))
    let index = entry.key.withUnsafeBytes { Self.lowerBound(tables[Int(table.handle)], $0) }
    guard index < tables[Int(table.handle)].count, tables[Int(table.handle)][index].key == entry.key else {
      return false
    }
    tables[Int(table.handle)].remove(at: index)
    return true
  }

  func commit() throws(StoreError) {
    isOpen = false
    takeBack()
    if isWriting { engine.endWrite(tables) }
  }

  func abort() {
    isOpen = false
    takeBack()
    if isWriting { engine.endWrite(nil) }
  }

  /// Copies what is to be stored (it may lie in what was lent), then ends the life of all lent bytes.
  private func beginChange(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
    -> MemoryEntry
  {
    precondition(isWriting && isOpen, "changes belong into an open write transaction")
    precondition((1...FormatLimits.maximumKeyLength).contains(key.count), "a key has 1 to 480 bytes")
    try engine.takeChange()
    let entry = MemoryEntry(key: Array(key), value: Array(value))
    takeBack()
    return entry
  }

  private func lend(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    // An odd offset, because LMDB aligns values to two bytes only.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 2, alignment: 16)
    let part = UnsafeMutableRawBufferPointer(rebasing: memory[2...])
    part.copyBytes(from: bytes)
    lent.append(memory)
    return UnsafeRawBufferPointer(part)
  }

  private func takeBack() {
    for memory in lent {
      memory.initializeMemory(as: UInt8.self, repeating: 0xDD)
      memory.deallocate()
    }
    lent.removeAll()
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

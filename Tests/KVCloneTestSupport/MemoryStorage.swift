import Foundation
package import KVClone
package import KVCloneRecords
import Synchronization

/// A storage engine in memory: the oracle for LMDB, and an engine in which tests inject corruption and failures.
///
/// It detects violations of the storage interface's contract: bytes that `get` and `seek` return are copies,
/// overwritten with 0xDD at the next change, and at the end of their scope of reads.
package final class MemoryStorage: StorageEngine {
  package typealias Table = [MemoryEntry]

  /// The committed state, which a test can restore.
  package struct Snapshot: Sendable, Equatable {
    fileprivate var tables: [Table]
    fileprivate var codes: [TableCode]
  }

  private struct State {
    /// Tables by handle.
    var tables: [Table] = []
    var codes: [TableCode] = []
    /// The thread of the writer, or nil without a write transaction.
    var writer: UInt?
    var isClosed = false
    /// The number of changes that still succeed, or nil for all.
    var changesUntilFailure: Int?
    var window = 0
    var reads = Reads()
  }

  /// The keys that transactions announced, and the objects that they read.
  package struct Reads: Sendable {
    /// The number of announced keys.
    package var announcedCount = 0
    /// The largest number of keys that were announced at once.
    package var greatestWindow = 0
    /// The number of objects that were read by their ids after an announcement.
    package var expectedCount = 0
    /// The number of objects that were read by their ids without an announcement.
    package var unexpectedCount = 0
    /// The largest number of keys and values that one transaction had returned and not freed.
    package var greatestLentCount = 0
  }

  /// The properties of a network, for tests of what differs across one.
  package let network: (any EngineNetwork)?
  private let state = Mutex(State())

  package init(network: (any EngineNetwork)? = nil) {
    self.network = network
  }

  /// Makes `count` changes of later write transactions succeed, and each one after them fail as on a full disk.
  package func failChanges(after count: Int?) {
    state.withLock { $0.changesUntilFailure = count }
  }

  /// Requests announcements of up to `window` keys at once, as an engine across a network does, and resets the
  /// counters.
  package func countReads(window: Int) {
    state.withLock { ($0.window, $0.reads) = (window, Reads()) }
  }

  /// The reads since ``countReads(window:)``.
  package var reads: Reads { state.withLock { $0.reads } }

  var window: Int { state.withLock { $0.window } }

  func note(_ change: (inout Reads) -> Void) { state.withLock { change(&$0.reads) } }

  func takeChange() throws(StoreError) {
    let isAllowed = state.withLock { state in
      guard let left = state.changesUntilFailure else { return true }
      state.changesUntilFailure = max(0, left - 1)
      return left > 0
    }
    if !isAllowed { throw StoreError(.diskFull, "the test's disk is full") }
  }

  package func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    let opened = state.withLock { state -> [StorageTable] in
      tables.compactMap { code in
        if let handle = state.codes.firstIndex(of: code) { return StorageTable(code: code, handle: UInt32(handle)) }
        guard create else { return nil }
        state.codes.append(code)
        state.tables.append([])
        return StorageTable(code: code, handle: UInt32(state.codes.count - 1))
      }
    }
    guard opened.count == tables.count else { throw StoreError(.invalidStore, "a table is missing") }
    return opened
  }

  package func beginRead() throws(StoreError) -> any StorageBackend {
    let tables = state.withLock { $0.isClosed ? nil : $0.tables }
    guard let tables else { throw Self.closed }
    return MemoryTransaction(self, tables, isWriting: false)
  }

  package func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    enum Turn {
      case mine([Table])
      case nested
      case closed
      case wait
    }
    let deadline = ContinuousClock.now.advanced(by: timeout)
    let thread = Self.currentThread
    while true {
      let turn = state.withLock { state -> Turn in
        if state.isClosed { return .closed }
        if let writer = state.writer { return writer == thread ? .nested : .wait }
        state.writer = thread
        return .mine(state.tables)
      }
      switch turn {
      case .mine(let tables): return MemoryTransaction(self, tables, isWriting: true)
      case .nested: throw StoreError(.nestedWrite, "this thread writes already")
      case .closed: throw Self.closed
      case .wait:
        guard ContinuousClock.now < deadline else { throw StoreError(.busy, "another writer is at work") }
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
  }

  func endWrite(_ tables: [Table]?) {
    state.withLock { state in
      if let tables { state.tables = tables }
      state.writer = nil
    }
  }

  package func facts() throws(StoreError) -> StorageFacts {
    let bytes = state.withLock { state in
      state.tables.reduce(0) { $0 + $1.reduce(0) { $0 + $1.key.count + $1.value.count } }
    }
    return StorageFacts(fileBytes: UInt64(bytes), pageCount: 0, pageSize: FormatLimits.pageSize)
  }

  package func close() {
    state.withLock { $0.isClosed = true }
  }

  /// Opens the engine after `close`, with its committed state.
  package func reopen() {
    state.withLock { $0.isClosed = false }
  }

  /// Returns the committed state.
  package func snapshot() -> Snapshot {
    state.withLock { Snapshot(tables: $0.tables, codes: $0.codes) }
  }

  /// Restores a committed state.
  package func restore(_ snapshot: Snapshot) {
    state.withLock { state in
      state.tables = snapshot.tables
      state.codes = snapshot.codes
    }
  }

  /// Changes committed entries bypassing the store.
  package func tamper(_ table: StorageTable, _ change: (inout Table) -> Void) {
    state.withLock { change(&$0.tables[Int(table.handle)]) }
  }

  /// The committed entries of a table.
  package func entries(_ table: StorageTable) -> Table {
    state.withLock { $0.tables[Int(table.handle)] }
  }

  private static var closed: StoreError { StoreError(.closed, "the engine was closed") }

  /// The identity of the current thread, unique among live threads.
  private static var currentThread: UInt {
    UInt(bitPattern: ObjectIdentifier(Thread.current))
  }
}

/// A key and its value.
package struct MemoryEntry: Equatable, Sendable {
  package var key: [UInt8]
  package var value: [UInt8]

  package init(key: [UInt8], value: [UInt8]) {
    self.key = key
    self.value = value
  }
}

package import KVClone
import KVCloneLMDB
package import KVCloneRecords
import Synchronization

/// A decorator around a storage engine, in which one call fails.
///
/// After `arm`, calls are counted in order: begins, gets, seeks, scans, changes and commits. The call with the given
/// number fails as it may in an engine: a begin starts no transaction, a change makes its transaction abort-only, a
/// commit commits nothing.
package final class FaultyEngine: StorageEngine, EngineSpace {
  /// The calls that can fail.
  package enum Call: String, Sendable, CaseIterable {
    case beginRead, beginWrite, get, seek, scan, put, append, delete, commit
  }

  private struct State {
    var callsUntilFault: Int?
    var fired: Call?
    var count = 0
  }

  /// The wrapped engine.
  package let inner: any StorageEngine
  private let kind: StoreError.Kind
  /// Whether the available space is hidden, so that writes fail instead of being rejected beforehand.
  fileprivate let hidesRoom: Bool
  package let network: (any EngineNetwork)?
  private let state = Mutex(State())

  /// The call that fails throws an error of `kind`.
  package init(
    _ inner: any StorageEngine, kind: StoreError.Kind = .io, hidesRoom: Bool = false,
    network: (any EngineNetwork)? = nil
  ) {
    self.inner = inner
    self.network = network
    self.kind = kind
    self.hidesRoom = hidesRoom
  }

  /// Makes the `number`-th call from now on fail, counted from 1; nil for none.
  package func arm(_ number: Int?) {
    state.withLock { $0 = State(callsUntilFault: number) }
  }

  /// The call that failed since `arm`, or nil.
  package var fired: Call? { state.withLock { $0.fired } }

  /// The number of calls since `arm`.
  package var callCount: Int { state.withLock { $0.count } }

  func pass(_ call: Call) throws(StoreError) {
    let isFault = state.withLock { state in
      state.count += 1
      guard let left = state.callsUntilFault else { return false }
      state.callsUntilFault = left == 1 ? nil : left - 1
      if left == 1 { state.fired = call }
      return left == 1
    }
    if isFault { throw StoreError(kind, "the test lets this \(call.rawValue) fail") }
  }

  package func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try inner.openTables(tables, create: create)
  }

  package func beginRead() throws(StoreError) -> any StorageBackend {
    try pass(.beginRead)
    return FaultyTransaction(self, try inner.beginRead())
  }

  package func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    try pass(.beginWrite)
    return FaultyTransaction(self, try inner.beginWrite(label: label, timeout: timeout, isDryRun: isDryRun))
  }

  package func facts() throws(StoreError) -> StorageFacts {
    var facts = try inner.facts()
    if hidesRoom { (facts.freeMapBytes, facts.freeDiskBytes) = (.max, .max) }
    return facts
  }

  package var space: (any EngineSpace)? { self }

  package func makeRoom(for byteCount: UInt64) throws(StoreError) {
    if !hidesRoom { try inner.space?.makeRoom(for: byteCount) }
  }

  package func checkRoom(for byteCount: UInt64) throws(StoreError) {}

  package func lastFreedByteCount() throws(StoreError) -> UInt64 {
    try pass(.beginRead)
    return try inner.space?.lastFreedByteCount() ?? 0
  }

  package func close() { inner.close() }
}

/// One transaction of `FaultyEngine`.
private final class FaultyTransaction: StorageBackend, TransactionSpace {
  private let engine: FaultyEngine
  private let inner: any StorageBackend
  private var hasFailed = false

  init(_ engine: FaultyEngine, _ inner: any StorageBackend) {
    self.engine = engine
    self.inner = inner
  }

  var nextIndexID: UInt16 { inner.nextIndexID }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try engine.pass(.get)
    return try inner.get(table, key)
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    try engine.pass(.seek)
    return try inner.seek(table, key, mode)
  }

  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try engine.pass(.scan)
    try inner.scan(table, from: key, before: end) { (key, value) throws(StoreError) in
      // A scan may fail at any entry, not only at the first.
      try engine.pass(.scan)
      return try body(key, value)
    }
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    try passChange(.put)
    try inner.put(table, key, value)
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    try passChange(.append)
    try inner.append(table, key, value)
  }

  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
    try passChange(.put)
    return try inner.makeTables(tables)
  }

  func retainCursors(in tables: [StorageTable]) { inner.retainCursors(in: tables) }

  func prefetchWindow(isAscending: Bool) -> Int { inner.prefetchWindow(isAscending: isAscending) }

  func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {
    inner.prefetch(table, keys, stride: stride, mode)
  }

  func beginReadScope() -> Int { inner.beginReadScope() }

  func endReadScope(_ mark: Int) { inner.endReadScope(mark) }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    try passChange(.delete)
    return try inner.delete(table, key)
  }

  func commit() throws(StoreError) {
    do throws(StoreError) {
      try passChange(.commit)
    } catch {
      inner.abort()
      throw error
    }
    try inner.commit()
  }

  func abort() { inner.abort() }

  var space: (any TransactionSpace)? { engine.hidesRoom || inner.space == nil ? nil : self }

  func facts() throws(StoreError) -> StorageFacts? { try inner.space?.facts() }

  func makeRoom(for byteCount: UInt64) throws(StoreError) { try inner.space?.makeRoom(for: byteCount) }

  func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes {
    guard let space = inner.space else { throw StorageTransaction.noPages }
    return try space.sizes(tables)
  }

  func growth() throws(StoreError) -> StorageGrowth? { try inner.space?.growth() }

  func refuseGrowth() { inner.space?.refuseGrowth() }

  func checkCommitRoom() throws(StoreError) { try inner.space?.checkCommitRoom() }

  private func passChange(_ call: FaultyEngine.Call) throws(StoreError) {
    if hasFailed {
      throw StoreError(.transactionAborted, "an earlier change failed; the transaction can only be given up")
    }
    do throws(StoreError) {
      try engine.pass(call)
    } catch {
      hasFailed = true
      throw error
    }
  }
}

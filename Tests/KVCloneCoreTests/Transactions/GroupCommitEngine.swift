import KVClone
import KVCloneLMDB
import KVCloneRecords
import Synchronization

@testable import KVCloneCore

/// An engine around another one that counts write transactions, and makes commits and puts fail.
final class GroupCommitEngine: StorageEngine {
  private struct State {
    var beginCount = 0
    var commitCount = 0
    var failure: StoreError?
    /// Whether the failing commit is stored nevertheless.
    var storesFailing = false
    var putFailure: StoreError?
  }

  private let inner: any StorageEngine
  private let state = Mutex(State())

  init(_ inner: any StorageEngine) { self.inner = inner }

  /// The number of write transactions that have begun.
  var beginCount: Int { state.withLock { $0.beginCount } }

  /// The number of commits that succeeded.
  var commitCount: Int { state.withLock { $0.commitCount } }

  /// Makes the next commit fail with this error, durable or not.
  func failNextCommit(_ error: StoreError, storing: Bool = false) {
    state.withLock { ($0.failure, $0.storesFailing) = (error, storing) }
  }

  /// Makes the next put fail with this error. As in LMDB, the transaction rejects all changes afterwards.
  func failNextPut(_ error: StoreError) { state.withLock { $0.putFailure = error } }

  fileprivate func takePutFailure() -> StoreError? {
    state.withLock { state in
      defer { state.putFailure = nil }
      return state.putFailure
    }
  }

  fileprivate func commit(_ transaction: any StorageBackend) throws(StoreError) {
    let (failure, storing) = state.withLock { state in
      defer { state.failure = nil }
      return (state.failure, state.storesFailing)
    }
    if let failure {
      if storing { try transaction.commit() } else { transaction.abort() }
      throw failure
    }
    try transaction.commit()
    state.withLock { $0.commitCount += 1 }
  }

  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable] {
    try inner.openTables(tables, create: create)
  }

  func beginRead() throws(StoreError) -> any StorageBackend { try inner.beginRead() }

  func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend {
    let transaction = try inner.beginWrite(label: label, timeout: timeout, isDryRun: isDryRun)
    state.withLock { $0.beginCount += 1 }
    return GroupCommitTransaction(self, transaction)
  }

  func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)? { inner.watchCommits(body) }

  func writer() -> WriteLockHolder? { inner.writer() }

  func facts() throws(StoreError) -> StorageFacts { try inner.facts() }

  var space: (any EngineSpace)? { inner.space }

  var files: (any EngineFiles)? { inner.files }

  func uploadLeases() throws(StoreError) -> (any UploadLeases)? { try inner.uploadLeases() }

  func close() { inner.close() }
}

/// A write transaction of `GroupCommitEngine`.
private final class GroupCommitTransaction: StorageBackend {
  private let engine: GroupCommitEngine
  private let inner: any StorageBackend
  private var isBroken = false

  init(_ engine: GroupCommitEngine, _ inner: any StorageBackend) { (self.engine, self.inner) = (engine, inner) }

  var nextIndexID: UInt16 { .max }

  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    try inner.get(table, key)
  }

  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  {
    try inner.seek(table, key, mode)
  }

  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try inner.scan(table, from: key, before: end, body)
  }

  private func change<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    if !isBroken, let failure = engine.takePutFailure() {
      isBroken = true
      throw failure
    }
    if isBroken { throw StoreError(.transactionAborted, "the test's transaction was aborted") }
    return try body()
  }

  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError) {
    try change { () throws(StoreError) in try inner.put(table, key, value) }
  }

  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  {
    try change { () throws(StoreError) in try inner.append(table, key, value) }
  }

  func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError) {
    try change { () throws(StoreError) in try inner.appendRun(table, entries) }
  }

  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool {
    try change { () throws(StoreError) in try inner.delete(table, key) }
  }

  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] { try inner.makeTables(tables) }

  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 { try inner.entryCount(table) }

  var stateNumber: UInt64 { inner.stateNumber }

  func commit() throws(StoreError) { try engine.commit(inner) }

  func abort() { inner.abort() }

  func retainCursors(in tables: [StorageTable]) { inner.retainCursors(in: tables) }

  func markDeleteOnly() { inner.markDeleteOnly() }

  var space: (any TransactionSpace)? { inner.space }
}

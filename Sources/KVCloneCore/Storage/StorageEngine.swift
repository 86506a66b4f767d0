package import KVCloneLMDB
package import KVCloneRecords
package import KVCloneTracing

/// A storage engine: named tables of ordered byte keys, with transactions.
///
/// The store uses nothing else of an engine. An engine has one write transaction at a time; read transactions see the
/// state at their begin; keys are in byte order; a commit is durable completely or not at all. What only some engines
/// have, such as local files, is queried, and features that need it fail with `unsupportedByEngine` without it.
package protocol StorageEngine: AnyObject, Sendable, TracedStore {
  /// The name of the engine's product, such as LMDB; empty if it has no name.
  var productName: String { get }
  /// Opens tables by name. Missing ones are created, in a write transaction of their own.
  func openTables(_ tables: [TableCode], create: Bool) throws(StoreError) -> [StorageTable]
  /// Begins a read transaction on the last committed state.
  func beginRead() throws(StoreError) -> any StorageBackend
  /// Begins a long read transaction; `readers` lists it with the name of its owner.
  func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend
  /// Begins the write transaction. Waits at most `timeout` for another writer, then throws `busy`.
  ///
  /// - Parameter isDryRun: whether the transaction can only be aborted.
  func beginWrite(label: String, timeout: Duration, isDryRun: Bool) throws(StoreError) -> any StorageBackend
  /// Calls `body` after each commit of this and other processes, and at other times, from any thread.
  ///
  /// - Returns: the watch, which ends with its last reference, or nil if the engine cannot watch.
  func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)?
  /// Lists the open read transactions of all processes, oldest state first; nil if the engine knows only its own.
  func readers() throws(StoreError) -> [StorageReader]?
  /// Frees the reader slots of processes that have ended, and returns their number.
  func clearStaleReaders() throws(StoreError) -> Int
  /// The holder of the write lock, of any process, or nil if it is free.
  func writer() -> WriteLockHolder?
  /// Opens the marks of staged uploads, or returns nil if the engine is not shared between processes.
  func uploadLeases() throws(StoreError) -> (any UploadLeases)?
  /// Closes the engine. Nothing may be called afterwards.
  func close()
  /// Sizes, for statistics and checks.
  func facts() throws(StoreError) -> StorageFacts
  /// The free space of the engine, or nil if it has no limit that can be known in advance.
  var space: (any EngineSpace)? { get }
  /// The local files of the engine, or nil if it has none.
  var files: (any EngineFiles)? { get }
  /// The properties of an engine that reads across a network, or nil for an engine with local reads.
  var network: (any EngineNetwork)? { get }
}

/// Notices commits as long as it exists.
package protocol CommitWatch: AnyObject, Sendable {}

extension StorageEngine {
  package var productName: String { "" }

  /// Begins a write transaction that can be committed.
  package func beginWrite(label: String, timeout: Duration) throws(StoreError) -> any StorageBackend {
    try beginWrite(label: label, timeout: timeout, isDryRun: false)
  }

  package func beginPinnedRead(owner: String) throws(StoreError) -> any StorageBackend { try beginRead() }

  package func watchCommits(_ body: @escaping @Sendable () -> Void) -> (any CommitWatch)? { nil }

  package func readers() throws(StoreError) -> [StorageReader]? { nil }

  package func clearStaleReaders() throws(StoreError) -> Int { 0 }

  package func writer() -> WriteLockHolder? { nil }

  package func uploadLeases() throws(StoreError) -> (any UploadLeases)? { nil }

  package var space: (any EngineSpace)? { nil }

  package var files: (any EngineFiles)? { nil }

  package var network: (any EngineNetwork)? { nil }

  /// Returns the local files of the engine.
  ///
  /// - Parameter operation: what needs them, for the error.
  /// - Throws: `unsupportedByEngine` if there are none.
  package func requireFiles(for operation: String) throws(StoreError) -> any EngineFiles {
    if let files { return files }
    throw StoreError(
      .unsupportedByEngine,
      "\(operation) needs the local files of a store, and this storage engine has none; copy the store to a directory "
        + "first")
  }
}

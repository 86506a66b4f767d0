public import KVCloneLMDB

/// The free space of an engine with a storage limit.
package protocol EngineSpace: AnyObject, Sendable {
  /// Makes room for a transaction that writes at least `byteCount` bytes, if possible. Not called within a transaction.
  ///
  /// - Throws: `mapFull` or `diskFull` if so many bytes certainly do not fit.
  func makeRoom(for byteCount: UInt64) throws(StoreError)
  /// Checks for a plan whether `byteCount` bytes can ever fit. Transactions may be open.
  ///
  /// - Throws: `mapFull` or `diskFull` if they cannot.
  func checkRoom(for byteCount: UInt64) throws(StoreError)
  /// Returns the number of bytes that the last commit freed, and that only the commit after the next can reuse.
  func lastFreedByteCount() throws(StoreError) -> UInt64
}

/// The space that one transaction uses.
@usableFromInline
package protocol TransactionSpace: AnyObject {
  /// Returns the sizes of tables in the state of the transaction. The free list is empty in a write transaction.
  func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes
  /// Returns by how much the write transaction has grown the file; nil for a read transaction.
  func growth() throws(StoreError) -> StorageGrowth?
  /// Marks the write transaction as failed because the file is too large, which allows shrinking it.
  func refuseGrowth()
  /// Returns the sizes as of the begin of the write transaction; nil for a read transaction.
  func facts() throws(StoreError) -> StorageFacts?
  /// Checks whether the write transaction can write `byteCount` more bytes. The transaction remains usable.
  ///
  /// - Throws: `mapFull` or `diskFull` if it certainly cannot.
  func makeRoom(for byteCount: UInt64) throws(StoreError)
  /// Checks for a dry run whether its commit would succeed.
  ///
  /// - Throws: `diskFull`.
  func checkCommitRoom() throws(StoreError)
}

extension TransactionSpace {
  /// Checks whether the write transaction can write `byteCount` more bytes, and then still all pages that it has added,
  /// which a commit writes.
  func makeRoom(toContinueFor byteCount: Int) throws(StoreError) {
    let added = try growth().map { max(0, $0.pageCount - $0.firstPageCount) * $0.pageSize } ?? 0
    try makeRoom(for: UInt64(added + byteCount))
  }
}

/// Marks staged uploads as alive by one of 65,535 bytes each: no process sweeps an upload with a byte that is held.
package protocol UploadLeases: AnyObject, Sendable {
  /// Holds a byte; returns false if another process holds it. Returns true if this object holds it already: the caller
  /// tracks the uploads within the process.
  func hold(_ byte: UInt16) throws(StoreError) -> Bool
  /// Releases a byte that is held.
  func release(_ byte: UInt16)
}

/// The local files of an engine that keeps a store in a directory.
package protocol EngineFiles: AnyObject, Sendable {
  /// The absolute path of the directory at the time of opening.
  var directory: String { get }
  /// The path of the directory now: it may have been moved.
  var currentDirectory: String { get }
  /// The identity of the data file.
  var identity: FileSystem.Identity { get }
  /// The environment that pages are read from without the engine.
  var environment: LMDBEnvironment { get }
}

/// The properties of an engine that reads across a network, with one connection for each transaction.
package protocol EngineNetwork: AnyObject, Sendable {
  /// Whether another engine has the same store open. Both have the same UUID, which copies of a store share, too.
  func isSameStore(as other: any EngineNetwork) -> Bool
  /// The maximum number and age of pinned snapshots of a store, unless its options state others. Each occupies a
  /// connection, and keeps the server from removing old versions of rows.
  var pinnedSnapshotDefaults: (limit: Int, maximumAge: Duration) { get }
  /// The threads on which asynchronous reads wait, shared by the stores that share connections.
  var readThreads: ReadThreads { get }
}

public import KVCloneLMDB
package import KVCloneModel
package import KVCloneRecords

/// A transaction of a storage engine, with results as borrowed bytes.
///
/// The results of `get` and `seek` are spans into the memory of the engine. They are borrowed from the transaction, and
/// every change is `mutating`, so the compiler rejects their use after a change. This is LMDB's rule: "Values returned
/// from the database are valid only until a subsequent update operation, or the end of the transaction."
@usableFromInline
package struct StorageTransaction: ~Copyable {
  @usableFromInline package internal(set) var backend: any StorageBackend
  @usableFromInline var isOpen = true
  /// The log of the savepoints, for reuse by later ones.
  var undoLog: UndoLog?
  /// The number of changes, which shows whether an operation failed before or after its first change.
  @usableFromInline package internal(set) var changeCount: UInt64 = 0
  /// The number of bytes of written keys and values.
  @usableFromInline package internal(set) var writtenByteCount: UInt64 = 0

  package init(_ backend: any StorageBackend) {
    self.backend = backend
  }

  /// Creates another view of an open transaction, with its changes. The view must not outlive the transaction, and does
  /// not end it.
  package init(lookingInto other: borrowing StorageTransaction) {
    backend = other.backend
    isOpen = false
  }

  /// Creates a view of a transaction that its owner ends.
  package init(lookingInto backend: any StorageBackend) {
    self.backend = backend
    isOpen = false
  }

  deinit {
    if isOpen { backend.abort() }
  }

  /// Returns the stored value of a key, including its checksum, or nil.
  @_lifetime(borrow self)
  @inlinable @inline(__always)
  package borrowing func get(_ table: StorageTable, _ key: RawSpan) throws(StoreError) -> RawSpan? {
    guard let value = try backend.get(table, unsafePointers(key)) else { return nil }
    return _overrideLifetime(RawSpan(_unsafeBytes: value), borrowing: self)
  }

  /// Returns the entry that `mode` looks for, or nil.
  @_lifetime(borrow self)
  @inlinable @inline(__always)
  package borrowing func seek(_ table: StorageTable, _ key: RawSpan, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntry?
  {
    guard let entry = try backend.seek(table, unsafePointers(key), mode) else { return nil }
    let found = StorageEntry(key: RawSpan(_unsafeBytes: entry.key), value: RawSpan(_unsafeBytes: entry.value))
    return _overrideLifetime(found, borrowing: self)
  }

  /// Calls `body` with each entry from the first key at or after `key`, ascending, until it returns false.
  ///
  /// `body` returns false for each key at or after `end`: an engine reads ahead, and learns from `end` how far.
  @inlinable @inline(__always)
  package borrowing func scan(
    _ table: StorageTable, from key: RawSpan, before end: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try backend.scan(table, from: unsafePointers(key), before: unsafePointers(end), body)
  }

  /// Calls `body` with each entry from the first key at or after `key` to the end of the table, until it returns false.
  @inlinable @inline(__always)
  package borrowing func scanToEnd(
    of table: StorageTable, from key: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try backend.scan(table, from: unsafePointers(key), before: .noBytes, body)
  }

  /// Calls `body` with each entry that has a key with the prefix `prefix`, until it returns false, which it does for
  /// all other keys.
  package borrowing func scan(
    _ table: StorageTable, within prefix: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try scan(table, from: prefix, within: prefix, body)
  }

  /// Calls `body` with each entry at or after `key` that has a key with the prefix `prefix`, until it returns false,
  /// which it does for all other keys.
  package borrowing func scan(
    _ table: StorageTable, from key: RawSpan, within prefix: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The first key after all that begin with the prefix has its last byte below 255 incremented. Prefixes are short:
    // the copy is on the stack.
    let prefix = unsafePointers(prefix)
    let failure = withUnsafeTemporaryAllocation(byteCount: prefix.count, alignment: 1) { end -> StoreError? in
      end.copyMemory(from: prefix)
      var count = end.count
      while count > 0, end[count - 1] == .max { count -= 1 }
      if count > 0 { end[count - 1] += 1 }
      do throws(StoreError) {
        try backend.scan(
          table, from: unsafePointers(key), before: UnsafeRawBufferPointer(rebasing: end[..<count]), body)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  /// Stores a value, replacing the earlier value of the key.
  @inlinable @inline(__always)
  package mutating func put(_ table: StorageTable, _ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    changeCount &+= 1
    writtenByteCount &+= UInt64(key.byteCount &+ value.byteCount)
    try backend.put(table, unsafePointers(key), unsafePointers(value))
  }

  /// Stores a value under a key above all others of the table, without a search and in full pages.
  @inlinable @inline(__always)
  package mutating func append(_ table: StorageTable, _ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    changeCount &+= 1
    writtenByteCount &+= UInt64(key.byteCount &+ value.byteCount)
    try backend.append(table, unsafePointers(key), unsafePointers(value))
  }

  /// Appends many entries in ascending order of their keys, above all others of the table. Their bytes must not be
  /// memory of the engine.
  package mutating func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>)
    throws(StoreError)
  {
    changeCount &+= UInt64(entries.count)
    for entry in entries { writtenByteCount &+= UInt64(entry.key.count &+ entry.value.count) }
    try backend.appendRun(table, entries)
  }

  /// Announces that the next reads and changes concern these tables only, in about the order of their keys. The engine
  /// can then search near the previous position. An empty array ends this.
  package mutating func retainCursors(in tables: [StorageTable]) {
    backend.retainCursors(in: tables)
  }

  /// The number of objects to announce with `prefetch` at once, at most 2,048; 0 if announcing is of no use.
  package borrowing func prefetchWindow(isAscending: Bool) -> Int {
    min(backend.prefetchWindow(isAscending: isAscending), 2048)
  }

  /// Announces that the records of these objects are read next.
  package borrowing func prefetch(_ table: StorageTable, _ ids: ArraySlice<ObjectID>) {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: ids.count) { keys in
      for (place, id) in ids.enumerated() { keys.initializeElement(at: place, to: id.rawValue.bigEndian) }
      backend.prefetch(table, UnsafeRawBufferPointer(keys), stride: 8, nil)
    }
  }

  /// Announces that the last entries at or before these keys, which are of one length, are read next.
  package borrowing func prefetch(_ table: StorageTable, atOrBefore keys: [[UInt8]]) {
    Array(keys.joined()).withUnsafeBytes {
      backend.prefetch(table, $0, stride: $0.count / max(1, keys.count), .atOrBefore)
    }
  }

  /// Runs `body`. The bytes that reads return in it are valid until it returns, so that an engine that copies them can
  /// free the copies: loops over many objects have one scope for each window of objects.
  package borrowing func readScope<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let mark = backend.beginReadScope()
    defer { backend.endReadScope(mark) }
    return try body()
  }

  /// Removes an entry, and returns whether it existed.
  @discardableResult
  @inlinable @inline(__always)
  package mutating func delete(_ table: StorageTable, _ key: RawSpan) throws(StoreError) -> Bool {
    changeCount &+= 1
    return try backend.delete(table, unsafePointers(key))
  }

  /// Opens tables, and creates missing ones; others see them after the commit.
  package mutating func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
    try backend.makeTables(tables)
  }

  /// The number of the state that a read transaction sees, which each commit changes; 0 if the engine has none.
  package var stateNumber: UInt64 { backend.stateNumber }

  /// Returns the number of entries of a table.
  package borrowing func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    try backend.entryCount(table)
  }

  /// The space that the transaction uses, or nil for an engine without such limits.
  package borrowing func space() -> (any TransactionSpace)? { backend.space }

  /// The error for statistics of an engine without pages.
  package static var noPages: StoreError {
    StoreError(
      .unsupportedByEngine,
      "the storage engine of this store has no pages to count; use the statistics of its database server")
  }

  /// Returns the sizes of tables in the state of the transaction.
  ///
  /// - Throws: `unsupportedByEngine` for an engine without pages.
  package borrowing func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes {
    guard let space = backend.space else { throw Self.noPages }
    return try space.sizes(tables)
  }

  /// Marks the transaction as one that only deletes; see ``StorageBackend/markDeleteOnly()``.
  package borrowing func markDeleteOnly() { backend.markDeleteOnly() }

  /// Puts a decorator before the engine for all following calls.
  package mutating func interpose(_ make: (any StorageBackend) -> any StorageBackend) { backend = make(backend) }

  /// Counts changes and bytes from zero: another session uses the transaction.
  mutating func beginCounting() {
    changeCount = 0
    writtenByteCount = 0
  }

  /// Removes the decorator, if there is one, after `finish`.
  package mutating func removeDecorator<D: StorageDecorator>(
    _ type: D.Type, _ finish: (D) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let decorator = backend as? D else { return }
    try finish(decorator)
    backend = decorator.inner
  }

  /// Makes all changes durable, or none. The transaction ends in both cases.
  package consuming func commit() throws(StoreError) {
    isOpen = false
    try backend.commit()
  }
}

/// Returns the pointers of a span, for a call that does not keep them.
@inlinable
@inline(__always)
package func unsafePointers(_ span: RawSpan) -> UnsafeRawBufferPointer {
  span.withUnsafeBytes { $0 }
}

package import KVCloneModel
package import KVCloneRecords

/// One transaction's access to the tables, in borrowed bytes.
///
/// What `get` and `seek` return points into the engine's memory. It is borrowed from the transaction, and every change
/// is `mutating`, so the compiler refuses to use such bytes after a change: exactly LMDB's rule ("values returned from
/// the database are valid only until a subsequent update operation, or the end of the transaction").
@usableFromInline
package struct StorageTransaction: ~Copyable {
  @usableFromInline package private(set) var backend: any StorageBackend
  @usableFromInline var isOpen = true
  /// How many changes were made, so that an operation can tell whether it failed before or after its first.
  @usableFromInline package internal(set) var changeCount: UInt64 = 0
  /// Bytes of keys and values that were written.
  @usableFromInline package internal(set) var writtenByteCount: UInt64 = 0

  package init(_ backend: any StorageBackend) {
    self.backend = backend
  }

  /// A second look at what another transaction sees, with its changes. It must not outlive that one, and ends nothing.
  package init(lookingInto other: borrowing StorageTransaction) {
    backend = other.backend
    isOpen = false
  }

  /// A look into a transaction that somebody else ends.
  package init(lookingInto backend: any StorageBackend) {
    self.backend = backend
    isOpen = false
  }

  deinit {
    if isOpen { backend.abort() }
  }

  /// The value under `key`, checksum and all.
  @_lifetime(borrow self)
  @inlinable @inline(__always)
  package borrowing func get(_ table: StorageTable, _ key: RawSpan) throws(StoreError) -> RawSpan? {
    guard let value = try backend.get(table, unsafePointers(key)) else { return nil }
    return _overrideLifetime(RawSpan(_unsafeBytes: value), borrowing: self)
  }

  /// The entry that `mode` looks for.
  @_lifetime(borrow self)
  @inlinable @inline(__always)
  package borrowing func seek(_ table: StorageTable, _ key: RawSpan, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntry?
  {
    guard let entry = try backend.seek(table, unsafePointers(key), mode) else { return nil }
    let found = StorageEntry(key: RawSpan(_unsafeBytes: entry.key), value: RawSpan(_unsafeBytes: entry.value))
    return _overrideLifetime(found, borrowing: self)
  }

  /// Entries from the first key at or after `key`, ascending, until `body` answers false. `body` cannot change the
  /// table meanwhile: the transaction is borrowed.
  @inlinable @inline(__always)
  package borrowing func scan(
    _ table: StorageTable, from key: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try backend.scan(table, from: unsafePointers(key), body)
  }

  /// As `scan`, for a `body` that stops at `end` at the latest.
  @inlinable @inline(__always)
  package borrowing func scan(
    _ table: StorageTable, from key: RawSpan, before end: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    try backend.scan(table, from: unsafePointers(key), before: unsafePointers(end), body)
  }

  /// As `scan`, for a `body` that stops at the first key that does not begin with `prefix`.
  @inlinable @inline(__always)
  package borrowing func scan(
    _ table: StorageTable, within prefix: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    guard backend.hidesEntries else { return try backend.scan(table, from: unsafePointers(prefix), body) }
    try scanHiding(table, within: prefix, body)
  }

  @usableFromInline @inline(never)
  borrowing func scanHiding(
    _ table: StorageTable, within prefix: RawSpan,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError) {
    // The first key behind all that begin so.
    var end = prefix.withUnsafeBytes { Array($0) }
    while end.last == .max { end.removeLast() }
    guard let last = end.indices.last else { return try scan(table, from: prefix, body) }
    end[last] += 1
    try scan(table, from: prefix, before: end.span.bytes, body)
  }

  /// Stores `value` under `key`, in place of what was there.
  @inlinable @inline(__always)
  package mutating func put(_ table: StorageTable, _ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    changeCount &+= 1
    writtenByteCount &+= UInt64(key.byteCount &+ value.byteCount)
    try backend.put(table, unsafePointers(key), unsafePointers(value))
  }

  /// Stores `value` under a key above all others of the table: no search, full pages.
  @inlinable @inline(__always)
  package mutating func append(_ table: StorageTable, _ key: RawSpan, _ value: RawSpan) throws(StoreError) {
    changeCount &+= 1
    writtenByteCount &+= UInt64(key.byteCount &+ value.byteCount)
    try backend.append(table, unsafePointers(key), unsafePointers(value))
  }

  /// Appends many entries whose keys ascend and are above all others of the table. Their bytes must not be the engine's.
  package mutating func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>)
    throws(StoreError)
  {
    changeCount &+= UInt64(entries.count)
    for entry in entries { writtenByteCount &+= UInt64(entry.key.count &+ entry.value.count) }
    try backend.appendRun(table, entries)
  }

  /// A hint: from now on these tables, and no others, are read and changed in about the order of their keys, so that the
  /// engine may look for each near the one before. Empty: it is over.
  package mutating func retainCursors(in tables: [StorageTable]) {
    backend.retainCursors(in: tables)
  }

  /// A hint: these entries of a table are about to be read, whose keys are ids.
  package borrowing func prefetch(_ table: StorageTable, _ ids: ArraySlice<ObjectID>) {
    backend.prefetch(table, ids)
  }

  /// Removes the entry; whether there was one.
  @discardableResult
  @inlinable @inline(__always)
  package mutating func delete(_ table: StorageTable, _ key: RawSpan) throws(StoreError) -> Bool {
    changeCount &+= 1
    return try backend.delete(table, unsafePointers(key))
  }

  /// Makes tables that are missing, and opens them: for others, if the transaction is committed.
  package mutating func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
    guard let maker = backend as? any TableMaker else {
      throw StoreError(.readOnly, "tables can only be created in a write transaction")
    }
    return try maker.makeTables(tables)
  }

  /// Whether the bytes of a blob whose last referrer goes have to stay, because a snapshot may show them.
  /// A number of the state that is read, another one after each commit; 0 where nobody knows.
  package var stateNumber: UInt64 { backend.stateNumber }

  package borrowing func keepsBlob(_ serial: UInt64) throws(StoreError) -> Bool { try backend.keepsBlob(serial) }

  /// How many entries a table has.
  package borrowing func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    try backend.entryCount(table)
  }

  /// The sizes of tables, as the transaction sees them; nil for an engine that has no pages.
  package borrowing func sizes(_ tables: [StorageTable]) throws(StoreError) -> StorageSizes? {
    try backend.sizes(tables)
  }

  /// How far a write transaction has made the file grow; nil where nobody knows.
  package borrowing func growth() throws(StoreError) -> StorageGrowth? { try backend.growth() }

  /// Says that the transaction ends in failure, because the file is too long.
  package borrowing func refuseGrowth() { backend.refuseGrowth() }
  package borrowing func markDeleteOnly() { backend.markDeleteOnly() }

  /// Turns the transaction into a dry run, which cannot be committed.
  package borrowing func markDryRun() { backend.markDryRun() }

  /// Refuses, for a dry run, what the commit would meet.
  package borrowing func checkCommitRoom() throws(StoreError) { try backend.checkCommitRoom() }

  /// From now on all goes through something that stands before the engine.
  package mutating func interpose(_ make: (any StorageBackend) -> any StorageBackend) { backend = make(backend) }

  /// The engine's facts, where the transaction itself can tell them.
  package borrowing func facts() throws(StoreError) -> StorageFacts? {
    try backend.facts()
  }

  /// Says that so many bytes more do not fit, where that is certain; nothing was written then.
  package borrowing func makeRoom(for byteCount: UInt64) throws(StoreError) {
    try backend.makeRoom(for: byteCount)
  }

  /// Makes every change durable, or none; the transaction is over either way.
  package consuming func commit() throws(StoreError) {
    isOpen = false
    try backend.commit()
  }
}

/// A key and its value, borrowed from a transaction.
@usableFromInline
package struct StorageEntry: ~Escapable {
  @usableFromInline package let key: RawSpan
  @usableFromInline package let value: RawSpan

  @inlinable @_lifetime(copy key, copy value)
  init(key: RawSpan, value: RawSpan) {
    self.key = key
    self.value = value
  }
}

/// The pointers behind a span, for a call that does not keep them.
@inlinable
@inline(__always)
package func unsafePointers(_ span: RawSpan) -> UnsafeRawBufferPointer {
  span.withUnsafeBytes { $0 }
}

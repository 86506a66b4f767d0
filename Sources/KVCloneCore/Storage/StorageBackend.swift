public import KVCloneLMDB
public import KVCloneRecords

/// One transaction of an engine, in pointers.
///
/// Only ``StorageTransaction`` and decorators call it. It turns the pointers into spans that cannot outlive their
/// validity.
@usableFromInline
package protocol StorageBackend: AnyObject {
  /// Returns the value of a key, or nil.
  func get(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer?
  /// Returns the entry that `mode` looks for, or nil.
  func seek(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ mode: StorageSeek) throws(StoreError)
    -> StorageEntryPointers?
  /// Calls `body` with key and value of each entry from the first key at or after `key`, ascending, until it returns
  /// false or throws, which is passed on. The bytes are valid until `body` returns.
  ///
  /// `body` returns false for each key at or after `end`, which is empty for a scan to the end of the table. An engine
  /// need not read beyond `end`, and may still pass entries there.
  func scan(
    _ table: StorageTable, from key: UnsafeRawBufferPointer, before end: UnsafeRawBufferPointer,
    _ body: (borrowing RawSpan, borrowing RawSpan) throws(StoreError) -> Bool
  ) throws(StoreError)
  /// Stores a value, replacing the key's earlier value.
  func put(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  /// Stores a value under a key above all others of the table.
  func append(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws(StoreError)
  /// Appends many entries in ascending order of their keys.
  func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(StoreError)
  /// Removes an entry, and returns whether it existed.
  func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) throws(StoreError) -> Bool
  /// Opens tables, and creates missing ones; others see them after the commit.
  func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable]
  /// Returns the number of entries of a table.
  func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64
  /// Whether references to a blob are counted. A branch counts those to blobs that were made on it.
  func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool
  /// The least id of an index that may lack entries. A branch lacks those of indexes that came after its base.
  var nextIndexID: UInt16 { get }
  /// The number of the state that a read transaction sees, which each commit changes; 0 if the engine has none.
  var stateNumber: UInt64 { get }
  /// Makes all changes durable, or none. The transaction ends in both cases.
  func commit() throws(StoreError)
  /// Ends the transaction without its changes.
  func abort()

  // MARK: Hints, which an engine may ignore

  /// The next reads and changes concern these tables only, in about the order of their keys.
  func retainCursors(in tables: [StorageTable])
  /// The number of keys to announce with `prefetch` at once; 0 if announcing is of no use, such as for ascending keys
  /// if the engine recognizes them and reads ahead.
  func prefetchWindow(isAscending: Bool) -> Int
  /// These keys of a table are read next, or looked for by `mode`: `keys` holds one after the other, each of `stride`
  /// bytes.
  func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?)
  /// Begins a scope of reads: the bytes that they return are valid until its end only, so that an engine that copies
  /// them can free the copies. Returns the scope's mark. Scopes end in the reverse order of their begin.
  func beginReadScope() -> Int
  /// Ends the scope with this mark.
  func endReadScope(_ mark: Int)
  /// The transaction only deletes, and may use disk space that is reserved for such commits.
  func markDeleteOnly()

  // MARK: Capabilities

  /// This backend, if it is a decorator. Casting to a protocol takes longer.
  var decorator: (any StorageDecorator)? { get }
  /// The space that the transaction uses, or nil for an engine without such limits.
  var space: (any TransactionSpace)? { get }
}

/// A backend in front of another one that modifies what is written.
@usableFromInline
package protocol StorageDecorator: StorageBackend {
  var inner: any StorageBackend { get set }
  /// Returns a function that restores the present state of the decorator, for savepoints.
  func stateRestorer() throws(StoreError) -> () -> Void
}

extension StorageDecorator {
  package var decorator: (any StorageDecorator)? { self }
}

extension StorageBackend {
  package var decorator: (any StorageDecorator)? { nil }

  package func appendRun(_ table: StorageTable, _ entries: UnsafeBufferPointer<StorageEntryPointers>)
    throws(StoreError)
  {
    for entry in entries { try append(table, entry.key, entry.value) }
  }

  package func makeTables(_ tables: [TableCode]) throws(StoreError) -> [StorageTable] {
    throw StoreError(.readOnly, "tables can only be created in a write transaction")
  }

  /// Counts the entries, for an engine that does not know their number.
  package func entryCount(_ table: StorageTable) throws(StoreError) -> UInt64 {
    var count: UInt64 = 0
    try withUnsafeBytes(of: UInt8(0)) { (first) throws(StoreError) in
      try scan(table, from: first, before: .noBytes) { (_, _) throws(StoreError) in
        count += 1
        return true
      }
    }
    return count
  }

  package func countsReferences(toBlob serial: UInt64) throws(StoreError) -> Bool { true }

  package var stateNumber: UInt64 { 0 }

  package func retainCursors(in tables: [StorageTable]) {}

  package func prefetchWindow(isAscending: Bool) -> Int { 0 }

  package func prefetch(_ table: StorageTable, _ keys: UnsafeRawBufferPointer, stride: Int, _ mode: StorageSeek?) {}

  package func beginReadScope() -> Int { 0 }

  package func endReadScope(_ mark: Int) {}

  package func markDeleteOnly() {}

  package var space: (any TransactionSpace)? { nil }
}

extension UnsafeRawBufferPointer {
  /// An empty buffer: the end of a scan to the end of the table.
  @inlinable
  package static var noBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}

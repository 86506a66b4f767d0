import CKVCloneLMDB

/// A retained cursor, at the last read or write of its table.
@safe
struct LMDBPlace {
  let dbi: UInt32
  var cursor: OpaquePointer?

  init(_ dbi: UInt32) {
    self.dbi = dbi
    unsafe cursor = nil
  }

  mutating func close() {
    unsafe mdb_cursor_close(cursor)
    unsafe cursor = nil
  }
}

// Retained cursors. A pass through a table in key order, reading and replacing, finds most entries on the page of the
// one before: with a retained cursor LMDB does not descend from the root for each. A retained cursor is the only one
// that changes its table: deletes, appends and spills close it first, and it is reopened when needed.
extension LMDBWriteTransaction {
  /// Makes later reads and puts of these tables start at the position of the last one. Results are the same.
  package mutating func retainCursors(in tables: [UInt32]) {
    forgetPlaces()
    places = tables.map { LMDBPlace($0) }
  }

  /// Ends `retainCursors`.
  package mutating func forgetPlaces() {
    closePlaces()
    places.removeAll(keepingCapacity: true)
  }

  /// Closes the cursors when their pages may be released. The next read or put reopens them.
  mutating func closePlaces() {
    for index in places.indices { places[index].close() }
  }

  /// Closes a table's cursor before another operation changes the table.
  mutating func closePlace(_ dbi: UInt32) {
    for index in places.indices where places[index].dbi == dbi { places[index].close() }
  }

  /// The retained cursor of a table; nil if none is retained, or none can be opened.
  mutating func place(_ dbi: UInt32) -> OpaquePointer? {
    for index in places.indices where places[index].dbi == dbi {
      if unsafe places[index].cursor == nil {
        unsafe mdb_cursor_open(handle.pointer, dbi, &places[index].cursor)
      }
      return unsafe places[index].cursor
    }
    return nil
  }

  /// Like the reader's `value`, from the retained position; nil if no position is retained.
  package mutating func placedValue(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> LMDBValuePointer? {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let cursor = unsafe place(dbi) else {
      return nil
    }
    let found = unsafe rawMove(cursor, MDB_SET, to: key)
    return unsafe LMDBValuePointer(
      code: found.code, base: orEmpty(found.entry.valueBase), count: found.entry.valueCount)
  }

  /// Like the reader's `seek`, from the retained position; nil if no position is retained.
  package mutating func placedSeek(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ position: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32? {
    guard key.count <= LMDBLimits.maximumKeyLength, let cursor = unsafe place(dbi) else { return nil }
    let found = unsafe rawSeek(cursor, RawSpan(_unsafeBytes: key), position)
    entry = found.entry
    return found.code
  }
}

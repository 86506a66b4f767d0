import CKVCloneLMDB

/// A cursor that stands where the last read or write of its table was.
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

// Whoever goes through a table in key order, reading and replacing, finds most entries on the page of the one before:
// with a cursor that stays there LMDB does not go down from the root for each. Such a cursor is the only one that changes
// its table: deletes and appends, and spills, close it first, and it is opened again when it is needed.
extension LMDBWriteTransaction {
  /// From now on, reads and puts of these tables start from where the last one ended. They mean the same as before.
  package mutating func retainCursors(in tables: [UInt32]) {
    forgetPlaces()
    places = tables.map { LMDBPlace($0) }
  }

  /// Ends `retainCursors`.
  package mutating func forgetPlaces() {
    closePlaces()
    places.removeAll(keepingCapacity: true)
  }

  /// Closes the cursors, where the pages they stand on may go. The next read or put opens them again.
  mutating func closePlaces() {
    for index in places.indices { places[index].close() }
  }

  /// Closes a table's cursor before something else changes the table.
  mutating func closePlace(_ dbi: UInt32) {
    for index in places.indices where places[index].dbi == dbi { places[index].close() }
  }

  /// The cursor that keeps the table's place; nil where none is kept, or none can be had.
  mutating func place(_ dbi: UInt32) -> OpaquePointer? {
    for index in places.indices where places[index].dbi == dbi {
      if unsafe places[index].cursor == nil {
        unsafe mdb_cursor_open(handle.pointer, dbi, &places[index].cursor)
      }
      return unsafe places[index].cursor
    }
    return nil
  }

  /// As the reader's `value`, from the place that is kept; nil where none is.
  package mutating func placedValue(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> LMDBValuePointer? {
    guard UInt(bitPattern: key.count &- 1) < UInt(LMDBLimits.maximumKeyLength), let cursor = unsafe place(dbi) else {
      return nil
    }
    let found = unsafe rawMove(cursor, MDB_SET, to: key)
    return unsafe LMDBValuePointer(
      code: found.code, base: orEmpty(found.entry.valueBase), count: found.entry.valueCount)
  }

  /// As the reader's `seek`, from the place that is kept; nil where none is.
  package mutating func placedSeek(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ position: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32? {
    guard key.count <= LMDBLimits.maximumKeyLength, let cursor = unsafe place(dbi) else { return nil }
    let found = unsafe rawSeek(cursor, RawSpan(_unsafeBytes: key), position)
    entry = found.entry
    return found.code
  }
}

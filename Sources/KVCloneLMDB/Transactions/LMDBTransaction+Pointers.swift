import CKVCloneLMDB

// The calls of the storage protocol's implementation. An existential cannot return a span that borrows from a
// transaction, so it returns pointers and makes spans of them on its other side. Per-call costs are avoided: functions
// return a code instead of throwing an error, which would reserve memory on the stack, and create the error only on
// request.

/// The address of a value, or the reason why it is missing: `code` is 0, or a code that `LMDBPointerReader` names or
/// converts to an error.
@safe
@usableFromInline
package struct LMDBValuePointer {
  package let code: Int32
  package let base: UnsafeRawPointer
  package let count: Int

  /// LMDB has to read it.
  package static var unknown: LMDBValuePointer {
    unsafe LMDBValuePointer(code: LMDBMapReader.askLMDB, base: orEmpty(nil), count: 0)
  }

  static var notFound: LMDBValuePointer {
    unsafe LMDBValuePointer(code: MDB_NOTFOUND, base: orEmpty(nil), count: 0)
  }
}

extension StorageEntryPointers {
  /// Prefetches the value's first bytes into the processor's cache.
  @inline(__always)
  package func prefetch() { unsafe kvclone_prefetch(valueBase, valueCount) }
}

/// Reads of a transaction, in pointers. Valid as long as the transaction, which the owner keeps alive.
@safe
@usableFromInline
package struct LMDBPointerReader {
  /// The code for a missing entry (`MDB_NOTFOUND`).
  package static var notFound: Int32 { -30798 }

  fileprivate let handle: LMDBTransactionHandle

  /// The value of `key`; valid until the next write.
  package func value(_ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> LMDBValuePointer {
    if UInt(bitPattern: key.count &- 1) >= UInt(LMDBLimits.maximumKeyLength) {
      return unsafe LMDBValuePointer(code: MDB_BAD_VALSIZE, base: orEmpty(nil), count: 0)
    }
    let raw = unsafe rawGet(handle.pointer, dbi, key)
    return unsafe LMDBValuePointer(code: raw.code, base: orEmpty(raw.base), count: raw.count)
  }

  /// The entry nearest to `key` in the direction `position`; returns 0 on success.
  package func seek(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ position: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32 {
    if key.count > LMDBLimits.maximumKeyLength { return MDB_BAD_VALSIZE }
    let found = unsafe handle.seek(LMDBTable(dbi: dbi), RawSpan(_unsafeBytes: key), position)
    entry = found.entry
    return found.code
  }

  /// Counts the entries of a table; returns 0 or an error's code.
  package func countEntries(_ dbi: UInt32, _ count: inout UInt64) -> Int32 {
    var raw = MDB_stat()
    let code = unsafe mdb_stat(handle.pointer, dbi, &raw)
    if code == 0 { count = UInt64(raw.ms_entries) }
    return code
  }

  /// Sizes of a table's tree, or an error's code.
  package func statistics(_ dbi: UInt32, _ code: inout Int32) -> TreeSizes? {
    var raw = MDB_stat()
    code = unsafe mdb_stat(handle.pointer, dbi, &raw)
    return code == 0 ? TreeSizes(raw) : nil
  }

  /// The number of the free list and of the list of tables, in place of a table's.
  package static var freeList: UInt32 { LMDBLimits.freeDatabase }
  package static var tableList: UInt32 { LMDBLimits.mainDatabase }

  /// The free list as the transaction sees it: the number of pages by the commit that freed them, ascending. Not for
  /// write transactions, in which LMDB does not allow reading it.
  package func freedPages(_ code: inout Int32) -> [(commit: UInt64, pages: Int)] {
    var freed: [(commit: UInt64, pages: Int)] = []
    var entry = StorageEntryPointers()
    let start = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    guard let cursor = unsafe openCursor(Self.freeList, from: start, &entry, &code) else { return [] }
    defer { unsafe Self.close(cursor) }
    while code == 0 {
      guard unsafe entry.key.count == 8 else {
        code = MDB_CORRUPTED
        return freed
      }
      let commit = unsafe entry.key.loadUnaligned(as: UInt64.self)
      freed.append((commit, LMDBLimits.length(ofIDList: unsafe RawSpan(_unsafeBytes: entry.value))))
      code = unsafe Self.step(cursor, &entry)
    }
    if code == Self.notFound { code = 0 }
    return freed
  }

  /// Opens a cursor at the first key that is not less than `start`, and returns that entry; nil on failure or at the
  /// end, with the reason in `code`, which is 0 for an entry. The caller closes it while the transaction lives and has
  /// not written.
  package func openCursor(
    _ dbi: UInt32, from start: UnsafeRawBufferPointer, _ entry: inout StorageEntryPointers, _ code: inout Int32
  ) -> OpaquePointer? {
    if start.count > LMDBLimits.maximumKeyLength {
      code = MDB_BAD_VALSIZE
      return nil
    }
    var cursor: OpaquePointer?
    code = unsafe mdb_cursor_open(handle.pointer, dbi, &cursor)
    guard code == 0, let cursor = unsafe cursor else { return nil }
    // On a cursor without a position, MDB_NEXT returns the first entry.
    let found = unsafe start.isEmpty ? rawMove(cursor, MDB_NEXT) : rawMove(cursor, MDB_SET_RANGE, to: start)
    code = found.code
    entry = found.entry
    return unsafe cursor
  }

  /// Moves to the next entry in key order; returns 0 on success.
  package static func step(_ cursor: OpaquePointer, _ entry: inout StorageEntryPointers) -> Int32 {
    unsafe rawMove(cursor, MDB_NEXT, &entry)
  }

  /// Closes a cursor.
  package static func close(_ cursor: OpaquePointer) {
    unsafe mdb_cursor_close(cursor)
  }

  /// Converts a code to an error.
  @inline(never)
  package static func error(_ code: Int32, keyLength: Int) -> LMDBError {
    if code == MDB_BAD_VALSIZE, keyLength == 0 || keyLength > LMDBLimits.maximumKeyLength {
      return keyLength == 0 ? .keyEmpty : .keyTooLong(length: keyLength)
    }
    return LMDBError(code: code, operation: "mdb_get")
  }
}

extension LMDBReadTransaction {
  /// The same reads in pointers. The owner keeps the transaction alive.
  package var pointers: LMDBPointerReader { LMDBPointerReader(handle: handle) }
}

extension LMDBWriteTransaction {
  /// The same reads in pointers. The owner keeps the transaction alive, and does not use them after the next write.
  package var pointers: LMDBPointerReader { LMDBPointerReader(handle: handle) }
}

extension LMDBWriteTransaction {
  /// Puts or appends; returns whether it succeeded. The first error is the transaction's `failure`.
  package mutating func succeedsInWriting(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isAppend: Bool
  ) -> Bool {
    do throws(LMDBError) {
      let flags = isAppend ? UInt32(MDB_APPEND) : 0
      try unsafe write(LMDBTable(dbi: dbi), RawSpan(_unsafeBytes: key), RawSpan(_unsafeBytes: value), flags)
      return true
    } catch {
      return false
    }
  }
}

extension LMDBWriteTransaction {
  /// Appends many entries with one cursor, which finds the end of the table once. Their keys ascend and are greater
  /// than all others of the table. The cursor lives for this call alone: none is held across a spill.
  package mutating func succeedsInAppending(_ dbi: UInt32, _ entries: UnsafeBufferPointer<StorageEntryPointers>) -> Bool
  {
    do throws(LMDBError) {
      try unsafe append(dbi, entries)
      return true
    } catch {
      return false
    }
  }

  private mutating func append(_ dbi: UInt32, _ entries: UnsafeBufferPointer<StorageEntryPointers>) throws(LMDBError) {
    var next = 0
    while next < entries.count {
      try checkUsable()
      if spillBudget > 0, dirtyBytes >= spillBudget { try spill() }
      closePlace(dbi)
      var cursor: OpaquePointer?
      let code = unsafe mdb_cursor_open(handle.pointer, dbi, &cursor)
      guard code == 0, let cursor = unsafe cursor else { throw fail(code, "mdb_cursor_open") }
      defer { unsafe mdb_cursor_close(cursor) }
      repeat {
        let entry = unsafe entries[next]
        try unsafe prepare(keyLength: entry.key.count, entry.value.count, isAppend: true)
        let code = unsafe rawPut(cursor, entry.key, entry.value, isAppend: true)
        if code != 0 { throw fail(code, "mdb_cursor_put") }
        next += 1
      } while next < entries.count && (spillBudget == 0 || dirtyBytes < spillBudget)
    }
  }
}

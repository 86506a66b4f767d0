import CKVCloneLMDB

// The calls of the store's seam. An existential cannot hand on a span that borrows from a transaction, so it hands on
// pointers and makes spans of them on its other side. What costs something on every call is left out here: a code comes
// back instead of a thrown error, whose place would have to be kept on the stack, and the error is made only when asked for.

/// Where a value lies, or why it does not: `code` is 0, or what `LMDBPointerReader` has a name or an error for.
@safe
@usableFromInline
package struct LMDBValuePointer {
  package let code: Int32
  package let base: UnsafeRawPointer
  package let count: Int

  /// Only LMDB can say.
  package static var unknown: LMDBValuePointer {
    unsafe LMDBValuePointer(code: LMDBMapReader.askLMDB, base: orEmpty(nil), count: 0)
  }

  static var notFound: LMDBValuePointer {
    unsafe LMDBValuePointer(code: MDB_NOTFOUND, base: orEmpty(nil), count: 0)
  }
}

extension StorageEntryPointers {
  /// Asks the processor to have the value's first bytes at hand soon; nothing else happens.
  @inline(__always)
  package func prefetch() { unsafe kvclone_prefetch(valueBase, valueCount) }
}

/// What a transaction reads, in pointers. Valid as long as the transaction, which the owner of this keeps alive.
@safe
@usableFromInline
package struct LMDBPointerReader {
  /// The code for "there is no such entry" (`MDB_NOTFOUND`).
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

  /// The entry nearest to `key` in the direction `position` says; 0 where there is one.
  package func seek(
    _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ position: StorageSeek, _ entry: inout StorageEntryPointers
  ) -> Int32 {
    if key.count > LMDBLimits.maximumKeyLength { return MDB_BAD_VALSIZE }
    let found = unsafe handle.seek(LMDBTable(dbi: dbi), RawSpan(_unsafeBytes: key), position)
    entry = found.entry
    return found.code
  }

  /// How many entries a table has; 0 or an error's code.
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

  /// What stands for the free list, and for the list of tables, in the place of a table.
  package static var freeList: UInt32 { LMDBLimits.freeDatabase }
  package static var tableList: UInt32 { LMDBLimits.mainDatabase }

  /// The free list as the transaction sees it: by the number of the commit that freed them, ascending, how many pages. Not for
  /// write transactions, which LMDB lets nobody read it in.
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

  /// A cursor at the first key that is not less than `start`, and that entry; nil where there is no cursor, which `code`
  /// then says why. `code` is 0 where there is an entry. Whoever gets it closes it while the transaction lives and has not
  /// written.
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
    // On a cursor that was not placed yet, MDB_NEXT gives the first entry.
    let found = unsafe start.isEmpty ? rawMove(cursor, MDB_NEXT) : rawMove(cursor, MDB_SET_RANGE, to: start)
    code = found.code
    entry = found.entry
    return unsafe cursor
  }

  /// Goes to the next entry in key order; 0 where there is one.
  package static func step(_ cursor: OpaquePointer, _ entry: inout StorageEntryPointers) -> Int32 {
    unsafe rawMove(cursor, MDB_NEXT, &entry)
  }

  /// Ends a cursor.
  package static func close(_ cursor: OpaquePointer) {
    unsafe mdb_cursor_close(cursor)
  }

  /// The error that a code stands for.
  @inline(never)
  package static func error(_ code: Int32, keyLength: Int) -> LMDBError {
    if code == MDB_BAD_VALSIZE, keyLength == 0 || keyLength > LMDBLimits.maximumKeyLength {
      return keyLength == 0 ? .keyEmpty : .keyTooLong(length: keyLength)
    }
    return LMDBError(code: code, operation: "mdb_get")
  }
}

extension LMDBReadTransaction {
  /// The same reads in pointers. Nothing ties them to the transaction's life but their owner.
  package var pointers: LMDBPointerReader { LMDBPointerReader(handle: handle) }
}

extension LMDBWriteTransaction {
  /// The same reads in pointers. Nothing ties them to the transaction's life, or to the next write, but their owner.
  package var pointers: LMDBPointerReader { LMDBPointerReader(handle: handle) }
}

extension LMDBWriteTransaction {
  /// A put, or an append, that answers whether it succeeded; what went wrong the first time is the transaction's
  /// `failure`.
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
  /// Appends many entries with one cursor, which finds the end of the table once and not for each of them. Their keys
  /// ascend and are above all others of the table. The cursor lives for this call alone: none is held across a spill.
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

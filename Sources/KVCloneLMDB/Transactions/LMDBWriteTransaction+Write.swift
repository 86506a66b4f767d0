import CKVCloneLMDB

extension LMDBWriteTransaction {
  /// Sets the value of `key`, new or existing.
  package mutating func put(_ table: LMDBTable, _ key: RawSpan, _ value: RawSpan) throws(LMDBError) {
    try write(table, key, value, 0)
  }

  /// Adds a key greater than every key of the table, which is several times faster than `put`. Throws `notAscending`
  /// for other keys.
  package mutating func append(_ table: LMDBTable, _ key: RawSpan, _ value: RawSpan) throws(LMDBError) {
    try write(table, key, value, UInt32(MDB_APPEND))
  }

  /// Removes `key`. Returns false if it did not exist.
  package mutating func delete(_ table: LMDBTable, _ key: RawSpan) throws(LMDBError) -> Bool {
    try prepare(key, 0, isAppend: false)
    if !places.isEmpty { closePlace(table.dbi) }
    let transaction = unsafe handle.pointer
    let code = unsafe key.withUnsafeBytes { key in unsafe rawDelete(transaction, table.dbi, key) }
    if code == MDB_NOTFOUND { return false }
    if code != 0 { throw fail(code, "mdb_del") }
    return true
  }

  @inline(__always)
  mutating func write(
    _ table: LMDBTable, _ key: RawSpan, _ value: RawSpan, _ flags: UInt32
  ) throws(LMDBError) {
    try prepare(key, value.byteCount, isAppend: flags != 0)
    if !places.isEmpty {
      if flags == 0, let cursor = unsafe place(table.dbi) {
        let code = unsafe key.withUnsafeBytes { key in
          unsafe value.withUnsafeBytes { value in unsafe rawPut(cursor, key, value, isAppend: false) }
        }
        if code != 0 { throw fail(code, "mdb_cursor_put") }
        return
      }
      closePlace(table.dbi)
    }
    let transaction = unsafe handle.pointer
    let code = unsafe key.withUnsafeBytes { key in
      unsafe value.withUnsafeBytes { value in unsafe rawPut(transaction, table.dbi, key, value, flags) }
    }
    if code != 0 { throw fail(code, "mdb_put") }
  }

  /// Checks a write, and spills if due.
  @inline(__always)
  private mutating func prepare(_ key: RawSpan, _ valueLength: Int, isAppend: Bool) throws(LMDBError) {
    try checkUsable()
    if spillBudget > 0, dirtyBytes >= spillBudget { try spill() }
    try prepare(keyLength: key.byteCount, valueLength, isAppend: isAppend)
  }

  /// Checks key and value, and counts what will be dirty.
  @inline(__always)
  mutating func prepare(keyLength: Int, _ valueLength: Int, isAppend: Bool) throws(LMDBError) {
    if UInt(bitPattern: keyLength &- 1) >= UInt(LMDBLimits.maximumKeyLength) {
      throw fail(keyLength == 0 ? .keyEmpty : .keyTooLong(length: keyLength))
    }
    // MAXDATASIZE in mdb.c. The header of an overflow page counts pages in 32 bits, so this is well inside.
    if valueLength > 0xFFFF_FFFF { throw fail(.valueTooLong(length: valueLength)) }
    if spillBudget > 0 {
      dirtyBytes &+= Self.dirtied(keyLength: keyLength, valueLength: valueLength, isAppend: isAppend)
    }
  }

  /// An upper estimate of what one write dirties. An append fills pages one after the other; any other write may dirty
  /// another leaf. Overestimating costs little: a spill writes only what is dirty.
  @inline(__always)
  private static func dirtied(keyLength: Int, valueLength: Int, isAppend: Bool) -> Int {
    let node = 8 &+ keyLength &+ valueLength
    let page = LMDBLimits.pageSize
    if node <= LMDBLimits.maximumNodeLength { return isAppend ? node : page }
    let overflow = (16 &+ valueLength &+ page &- 1) / page &* page
    return overflow &+ (isAppend ? 8 &+ keyLength : page)
  }

  @inline(__always)
  func checkUsable() throws(LMDBError) {
    if failure != nil { throw .transactionFailed }
  }

  /// Marks the transaction as failed.
  @inline(never)
  mutating func fail(_ error: LMDBError) -> LMDBError {
    if failure == nil { failure = error }
    return error
  }

  @inline(never)
  mutating func fail(_ code: Int32, _ operation: StaticString) -> LMDBError {
    if code == MDB_MAP_FULL { environment.core.noteMapFull() }
    return fail(environment.error(code, operation))
  }
}

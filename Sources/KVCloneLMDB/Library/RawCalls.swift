// The calls of the hot paths. Each takes and returns plain values: an `MDB_val` in a function that returns a span would
// be boxed on the heap (two allocations per record, measured).
import CKVCloneLMDB

/// A return code, and the address of the value.
@safe
struct RawValue {
  let code: Int32
  let base: UnsafeRawPointer?
  let count: Int
}

@inline(__always)
func rawGet(_ transaction: OpaquePointer, _ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> RawValue {
  var k = unsafe MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
  var v = unsafe MDB_val()
  let code = unsafe mdb_get(transaction, dbi, &k, &v)
  return unsafe RawValue(code: code, base: UnsafeRawPointer(v.mv_data), count: v.mv_size)
}

@inline(__always)
func rawPut(
  _ transaction: OpaquePointer, _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
  _ flags: UInt32
) -> Int32 {
  var k = unsafe MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
  var v = unsafe MDB_val(mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
  return unsafe mdb_put(transaction, dbi, &k, &v, flags)
}

/// Sets the value of a key, or appends an entry behind all others, with a cursor opened for it.
@inline(__always)
func rawPut(
  _ cursor: OpaquePointer, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isAppend: Bool
) -> Int32 {
  var k = unsafe MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
  var v = unsafe MDB_val(mv_size: value.count, mv_data: UnsafeMutableRawPointer(mutating: value.baseAddress))
  return unsafe mdb_cursor_put(cursor, &k, &v, isAppend ? UInt32(MDB_APPEND) : 0)
}

/// Puts with `MDB_RESERVE`: LMDB reserves `count` bytes and returns their address.
@inline(__always)
func rawReserve(
  _ transaction: OpaquePointer, _ dbi: UInt32, _ key: UnsafeRawBufferPointer, _ count: Int, _ flags: UInt32
) -> (code: Int32, base: UnsafeMutableRawPointer?) {
  var k = unsafe MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
  var v = unsafe MDB_val(mv_size: count, mv_data: nil)
  let code = unsafe mdb_put(transaction, dbi, &k, &v, flags | UInt32(MDB_RESERVE))
  return unsafe (code, v.mv_data)
}

@inline(__always)
func rawDelete(_ transaction: OpaquePointer, _ dbi: UInt32, _ key: UnsafeRawBufferPointer) -> Int32 {
  var k = unsafe MDB_val(mv_size: key.count, mv_data: UnsafeMutableRawPointer(mutating: key.baseAddress))
  return unsafe mdb_del(transaction, dbi, &k, nil)
}

/// Moves the cursor, and overwrites `entry` with what it found.
@inline(__always)
func rawMove(_ cursor: OpaquePointer, _ operation: MDB_cursor_op, _ entry: inout StorageEntryPointers) -> Int32 {
  unsafe withUnsafeMutablePointer(to: &entry) { entry in
    let values = unsafe UnsafeMutableRawPointer(entry).assumingMemoryBound(to: MDB_val.self)
    return unsafe mdb_cursor_get(cursor, values, values + 1, operation)
  }
}

@inline(__always)
func rawMove(_ cursor: OpaquePointer, _ operation: MDB_cursor_op) -> (code: Int32, entry: StorageEntryPointers) {
  var entry = StorageEntryPointers()
  let code = unsafe rawMove(cursor, operation, &entry)
  return (code, entry)
}

@inline(__always)
func rawMove(
  _ cursor: OpaquePointer, _ operation: MDB_cursor_op, to key: UnsafeRawBufferPointer
) -> (code: Int32, entry: StorageEntryPointers) {
  var entry = StorageEntryPointers()
  unsafe entry.keyBase = key.baseAddress
  entry.keyCount = key.count
  let code = unsafe rawMove(cursor, operation, &entry)
  return (code, entry)
}

/// Positions a cursor. An empty key means the beginning of the table.
func rawSeek(_ cursor: OpaquePointer, _ key: RawSpan, _ position: StorageSeek) -> (
  code: Int32, entry: StorageEntryPointers
) {
  switch position {
  case .atOrAfter:
    if key.byteCount == 0 { return unsafe rawMove(cursor, MDB_FIRST) }
    return unsafe key.withUnsafeBytes { key in unsafe rawMove(cursor, MDB_SET_RANGE, to: key) }
  case .atOrBefore:
    if key.byteCount == 0 { return (MDB_NOTFOUND, StorageEntryPointers()) }
    let found = unsafe key.withUnsafeBytes { key in unsafe rawMove(cursor, MDB_SET_RANGE, to: key) }
    if found.code == MDB_NOTFOUND { return unsafe rawMove(cursor, MDB_LAST) }
    guard found.code == 0 else { return found }
    // MDB_SET_RANGE returns the first key that is not less, which need not be equal.
    let isSame = unsafe key.withUnsafeBytes { key in unsafe key.elementsEqual(found.entry.key) }
    return isSame ? found : unsafe rawMove(cursor, MDB_PREV)
  }
}

extension MDB_envinfo {
  /// The last page of the last commit. A meta page that was corrupted since the file was opened may name any; the value
  /// is limited to what a process can address (`MetaPages`), so that computations with it do not overflow.
  var lastPage: Int { unsafe Int(min(UInt(bitPattern: me_last_pgno), 1 << 35)) }

  /// The number of the last commit, which may be any number too.
  var lastCommit: UInt64 { unsafe UInt64(truncatingIfNeeded: me_last_txnid) }
}

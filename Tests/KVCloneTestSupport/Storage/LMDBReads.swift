package import KVCloneLMDB

/// Reads through the storage interface that return arrays.
extension LMDBPointerReader {
  package func bytes(_ table: LMDBTable, _ key: [UInt8]) throws(LMDBError) -> [UInt8]? {
    let found = key.withUnsafeBytes { value(table.dbi, $0) }
    if found.code == Self.notFound { return nil }
    if found.code != 0 { throw Self.error(found.code, keyLength: key.count) }
    return Array(UnsafeRawBufferPointer(start: found.base, count: found.count))
  }

  package func entry(_ table: LMDBTable, _ key: [UInt8], _ position: StorageSeek) throws(LMDBError)
    -> (key: [UInt8], value: [UInt8])?
  {
    var entry = StorageEntryPointers()
    let code = key.withUnsafeBytes { seek(table.dbi, $0, position, &entry) }
    if code == Self.notFound { return nil }
    if code != 0 { throw Self.error(code, keyLength: key.count) }
    return (Array(entry.key), Array(entry.value))
  }
}

extension LMDBReadTransaction {
  /// Like ``LMDBPointerReader/bytes(_:_:)``, but keeps the transaction alive until the bytes are copied.
  package borrowing func bytes(_ table: LMDBTable, _ key: [UInt8]) throws(LMDBError) -> [UInt8]? {
    let found = try pointers.bytes(table, key)
    extendLifetime(self)
    return found
  }
}

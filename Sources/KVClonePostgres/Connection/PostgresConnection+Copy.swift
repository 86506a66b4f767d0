#if Postgres
  import CKVClonePostgres

  extension PostgresConnection {
    /// Inserts new entries of one table by COPY in the binary format, which takes about half of the time of an INSERT.
    ///
    /// - Parameter entries: entries with keys that the table does not have.
    func copy(
      into table: UInt32, of store: Int64,
      _ entries: some Sequence<(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)>
    ) throws(PostgresError) {
      try leavingPipeline { (handle) throws(PostgresError) in
        let begun = PQexec(handle, "COPY kvclone.entry (store, tbl, k, v) FROM STDIN (FORMAT binary)")
        guard try check(begun, PGRES_COPY_IN) else { return }
        var buffer = CopyBuffer()
        var isSent = true
        for entry in entries where isSent {
          buffer.append(store: store, table, entry.key, entry.value)
          if buffer.isFull { isSent = buffer.send(handle) }
        }
        buffer.end()
        isSent = isSent && buffer.send(handle)
        // Also after a failure: the server's error is the result of the end.
        guard PQputCopyEnd(handle, isSent ? nil : "incomplete") == 1 else { throw lost() }
        try check(PQgetResult(handle), PGRES_COMMAND_OK)
        while let extra = PQgetResult(handle) { PQclear(extra) }
      }
    }
  }

  /// Rows in the binary format of COPY.
  private struct CopyBuffer {
    private static let limit = 1 << 20

    private var bytes: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + Array(repeating: 0, count: 8)

    var isFull: Bool { bytes.count >= Self.limit }

    mutating func append(
      store: Int64, _ table: UInt32, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) {
      append(Int16(4))
      append(Int32(8))
      append(store)
      append(Int32(4))
      append(table)
      append(Int32(key.count))
      bytes.append(contentsOf: key)
      append(Int32(value.count))
      bytes.append(contentsOf: value)
    }

    mutating func end() { append(Int16(-1)) }

    private mutating func append(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Sends the rows, and returns whether the connection took them.
    mutating func send(_ handle: OpaquePointer) -> Bool {
      defer { bytes.removeAll(keepingCapacity: true) }
      return bytes.withUnsafeBytes { bytes in
        PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) == 1
      }
    }
  }
#endif

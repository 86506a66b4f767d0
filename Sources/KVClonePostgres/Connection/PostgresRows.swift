#if Postgres
  import CKVClonePostgres

  /// The result of one statement: rows in the binary format. Its bytes are valid as long as it exists.
  final class PostgresRows: RowMemory, @unchecked Sendable {
    private let result: OpaquePointer
    /// The number of rows.
    let count: Int

    /// - Parameter result: a result of libpq, which this frees.
    init(_ result: OpaquePointer) {
      self.result = result
      count = Int(PQntuples(result))
      super.init(byteCount: PQresultMemorySize(result))
    }

    deinit { PQclear(result) }

    /// The command tag, such as `COMMIT` or `UPDATE 1`.
    var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

    /// The number of rows that the statement changed.
    var changedCount: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

    func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(result, Int32(row), Int32(column)) != 0 }

    /// The bytes of a field.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(
        start: PQgetvalue(result, Int32(row), Int32(column)), count: Int(PQgetlength(result, Int32(row), Int32(column)))
      )
    }

    /// An integer of two, four or eight bytes, or nil if the field is something else.
    func integer(_ row: Int, _ column: Int) -> Int64? {
      let bytes = bytes(row, column)
      switch bytes.count {
      case 8: return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
      case 4: return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
      case 2: return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
      default: return nil
      }
    }

    func text(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }
  }
#endif

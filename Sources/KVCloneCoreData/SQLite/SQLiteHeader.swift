/// The first 100 bytes of a database (<https://www.sqlite.org/fileformat2.html#the_database_header>).
struct SQLiteHeader: Equatable {
  /// The encoding of stored text.
  enum Encoding: Equatable {
    case utf8, utf16LittleEndian, utf16BigEndian
  }

  static let byteCount = 100
  /// Page sizes are powers of two in this range.
  private static let pageSizes = 512...65_536

  let pageSize: Int
  /// The size of a page without the bytes reserved at its end.
  let usableSize: Int
  let encoding: Encoding
  /// The number of pages, if the last writer maintained it.
  let pageCount: Int?
  /// Changes with every transaction of a database without a write-ahead log.
  let changeCounter: UInt32

  init(_ bytes: [UInt8]) throws(SQLiteError) {
    guard bytes.count >= Self.byteCount, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw SQLiteError(
        .notADatabase,
        "the file is not an SQLite database, or it is encrypted; use the .sqlite file itself, decrypted by the app"
      )
    }
    let stated = Int(bytes[16]) << 8 | Int(bytes[17])
    pageSize = stated == 1 ? 65_536 : stated
    usableSize = pageSize - Int(bytes[20])
    guard Self.pageSizes.contains(pageSize), pageSize & (pageSize - 1) == 0, usableSize >= 480, bytes[21] == 64,
      bytes[22] == 32, bytes[23] == 32
    else { throw .corrupted("the header has invalid sizes", page: 1) }
    guard bytes[19] <= 2, SQLiteBytesReader.number(bytes, 44) <= 4 else {
      throw SQLiteError(
        .unsupportedDatabase,
        "the format of the database is unknown; copy it with sqlite3's .dump",
        page: 1)
    }
    switch SQLiteBytesReader.number(bytes, 56) {
    case 0, 1: encoding = .utf8
    case 2: encoding = .utf16LittleEndian
    case 3: encoding = .utf16BigEndian
    default: throw .corrupted("the header has an unknown text encoding", page: 1)
    }
    changeCounter = SQLiteBytesReader.number(bytes, 24)
    let count = Int(SQLiteBytesReader.number(bytes, 28))
    pageCount = count > 0 && changeCounter == SQLiteBytesReader.number(bytes, 92) ? count : nil
  }
}

/// Reads numbers in SQLite's big-endian format.
enum SQLiteBytesReader {
  /// Reads four bytes; the caller has checked that they exist.
  static func number(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
    UInt32(bytes[offset]) << 24 | UInt32(bytes[offset + 1]) << 16 | UInt32(bytes[offset + 2]) << 8
      | UInt32(bytes[offset + 3])
  }

  /// Reads a number of one to nine bytes, and returns their count; nil if it does not end before `end`.
  static func varint(_ bytes: [UInt8], _ offset: Int, end: Int) -> (value: UInt64, count: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      let place = offset + index
      guard place >= 0, place < end, place < bytes.count else { return nil }
      let byte = bytes[place]
      if index == 8 { return (value << 8 | UInt64(byte), 9) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte < 0x80 { return (value, index + 1) }
    }
    return nil
  }
}

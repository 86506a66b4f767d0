/// A write-ahead log (<https://www.sqlite.org/fileformat2.html#the_write_ahead_log>): the pages of a database with a
/// newer state in it, up to the last committed transaction.
struct SQLiteWAL {
  private static let headerSize = 32
  private static let frameHeaderSize = 24

  let pageSize: Int
  /// The number of pages in the database after the last committed transaction.
  let pageCount: Int
  /// The offset of a page's newest bytes in the log.
  let offsets: [UInt32: Int]

  /// Reads a log; nil if it has no committed transaction.
  ///
  /// - Parameter isCancelled: called before every frame: a log may be as long as its disk.
  init?(_ source: any SQLiteSource, _ isCancelled: () -> Bool = { false }) throws(SQLiteError) {
    let header = try source.read(0, Self.headerSize)
    guard header.count == Self.headerSize else { return nil }
    let magic = SQLiteBytesReader.number(header, 0)
    // The lowest bit is the byte order of the checksums.
    guard magic & 0xFFFF_FFFE == 0x377F_0682 else { return nil }
    guard SQLiteBytesReader.number(header, 4) == 3_007_000 else {
      throw SQLiteError(
        .unsupportedDatabase,
        "the version of the write-ahead log is unknown; checkpoint it with the app")
    }
    var sum = Checksum(isBigEndian: magic & 1 == 1)
    sum.add(header, 0..<24)
    guard sum.matches(header, at: 24) else { return nil }
    let pageSize = Int(SQLiteBytesReader.number(header, 8))
    guard (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return nil }

    var offset = Self.headerSize
    var pending: [UInt32: Int] = [:]
    var committed: [UInt32: Int] = [:]
    var pageCount: Int?
    while true {
      try SQLiteFile.check(isCancelled)
      let frame = try source.read(offset, Self.frameHeaderSize + pageSize)
      guard frame.count == Self.frameHeaderSize + pageSize, frame[8..<16].elementsEqual(header[16..<24]) else { break }
      let number = SQLiteBytesReader.number(frame, 0)
      sum.add(frame, 0..<8)
      sum.add(frame, Self.frameHeaderSize..<frame.count)
      guard number > 0, sum.matches(frame, at: 16) else { break }
      pending[number] = offset + Self.frameHeaderSize
      let size = SQLiteBytesReader.number(frame, 4)
      if size > 0 {
        committed.merge(pending) { _, new in new }
        pending.removeAll(keepingCapacity: true)
        pageCount = Int(size)
      }
      offset += frame.count
    }
    guard let pageCount else { return nil }
    self.pageSize = pageSize
    self.pageCount = pageCount
    offsets = committed
  }

  /// The cumulative checksum, in words of four bytes.
  private struct Checksum {
    let isBigEndian: Bool
    var first: UInt32 = 0
    var second: UInt32 = 0

    mutating func add(_ bytes: [UInt8], _ range: Range<Int>) {
      var place = range.lowerBound
      bytes.withUnsafeBytes { raw in
        while place + 8 <= range.upperBound {
          let one = raw.loadUnaligned(fromByteOffset: place, as: UInt32.self)
          let two = raw.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self)
          first = first &+ (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
          second = second &+ (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ first
          place += 8
        }
      }
    }

    func matches(_ bytes: [UInt8], at offset: Int) -> Bool {
      SQLiteBytesReader.number(bytes, offset) == first && SQLiteBytesReader.number(bytes, offset + 4) == second
    }
  }
}

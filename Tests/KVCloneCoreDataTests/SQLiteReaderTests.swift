import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// The reader against databases that are written byte by byte.
@Suite("SQLite reader")
struct SQLiteReaderTests {
  static let sql = "CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, N INTEGER, R FLOAT, S VARCHAR, B BLOB)"

  /// Values of every type and size that a row can have.
  static func rows(_ count: Int, large: Int) -> [(id: Int64, values: [SQLiteValue])] {
    let numbers: [Int64] = [
      0, 1, -1, 127, -128, 128, 32_767, -32_769, 1 << 23, -(1 << 31), 1 << 40, -(1 << 47) - 1, .max, .min,
    ]
    return (1...count).map { number in
      let blob = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: number % 7 == 0 ? large : number % 50)
      let text = number % 3 == 0 ? "" : "ä𝄞 text \(number)"
      return (
        Int64(number * 3),
        [
          .null, .integer(numbers[number % numbers.count]), .real(Double(number) / 8),
          number % 5 == 0 ? .null : .text(text), .blob(blob),
        ]
      )
    }
  }

  static func read(_ bytes: [UInt8], log: [UInt8]? = nil) throws -> [[SQLiteValue]] {
    let file = try SQLiteFile(SQLiteBytes(bytes), log: log.map { SQLiteBytes($0) })
    guard let table = try file.table("t") else { return [] }
    let scan = try SQLiteScan(file, table)
    var result: [[SQLiteValue]] = []
    while try scan.next() {
      var row: [SQLiteValue] = []
      for column in table.columns.indices { row.append(try scan.value(column)) }
      result.append(row)
    }
    return result
  }

  /// The expected result of reading: the id in place of its alias.
  static func expected(_ rows: [(id: Int64, values: [SQLiteValue])]) -> [[SQLiteValue]] {
    rows.map { [.integer($0.id)] + $0.values.dropFirst() }
  }

  @Test("page sizes, reserved bytes and encodings", arguments: [512, 1024, 4096, 16_384, 65_536])
  func pages(_ pageSize: Int) throws {
    for encoding in [SQLiteWriter.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian] {
      for reserved in [0, 32] {
        var writer = SQLiteWriter(pageSize: pageSize, reserved: reserved, encoding: encoding)
        let rows = Self.rows(200, large: 3 * pageSize)
        writer.add("T", Self.sql, rows)
        let read = try Self.read(writer.bytes()).map { row in
          row.map { value in
            if case .longBlob(let count) = value { return SQLiteValue.blob([UInt8](repeating: 0, count: count)) }
            return value
          }
        }
        let wanted = Self.expected(rows).map { row in
          row.map { value in
            if case .blob(let bytes) = value, bytes.count > SQLiteScan.inlineLimit {
              return SQLiteValue.blob([UInt8](repeating: 0, count: bytes.count))
            }
            return value
          }
        }
        #expect(read == wanted, "page size \(pageSize), reserved \(reserved), \(encoding)")
      }
    }
  }

  @Test("a tree of many levels, and a schema of more than a page")
  func levels() throws {
    var writer = SQLiteWriter(pageSize: 512)
    for number in 0..<30 { writer.add("X\(number)", "CREATE TABLE X\(number) (A INTEGER, B TEXT)", []) }
    let rows = Self.rows(5_000, large: 900)
    writer.add("T", Self.sql, rows)
    #expect(try Self.read(writer.bytes()) == Self.expected(rows))
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    #expect(try file.tables().count == 31)
  }

  @Test("a long value in pieces, none larger than a page")
  func pieces() throws {
    var writer = SQLiteWriter(pageSize: 1024)
    writer.add("T", Self.sql, [(1, [.null, .null, .null, .text("x"), .longBlob(byteCount: 300_000)])])
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    let scan = try SQLiteScan(file, try #require(try file.table("T")))
    #expect(try scan.next())
    #expect(try scan.value(4) == .longBlob(byteCount: 300_000))
    var (count, largest) = (0, 0)
    try scan.readChunks(4) { piece in
      #expect(piece.allSatisfy { $0 == 0xAB })
      count += piece.count
      largest = max(largest, piece.count)
    }
    #expect(count == 300_000 && largest <= 1024)
    // Backwards in the same row.
    #expect(try scan.value(3) == .text("x"))
    #expect(try scan.front(4, 2)?.bytes == [0xAB, 0xAB])
    #expect(try !scan.next())
  }

  @Test("columns that were added have their defaults in older rows")
  func addedColumns() throws {
    var writer = SQLiteWriter()
    let sql = #"""
      CREATE TABLE "T" ( [Z_PK] INTEGER NOT NULL PRIMARY KEY /* the key */, `n` INTEGER, "odd ""name""" VARCHAR(255, 3) DEFAULT 'it''s',
      d FLOAT DEFAULT -1.5, i INTEGER DEFAULT +7, f DEFAULT (1 + 1), CONSTRAINT u UNIQUE (n, d), CHECK (n > 0)) -- end
      """#
    writer.add("T", sql, [(4, [.null, .integer(5)])])
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    let table = try #require(try file.table("T"))
    #expect(table.columns.map(\.name) == ["Z_PK", "n", "odd \"name\"", "d", "i", "f"])
    let scan = try SQLiteScan(file, table)
    #expect(try scan.next())
    let values = try (0..<5).map { try scan.value($0) }
    #expect(values == [.integer(4), .integer(5), .text("it's"), .real(-1.5), .integer(7)])
    #expect(throws: SQLiteError.self) { try scan.value(5) }
  }

  @Test(
    "tables that are no plain ones",
    arguments: [
      "CREATE TABLE T (A INTEGER PRIMARY KEY, B) WITHOUT ROWID", "CREATE TABLE T (A, B GENERATED ALWAYS AS (A))",
      "CREATE VIRTUAL TABLE T USING fts5(A)", "", "CREATE TABLE T (", "CREATE TABLE T ()",
    ])
  func unusual(_ sql: String) throws {
    var writer = SQLiteWriter()
    writer.add("T", sql, values: [[.integer(1), .integer(2)]])
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    let table = try #require(try file.table("T"))
    #expect { try SQLiteScan(file, table) } throws: { ($0 as? SQLiteError)?.kind == .unsupportedDatabase }
  }

  // MARK: Logs and journals

  private static func database(_ text: String) -> [UInt8] {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add("T", sql, [(1, [.null, .null, .null, .text(text), .null])])
    return writer.bytes()
  }

  private static func page(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
    Array(bytes[(number - 1) * 512..<number * 512])
  }

  @Test("the last committed transaction of a log counts, in both byte orders", arguments: [true, false])
  func log(_ isBigEndian: Bool) throws {
    let (old, new, newer) = (Self.database("old"), Self.database("new"), Self.database("newer"))
    let frames: [SQLiteWriter.Frame] = [
      .init(page: 2, bytes: Self.page(2, new)), .init(page: 1, bytes: Self.page(1, new), size: 2),
      .init(page: 2, bytes: Self.page(2, newer)),
    ]
    func text(_ log: [UInt8]) throws -> SQLiteValue { try Self.read(old, log: log)[0][3] }
    func log(_ count: Int, _ salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]) -> [UInt8] {
      SQLiteWriter.log(Array(frames.prefix(count)), pageSize: 512, isBigEndian: isBigEndian, salt: salt)
    }
    #expect(try text(log(3)) == .text("new"))
    #expect(try text(log(1)) == .text("old"))
    #expect(try text([]) == .text("old"))
    let whole = SQLiteWriter.log(
      frames + [.init(page: 1, bytes: Self.page(1, newer), size: 2)], pageSize: 512, isBigEndian: isBigEndian)
    #expect(try text(whole) == .text("newer"))
    // A frame with another salt, a wrong checksum, or cut off ends the log.
    var salted = whole
    salted[32 + 2 * 536 + 8] ^= 1
    #expect(try text(salted) == .text("new"))
    var damaged = whole
    damaged[32 + 3 * 536 + 100] ^= 1
    #expect(try text(damaged) == .text("new"))
    #expect(try text(Array(whole.dropLast())) == .text("new"))
    var header = whole
    header[20] ^= 1
    #expect(try text(header) == .text("old"))
  }

  @Test("a journal of a transaction that was cut off is refused, a finished one is not")
  func journal() throws {
    let bytes = SQLiteBytes(Self.database("x"))
    let hot = SQLiteBytes([0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7, 0, 0, 0, 1])
    #expect { try SQLiteFile(bytes, journal: hot) } throws: { ($0 as? SQLiteError)?.kind == .hotJournal }
    _ = try SQLiteFile(bytes, journal: SQLiteBytes([UInt8](repeating: 0, count: 512)))
    _ = try SQLiteFile(bytes, journal: SQLiteBytes([]))
  }

  // MARK: Malformed

  @Test("files of other formats, and inconsistent ones")
  func damaged() throws {
    let sound = Self.database("x")
    func kind(_ change: (inout [UInt8]) -> Void) -> SQLiteError.Kind? {
      var bytes = sound
      change(&bytes)
      do {
        _ = try Self.read(bytes)
        return nil
      } catch {
        return (error as? SQLiteError)?.kind
      }
    }
    #expect(kind { $0[0] ^= 1 } == .notADatabase)
    #expect(kind { $0 = [] } == .notADatabase)
    #expect(kind { $0[17] = 7 } == .corruptedDatabase)
    #expect(kind { $0[19] = 3 } == .unsupportedDatabase)
    #expect(kind { $0[59] = 9 } == .corruptedDatabase)
    #expect(kind { $0.removeLast(512) } == .corruptedDatabase)
    #expect(kind { $0[512] = 0x0A } == .unsupportedDatabase)
    #expect(kind { $0[512] = 0x07 } == .corruptedDatabase)
    #expect(kind { $0[515] = 0xFF } == .corruptedDatabase)
    #expect(kind { _ in } == nil)
  }
}

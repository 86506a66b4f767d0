import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// The reader against inconsistent databases, and against cancellation.
@Suite("SQLite reader: hostile files")
struct SQLiteHostileTests {
  private static let sql = SQLiteReaderTests.sql

  private static func kind(_ body: () throws -> Void) -> SQLiteError.Kind? {
    do {
      try body()
      return nil
    } catch {
      return (error as? SQLiteError)?.kind
    }
  }

  private static func readAll(_ file: SQLiteFile) throws -> Int {
    let scan = try SQLiteScan(file, try #require(try file.table("T")))
    var byteCount = 0
    while try scan.next() {
      for column in 0..<5 {
        _ = try scan.value(column)
        try scan.readChunks(column) { byteCount += $0.count }
      }
    }
    return byteCount
  }

  // MARK: Cycles

  @Test("a tree that leads back into itself is refused")
  func circularTree() throws {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add("T", Self.sql, SQLiteReaderTests.rows(300, large: 20))
    var bytes = writer.bytes()
    #expect(bytes[512] == 0x05)
    // The rightmost child of the root is the root.
    bytes.replaceSubrange(512 + 8..<512 + 12, with: [0, 0, 0, 2])
    #expect(Self.kind { _ = try SQLiteReaderTests.read(bytes) } == .corruptedDatabase)
  }

  /// The chain's pages are 3, 4 and so on; each in turn names itself, or the one before it, as the next.
  @Test("an overflow chain that leads back into itself gives nothing twice")
  func circularChain() throws {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add("T", Self.sql, [(1, [.null, .null, .null, .null, .longBlob(byteCount: 5_000)])])
    let sound = writer.bytes()
    #expect(try Self.readAll(SQLiteFile(SQLiteBytes(sound))) == 5_000)
    let pageCount = sound.count / 512
    for page in 3..<pageCount {
      for next in [page, max(3, page - 1)] {
        var bytes = sound
        bytes.replaceSubrange((page - 1) * 512..<(page - 1) * 512 + 4, with: [0, 0, 0, UInt8(next)])
        #expect(
          Self.kind { _ = try Self.readAll(SQLiteFile(SQLiteBytes(bytes))) } == .corruptedDatabase,
          "page \(page) names \(next)")
      }
    }
  }

  @Test("an overflow chain that leads into another row's is refused, and so is one that leads into the tree")
  func sharedChain() throws {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add(
      "T", Self.sql,
      (1...2).map { (Int64($0), [.null, .null, .null, .null, .blob([UInt8](repeating: UInt8($0), count: 3_000))]) })
    let sound = writer.bytes()
    let pages = (1...sound.count / 512).filter { page in
      (page - 1) * 512 + 4 < sound.count && sound[(page - 1) * 512 + 4..<page * 512].allSatisfy { $0 == 2 }
    }
    let (first, second) = (try #require(pages.first), try #require(pages.dropFirst().first))
    for target in [3, 2] {
      var bytes = sound
      bytes.replaceSubrange((first - 1) * 512..<(first - 1) * 512 + 4, with: [0, 0, 0, UInt8(target)])
      #expect(second > first)
      #expect(Self.kind { _ = try Self.readAll(SQLiteFile(SQLiteBytes(bytes))) } == .corruptedDatabase)
    }
  }

  /// Each table's own tree is sound; the second one's root leads to the first one's leaves. Without a bound, N tables
  /// have N times the rows.
  @Test("tables that share pages below their roots are refused, in whatever order they are read")
  func sharedTree() throws {
    var writer = SQLiteWriter(pageSize: 512)
    for name in ["T", "U"] { writer.add(name, Self.sql, SQLiteReaderTests.rows(100, large: 20)) }
    let sound = writer.bytes()
    func roots(_ file: SQLiteFile) throws -> [Int] {
      try ["T", "U"].map { try #require(try file.table($0)).root }
    }
    let pages = try roots(SQLiteFile(SQLiteBytes(sound)))
    var bytes = sound
    let (first, second) = ((pages[0] - 1) * 512, (pages[1] - 1) * 512)
    #expect(sound[first] == 0x05)
    bytes.replaceSubrange(second..<second + 512, with: sound[first..<first + 512])
    func count(_ file: SQLiteFile, _ name: String) throws -> Int {
      let scan = try SQLiteScan(file, try #require(try file.table(name)))
      var count = 0
      while try scan.next() { count += 1 }
      return count
    }
    for order in [["T", "U"], ["U", "T"]] {
      let whole = try SQLiteFile(SQLiteBytes(sound))
      // A table may be read again.
      for name in order + order { #expect(try count(whole, name) == 100) }
      let file = try SQLiteFile(SQLiteBytes(bytes))
      for _ in 0..<2 { #expect(try count(file, order[0]) == 100) }
      do {
        _ = try count(file, order[1])
        Issue.record("\(order): the pages were read for both")
      } catch let error as SQLiteError {
        #expect(
          error.kind == .corruptedDatabase && error.message.contains("\(order[0]) and \(order[1]) share the page"))
      }
    }
  }

  @Test("rows of two tables that share an overflow chain are refused")
  func sharedChainOfTables() throws {
    var writer = SQLiteWriter(pageSize: 512)
    for name in ["T", "U"] {
      writer.add(name, Self.sql, [(1, [.null, .null, .null, .null, .longBlob(byteCount: 3_000)])])
    }
    let sound = writer.bytes()
    let whole = try SQLiteFile(SQLiteBytes(sound))
    let pages = try ["T", "U"].map { (try #require(try whole.table($0)).root - 1) * 512 }
    var bytes = sound
    bytes.replaceSubrange(pages[1]..<pages[1] + 512, with: sound[pages[0]..<pages[0] + 512])
    let file = try SQLiteFile(SQLiteBytes(bytes))
    func read(_ name: String) throws {
      let scan = try SQLiteScan(file, try #require(try file.table(name)))
      while try scan.next() { try scan.readChunks(4) { _ in } }
    }
    #expect(Self.kind { try read("T") } == nil)
    #expect(Self.kind { try read("T") } == nil)
    #expect(Self.kind { try read("U") } == .corruptedDatabase)
  }

  @Test("a long default is not the value of every row that was written before its column")
  func longDefault() throws {
    for (length, isRead) in [(1_024, true), (1_025, false)] {
      var writer = SQLiteWriter()
      let text = String(repeating: "x", count: length)
      writer.add("T", "CREATE TABLE T (Z_PK INTEGER PRIMARY KEY, S VARCHAR DEFAULT '\(text)')", [(1, [.null])])
      let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
      let scan = try SQLiteScan(file, try #require(try file.table("T")))
      #expect(try scan.next())
      if isRead {
        #expect(try scan.value(1) == .text(text))
      } else {
        #expect(Self.kind { _ = try scan.value(1) } == .unsupportedDatabase)
      }
    }
  }

  @Test("a value may be read as often as one likes")
  func again() throws {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add(
      "T", Self.sql,
      [(1, [.null, .null, .null, .text(String(repeating: "t", count: 2_000)), .longBlob(byteCount: 70_000)])])
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    let scan = try SQLiteScan(file, try #require(try file.table("T")))
    #expect(try scan.next())
    for _ in 0..<3 {
      var count = 0
      try scan.readChunks(4) { count += $0.count }
      let text = try scan.value(3)
      #expect(count == 70_000 && text == .text(String(repeating: "t", count: 2_000)))
    }
  }

  @Test("a page set distinguishes old from new pages, wherever they are")
  func pageSet() {
    var set = SQLitePageSet()
    for number in [1, 2, 63, 64, 65, 4_095, 4_096, 4_097, 1 << 32, .max] {
      let isNew = set.insert(number)
      let isNewAgain = set.insert(number)
      #expect(isNew && !isNewAgain, "\(number)")
    }
  }

  // MARK: Text

  @Test("text of another encoding is a value that cannot be had; the row has its others")
  func unreadableText() throws {
    for encoding in [SQLiteWriter.Encoding.utf8, .utf16LittleEndian, .utf16BigEndian] {
      var writer = SQLiteWriter(encoding: encoding)
      writer.add("T", Self.sql, [(1, [.null, .integer(7), .null, .unreadableText(.encoding), .blob([9])])])
      #expect(
        try SQLiteReaderTests.read(writer.bytes()) == [
          [.integer(1), .integer(7), .null, .unreadableText(.encoding), .blob([9])]
        ])
    }
  }

  @Test("a NaN is NULL, as in SQLite")
  func notANumber() throws {
    var writer = SQLiteWriter()
    writer.add(
      "T", Self.sql,
      [(1, [.null, .null, .real(.nan), .null, .null]), (2, [.null, .null, .real(.infinity), .null, .null])])
    #expect(try SQLiteReaderTests.read(writer.bytes()).map { $0[2] } == [.null, .real(.infinity)])
  }

  @Test("names with control characters are not accepted for tables and columns")
  func names() throws {
    var writer = SQLiteWriter()
    writer.add("T\u{1B}[2J", Self.sql, [])
    writer.add("U", "CREATE TABLE U (\"A\u{1B}[2J\" INTEGER)", [])
    let file = try SQLiteFile(SQLiteBytes(writer.bytes()))
    let tables = try file.tables()
    #expect(Array(tables.keys) == ["U"] && tables["U"]?.columns.isEmpty == true)
  }

  // MARK: Cancellation

  /// Counts reads, and cancels after a number of them.
  private final class Budget {
    var left: Int
    var readsAfterwards = 0

    init(_ left: Int) {
      self.left = left
    }
  }

  private final class CountedBytes: SQLiteSource {
    private let bytes: SQLiteBytes
    private let budget: Budget

    init(_ bytes: [UInt8], _ budget: Budget) {
      self.bytes = SQLiteBytes(bytes)
      self.budget = budget
    }

    func byteCount() -> Int { bytes.byteCount() }

    func read(_ offset: Int, _ count: Int) -> [UInt8] {
      if budget.left == 0 { budget.readsAfterwards += 1 }
      budget.left = max(0, budget.left - 1)
      return bytes.read(offset, count)
    }
  }

  @Test("reading ends soon after it was cancelled, wherever it is: in the log, the schema or the rows")
  func cancelled() throws {
    var writer = SQLiteWriter(pageSize: 512)
    writer.add("T", Self.sql, SQLiteReaderTests.rows(30, large: 1_500))
    let bytes = writer.bytes()
    let frames = (1...20).map {
      SQLiteWriter.Frame(page: 1, bytes: Array(bytes.prefix(512)), size: $0 == 20 ? bytes.count / 512 : 0)
    }
    let log = SQLiteWriter.log(frames, pageSize: 512)
    /// Whether everything was read.
    func attempt(_ budget: Budget) throws -> Bool {
      do {
        let file = try SQLiteFile(
          CountedBytes(bytes, budget), log: CountedBytes(log, budget), isCancelled: { budget.left == 0 })
        _ = try Self.readAll(file)
        return true
      } catch let error as SQLiteError {
        #expect(error.kind == .cancelled, "\(error)")
        return false
      }
    }
    var count = 0
    while true {
      let budget = Budget(count)
      if try attempt(budget) { break }
      // The first few bytes of files are read together.
      #expect(budget.readsAfterwards <= 3, "after \(count) reads")
      count += 1
    }
    #expect(count > 50)
  }

  // MARK: Random

  @Test("random rows are read as written; corruption elsewhere changes nothing", arguments: SQLiteSeeds.seeds)
  func randomValues(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<12 {
      let pageSize = [512, 1024, 4096].randomElement(using: &generator) ?? 512
      let encodings: [SQLiteWriter.Encoding] = [.utf8, .utf16LittleEndian, .utf16BigEndian]
      var writer = SQLiteWriter(
        pageSize: pageSize, reserved: generator.below(3) * 8,
        encoding: encodings.randomElement(using: &generator) ?? .utf8)
      var id: Int64 = .random(in: -1_000...0, using: &generator)
      var rows: [(id: Int64, values: [SQLiteValue])] = []
      for _ in 0..<generator.below(80) {
        id += .random(in: 1...(1 << Int64(generator.below(40))), using: &generator)
        rows.append((id, [.null] + (0..<4).map { _ in Self.value(&generator, pageSize) }))
      }
      writer.add("T", Self.sql, rows)
      var bytes = writer.bytes()
      let wanted = SQLiteReaderTests.expected(rows)
      #expect(try SQLiteReaderTests.read(bytes) == wanted, "seed \(seed), round \(round)")
      // Bytes between the list of entries and the entries, and behind the usable part, are unused.
      for page in 1..<bytes.count / pageSize where [0x0D, 0x05].contains(bytes[page * pageSize]) {
        let start = page * pageSize
        let count = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
        let front = start + (bytes[start] == 0x0D ? 8 : 12) + 2 * count
        let content = Int(bytes[start + 5]) << 8 | Int(bytes[start + 6])
        guard count > 0, content > 0, front < start + content else { continue }
        for place in front..<start + content { bytes[place] = .random(in: 0...255, using: &generator) }
        for place in start + pageSize - writer.reserved..<start + pageSize {
          bytes[place] = .random(in: 0...255, using: &generator)
        }
      }
      #expect(try SQLiteReaderTests.read(bytes) == wanted, "seed \(seed), round \(round), with damage")
    }
  }

  private static func value(_ generator: inout SeededGenerator, _ pageSize: Int) -> SQLiteValue {
    let length = generator.chance(in: 6) ? generator.below(4 * pageSize) : generator.below(40)
    switch generator.below(5) {
    case 0: return .null
    case 1: return .integer(.random(in: .min ... .max, using: &generator) >> Int64(generator.below(64)))
    case 2: return .real(Double.random(in: -1e9...1e9, using: &generator))
    case 3:
      let letters = Array("aß𝄞漢 \n\0z")
      return .text(String((0..<length / 3).map { _ in letters.randomElement(using: &generator) ?? "a" }))
    default: return .blob((0..<length).map { _ in .random(in: 0...255, using: &generator) })
    }
  }

  @Test("random corruption ends in rows or a typed error", arguments: SQLiteSeeds.seeds)
  func random(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for round in 0..<300 {
      var writer = SQLiteWriter(pageSize: [512, 1024].randomElement(using: &generator) ?? 512)
      writer.add("T", SQLiteReaderTests.sql, SQLiteReaderTests.rows(60, large: 1_500))
      var bytes = writer.bytes()
      var log = SQLiteWriter.log(
        [.init(page: 1, bytes: Array(bytes.prefix(writer.pageSize)), size: bytes.count / writer.pageSize)],
        pageSize: writer.pageSize)
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        if Bool.random(using: &generator) {
          bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
        } else {
          // In the heads of trees and rows.
          let page = Int.random(in: 0..<bytes.count / writer.pageSize, using: &generator)
          bytes[page * writer.pageSize + Int.random(in: 0..<16, using: &generator)] = .random(
            in: 0...255, using: &generator)
        }
      }
      if Int.random(in: 0..<4, using: &generator) == 0 {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator))
      }
      if Bool.random(using: &generator) { log[Int.random(in: 0..<log.count, using: &generator)] ^= 1 }
      do {
        _ = try SQLiteReaderTests.read(bytes, log: Bool.random(using: &generator) ? log : nil)
      } catch is SQLiteError {
        // A typed error, as expected.
      } catch {
        Issue.record("\(error), seed \(seed), round \(round)")
      }
    }
  }
}

/// KVCLONE_SEEDS, or one that is fixed and two that are not.
enum SQLiteSeeds {
  static let seeds: [UInt64] = {
    let given = ProcessInfo.processInfo.environment["KVCLONE_SEEDS"] ?? ""
    let seeds = given.split(separator: ",").compactMap { UInt64($0) }
    return seeds.isEmpty ? [1, .random(in: 0 ... .max), .random(in: 0 ... .max)] : seeds
  }()
}

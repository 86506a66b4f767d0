/// A read-only SQLite database: takes no locks, runs no triggers, and is safe for any bytes.
///
/// The state is that of the last committed transaction, including the write-ahead log's. At most ``cacheBytes`` of
/// pages are kept in memory. For one thread at a time.
package final class SQLiteFile {
  /// The size of the page cache.
  static let cacheBytes = 2 << 20
  /// The beginning of a journal with a transaction that has to be rolled back.
  private static let journalMagic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  let header: SQLiteHeader
  package let pageCount: Int
  private let main: any SQLiteSource
  private let log: (any SQLiteSource)?
  private let wal: SQLiteWAL?
  /// Each page has one slot, which other pages of the slot overwrite.
  private var cache: [(number: Int, bytes: [UInt8])]
  /// Detects concurrent writes.
  private let mark: Mark
  let isCancelled: () -> Bool
  private var owners = SQLitePageOwners()
  private var known: [String: SQLiteTable]?

  /// The statements of tables are kept, so their bytes are bounded: a schema of a thousand tables has some megabytes.
  private static let schemaLimit = 64 << 20

  private struct Mark: Equatable {
    let header: [UInt8]
    let byteCount: Int
    let logHeader: [UInt8]
    let logByteCount: Int

    init(_ main: any SQLiteSource, _ log: (any SQLiteSource)?) throws(SQLiteError) {
      header = try main.read(0, SQLiteHeader.byteCount)
      byteCount = try main.byteCount()
      logHeader = try log?.read(0, 32) ?? []
      logByteCount = try log?.byteCount() ?? 0
    }
  }

  package var pageSize: Int { header.pageSize }
  var usableSize: Int { header.usableSize }
  /// The size of the files: no row has more, whatever it claims.
  var byteCount: Int { mark.byteCount + mark.logByteCount }

  /// - Parameters:
  ///   - log: the file of the same name with `-wal`.
  ///   - journal: the file of the same name with `-journal`.
  ///   - isCancelled: called before every page of the files, every frame of the log and every row.
  /// - Throws: `hotJournal` if the journal belongs to an interrupted transaction; `notADatabase`,
  ///   `unsupportedDatabase`, `corruptedDatabase`, `unreadableDatabase`, `cancelled`.
  package init(
    _ main: any SQLiteSource, log: (any SQLiteSource)? = nil, journal: (any SQLiteSource)? = nil,
    isCancelled: @escaping () -> Bool = { false }
  ) throws(SQLiteError) {
    self.isCancelled = isCancelled
    try Self.check(isCancelled)
    if let journal, try journal.read(0, 8) == Self.journalMagic {
      throw SQLiteError(
        .hotJournal,
        "the database has a hot -journal of an interrupted transaction; open the database once with the app, or with "
          + "`sqlite3 FILE 'pragma user_version'`, to roll the transaction back")
    }
    mark = try Mark(main, log)
    var header = try SQLiteHeader(mark.header)
    let wal: SQLiteWAL? = if let log { try SQLiteWAL(log, isCancelled) } else { nil }
    if let log, let wal {
      guard wal.pageSize == header.pageSize else {
        throw .corrupted("the write-ahead log belongs to another database; use the two files of the same database")
      }
      if let offset = wal.offsets[1] { header = try SQLiteHeader(try log.read(offset, SQLiteHeader.byteCount)) }
      guard wal.pageSize == header.pageSize else {
        throw .corrupted("the page size changes within the write-ahead log")
      }
    }
    let present = mark.byteCount / header.pageSize
    pageCount = wal?.pageCount ?? min(header.pageCount ?? present, present)
    self.header = header
    self.main = main
    self.log = log
    self.wal = wal
    cache = Array(repeating: (-1, []), count: max(8, Self.cacheBytes / header.pageSize))
  }

  /// Throws `cancelled` after the caller cancelled. Takes some nanoseconds: work that reads nothing calls it, too.
  package func checkCancelled() throws(SQLiteError) { try Self.check(isCancelled) }

  static func check(_ isCancelled: () -> Bool) throws(SQLiteError) {
    if isCancelled() { throw SQLiteError(.cancelled, "reading the database was cancelled") }
  }

  /// Returns a page's bytes, and caches them.
  func page(_ number: Int) throws(SQLiteError) -> [UInt8] {
    let slot = number % cache.count
    if slot >= 0, cache[slot].number == number { return cache[slot].bytes }
    let bytes = try readPage(number)
    cache[slot] = (number, bytes)
    return bytes
  }

  /// Returns a page's bytes without caching them.
  func readPage(_ number: Int) throws(SQLiteError) -> [UInt8] {
    try checkCancelled()
    guard (1...max(1, pageCount)).contains(number), pageCount > 0 else {
      throw .corrupted("a page number is beyond the end of the file", page: number)
    }
    let bytes: [UInt8]
    if let log, let index = UInt32(exactly: number), let offset = wal?.offsets[index] {
      bytes = try log.read(offset, pageSize)
    } else {
      bytes = try main.read((number - 1) * pageSize, pageSize)
    }
    guard bytes.count == pageSize else { throw .corrupted("the file ends within the page", page: number) }
    return bytes
  }

  /// The number that a table claims its pages with.
  func number(ofTable name: String) -> UInt32 { owners.number(ofTable: name) }

  /// Records that a table leads to a page.
  ///
  /// - Throws: `corruptedDatabase` if another table that was read leads there, too.
  func claim(_ page: Int, for table: UInt32, named name: String) throws(SQLiteError) {
    guard let other = owners.claim(page, for: table) else { return }
    throw .corrupted("the tables \(other) and \(name) share the page", page: page)
  }

  /// Throws `changedDatabase` if the database was written since it was opened.
  package func requireUnchanged() throws(SQLiteError) {
    if try Mark(main, log) == mark { return }
    throw SQLiteError(
      .changedDatabase,
      "the database was written while it was read; quit the app, or copy the file with its -wal, and read the copy")
  }

  /// The tables by their names in upper case: SQLite's names are case-insensitive. Omits names that a Core Data store
  /// does not have.
  package func tables() throws(SQLiteError) -> [String: SQLiteTable] {
    if let known { return known }
    var result: [String: SQLiteTable] = [:]
    var byteCount = 0
    let scan = SQLiteScan(self, root: 1, name: "sqlite_schema")
    while try scan.next() {
      guard case .text("table") = try scan.value(0), case .text(let name) = try scan.value(1),
        case .integer(let root) = try scan.value(3), root > 0, name.isPlainName
      else { continue }
      let sql: String? = if case .text(let text) = try scan.value(4) { text } else { nil }
      byteCount += sql?.utf8.count ?? 0
      if byteCount > Self.schemaLimit {
        throw SQLiteError(
          .unsupportedDatabase,
          "the definitions of its tables have more than \(Self.schemaLimit) bytes, more than any Core Data store; check the file"
        )
      }
      result[name.uppercased()] = SQLiteTable(name: name, root: Int(clamping: root), sql: sql ?? "")
    }
    known = result
    return result
  }

  /// The table with this name, case-insensitively.
  package func table(_ name: String) throws(SQLiteError) -> SQLiteTable? { try tables()[name.uppercased()] }
}

/// A stored value of a column.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  /// An unreadable text.
  case unreadableText(TextProblem)
  case blob([UInt8])
  /// A blob that is too large to be returned at once: ``SQLiteScan/readChunks(_:_:)``.
  case longBlob(byteCount: Int)

  /// Why a text is unreadable. The other values of the row are not affected.
  package enum TextProblem: Hashable, Sendable {
    /// Its bytes are invalid in the database's encoding.
    case encoding
    /// It has more bytes than ``SQLiteScan/textLimit``.
    case length
  }
}

/// Iterates over the rows of a table in the order of their row ids.
///
/// Invariant: a page has one place in one tree, as a part of it or of one row's overflow chain. Visited pages are
/// recorded, a bit a page, and visiting one again is an error: a tree or a chain with a cycle, or that leads into
/// another one, returns nothing twice. ``SQLitePageOwners`` ensures the same across tables.
package final class SQLiteScan {
  /// The maximum size of a blob that is returned as a value.
  package static let inlineLimit = 64 << 10
  /// The maximum size of a text, which is always returned as a whole.
  package static let textLimit = 256 << 20
  /// Deeper than any tree of 2^32 pages.
  private static let maximumDepth = 20

  private struct Level {
    let number: Int
    let page: [UInt8]
    let start: Int
    let isLeaf: Bool
    let cellCount: Int
    let rightChild: Int
    var next = 0
  }

  private let file: SQLiteFile
  private let root: Int
  let name: String
  /// The table, for access to values by column.
  private let table: SQLiteTable?
  private var levels: [Level] = []
  private var hasBegun = false
  /// The visited pages of the tree and of the overflow chains.
  private var entered = SQLitePageSet()
  /// The number that pages are claimed with.
  private let tableNumber: UInt32
  private var lastRowID: Int64?
  var payload = SQLitePayload()
  var fields: [SQLiteField] = []

  /// The row's id.
  package private(set) var rowID: Int64 = 0

  init(_ file: SQLiteFile, root: Int, name: String, table: SQLiteTable? = nil) {
    self.file = file
    self.root = root
    self.name = name
    self.table = table
    tableNumber = file.number(ofTable: name)
  }

  /// - Throws: `unsupportedDatabase` for tables of a special kind.
  package convenience init(_ file: SQLiteFile, _ table: SQLiteTable) throws(SQLiteError) {
    if let problem = table.problem { throw SQLiteError(.unsupportedDatabase, "table \(table.name) \(problem)") }
    self.init(file, root: table.root, name: table.name, table: table)
  }

  /// Moves to the next row; returns false at the end.
  package func next() throws(SQLiteError) -> Bool {
    // Rows may come from the cache for a long time.
    try file.checkCancelled()
    if !hasBegun {
      hasBegun = true
      try enter(root)
    }
    while let level = levels.last {
      levels[levels.count - 1].next += 1
      if level.isLeaf {
        guard level.next < level.cellCount else {
          levels.removeLast()
          continue
        }
        try readCell(level, level.next)
        return true
      }
      if level.next < level.cellCount {
        let cell = try cellOffset(level, level.next)
        guard cell + 4 <= file.usableSize else {
          throw .corrupted("an entry extends beyond the page", page: level.number)
        }
        try enter(Int(SQLiteBytesReader.number(level.page, cell)))
      } else if level.next == level.cellCount {
        try enter(level.rightChild)
      } else {
        levels.removeLast()
      }
    }
    return false
  }

  private func requireFirstVisit(_ page: Int) throws(SQLiteError) {
    guard entered.insert(page) else { throw .corrupted("table \(name) leads to a page more than once", page: page) }
    try file.claim(page, for: tableNumber, named: name)
  }

  private func enter(_ number: Int) throws(SQLiteError) {
    try requireFirstVisit(number)
    guard levels.count < Self.maximumDepth else {
      throw .corrupted("the B-tree of table \(name) is too deep", page: number)
    }
    let page = try file.page(number)
    let start = number == 1 ? SQLiteHeader.byteCount : 0
    let isLeaf: Bool
    switch page[start] {
    case 0x0D: isLeaf = true
    case 0x05: isLeaf = false
    case 0x0A, 0x02:
      throw SQLiteError(
        .unsupportedDatabase, "table \(name) is WITHOUT ROWID, unlike all tables of Core Data; check the file",
        page: number)
    default: throw .corrupted("the page does not belong to a table", page: number)
    }
    let count = Int(page[start + 3]) << 8 | Int(page[start + 4])
    let headerSize = isLeaf ? 8 : 12
    guard start + headerSize + 2 * count <= file.usableSize else {
      throw .corrupted("the page has more entries than fit into it", page: number)
    }
    let right = isLeaf ? 0 : Int(SQLiteBytesReader.number(page, start + 8))
    levels.append(
      Level(number: number, page: page, start: start + headerSize, isLeaf: isLeaf, cellCount: count, rightChild: right))
  }

  private func cellOffset(_ level: Level, _ index: Int) throws(SQLiteError) -> Int {
    let place = level.start + 2 * index
    let offset = Int(level.page[place]) << 8 | Int(level.page[place + 1])
    guard offset >= level.start, offset < file.usableSize else {
      throw .corrupted("an entry is outside the page", page: level.number)
    }
    return offset
  }

  private func readCell(_ level: Level, _ index: Int) throws(SQLiteError) {
    let offset = try cellOffset(level, index)
    let usable = file.usableSize
    guard let (length, first) = SQLiteBytesReader.varint(level.page, offset, end: usable),
      let (id, second) = SQLiteBytesReader.varint(level.page, offset + first, end: usable),
      let total = Int(exactly: length), total <= file.byteCount
    else { throw .corrupted("a row of table \(name) is longer than the file", page: level.number) }
    rowID = Int64(bitPattern: id)
    if let lastRowID, rowID <= lastRowID {
      throw .corrupted("rows of table \(name) are out of order", page: level.number)
    }
    lastRowID = rowID
    let start = offset + first + second
    let local = Self.localCount(total, usable: usable)
    guard start + local + (local < total ? 4 : 0) <= usable else {
      throw .corrupted("a row of table \(name) extends beyond the page", page: level.number)
    }
    payload.begin(
      page: level.page, start: start, local: local, total: total,
      overflow: local < total ? Int(SQLiteBytesReader.number(level.page, start + local)) : 0)
    try readFields(level.number)
  }

  /// The number of a row's bytes on its own page.
  private static func localCount(_ total: Int, usable: Int) -> Int {
    let most = usable - 35
    if total <= most { return total }
    let least = (usable - 12) * 32 / 255 - 23
    let fitting = least + (total - least) % (usable - 4)
    return fitting <= most ? fitting : least
  }

  // MARK: Columns

  /// The maximum number of columns in a row.
  private static let maximumColumns = 32_767

  private func readFields(_ page: Int) throws(SQLiteError) {
    fields.removeAll(keepingCapacity: true)
    // Usually, the whole header is on the row's own page, and is not copied.
    var (header, first) = try headerBytes(min(9, payload.total))
    let end = first + min(9, payload.total)
    guard let (length, used) = SQLiteBytesReader.varint(header, first, end: end), let size = Int(exactly: length),
      size >= used, size <= payload.total, size <= 9 * Self.maximumColumns
    else { throw .corrupted("a row of table \(name) has an invalid header", page: page) }
    (header, first) = try headerBytes(size)
    var place = first + used
    var start = size
    while place < first + size {
      guard let (type, count) = SQLiteBytesReader.varint(header, place, end: first + size),
        fields.count < Self.maximumColumns,
        let length = SQLiteField.byteCount(ofType: type), length <= payload.total - start
      else { throw .corrupted("a row of table \(name) has columns beyond its end", page: page) }
      fields.append(SQLiteField(type: type, start: start, count: length))
      place += count
      start += length
    }
  }

  /// The first bytes of the row, and where they start.
  private func headerBytes(_ count: Int) throws(SQLiteError) -> (bytes: [UInt8], start: Int) {
    count <= payload.local ? (payload.page, payload.start) : (try bytes(0, count), 0)
  }

  /// Returns whether ``value(_:)`` is `null`, without reading the value.
  package func isNull(_ column: Int) throws(SQLiteError) -> Bool {
    guard column < fields.count, column != table?.rowIDColumn, fields[column].type != 7 else {
      return try value(column) == .null
    }
    return fields[column].type == 0
  }

  /// Returns the value of a column, counted from 0. The alias of the row id, and columns that were added after the row
  /// was written, have the values that SQLite returns.
  package func value(_ column: Int) throws(SQLiteError) -> SQLiteValue {
    // Regardless of the stored value.
    if let table, column == table.rowIDColumn { return .integer(rowID) }
    guard column < fields.count else { return try addedValue(column) }
    let field = fields[column]
    switch field.type {
    case 0: return .null
    case 8: return .integer(0)
    case 9: return .integer(1)
    case 1...6: return .integer(try integer(field))
    case 7:
      let number = Double(bitPattern: UInt64(bitPattern: try integer(field)))
      // Like SQLite.
      return number.isNaN ? .null : .real(number)
    default: break
    }
    if field.type % 2 == 1 { return try text(field) }
    return field.count <= Self.inlineLimit
      ? .blob(try bytes(field.start, field.count)) : .longBlob(byteCount: field.count)
  }

  private func addedValue(_ column: Int) throws(SQLiteError) -> SQLiteValue {
    guard let table, column < table.columns.count else { return .null }
    guard let value = table.columns[column].defaultValue else {
      throw SQLiteError(
        .unsupportedDatabase,
        "column \(table.columns[column].name) of table \(name) was added with a computed or a long default; copy the database with VACUUM INTO"
      )
    }
    return value
  }

  private func integer(_ field: SQLiteField) throws(SQLiteError) -> Int64 {
    var bytes = payload.page
    var place = payload.start + field.start
    if field.start + field.count > payload.local { (bytes, place) = (try self.bytes(field.start, field.count), 0) }
    var value: Int64 = field.count > 0 && bytes[place] >= 0x80 ? -1 : 0
    for index in place..<place + field.count { value = value << 8 | Int64(bytes[index]) }
    return value
  }

  private func text(_ field: SQLiteField) throws(SQLiteError) -> SQLiteValue {
    guard field.count <= Self.textLimit else { return .unreadableText(.length) }
    if file.header.encoding == .utf8, field.start + field.count <= payload.local {
      let start = payload.start + field.start
      let text = payload.page.withUnsafeBufferPointer { page in
        String(validating: UnsafeBufferPointer(rebasing: page[start..<start + field.count]), as: UTF8.self)
      }
      return text.map { .text($0) } ?? .unreadableText(.encoding)
    }
    let bytes = try bytes(field.start, field.count)
    let text: String?
    switch file.header.encoding {
    case .utf8: text = String(validating: bytes, as: UTF8.self)
    case .utf16LittleEndian: text = Self.wideText(bytes) { UInt16($1) << 8 | UInt16($0) }
    case .utf16BigEndian: text = Self.wideText(bytes) { UInt16($0) << 8 | UInt16($1) }
    }
    return text.map { .text($0) } ?? .unreadableText(.encoding)
  }

  private static func wideText(_ bytes: [UInt8], _ unit: (UInt8, UInt8) -> UInt16) -> String? {
    guard bytes.count % 2 == 0 else { return nil }
    return String(
      validating: stride(from: 0, to: bytes.count, by: 2).map { unit(bytes[$0], bytes[$0 + 1]) }, as: UTF16.self)
  }

  /// Returns bytes of the row from `start` on; throws if it is shorter.
  private func bytes(_ start: Int, _ count: Int) throws(SQLiteError) -> [UInt8] {
    if start + count <= payload.local { return payload.localBytes(start, count) }
    var result: [UInt8] = []
    result.reserveCapacity(min(count, 1 << 20))
    do {
      try readPieces(start, count) { result.append(contentsOf: $0) }
    } catch let error as SQLiteError {
      throw error
    } catch {
      throw .corrupted("\(error)")
    }
    return result
  }

  /// Returns the first bytes of a blob and its size; nil if the column has none.
  package func front(_ column: Int, _ count: Int) throws(SQLiteError) -> (bytes: [UInt8], byteCount: Int)? {
    guard column < fields.count, fields[column].type >= 12, fields[column].type % 2 == 0 else { return nil }
    return (try bytes(fields[column].start, min(count, fields[column].count)), fields[column].count)
  }

  /// Passes the bytes of a blob or text to `body` in chunks of at most a page.
  package func readChunks(_ column: Int, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
    guard column < fields.count, fields[column].type >= 12 else { return }
    try readPieces(fields[column].start, fields[column].count, body)
  }

  private func readPieces(_ start: Int, _ count: Int, _ body: (ArraySlice<UInt8>) throws -> Void) throws {
    let room = file.usableSize - 4
    var (place, left) = (start, count)
    if place < payload.local {
      let part = min(left, payload.local - place)
      try body(payload.page[payload.start + place..<payload.start + place + part])
      place += part
      left -= part
    }
    while left > 0 {
      let (ordinal, inner) = (place - payload.local).quotientAndRemainder(dividingBy: room)
      try goToOverflow(ordinal)
      let part = min(left, room - inner)
      try body(payload.overflowPage[4 + inner..<4 + inner + part])
      place += part
      left -= part
    }
  }

  /// Moves to the overflow page with an index, from 0.
  private func goToOverflow(_ ordinal: Int) throws(SQLiteError) {
    if payload.overflowOrdinal == ordinal { return }
    if payload.overflowOrdinal > ordinal { payload.rewind() }
    while payload.overflowOrdinal < ordinal {
      let next =
        payload.overflowOrdinal < 0
        ? payload.overflow : Int(SQLiteBytesReader.number(payload.overflowPage, 0))
      // Visiting it again within the row is not an error.
      if payload.overflowOrdinal + 1 > payload.farthestOrdinal {
        try requireFirstVisit(next)
        payload.farthestOrdinal = payload.overflowOrdinal + 1
      }
      payload.overflowPage = try file.readPage(next)
      payload.overflowOrdinal += 1
    }
  }
}

/// The place of a column's bytes in its row.
struct SQLiteField {
  let type: UInt64
  let start: Int
  let count: Int

  /// The size of a column with this serial type; nil for undefined types.
  static func byteCount(ofType type: UInt64) -> Int? {
    switch type {
    case 0, 8, 9: 0
    case 1...4: Int(type)
    case 5: 6
    case 6, 7: 8
    case 10, 11: nil
    default: Int(exactly: (type - 12) / 2)
    }
  }
}

/// The bytes of one row: some on its page, the rest on a chain of overflow pages.
struct SQLitePayload {
  private(set) var page: [UInt8] = []
  private(set) var start = 0
  private(set) var local = 0
  private(set) var total = 0
  private(set) var overflow = 0
  var overflowPage: [UInt8] = []
  /// The index of ``overflowPage`` in the chain; -1 for none.
  var overflowOrdinal = -1
  /// The farthest page of the chain that was read.
  var farthestOrdinal = -1

  mutating func begin(page: [UInt8], start: Int, local: Int, total: Int, overflow: Int) {
    (self.page, self.start, self.local) = (page, start, local)
    (self.total, self.overflow) = (total, overflow)
    rewind()
    farthestOrdinal = -1
  }

  mutating func rewind() { overflowOrdinal = -1 }

  func localBytes(_ first: Int, _ count: Int) -> [UInt8] { Array(page[start + first..<start + first + count]) }
}

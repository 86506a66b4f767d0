package import KVCloneCoreData

/// Writes SQLite databases byte by byte after the documented format, so that tests of the reader do not need SQLite.
package struct SQLiteWriter: Sendable {
  /// The text encoding, as numbered in the header.
  package enum Encoding: UInt32, Sendable {
    case utf8 = 1
    case utf16LittleEndian, utf16BigEndian
  }

  package struct Table: Sendable {
    package let name: String
    package let sql: String
    package let rows: [(id: Int64, values: [SQLiteValue])]
  }

  package var pageSize = 4096
  /// Reserved bytes at the end of each page.
  package var reserved = 0
  package var encoding = Encoding.utf8
  private var tables: [Table] = []

  package init(pageSize: Int = 4096, reserved: Int = 0, encoding: Encoding = .utf8) {
    self.pageSize = pageSize
    self.reserved = reserved
    self.encoding = encoding
  }

  /// Adds a table; rows are sorted by their ids.
  package mutating func add(_ name: String, _ sql: String, _ rows: [(id: Int64, values: [SQLiteValue])]) {
    tables.append(Table(name: name, sql: sql, rows: rows.sorted { $0.id < $1.id }))
  }

  /// Adds a table with ids from 1.
  package mutating func add(_ name: String, _ sql: String, values: [[SQLiteValue]]) {
    add(name, sql, values.enumerated().map { (Int64($0.offset + 1), $0.element) })
  }

  private var usable: Int { pageSize - reserved }

  /// Returns the bytes of the database.
  package func bytes() -> [UInt8] {
    var pages = Pages(pageSize: pageSize)
    pages.allocate()
    var schema: [(Int64, [SQLiteValue])] = []
    for (place, table) in tables.enumerated() {
      let root = pages.allocate()
      build(table.rows.map { ($0.id, $0.values) }, root: root, &pages)
      schema.append(
        (
          Int64(place + 1),
          [.text("table"), .text(table.name), .text(table.name), .integer(Int64(root)), .text(table.sql)]
        ))
    }
    build(schema, root: 1, &pages)
    var bytes = pages.bytes.flatMap { $0 }
    let header = self.header(pageCount: pages.bytes.count)
    bytes.replaceSubrange(0..<100, with: header)
    return bytes
  }

  private func header(pageCount: Int) -> [UInt8] {
    var header = Array("SQLite format 3\0".utf8)
    header += Self.number(UInt64(pageSize == 65_536 ? 1 : pageSize), 2) + [1, 1, UInt8(reserved), 64, 32, 32]
    // Change counter, pages, no free pages, schema cookie, schema format 4.
    for number in [7, pageCount, 0, 0, 1, 4, 0, 0] { header += Self.number(UInt64(number), 4) }
    header += Self.number(UInt64(encoding.rawValue), 4)
    header += [UInt8](repeating: 0, count: 32) + Self.number(7, 4) + Self.number(3_040_000, 4)
    return header
  }

  // MARK: Trees

  private struct Pages {
    let pageSize: Int
    var bytes: [[UInt8]] = []

    init(pageSize: Int) {
      self.pageSize = pageSize
    }

    @discardableResult
    mutating func allocate() -> Int {
      bytes.append([UInt8](repeating: 0, count: pageSize))
      return bytes.count
    }
  }

  private func build(_ rows: [(Int64, [SQLiteValue])], root: Int, _ pages: inout Pages) {
    var cells = rows.map { (id: $0.0, bytes: leafCell($0.0, $0.1, &pages)) }
    var right: UInt64 = 0
    var isLeaf = true
    let rootStart = root == 1 ? 100 : 0
    while !fits(cells, start: rootStart, isLeaf: isLeaf) {
      var parents: [(id: Int64, bytes: [UInt8])] = []
      var lastPage = 0
      var rest = cells[...]
      while !rest.isEmpty {
        var count = 1
        while count < rest.count, fits(Array(rest.prefix(count + 1)), start: 0, isLeaf: isLeaf) { count += 1 }
        let number = pages.allocate()
        let part = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        // The last cell of an interior page becomes its right child.
        if isLeaf || rest.isEmpty {
          pages.bytes[number - 1] = page(part, start: 0, isLeaf: isLeaf, right: right)
        } else {
          let child = part[part.count - 1].bytes.prefix(4).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
          pages.bytes[number - 1] = page(Array(part.dropLast()), start: 0, isLeaf: false, right: child)
        }
        if rest.isEmpty {
          lastPage = number
        } else {
          parents.append(
            (
              part[part.count - 1].id,
              Self.number(UInt64(number), 4) + Self.varint(UInt64(bitPattern: part[part.count - 1].id))
            ))
        }
      }
      cells = parents
      right = UInt64(lastPage)
      isLeaf = false
    }
    pages.bytes[root - 1] = page(cells, start: rootStart, isLeaf: isLeaf, right: right)
  }

  private func fits(_ cells: [(id: Int64, bytes: [UInt8])], start: Int, isLeaf: Bool) -> Bool {
    start + (isLeaf ? 8 : 12) + cells.reduce(0) { $0 + 2 + $1.bytes.count } <= usable
  }

  private func page(_ cells: [(id: Int64, bytes: [UInt8])], start: Int, isLeaf: Bool, right: UInt64) -> [UInt8] {
    var page = [UInt8](repeating: 0, count: pageSize)
    var end = usable
    var pointers: [UInt8] = []
    for cell in cells {
      end -= cell.bytes.count
      page.replaceSubrange(end..<end + cell.bytes.count, with: cell.bytes)
      pointers += Self.number(UInt64(end), 2)
    }
    var head: [UInt8] = [isLeaf ? 0x0D : 0x05, 0, 0] + Self.number(UInt64(cells.count), 2)
    head += Self.number(UInt64(end & 0xFFFF), 2) + [0]
    if !isLeaf { head += Self.number(right, 4) }
    page.replaceSubrange(start..<start + head.count + pointers.count, with: head + pointers)
    return page
  }

  private func leafCell(_ id: Int64, _ values: [SQLiteValue], _ pages: inout Pages) -> [UInt8] {
    let payload = record(values)
    var cell = Self.varint(UInt64(payload.count)) + Self.varint(UInt64(bitPattern: id))
    let most = usable - 35
    guard payload.count > most else { return cell + payload }
    let least = (usable - 12) * 32 / 255 - 23
    let fitting = least + (payload.count - least) % (usable - 4)
    let local = fitting <= most ? fitting : least
    cell += payload.prefix(local)
    var rest = payload[local...]
    var number = pages.allocate()
    cell += Self.number(UInt64(number), 4)
    while !rest.isEmpty {
      let part = rest.prefix(usable - 4)
      rest = rest.dropFirst(part.count)
      let next = rest.isEmpty ? 0 : pages.allocate()
      pages.bytes[number - 1].replaceSubrange(0..<4 + part.count, with: Self.number(UInt64(next), 4) + part)
      number = next
    }
    return cell
  }

  private func record(_ values: [SQLiteValue]) -> [UInt8] {
    var types: [UInt8] = []
    var body: [UInt8] = []
    for value in values {
      switch value {
      case .null: types += [0]
      case .integer(0): types += [8]
      case .integer(1): types += [9]
      case .integer(let number):
        var size: (bytes: Int, type: UInt8) = (8, 6)
        for (bytes, type) in [(6, UInt8(5)), (4, 4), (3, 3), (2, 2), (1, 1)] {
          let limit = Int64(1) << Int64(8 * bytes - 1)
          if number >= -limit, number < limit { size = (bytes, type) }
        }
        types += [size.type]
        body += Self.number(UInt64(bitPattern: number), size.bytes)
      case .real(let number):
        types += [7]
        body += Self.number(number.bitPattern, 8)
      case .text(let text):
        let bytes = encoded(text)
        types += Self.varint(UInt64(13 + 2 * bytes.count))
        body += bytes
      case .unreadableText:
        // One byte, which is invalid text in all encodings.
        types += Self.varint(15)
        body += [0xFF]
      case .blob(let bytes):
        types += Self.varint(UInt64(12 + 2 * bytes.count))
        body += bytes
      case .longBlob(let count):
        types += Self.varint(UInt64(12 + 2 * count))
        body += [UInt8](repeating: 0xAB, count: count)
      }
    }
    // The length of the header includes itself.
    var size = types.count + 1
    while Self.varint(UInt64(size)).count + types.count != size { size = Self.varint(UInt64(size)).count + types.count }
    return Self.varint(UInt64(size)) + types + body
  }

  private func encoded(_ text: String) -> [UInt8] {
    switch encoding {
    case .utf8: Array(text.utf8)
    case .utf16LittleEndian: text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    case .utf16BigEndian: text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
  }

  // MARK: Write-ahead logs

  /// A frame of the log: the bytes of a page and, at the end of a transaction, the number of pages of the database.
  package struct Frame {
    package let page: Int
    package let bytes: [UInt8]
    package let size: Int

    package init(page: Int, bytes: [UInt8], size: Int = 0) {
      self.page = page
      self.bytes = bytes
      self.size = size
    }
  }

  /// Returns a write-ahead log with these frames.
  package static func log(
    _ frames: [Frame], pageSize: Int, isBigEndian: Bool = true, salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
  )
    -> [UInt8]
  {
    var sums: (UInt32, UInt32) = (0, 0)
    func add(_ bytes: [UInt8]) {
      for start in stride(from: 0, to: bytes.count, by: 8) {
        func word(_ at: Int) -> UInt32 {
          let part = bytes[at..<at + 4]
          return (isBigEndian ? Array(part) : part.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
        sums.0 = sums.0 &+ word(start) &+ sums.1
        sums.1 = sums.1 &+ word(start + 4) &+ sums.0
      }
    }
    var bytes = number(isBigEndian ? 0x377F_0683 : 0x377F_0682, 4) + number(3_007_000, 4) + number(UInt64(pageSize), 4)
    bytes += number(0, 4) + salt
    add(bytes)
    bytes += number(UInt64(sums.0), 4) + number(UInt64(sums.1), 4)
    for frame in frames {
      let head = number(UInt64(frame.page), 4) + number(UInt64(frame.size), 4)
      add(head)
      add(frame.bytes)
      bytes += head + salt + number(UInt64(sums.0), 4) + number(UInt64(sums.1), 4) + frame.bytes
    }
    return bytes
  }

  // MARK: Numbers

  private static func number(_ value: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  private static func varint(_ value: UInt64) -> [UInt8] {
    if value >= 1 << 56 {
      var bytes: [UInt8] = (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 + 7 * UInt64(7 - $0))) | 0x80 }
      bytes.append(UInt8(truncatingIfNeeded: value))
      return bytes
    }
    var bytes = [UInt8(value & 0x7F)]
    var rest = value >> 7
    while rest > 0 {
      bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
      rest >>= 7
    }
    return bytes
  }
}

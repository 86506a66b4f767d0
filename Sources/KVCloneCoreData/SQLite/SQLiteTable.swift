/// A table according to its CREATE TABLE statement.
package struct SQLiteTable: Sendable {
  /// One column.
  package struct Column: Sendable, Hashable {
    package let name: String
    /// The declared type, in upper case; empty without one.
    package let type: String
    /// The value in rows that were written before the column was added; nil for an expression, or long text.
    package let defaultValue: SQLiteValue?
  }

  /// The name as written.
  package let name: String
  /// The root page of its tree.
  let root: Int
  /// In the order of a row's values.
  package let columns: [Column]
  /// The column that is an alias of the row id.
  let rowIDColumn: Int?
  /// Why its rows cannot be read; nil if they can.
  let problem: String?
  private let places: [String: Int]

  /// The maximum length of a statement; a longer one is not that of a supported table.
  private static let sqlLimit = 4 << 20

  init(name: String, root: Int, sql: String) {
    self.name = name
    self.root = root
    var parser = CreateTableParser(sql.utf8.count <= Self.sqlLimit ? sql : "")
    problem = parser.parse()
    columns = parser.columns
    rowIDColumn = parser.rowIDColumn
    places = Dictionary(
      parser.columns.enumerated().map { ($0.element.name.uppercased(), $0.offset) },
      uniquingKeysWith: { first, _ in first })
  }

  /// The index of the column with this name, case-insensitively.
  package func column(_ name: String) -> Int? { places[name.uppercased()] }
}

/// Parses what matters for reading rows in CREATE TABLE: the columns' names, defaults, and which one is the row id.
private struct CreateTableParser {
  var columns: [SQLiteTable.Column] = []
  var rowIDColumn: Int?
  private let tokens: [SQLToken]
  private var hasKeyConstraint = false

  init(_ sql: String) {
    tokens = SQLToken.tokens(of: sql)
  }

  /// Returns the problem; nil for a supported table.
  mutating func parse() -> String? {
    let unreadable = "has an unsupported definition; copy its rows into a plain table"
    guard let open = tokens.firstIndex(of: .symbol("(")), tokens.first?.isWord("CREATE") == true,
      !tokens[..<open].contains(where: { $0.isWord("VIRTUAL") || $0.isWord("AS") })
    else { return unreadable }
    var depth = 0
    var item: [SQLToken] = []
    var index = open
    while index < tokens.count {
      let token = tokens[index]
      index += 1
      if token == .symbol("(") {
        depth += 1
        if depth == 1 { continue }
      } else if token == .symbol(")") {
        depth -= 1
        if depth == 0 { break }
      } else if token == .symbol(","), depth == 1 {
        if let problem = add(item) { return problem }
        item = []
        continue
      }
      item.append(token)
    }
    guard depth == 0 else { return unreadable }
    if let problem = add(item) { return problem }
    if columns.isEmpty { return unreadable }
    for (place, token) in tokens.enumerated().dropFirst(index) where token.isWord("WITHOUT") {
      if place + 1 < tokens.count, tokens[place + 1].isWord("ROWID") {
        return "is WITHOUT ROWID, unlike all tables of Core Data; copy its rows into a plain table"
      }
    }
    return nil
  }

  private static let constraintWords = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"]
  private static let columnWords = [
    "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS",
  ]

  /// SQLite's maximum.
  private static let maximumColumns = 32_767

  private mutating func add(_ item: [SQLToken]) -> String? {
    guard let first = item.first else { return nil }
    if columns.count >= Self.maximumColumns { return "has more columns than SQLite allows; check the file" }
    if Self.constraintWords.contains(where: { first.isWord($0) }) {
      addTableConstraint(item)
      return nil
    }
    guard let name = first.name else { return "has a column without a name; copy its rows into a plain table" }
    guard name.isPlainName else {
      return "has a column name that Core Data does not use (long, or with control characters); check the file"
    }
    let rest = item.dropFirst()
    let type = rest.prefix { token in !Self.columnWords.contains { token.isWord($0) } }
    let constraints = Array(rest.dropFirst(type.count))
    if constraints.contains(where: { $0.isWord("GENERATED") || $0.isWord("AS") }) {
      return "has computed columns; copy its rows into a plain table"
    }
    let typeText = type.compactMap(\.name).joined(separator: " ").uppercased()
    columns.append(.init(name: name, type: typeText, defaultValue: Self.defaultValue(constraints)))
    let key = constraints.indices.dropLast().first {
      constraints[$0].isWord("PRIMARY") && constraints[$0 + 1].isWord("KEY")
    }
    if let key, typeText == "INTEGER", !(key + 2 < constraints.count && constraints[key + 2].isWord("DESC")) {
      rowIDColumn = columns.count - 1
    }
    return nil
  }

  /// `PRIMARY KEY (column)` on a column of type INTEGER makes it the row id, too.
  private mutating func addTableConstraint(_ item: [SQLToken]) {
    guard !hasKeyConstraint, let key = item.firstIndex(where: { $0.isWord("KEY") }), key > 0,
      item[key - 1].isWord("PRIMARY"),
      key + 3 < item.count, item[key + 1] == .symbol("("), let name = item[key + 2].name,
      item[key + 3] == .symbol(")")
    else { return }
    // There is one at most.
    hasKeyConstraint = true
    guard
      let place = columns.firstIndex(where: { $0.name.uppercased() == name.uppercased() }),
      columns[place].type == "INTEGER"
    else { return }
    rowIDColumn = place
  }

  /// A longer default is not Core Data's. It would be the value of each row that was written before: a few bytes of a
  /// file would become megabytes of values.
  private static let defaultLimit = 1_024

  private static func defaultValue(_ constraints: [SQLToken]) -> SQLiteValue? {
    guard let place = constraints.firstIndex(where: { $0.isWord("DEFAULT") }) else { return .null }
    var rest = constraints.dropFirst(place + 1)
    var isNegative = false
    if let sign = rest.first, sign == .symbol("-") || sign == .symbol("+") {
      isNegative = sign == .symbol("-")
      rest = rest.dropFirst()
    }
    switch rest.first {
    case .word(let text), .number(let text):
      if let number = Int64(isNegative ? "-" + text : text) { return .integer(number) }
      if case .number = rest.first, let number = Double(text) { return .real(isNegative ? -number : number) }
      switch text.uppercased() {
      case "NULL": return .null
      case "TRUE": return .integer(1)
      case "FALSE": return .integer(0)
      default: return nil
      }
    case .literal(let text) where text.utf8.count <= defaultLimit: return .text(text)
    case .quoted(let text) where text.utf8.count <= defaultLimit: return .text(text)
    default: return nil
    }
  }
}

extension String {
  /// Whether a Core Data store may have the name, and messages may show it: control characters would be interpreted by
  /// a terminal.
  var isPlainName: Bool {
    utf8.count <= 1_024 && !unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

/// The tokens of SQL.
enum SQLToken: Equatable {
  case word(String)
  /// "name", [name] or `name`.
  case quoted(String)
  /// 'text', which may also be a name.
  case literal(String)
  case number(String)
  case symbol(Character)

  var name: String? {
    switch self {
    case .word(let text), .quoted(let text), .literal(let text): text
    default: nil
    }
  }

  func isWord(_ word: String) -> Bool {
    if case .word(let text) = self { text.uppercased() == word } else { false }
  }

  /// Tokenizes a statement. Unclosed tokens end with the statement.
  static func tokens(of sql: String) -> [SQLToken] {
    let bytes = Array(sql.utf8)
    var result: [SQLToken] = []
    var place = 0
    while place < bytes.count {
      let byte = bytes[place]
      switch byte {
      case UInt8(ascii: " "), 9...13: place += 1
      case UInt8(ascii: "-") where place + 1 < bytes.count && bytes[place + 1] == byte:
        place = bytes[place...].firstIndex(of: 10) ?? bytes.count
      case UInt8(ascii: "/") where place + 1 < bytes.count && bytes[place + 1] == UInt8(ascii: "*"):
        place += 2
        while place < bytes.count,
          !(bytes[place] == UInt8(ascii: "*") && place + 1 < bytes.count && bytes[place + 1] == UInt8(ascii: "/"))
        {
          place += 1
        }
        place += 2
      case UInt8(ascii: "\""), UInt8(ascii: "`"): result.append(.quoted(quoted(bytes, &place, until: byte)))
      case UInt8(ascii: "["): result.append(.quoted(quoted(bytes, &place, until: UInt8(ascii: "]"))))
      case UInt8(ascii: "'"): result.append(.literal(quoted(bytes, &place, until: byte)))
      case _ where isWordByte(byte):
        let end = bytes[place...].firstIndex { !isWordByte($0) } ?? bytes.count
        let isNumber = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
        var text = String(decoding: bytes[place..<end], as: UTF8.self)
        place = end
        if isNumber, place < bytes.count, bytes[place] == UInt8(ascii: ".") {
          let end = bytes[(place + 1)...].firstIndex { !isWordByte($0) } ?? bytes.count
          text += String(decoding: bytes[place..<end], as: UTF8.self)
          place = end
        }
        result.append(isNumber ? .number(text) : .word(text))
      default:
        result.append(.symbol(Character(UnicodeScalar(byte))))
        place += 1
      }
    }
    return result
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }

  /// Reads the text up to the closing mark, which is escaped by doubling.
  private static func quoted(_ bytes: [UInt8], _ place: inout Int, until mark: UInt8) -> String {
    var text: [UInt8] = []
    place += 1
    while place < bytes.count {
      if bytes[place] == mark {
        place += 1
        guard place < bytes.count, bytes[place] == mark, mark != UInt8(ascii: "]") else { break }
      }
      text.append(bytes[place])
      place += 1
    }
    return String(decoding: text, as: UTF8.self)
  }
}

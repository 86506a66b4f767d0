import Foundation

/// Writes rows of texts, the first of which are the columns' names: as a table for people, or as CSV for programs.
///
/// CSV is quoted as in RFC 4180, with line feeds as line ends, and tells nil from the empty text: nil is nothing between the
/// commas, the empty text a pair of quotes. In a row of one column, nil would be an empty line, which readers skip: it is NULL
/// without quotes there, and the text NULL has quotes.
struct RowWriter {
  /// How many rows decide how wide a table's columns are.
  private static let sampleSize = 200
  private static let maximumWidth = 40

  /// What a column keeps on a narrow terminal.
  private static let minimumWidth = 6

  private let output: Output
  /// How wide the terminal is; nil where the rows go elsewhere, and are as long as they are.
  private let room = Terminal.width(ofDescriptor: 1)
  /// Rows that wait until there are enough to decide about widths; nil once that is done, and for CSV.
  private var waiting: [[String?]]?
  private var widths: [Int]?

  init(isTable: Bool, _ output: Output) {
    self.output = output
    waiting = isTable ? [] : nil
  }

  mutating func write(_ cells: [String?]) throws {
    if let widths { return try output.line(row(cells, widths)) }
    guard waiting != nil else { return try output.line(Self.csv(cells)) }
    waiting?.append(cells)
    if waiting?.count ?? 0 > Self.sampleSize { try end() }
  }

  /// Writes the rows that wait.
  mutating func end() throws {
    guard let rows = waiting else { return }
    waiting = nil
    var widths = Array(repeating: 0, count: rows.map(\.count).max() ?? 0)
    for row in rows {
      for (index, cell) in row.enumerated() {
        widths[index] = max(widths[index], min(cell?.count ?? 0, Self.maximumWidth))
      }
    }
    if let room { Self.fit(&widths, into: room) }
    for row in rows { try output.line(self.row(row, widths)) }
    self.widths = widths
  }

  /// Takes from the widest columns, the names of objects in the first one last, until a row fits.
  private static func fit(_ widths: inout [Int], into room: Int) {
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - room
    while excess > 0 {
      let others = widths.indices.dropFirst().filter { widths[$0] > minimumWidth }
      guard let widest = others.max(by: { widths[$0] < widths[$1] }) else { return }
      widths[widest] -= 1
      excess -= 1
    }
  }

  private func row(_ cells: [String?], _ widths: [Int]) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let shown = Text.cut(cell ?? "", room == nil || index >= widths.count ? Self.maximumWidth : widths[index])
      line += index == 0 ? shown : "  " + shown
      if index + 1 < cells.count { line += String(repeating: " ", count: max(0, widths[index] - shown.count)) }
    }
    // Many columns do not fit at their narrowest.
    return room.map { Text.cut(line, $0) } ?? line
  }

  private static let nilAlone = "NULL"

  private static func csv(_ cells: [String?]) -> String {
    if cells.count == 1 { return cells[0].map { csv($0, isQuoted: $0 == nilAlone) } ?? nilAlone }
    return cells.map { $0.map { csv($0) } ?? "" }.joined(separator: ",")
  }

  /// What has a comma, a quote or a line's end in it stands between quotes, and so does the empty text.
  ///
  /// By bytes: a combining mark makes one character with the comma or the quote before it.
  private static func csv(_ text: String, isQuoted: Bool = false) -> String {
    let quote = UInt8(ascii: "\"")
    let special = [quote, UInt8(ascii: ","), UInt8(ascii: "\n"), UInt8(ascii: "\r")]
    guard isQuoted || text.isEmpty || text.utf8.contains(where: { special.contains($0) }) else { return text }
    var bytes = [quote]
    for byte in text.utf8 {
      if byte == quote { bytes.append(quote) }
      bytes.append(byte)
    }
    bytes.append(quote)
    return String(decoding: bytes, as: UTF8.self)
  }
}

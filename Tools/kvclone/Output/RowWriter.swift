import Foundation
import KVCloneExplorer

/// Writes rows of texts, the first of which are the column names: as a table, or as CSV.
struct RowWriter {
  /// The number of rows that determine the widths of a table's columns.
  private static let sampleSize = 200
  private static let maximumWidth = 40

  /// The minimum width of a column on a narrow terminal.
  private static let minimumWidth = 6

  private let output: Output
  /// The terminal's width; nil for other outputs: their rows have any length.
  private let room = Terminal.width(ofDescriptor: 1)
  /// Rows that wait for the widths to be determined; nil after that, and for CSV.
  private var waiting: [[String?]]?
  private var widths: [Int]?

  init(isTable: Bool, _ output: Output) {
    self.output = output
    waiting = isTable ? [] : nil
  }

  mutating func write(_ cells: [String?]) throws {
    if let widths { return try output.line(row(cells, widths)) }
    guard waiting != nil else { return try output.line(CSV.row(cells)) }
    waiting?.append(cells)
    if waiting?.count ?? 0 > Self.sampleSize { try end() }
  }

  /// Writes the waiting rows.
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

  /// Shrinks the widest columns, and last the object names in the first one, until a row fits.
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
    // Many columns do not fit even at their minimum widths.
    return room.map { Text.cut(line, $0) } ?? line
  }
}

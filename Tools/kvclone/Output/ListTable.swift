import Foundation
import KVCloneExplorer

extension Output {
  private static let terminalWidth = Terminal.width(ofDescriptor: 1)

  /// Writes a list as a table. On a terminal, columns without values are omitted.
  func list(_ headings: [String], _ rows: [[String]]) throws {
    let columns = headings.indices.filter { column in
      Output.terminalWidth == nil || rows.contains { !$0[column].isEmpty }
    }
    for line in Text.table(columns.map { headings[$0] }, rows.map { row in columns.map { row[$0] } }) {
      try self.line(line)
    }
  }

  /// Formats a time in a list: to the second for scripts, to the minute on a terminal.
  static func time(_ date: Date) -> String {
    let text = date.formatted(.iso8601)
    return terminalWidth == nil ? text : text.prefix(16).replacing("T", with: " ") + "Z"
  }
}

extension Text {
  /// Formats rows under headings, in columns as wide as necessary.
  static func table(_ headings: [String], _ rows: [[String]]) -> [String] {
    let widths = headings.indices.map { column in
      ([headings] + rows).map { $0[column].count }.max() ?? 0
    }
    return ([headings] + rows).map { row in
      var line = ""
      for (cell, width) in zip(row, widths) { line += padded(cell, width + 2) }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}

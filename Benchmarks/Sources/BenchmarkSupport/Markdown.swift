/// A table in Markdown.
package struct MarkdownTable {
  package var header: [String]
  package var rows: [[String]] = []
  /// The number of columns from the left with words; the others contain numbers, and are right-aligned.
  package var wordColumns: Int

  package init(_ header: [String], wordColumns: Int = 1) {
    self.header = header
    self.wordColumns = wordColumns
  }

  package var text: String {
    let marks = header.indices.map { $0 < wordColumns ? "---" : "---:" }
    return ([header, marks] + rows).map { cells in
      let padded = cells + [String](repeating: "", count: max(0, header.count - cells.count))
      return "| " + padded.map(Self.escaped).joined(separator: " | ") + " |"
    }.joined(separator: "\n") + "\n"
  }

  /// Escapes bars, which would start another cell, and line breaks, which would start another row.
  private static func escaped(_ cell: String) -> String {
    cell.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
      .split(separator: "\n", omittingEmptySubsequences: true).joined(separator: " ")
  }
}

/// Seconds with a suitable unit.
package func duration(_ seconds: Double) -> String {
  switch seconds {
  case ..<0.0001: fixed(seconds * 1e6, 1) + " µs"
  case ..<0.001: fixed(seconds * 1e6) + " µs"
  case ..<0.1: fixed(seconds * 1e3, 2) + " ms"
  case ..<1: fixed(seconds * 1e3) + " ms"
  case ..<100: fixed(seconds, 2) + " s"
  default: fixed(seconds) + " s"
  }
}

/// Bytes with a suitable unit.
package func bytes(_ count: Double) -> String {
  switch count {
  case ..<1024: fixed(count) + " B"
  case ..<1_048_576: fixed(count / 1024, 1) + " KiB"
  case ..<1_073_741_824: fixed(count / 1_048_576, 1) + " MiB"
  default: fixed(count / 1_073_741_824, 2) + " GiB"
  }
}

/// A number with a comma every three digits.
package func grouped(_ number: Int) -> String {
  var digits = String(abs(number))
  var groups: [String] = []
  while digits.count > 3 {
    groups.insert(String(digits.suffix(3)), at: 0)
    digits.removeLast(3)
  }
  groups.insert(digits, at: 0)
  return (number < 0 ? "-" : "") + groups.joined(separator: ",")
}

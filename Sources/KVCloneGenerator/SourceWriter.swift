/// Collects lines of source with their indentation.
struct SourceWriter {
  private(set) var text = ""
  private var depth = 0
  /// The line width of the formatter's configuration.
  private static let width = 120

  private var indentation: String { String(repeating: "  ", count: depth) }

  mutating func line(_ line: String = "") { text += line.isEmpty ? "\n" : indentation + line + "\n" }

  /// Writes a documentation comment; its text, including line breaks, cannot end the comment.
  mutating func documentation(_ lines: [String]) {
    for line in lines.flatMap({ $0.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) }) {
      self.line(line.isEmpty ? "///" : "/// " + line)
    }
  }

  mutating func open(_ line: String) {
    self.line(line)
    depth += 1
  }

  /// Indents the following lines.
  mutating func indent() { depth += 1 }

  mutating func close(_ line: String = "}") {
    depth -= 1
    self.line(line)
  }

  /// Writes a call or a declaration with a list, on one line if it fits.
  mutating func list(_ head: String, _ items: [String], _ tail: String) {
    let whole = head + items.joined(separator: ", ") + tail
    if indentation.count + whole.count <= Self.width || items.isEmpty { return line(whole) }
    open(head)
    var current = ""
    for (index, item) in items.enumerated() {
      let piece = item + (index + 1 < items.count ? "," : "")
      if !current.isEmpty, indentation.count + current.count + 1 + piece.count > Self.width {
        line(current)
        current = piece
      } else {
        current += (current.isEmpty ? "" : " ") + piece
      }
    }
    line(current)
    close(tail)
  }
}

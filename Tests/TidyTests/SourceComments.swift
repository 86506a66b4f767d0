/// Finds the comments of Swift and C sources; those on consecutive lines are one passage.
enum SourceComments {
  static func passages(in path: String, _ text: String) -> [Passage] {
    guard [".swift", ".c", ".h"].contains(where: path.hasSuffix) else { return [] }
    var found: [Passage] = []
    var lastNumber = -1
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      guard let comment = comment(of: line) else { continue }
      let entry = Passage.Line(number: index + 1, text: comment.text, source: String(line))
      if comment.isWholeLine, lastNumber == index {
        found[found.count - 1].lines.append(entry)
      } else {
        found.append(Passage(lines: [entry], isWrapped: false))
      }
      lastNumber = comment.isWholeLine ? index + 1 : -1
    }
    return found
  }

  /// The text of a line's comment. Behind code, a comment begins with two slashes between spaces, so that addresses in
  /// literals are none.
  private static func comment(of line: Substring) -> (text: String, isWholeLine: Bool)? {
    let content = line.drop(while: \.isWhitespace)
    if content.hasPrefix("//") { return (String(content.drop { $0 == "/" }), true) }
    guard let range = line.range(of: " // ") else { return nil }
    return (String(line[range.upperBound...]), false)
  }
}

/// Rows of CSV.
///
/// They are quoted as in RFC 4180, with line feeds as line ends. Nil is nothing between the commas, and the empty text
/// is a pair of quotes. In a row of one column, nil would be an empty line, which parsers skip: it is NULL without
/// quotes there, and the text NULL has quotes.
package enum CSV {
  private static let nilAlone = "NULL"

  /// Returns a row without its line end.
  package static func row(_ cells: [String?]) -> String {
    if cells.count == 1 { return cells[0].map { field($0, isQuoted: $0 == nilAlone) } ?? nilAlone }
    return cells.map { $0.map { field($0) } ?? "" }.joined(separator: ",")
  }

  /// Quotes texts that contain a comma, a quote or a line end, and the empty text.
  ///
  /// Compares bytes: a combining mark makes one character with the comma or the quote before it.
  private static func field(_ text: String, isQuoted: Bool = false) -> String {
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

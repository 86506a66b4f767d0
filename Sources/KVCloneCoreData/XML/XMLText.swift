/// Text in XML attributes.
enum XMLText {
  /// Appends a value so that a parser returns exactly it; returns false, with unusable output, if XML cannot represent
  /// it: only three control characters are valid, and two code points are not characters.
  static func append(_ value: String, to text: inout String) -> Bool {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      // A parser converts unescaped ones to spaces.
      case "\t": text += "&#9;"
      case "\n": text += "&#10;"
      case "\r": text += "&#13;"
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": return false
      default: text.unicodeScalars.append(scalar)
      }
    }
    return true
  }
}

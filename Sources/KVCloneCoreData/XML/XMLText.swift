/// Text in attributes of XML.
enum XMLText {
  /// Appends a value so that a reader gets exactly it; false, and nothing usable, where XML has no way to write it: of the control
  /// characters it has three, and two code points are no characters at all.
  static func append(_ value: String, to text: inout String) -> Bool {
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      // A reader makes spaces of them where they stand for themselves.
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

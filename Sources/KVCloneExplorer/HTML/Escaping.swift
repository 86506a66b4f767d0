/// Texts of a store in HTML, SVG and attributes.
enum Escaping {
  /// Appends a text that reads as itself: without markup, control characters or marks that change the direction.
  ///
  /// Control characters appear as their pictures (U+2400), and marks of direction and other invisible characters as
  /// their code points, because they could make one text look like another.
  static func append(_ value: String, to text: inout String) {
    if value.utf8.allSatisfy(isPlain) {
      text += value
      return
    }
    for scalar in value.unicodeScalars {
      switch scalar.value {
      case 0x26: text += "&amp;"
      case 0x3C: text += "&lt;"
      case 0x3E: text += "&gt;"
      case 0x22: text += "&quot;"
      case 0x27: text += "&#39;"
      default: if let sign = sign(for: scalar) { text += sign } else { text.unicodeScalars.append(scalar) }
      }
    }
  }

  /// Returns a text as a field with several lines shows it: without markup, but with line breaks.
  static func lines(_ value: String) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      if scalar != "\n", let sign = sign(for: scalar) { text += sign } else { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  /// The sign that is shown for a scalar; nil for one that is shown itself.
  private static func sign(for scalar: Unicode.Scalar) -> String? {
    switch scalar.value {
    case 0x0A: "↵"
    case 0x00...0x1F: Unicode.Scalar(0x2400 + scalar.value).map { String($0) } ?? "�"
    case 0x7F: "␡"
    case 0x80...0x9F, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2060...0x206F, 0xFEFF,
      0xFFF9...0xFFFB, 0xE0000...0xE007F:
      "⟨U+\(codePoint(scalar))⟩"
    default: nil
    }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7F && byte != 0x26 && byte != 0x3C && byte != 0x3E && byte != 0x22 && byte != 0x27
  }

  private static func codePoint(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

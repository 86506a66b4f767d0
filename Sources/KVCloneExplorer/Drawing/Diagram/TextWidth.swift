/// Estimates of the widths of texts, for drawings that have to place texts without a browser.
///
/// They are those of a wide sans serif font, so that texts also fit in others.
enum TextWidth {
  /// Returns the width of a text in pixels.
  static func estimate(_ text: String, size: Double, isBold: Bool = false) -> Double {
    var sum = 0.0
    for scalar in text.unicodeScalars { sum += width(scalar) }
    return sum * size * (isBold ? 1.1 : 1)
  }

  /// Returns a text, or its beginning with an ellipsis, that is not wider than `limit` pixels.
  static func cut(_ text: String, to limit: Double, size: Double, isBold: Bool = false) -> String {
    if text.utf8.count < 10_000, estimate(text, size: size, isBold: isBold) <= limit { return text }
    let scale = size * (isBold ? 1.1 : 1)
    var rest = limit - scale
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      rest -= width(scalar) * scale
      if rest < 0 { break }
      result.append(scalar)
    }
    return String(result) + "…"
  }

  /// In units of the font's size.
  private static func width(_ scalar: Unicode.Scalar) -> Double {
    switch scalar {
    case "i", "j", "l", "I", "|", "'", ".", ",", ":", ";", "!", " ": 0.34
    case "f", "r", "t", "(", ")", "[", "]", "-", "/", "\\", "\"", "·", "J": 0.43
    case "c", "k", "s", "v", "x", "y", "z", "?": 0.59
    case "w", "M", "W", "m", "@", "%", "…", "→": 1
    case "A"..."Z": 0.75
    case "\u{20}"..."\u{7E}": 0.65
    // Control characters and marks of direction are drawn as their names.
    case "\u{0}"..."\u{1F}", "\u{7F}": 1
    case "\u{80}"..."\u{9F}", "\u{61C}", "\u{200B}"..."\u{200F}", "\u{2028}"..."\u{202E}", "\u{2060}"..."\u{206F}",
      "\u{FEFF}", "\u{FFF9}"..."\u{FFFB}":
      6
    case "\u{E0000}"..."\u{E007F}": 8
    case "\u{A0}"..."\u{2FF}": 0.75
    default: 1.1
    }
  }
}

extension QueryTokenizer {
  /// Reads a text in quotation marks; the next scalar is the opening one.
  mutating func quoted() throws(QueryFormatError) -> String {
    let start = position
    let mark = scalars[position]
    position += 1
    var view = String.UnicodeScalarView()
    while let scalar = peek() {
      if scalar == mark {
        position += 1
        return String(view)
      }
      if scalar == "\\" {
        guard peek(1) != nil else { break }
        view.append(try escape())
      } else {
        view.append(scalar)
        position += 1
      }
    }
    throw error(.unclosedString, "the text that starts here has no closing quotation mark; add it", at: start)
  }

  /// Reads an escape sequence.
  private mutating func escape() throws(QueryFormatError) -> Unicode.Scalar {
    let start = position
    position += 2
    let letter = scalars[start + 1]
    switch letter {
    case "\\", "'", "\"": return letter
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "f": return "\u{c}"
    case "v": return "\u{b}"
    case "b": return "\u{8}"
    case "a": return "\u{7}"
    case "0"..."7":
      position -= 1
      var code: UInt32 = 0
      for _ in 0..<3 {
        guard let digit = peek(), ("0"..."7").contains(digit) else { break }
        code = code * 8 + (digit.value - 0x30)
        position += 1
      }
      return try scalar(code, at: start)
    case "x": return try scalar(hexadecimal(2, at: start), at: start)
    case "u": return try unit(at: start)
    case "U": return try scalar(hexadecimal(8, at: start), at: start)
    default:
      throw error(
        .invalidEscape, "a backslash starts an unknown escape sequence; write two backslashes for one", at: start)
    }
  }

  /// Reads the digits of `\u`, and a second `\u` for a surrogate pair.
  private mutating func unit(at start: Int) throws(QueryFormatError) -> Unicode.Scalar {
    let high = try hexadecimal(4, at: start)
    guard (0xD800..<0xDC00).contains(high), peek() == "\\", peek(1) == "u" else { return try scalar(high, at: start) }
    position += 2
    let low = try hexadecimal(4, at: start)
    guard (0xDC00..<0xE000).contains(low) else { return try scalar(high, at: start) }
    return try scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00), at: start)
  }

  private mutating func hexadecimal(_ count: Int, at start: Int) throws(QueryFormatError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<count {
      guard let scalar = peek(), scalar.isASCII, let digit = Character(scalar).hexDigitValue else {
        let message = "an escape sequence has too few digits; \\x requires 2, \\u 4 and \\U 8 hexadecimal digits"
        throw error(.invalidEscape, message, at: start)
      }
      // Eight digits fill 32 bits without overflow.
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }

  private func scalar(_ code: UInt32, at start: Int) throws(QueryFormatError) -> Unicode.Scalar {
    guard let scalar = Unicode.Scalar(code) else {
      throw error(.invalidEscape, "an escape sequence is not a valid character; write the character itself", at: start)
    }
    return scalar
  }

  /// Reads a number; the next scalar is a digit, or a point before one.
  mutating func number() throws(QueryFormatError) -> QueryToken {
    let start = position
    let token: QueryToken?
    if let radix = radix() {
      position += 2
      let digits = position
      while let scalar = peek(), QueryCharacters.continuesName(scalar) { position += 1 }
      // These literals are bit patterns, and an integer has 63 bits besides its sign.
      token = Int64(text(from: digits, to: position), radix: radix).map { .integer($0.magnitude) }
    } else {
      token = decimalNumber()
    }
    guard let token, peek().map(QueryCharacters.continuesName) != true else {
      let message =
        "a number has an invalid form, is too large, or has more than the 38 digits of a decimal; put texts in quotes, and "
        + "# before names"
      throw error(.invalidNumber, message, at: start)
    }
    return token
  }

  private func radix() -> Int? {
    guard peek() == "0" else { return nil }
    return switch peek(1) {
    case "x", "X": 16
    case "o", "O": 8
    case "b", "B": 2
    default: nil
    }
  }

  private mutating func decimalNumber() -> QueryToken? {
    let start = position
    var isWhole = true
    skipDigits()
    if peek() == ".", isDigit(peek(1)) {
      isWhole = false
      position += 1
      skipDigits()
    }
    if peek() == "e" || peek() == "E" {
      let signs = peek(1) == "+" || peek(1) == "-" ? 1 : 0
      if isDigit(peek(1 + signs)) {
        isWhole = false
        position += 1 + signs
        skipDigits()
      }
    }
    // With a leading zero, because Swift does not parse `.5`.
    let digits = "0" + text(from: start, to: position)
    if isWhole, let whole = UInt64(digits) { return .integer(whole) }
    guard let written = DecimalText(digits) else { return nil }
    // A number is exact: if no double has its value, all digits are kept.
    if !isWhole, let double = Double(digits), DecimalText(double.description) == written { return .real(double) }
    return written.value.map { .decimal($0) }
  }

  private mutating func skipDigits() { while isDigit(peek()) { position += 1 } }

  private func isDigit(_ scalar: Unicode.Scalar?) -> Bool { scalar.map { ("0"..."9").contains($0) } ?? false }
}

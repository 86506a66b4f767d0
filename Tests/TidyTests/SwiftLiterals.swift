/// Finds the string literals of a Swift source, without interpolations. Literals that are joined by `+` are one passage.
enum SwiftLiterals {
  static func passages(in source: String) -> [Passage] {
    var scanner = Scanner(Array(source.utf8))
    return scanner.scan().map { literals in
      Passage(
        lines: literals.flatMap { literal in
          literal.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().map {
            Passage.Line(number: literal.line + $0.offset, text: String($0.element), source: "")
          }
        }, isWrapped: false)
    }
  }

  private struct Literal {
    var line: Int
    var text: String
  }

  private struct Scanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// All literals, those that are joined together.
    mutating func scan() -> [[Literal]] {
      var found: [[Literal]] = []
      // Whether nothing but a plus and white space came after the last literal.
      var isJoined = false
      while let byte = next {
        if byte == UInt8(ascii: "/"), starts("//") {
          while let byte = next, byte != UInt8(ascii: "\n") { advance() }
        } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#") && startsRaw {
          let literal = literal()
          if isJoined, let last = found.indices.last { found[last].append(literal) } else { found.append([literal]) }
          isJoined = false
          skipSpace()
          if next == UInt8(ascii: "+") {
            advance()
            skipSpace()
            isJoined = next == UInt8(ascii: "\"") || startsRaw
          }
        } else {
          advance()
        }
      }
      return found
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Whether a raw literal begins here, `#"`.
    private var startsRaw: Bool {
      var index = position
      while index < bytes.count, bytes[index] == UInt8(ascii: "#") { index += 1 }
      return index > position && index < bytes.count && bytes[index] == UInt8(ascii: "\"")
    }

    private func starts(_ text: String) -> Bool {
      var index = position
      for byte in text.utf8 {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
      }
      return true
    }

    private mutating func advance(_ count: Int = 1) {
      for _ in 0..<count where position < bytes.count {
        if bytes[position] == UInt8(ascii: "\n") { line += 1 }
        position += 1
      }
    }

    private mutating func skipSpace() {
      while let byte = next, [UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t")].contains(byte) { advance() }
    }

    private mutating func literal() -> Literal {
      let start = line
      var pounds = 0
      while next == UInt8(ascii: "#") {
        pounds += 1
        advance()
      }
      let quote = starts("\"\"\"") ? "\"\"\"" : "\""
      let end = quote + String(repeating: "#", count: pounds)
      let escape = "\\" + String(repeating: "#", count: pounds)
      advance(quote.utf8.count)
      var text: [UInt8] = []
      let isLong = quote.count > 1
      while let byte = next, isLong || byte != UInt8(ascii: "\n") {
        if byte == UInt8(ascii: "\""), starts(end) { break }
        guard byte == UInt8(ascii: "\\"), starts(escape) else {
          text.append(byte)
          advance()
          continue
        }
        advance(escape.utf8.count)
        if next == UInt8(ascii: "(") {
          interpolation()
          // Something stands there, so that words around it are not joined.
          text.append(UInt8(ascii: "_"))
        } else {
          text.append(next == UInt8(ascii: "\n") ? UInt8(ascii: "\n") : UInt8(ascii: " "))
          advance()
        }
      }
      advance(end.utf8.count)
      return Literal(line: start, text: String(decoding: text, as: UTF8.self))
    }

    /// Skips what is in parentheses; literals in it are not looked at.
    private mutating func interpolation() {
      var depth = 0
      while let byte = next {
        if byte == UInt8(ascii: "\"") {
          _ = literal()
          continue
        }
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") { depth -= 1 }
        advance()
        if depth == 0 { return }
      }
    }
  }
}

/// The tokens of one Swift source: without comments, directives and the text of literals.
///
/// The code inside `\(…)` of a string literal is kept, between ``Kind/interpolation`` and its partner.
struct SourceTokens {
  enum Kind: UInt8 {
    case name, escapedName, symbol, string, number, interpolation
  }

  struct Token {
    var kind: Kind
    /// Whether white space or the start of a line precedes the token.
    var isSpaced: Bool
    var isFirstOnLine: Bool
    var line: Int32
    /// The number of a name, the bytes of a symbol, or the first digit of a number.
    var code: Int32
    /// The index of the bracket that belongs to this one, or -1.
    var partner: Int32 = -1
  }

  private(set) var all: [Token] = []
  private(set) var lineCount = 0

  init(_ source: String, names: SourceNames) {
    var source = source
    all.reserveCapacity(source.utf8.count / 5)
    source.withUTF8 { bytes in
      var lexer = SourceLexer(bytes: bytes, names: names)
      lexer.scan()
      all = lexer.tokens
      lineCount = Int(lexer.line) - 1
    }
  }
}

/// The bytes of a symbol as one number. Literals, because they cost nothing without the optimizer.
enum Symbol {
  static let parenthesis: Int32 = 40  // (
  static let parenthesisEnd: Int32 = 41  // )
  static let bracket: Int32 = 91  // [
  static let bracketEnd: Int32 = 93  // ]
  static let brace: Int32 = 123  // {
  static let braceEnd: Int32 = 125  // }
  static let less: Int32 = 60  // <
  static let greater: Int32 = 62  // >
  static let dot: Int32 = 46  // .
  static let comma: Int32 = 44  // ,
  static let colon: Int32 = 58  // :
  static let semicolon: Int32 = 59  // ;
  static let assignment: Int32 = 61  // =
  static let question: Int32 = 63  // ?
  static let exclamation: Int32 = 33  // !
  static let at: Int32 = 64  // @
  static let hash: Int32 = 35  // #
  static let and: Int32 = 38  // &
  static let tilde: Int32 = 126  // ~
  static let plus: Int32 = 43  // +
  static let minus: Int32 = 45  // -
  static let backslash: Int32 = 92  // \
  static let dollar: Int32 = 36  // $
  static let arrow: Int32 = 11582  // ->
  static let equal: Int32 = 15677  // ==
  static let notEqual: Int32 = 8509  // !=
  static let nilCoalescing: Int32 = 16191  // ??
  static let range: Int32 = 11822  // ..
  static let lessOrEqual: Int32 = 15421  // <=
  static let greaterOrEqual: Int32 = 15933  // >=
  static let conjunction: Int32 = 9766  // &&
  static let disjunction: Int32 = 31868  // ||
}

/// Splits bytes into tokens. Works on raw memory, for speed without the optimizer.
struct SourceLexer {
  private let bytes: UnsafePointer<UInt8>
  private let end: Int
  private let names: SourceNames
  private(set) var tokens: [SourceTokens.Token] = []
  private var position = 0
  private(set) var line: Int32 = 1
  private var isSpaced = true
  private var isFirst = true
  private var open: [Int] = []

  init(bytes: UnsafeBufferPointer<UInt8>, names: SourceNames) {
    self.bytes = bytes.baseAddress!
    end = bytes.count
    self.names = names
    tokens.reserveCapacity(bytes.count / 5)
  }

  mutating func scan() { scan(untilClosed: false) }

  /// Reads tokens to the end, or to the parenthesis that closes an interpolation.
  private mutating func scan(untilClosed isNested: Bool) {
    let depth = open.count
    while position < end {
      let byte = bytes[position]
      if byte == 10 {
        position &+= 1
        line &+= 1
        isSpaced = true
        isFirst = true
      } else if byte == 32 || byte == 9 || byte == 13 {
        position &+= 1
        isSpaced = true
      } else if Self.isNameByte(byte) {
        if byte >= 48, byte <= 57 { number() } else { name() }
      } else if byte == 47, peek(1) == 47 {
        while position < end, bytes[position] != 10 { position &+= 1 }
      } else if byte == 47, peek(1) == 42 {
        blockComment()
      } else if byte == 34 {
        string(pounds: 0)
      } else if byte == 35 {
        pound()
      } else if byte == 96 {
        escapedName()
      } else {
        symbol(byte)
        if isNested, open.count < depth { return }
      }
    }
  }

  private func peek(_ offset: Int) -> UInt8 { position + offset < end ? bytes[position + offset] : 0 }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte >= 97 && byte <= 122 || byte >= 65 && byte <= 90 || byte >= 48 && byte <= 57 || byte == 95 || byte >= 128
  }

  private mutating func add(_ kind: SourceTokens.Kind, _ code: Int32) {
    tokens.append(SourceTokens.Token(kind: kind, isSpaced: isSpaced, isFirstOnLine: isFirst, line: line, code: code))
    isSpaced = false
    isFirst = false
  }

  private mutating func name() {
    let start = position
    while position < end, Self.isNameByte(bytes[position]) { position &+= 1 }
    add(.name, names.number(bytes + start, position - start))
  }

  private mutating func escapedName() {
    position += 1
    let start = position
    while position < end, bytes[position] != 96, bytes[position] != 10 { position &+= 1 }
    add(.escapedName, names.number(bytes + start, position - start))
    position += 1
  }

  private mutating func number() {
    let digit = Int32(bytes[position]) - 48
    while position < end {
      let byte = bytes[position]
      if byte == 46 {
        guard peek(1) >= 48, peek(1) <= 57 else { break }
      } else if !Self.isNameByte(byte) {
        break
      }
      position &+= 1
    }
    add(.number, digit)
  }

  private mutating func blockComment() {
    var depth = 0
    repeat {
      if bytes[position] == 47, peek(1) == 42 {
        depth += 1
        position += 2
      } else if bytes[position] == 42, peek(1) == 47 {
        depth -= 1
        position += 2
      } else {
        if bytes[position] == 10 { line += 1 }
        position += 1
      }
    } while depth > 0 && position < end
  }

  /// A raw string, a directive that is skipped up to the end of its line, or the start of a macro.
  private mutating func pound() {
    var pounds = 1
    while peek(pounds) == 35 { pounds += 1 }
    if peek(pounds) == 34 {
      position += pounds
      return string(pounds: pounds)
    }
    let starts = [(105, 102), (101, 108), (101, 110), (115, 111)]  // #if, #else and #elseif, #endif, #sourceLocation
    if isFirst, starts.contains(where: { $0.0 == Int(peek(1)) && $0.1 == Int(peek(2)) }) {
      while position < end, bytes[position] != 10 { position &+= 1 }
    } else {
      symbol(35)
    }
  }

  private mutating func string(pounds: Int) {
    add(.string, 0)
    let isLong = peek(1) == 34 && peek(2) == 34
    let quotes = isLong ? 3 : 1
    position += quotes
    while position < end {
      let byte = bytes[position]
      if byte == 10 {
        guard isLong else { return }
        line &+= 1
      } else if byte == 34, closes(quotes: quotes, pounds: pounds) {
        position += quotes + pounds
        return
      } else if byte == 92, isEscape(pounds) {
        position += 1 + pounds
        if peek(0) == 40 {
          symbol(40)
          tokens[tokens.count - 1].kind = .interpolation
          scan(untilClosed: true)
          continue
        }
        if peek(0) == 10 { line += 1 }
      }
      position &+= 1
    }
  }

  private func isEscape(_ pounds: Int) -> Bool {
    var index = 1
    while index <= pounds {
      if peek(index) != 35 { return false }
      index += 1
    }
    return true
  }

  private func closes(quotes: Int, pounds: Int) -> Bool {
    var index = 1
    while index < quotes {
      if peek(index) != 34 { return false }
      index += 1
    }
    while index < quotes + pounds {
      if peek(index) != 35 { return false }
      index += 1
    }
    return true
  }

  private mutating func symbol(_ byte: UInt8) {
    let next = peek(1)
    var code = Int32(byte)
    var length = 1
    switch (byte, next) {
    case (45, 62), (61, 61), (33, 61), (60, 61), (62, 61), (63, 63), (38, 38), (124, 124),
      (43, 61), (45, 61), (42, 61), (47, 61), (124, 61), (38, 61), (37, 61), (46, 46):
      code = code << 8 | Int32(next)
      length = (byte == 46 || next == 61) && (peek(2) == 46 || peek(2) == 60 && byte == 46 || peek(2) == 61) ? 3 : 2
    default: break
    }
    add(.symbol, code)
    position += length
    match(code)
  }

  /// Connects a closing bracket with the one that it closes.
  private mutating func match(_ code: Int32) {
    let index = tokens.count - 1
    if code == Symbol.parenthesis || code == Symbol.bracket || code == Symbol.brace {
      open.append(index)
    } else if code == Symbol.parenthesisEnd || code == Symbol.bracketEnd || code == Symbol.braceEnd {
      guard let start = open.popLast() else { return }
      tokens[start].partner = Int32(index)
      tokens[index].partner = Int32(start)
    }
  }
}

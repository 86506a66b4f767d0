/// Splits a format into tokens, and consumes the argument of each placeholder.
///
/// Works on Unicode scalars: a quotation mark ends a text even if a combining mark follows it.
struct QueryTokenizer {
  let scalars: [Unicode.Scalar]
  /// The index of the next scalar.
  var position = 0
  private let arguments: [QueryArgument]
  private var usedCount = 0
  /// The column of each scalar; empty if each scalar is a character.
  private let columns: [Int]

  init(format: String, arguments: [QueryArgument]) {
    scalars = Array(format.unicodeScalars)
    self.arguments = arguments
    var columns: [Int] = []
    // A line break of two scalars is the only ASCII character with more than one.
    if !format.utf8.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) {
      for (index, character) in format.enumerated() { columns += character.unicodeScalars.map { _ in index + 1 } }
    }
    self.columns = columns
  }

  /// The column of a scalar, in characters from 1.
  func column(of offset: Int) -> Int { offset < columns.count ? columns[offset] : offset + 1 }

  /// Whether unused arguments remain.
  var hasArguments: Bool { usedCount < arguments.count }

  /// The scalar at a distance from the next one; nil at the end.
  func peek(_ distance: Int = 0) -> Unicode.Scalar? {
    position + distance < scalars.count ? scalars[position + distance] : nil
  }

  /// An error at a scalar.
  func error(_ kind: QueryFormatError.Kind, _ message: String, at offset: Int) -> QueryFormatError {
    QueryFormatError(kind: kind, message: message, column: text(from: 0, to: offset).count + 1)
  }

  func text(from start: Int, to end: Int) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars[start..<end])
    return String(view)
  }

  /// The next token, and the index of its first scalar.
  mutating func next() throws(QueryFormatError) -> (token: QueryToken, start: Int) {
    while let scalar = peek(), scalar.properties.isWhitespace { position += 1 }
    let start = position
    guard let scalar = peek() else { return (.end, start) }
    if QueryCharacters.beginsName(scalar) {
      let word = name()
      return (.word(word, QueryKeyword(word: word)), start)
    }
    switch scalar {
    case "0"..."9": return (try number(), start)
    case ".":
      if let digit = peek(1), ("0"..."9").contains(digit) { return (try number(), start) }
    case "'", "\"": return (.text(try quoted()), start)
    case "%": return (try place(), start)
    case "$":
      position += 1
      guard let first = peek(), QueryCharacters.beginsName(first) else {
        throw error(.unexpectedToken, "'$' is not followed by a name; write $NAME", at: start)
      }
      return (.variable(name()), start)
    case "@":
      position += 1
      guard let first = peek(), QueryCharacters.beginsName(first) else {
        throw error(
          .unexpectedToken, "'@' is not followed by a name; write @count, @sum or another operator", at: start)
      }
      return (.collectionOperator(name()), start)
    case "#": return (.name(try escapedName()), start)
    default: break
    }
    return (.symbol(try symbol(scalar)), start)
  }

  /// Consumes the argument of the placeholder that starts at a scalar.
  mutating func takeArgument(at start: Int) throws(QueryFormatError) -> QueryArgument {
    guard usedCount < arguments.count else {
      let message = "there are only \(arguments.count) arguments; pass one per placeholder, or put texts in quotes"
      throw error(.tooFewArguments, message, at: start)
    }
    usedCount += 1
    return arguments[usedCount - 1]
  }

  private mutating func name() -> String {
    let start = position
    while let scalar = peek(), QueryCharacters.continuesName(scalar) { position += 1 }
    return text(from: start, to: position)
  }

  private mutating func escapedName() throws(QueryFormatError) -> String {
    let start = position
    position += 1
    switch peek() {
    case "'", "\"": return try quoted()
    case let first? where QueryCharacters.beginsName(first): return name()
    default: throw error(.unexpectedToken, "'#' is not followed by a name; write #NAME", at: start)
    }
  }

  private mutating func symbol(_ first: Unicode.Scalar) throws(QueryFormatError) -> QuerySymbol {
    if let second = peek(1), let symbol = Self.pair(first, second) {
      position += 2
      return symbol
    }
    if first == "=" {
      position += 1
      return .equal
    }
    guard let symbol = QuerySymbol(rawValue: String(first)) else {
      let message = "a character is not valid here; put texts in quotes, and # before names"
      throw error(.unexpectedToken, message, at: position)
    }
    position += 1
    return symbol
  }

  private static func pair(_ first: Unicode.Scalar, _ second: Unicode.Scalar) -> QuerySymbol? {
    switch (first, second) {
    case ("=", "="): .equal
    case ("!", "="), ("<", ">"): .notEqual
    case ("<", "="), ("=", "<"): .lessOrEqual
    case (">", "="), ("=", ">"): .greaterOrEqual
    case ("&", "&"): .and
    case ("|", "|"): .or
    case ("*", "*"): .power
    case (":", "="): .assign
    case ("<", "<"): .leftShift
    case (">", ">"): .rightShift
    default: nil
    }
  }
}

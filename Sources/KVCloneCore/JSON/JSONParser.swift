/// Parses one JSON document (RFC 8259) from UTF-8 bytes: strict, exact, and without a trap for any bytes.
package struct JSONParser: ~Escapable {
  /// The maximum nesting of arrays and objects, because parsing recurses.
  package static var depthLimit: Int { 64 }
  /// Objects with more members than this check their names in a set.
  private static var linearLimit: Int { 16 }

  private let bytes: Span<UInt8>
  package var position: Int
  private var depth = 0
  /// The number of values that may still be parsed: each takes memory, even one of two bytes.
  private var valuesLeft: Int

  /// - Parameters:
  ///   - position: the start of the document.
  ///   - valueLimit: the maximum number of values.
  @_lifetime(copy bytes)
  package init(_ bytes: Span<UInt8>, from position: Int = 0, valueLimit: Int = .max) {
    self.bytes = bytes
    self.position = position
    valuesLeft = valueLimit
  }

  /// Parses the bytes as exactly one document.
  package static func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes)
    return try parser.document()
  }

  /// Parses a string as exactly one document.
  package static func parse(_ text: String) throws(JSONError) -> JSONValue {
    let bytes = Array(text.utf8)
    return try parse(bytes.span)
  }

  private mutating func document() throws(JSONError) -> JSONValue {
    let result = try value()
    try end()
    return result
  }

  /// Checks that only white space is left.
  package mutating func end() throws(JSONError) {
    skipSpace()
    if position < bytes.count { throw failure(.trailingBytes) }
  }

  private func failure(_ kind: JSONError.Kind) -> JSONError {
    JSONError(kind: kind, column: position + 1)
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  /// Returns the next byte that is not white space, without consuming it.
  package mutating func next() throws(JSONError) -> UInt8 {
    skipSpace()
    guard position < bytes.count else { throw failure(.unexpectedEnd) }
    return bytes[position]
  }

  package mutating func value() throws(JSONError) -> JSONValue {
    if valuesLeft == 0 { throw failure(.tooManyValues) }
    valuesLeft -= 1
    switch try next() {
    case UInt8(ascii: "{"): return .object(try object())
    case UInt8(ascii: "["): return .array(try array())
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "t"):
      try literal("true")
      return .boolean(true)
    case UInt8(ascii: "f"):
      try literal("false")
      return .boolean(false)
    case UInt8(ascii: "n"):
      try literal("null")
      return .null
    default: throw failure(.unexpectedByte)
    }
  }

  private mutating func literal(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard position < bytes.count else { throw failure(.unexpectedEnd) }
      guard bytes[position] == word.utf8Start[index] else { throw failure(.unexpectedByte) }
      position += 1
    }
  }

  /// Consumes the start of an array or object; returns false for an empty one after consuming its end too.
  package mutating func begin(_ end: UInt8) throws(JSONError) -> Bool {
    if depth == JSONParser.depthLimit { throw failure(.tooDeep) }
    depth += 1
    position += 1
    guard try next() == end else { return true }
    position += 1
    depth -= 1
    return false
  }

  /// Consumes the separator after an element or member; returns false at the end.
  package mutating func hasMore(_ end: UInt8) throws(JSONError) -> Bool {
    switch try next() {
    case UInt8(ascii: ","):
      position += 1
      return true
    case end:
      position += 1
      depth -= 1
      return false
    default: throw failure(.unexpectedByte)
    }
  }

  private mutating func array() throws(JSONError) -> [JSONValue] {
    var result: [JSONValue] = []
    guard try begin(UInt8(ascii: "]")) else { return result }
    repeat { result.append(try value()) } while try hasMore(UInt8(ascii: "]"))
    return result
  }

  private mutating func object() throws(JSONError) -> JSONObject {
    var result = JSONObject()
    var names: Set<String> = []
    guard try begin(UInt8(ascii: "}")) else { return result }
    repeat {
      let name = try memberName(after: result, &names)
      result.append(name, try value())
    } while try hasMore(UInt8(ascii: "}"))
    return result
  }

  /// Consumes a member's name and the colon.
  ///
  /// - Parameter names: the names of the previous members, once there are many.
  package mutating func memberName(after object: JSONObject, _ names: inout Set<String>) throws(JSONError) -> String {
    guard try next() == UInt8(ascii: "\"") else { throw failure(.unexpectedByte) }
    let name = try string()
    if object.members.count == JSONParser.linearLimit { names = Set(object.members.map(\.name)) }
    let isKnown = names.isEmpty ? object[name] != nil : !names.insert(name).inserted
    if isKnown { throw failure(.duplicateKey) }
    guard try next() == UInt8(ascii: ":") else { throw failure(.unexpectedByte) }
    position += 1
    return name
  }
}

// MARK: - Strings

extension JSONParser {
  /// Parses a string from its opening quote on. Most have no escapes, and are copied at once.
  private mutating func string() throws(JSONError) -> String {
    position += 1
    let start = position
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        let text = try text(bytes.extracting(start..<position))
        position += 1
        return text
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      if byte < 0x20 { throw failure(.controlCharacter) }
      position += 1
    }
    throw failure(.unexpectedEnd)
  }

  /// Skips a string without checking its content, which a later parse checks.
  package mutating func skipString() throws(JSONError) {
    position += 1
    while position < bytes.count {
      let byte = bytes[position]
      position += byte == UInt8(ascii: "\\") ? 2 : 1
      if byte == UInt8(ascii: "\"") { return }
    }
    position = bytes.count
    throw failure(.unexpectedEnd)
  }

  private func text(_ slice: Span<UInt8>) throws(JSONError) -> String {
    do {
      return String(copying: try UTF8Span(validating: slice))
    } catch {
      throw failure(.invalidUTF8)
    }
  }

  private mutating func escapedString(from start: Int) throws(JSONError) -> String {
    var unescaped: [UInt8] = []
    for index in start..<position { unescaped.append(bytes[index]) }
    while position < bytes.count {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        let result = try text(unescaped.span)
        position += 1
        return result
      }
      if byte < 0x20 { throw failure(.controlCharacter) }
      position += 1
      if byte == UInt8(ascii: "\\") {
        try escape(into: &unescaped)
      } else {
        unescaped.append(byte)
      }
    }
    throw failure(.unexpectedEnd)
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
    guard position < bytes.count else { throw failure(.unexpectedEnd) }
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): text.append(contentsOf: String(try escapedScalar()).utf8)
    default:
      position -= 1
      throw failure(.invalidEscape)
    }
  }

  /// Parses `\uXXXX`, or two of them for a scalar above U+FFFF. Rejects an unpaired surrogate.
  private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
    let first = try fourHexDigits()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { throw failure(.invalidEscape) }
    position += 2
    let second = try fourHexDigits()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw failure(.invalidEscape) }
    return scalar
  }

  private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
    var result: UInt32 = 0
    for _ in 0..<4 {
      guard position < bytes.count else { throw failure(.unexpectedEnd) }
      guard let digit = hexDigit(bytes[position]) else { throw failure(.invalidEscape) }
      result = result << 4 | digit
      position += 1
    }
    return result
  }

  private func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }
}

// MARK: - Numbers

extension JSONParser {
  /// Consumes digits; throws if the first character is not a digit.
  private mutating func digits() throws(JSONError) {
    let start = position
    while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
    if position == start { throw failure(position < bytes.count ? .invalidNumber : .unexpectedEnd) }
  }

  private mutating func number() throws(JSONError) -> JSONValue {
    let start = position
    let isNegative = bytes[position] == UInt8(ascii: "-")
    if isNegative { position += 1 }
    let first = position
    try digits()
    if bytes[first] == UInt8(ascii: "0"), position > first + 1 { throw failure(.invalidNumber) }
    var isInteger = true
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      try digits()
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
        position += 1
      }
      try digits()
    }
    if isInteger, let integer = integer(first..<position, isNegative: isNegative) { return .integer(integer) }
    guard let double = Double(try text(bytes.extracting(start..<position))), double.isFinite else {
      throw failure(.numberOutOfRange)
    }
    return .number(double)
  }

  /// The digits as a 64-bit integer; nil if it does not fit, or is −0.
  private func integer(_ range: Range<Int>, isNegative: Bool) -> Int64? {
    // Counted downwards, because Int64 has one more negative value.
    var result: Int64 = 0
    for index in range {
      let (product, overflow) = result.multipliedReportingOverflow(by: 10)
      let (sum, underflow) = product.subtractingReportingOverflow(Int64(bytes[index] &- UInt8(ascii: "0")))
      if overflow || underflow { return nil }
      result = sum
    }
    if isNegative { return result == 0 ? nil : result }
    return result == Int64.min ? nil : -result
  }
}

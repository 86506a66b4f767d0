/// JSON with numbers kept as text, because converting them to Double would lose digits that tests compare.
enum ReferenceJSON {
  case null
  case boolean(Bool)
  case number(String)
  case string(String)
  case array([ReferenceJSON])
  case object([String: ReferenceJSON])
}

/// An error in the NDJSON of a graph.
public struct ReferenceFormatError: Error, CustomStringConvertible {
  /// The error and, if known, its line.
  public let description: String

  init(_ description: String) { self.description = description }
}

extension ReferenceJSON {
  /// Parses one JSON value that spans the whole of `text`.
  init(parsing text: String) throws {
    var parser = ReferenceJSONParser(bytes: Array(text.utf8))
    self = try parser.value()
    parser.skipSpace()
    guard parser.isAtEnd else { throw ReferenceFormatError("text after the JSON value") }
  }

  /// The value as text, keys sorted, no spaces.
  var text: String {
    switch self {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .number(let digits): digits
    case .string(let value): Self.quoted(value)
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { Self.quoted($0.key) + ":" + $0.value.text }
        .joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ value: String) -> String {
    var result = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// A recursive-descent parser for JSON. The depth is not limited, because the input comes from tests.
private struct ReferenceJSONParser {
  let bytes: [UInt8]
  var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { position == bytes.count }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
  }

  private mutating func expect(_ character: Character) throws {
    guard let byte = next, byte == character.asciiValue else {
      throw ReferenceFormatError("expected \(character) at byte \(position)")
    }
    position += 1
  }

  private mutating func take(_ word: String) -> Bool {
    guard bytes[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    return true
  }

  mutating func value() throws -> ReferenceJSON {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try array()
    case UInt8(ascii: "\""): return .string(try string())
    default: break
    }
    if take("null") { return .null }
    if take("true") { return .boolean(true) }
    if take("false") { return .boolean(false) }
    let start = position
    while let byte = next, "+-.eE0123456789".utf8.contains(byte) { position += 1 }
    let digits = String(decoding: bytes[start..<position], as: UTF8.self)
    guard Double(digits) != nil else { throw ReferenceFormatError("expected a value at byte \(start)") }
    return .number(digits)
  }

  private mutating func object() throws -> ReferenceJSON {
    try expect("{")
    var members: [String: ReferenceJSON] = [:]
    skipSpace()
    if next == UInt8(ascii: "}") { return try closing("}", .object(members)) }
    while true {
      skipSpace()
      let key = try string()
      skipSpace()
      try expect(":")
      let member = try value()
      guard members.updateValue(member, forKey: key) == nil else {
        throw ReferenceFormatError("the key \(key) occurs twice")
      }
      skipSpace()
      if next == UInt8(ascii: "}") { return try closing("}", .object(members)) }
      try expect(",")
    }
  }

  private mutating func array() throws -> ReferenceJSON {
    try expect("[")
    var values: [ReferenceJSON] = []
    skipSpace()
    if next == UInt8(ascii: "]") { return try closing("]", .array(values)) }
    while true {
      values.append(try value())
      skipSpace()
      if next == UInt8(ascii: "]") { return try closing("]", .array(values)) }
      try expect(",")
    }
  }

  private mutating func closing(_ character: Character, _ value: ReferenceJSON) throws -> ReferenceJSON {
    try expect(character)
    return value
  }

  private mutating func string() throws -> String {
    try expect("\"")
    var units: [UInt8] = []
    while let byte = next {
      position += 1
      if byte == UInt8(ascii: "\"") {
        guard let text = String(validating: units, as: UTF8.self) else { throw ReferenceFormatError("not UTF-8") }
        return text
      }
      if byte == UInt8(ascii: "\\") {
        units.append(contentsOf: String(try escaped()).utf8)
      } else {
        units.append(byte)
      }
    }
    throw ReferenceFormatError("a string has no end")
  }

  private mutating func escaped() throws -> Unicode.Scalar {
    guard let byte = next else { throw ReferenceFormatError("a string has no end") }
    position += 1
    switch byte {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "u"):
      let high = try hexUnit()
      if let scalar = Unicode.Scalar(high) { return scalar }
      try expect("\\")
      try expect("u")
      let low = try hexUnit()
      guard (0xD800..<0xDC00).contains(high), (0xDC00..<0xE000).contains(low),
        let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
      else { throw ReferenceFormatError("half a surrogate pair") }
      return scalar
    default: return Unicode.Scalar(byte)
    }
  }

  private mutating func hexUnit() throws -> UInt32 {
    guard position + 4 <= bytes.count,
      let unit = UInt32(String(decoding: bytes[position..<(position + 4)], as: UTF8.self), radix: 16)
    else { throw ReferenceFormatError("expected four hex digits at byte \(position)") }
    position += 4
    return unit
  }
}

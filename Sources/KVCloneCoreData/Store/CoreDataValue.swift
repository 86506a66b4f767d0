import Foundation
package import KVCloneModel

/// Core Data's conversion of a column's value to an attribute's.
///
/// Core Data reads the C type for the attribute's type from SQLite (`sqlite3_column_int64`, `_double`, `_text`,
/// `_blob`), and uses SQLite's conversion of the stored value: the number at the start of a text, the digits of a
/// number as text, the bytes of a text. The table is in FromCoreData.md. A value that does not fit the attribute's type
/// is rejected, where Core Data would truncate it or read beyond it.
package enum CoreDataValue {
  /// Why a column's value is not valid for the attribute.
  package enum Refusal: Error, Sendable {
    case wrongType(String)
    case outOfRange(String)
  }

  /// A converted value.
  package struct Reading: Hashable, Sendable {
    package let value: AttributeValue
    /// Whether the conversion lost nothing.
    package let isExact: Bool
  }

  /// A decimal number has 38 digits, and at most 165 with all zeros written out.
  private static let longestDecimal = 400
  /// The maximum number of bytes in a value that are parsed as a number, like SQLite does with a text.
  package static let numberLimit = 1_024

  /// The size of a reference to a file: 02, a name, and a zero byte.
  package static let externalReferenceLength = 38

  /// Converts like `value`, and returns whether that was exact.
  package static func reading(
    _ stored: SQLiteValue, of attribute: AttributeDescription
  ) throws(Refusal) -> Reading? {
    if stored == .null { return nil }
    if case .unreadableText(let problem) = stored {
      switch problem {
      case .encoding: throw .wrongType("text with bytes that are invalid in the database's encoding")
      case .length: throw .outOfRange("text of more than \(SQLiteScan.textLimit) bytes")
      }
    }
    switch attribute.type {
    case .integer16: return try integer(stored, Int64(Int16.min)...Int64(Int16.max))
    case .integer32: return try integer(stored, Int64(Int32.min)...Int64(Int32.max))
    case .integer64: return try integer(stored, Int64.min...Int64.max)
    case .boolean:
      let (number, isExact) = try SQLiteNumber.integer(stored)
      return Reading(value: .boolean(number != 0), isExact: isExact && (0...1).contains(number))
    case .double:
      let (number, isExact) = try SQLiteNumber.real(stored)
      return Reading(value: .double(number), isExact: isExact)
    case .float:
      let (number, isExact) = try SQLiteNumber.real(stored)
      return Reading(value: .float(Float(number)), isExact: isExact && Float(number).isFinite == number.isFinite)
    case .date:
      let (number, isExact) = try SQLiteNumber.real(stored)
      return Reading(value: .date(Date(timeIntervalSinceReferenceDate: number)), isExact: isExact)
    case .decimal: return Reading(value: .decimal(try decimal(stored)), isExact: true)
    case .string: return Reading(value: .string(try text(stored)), isExact: true)
    case .uri: return Reading(value: .uri(try text(stored)), isExact: true)
    case .uuid: return Reading(value: .uuid(try uuid(stored)), isExact: true)
    case .binary: return Reading(value: .binary(Data(try bytes(stored))), isExact: true)
    case .transformable: return Reading(value: .transformable(Data(try bytes(stored))), isExact: true)
    case .composite, .undefined: throw wrongType(stored, "nothing")
    }
  }

  /// The name of the file that bytes refer to; nil if they are not a reference.
  package static func externalName(_ bytes: [UInt8]) -> String? {
    guard bytes.count == externalReferenceLength, bytes.first == 2, bytes.last == 0 else { return nil }
    let name = bytes[1..<bytes.count - 1]
    let isPlain = name.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isPlain ? String(decoding: name, as: UTF8.self) : nil
  }

  fileprivate static func wrongType(_ stored: SQLiteValue, _ wanted: String) -> Refusal {
    .wrongType("\(stored.kind) instead of \(wanted)")
  }

  /// Core Data would keep the lower bits of a number that is too large.
  private static func integer(_ stored: SQLiteValue, _ range: ClosedRange<Int64>) throws(Refusal) -> Reading {
    let (number, isExact) = try SQLiteNumber.integer(stored)
    guard range.contains(number) else {
      throw .outOfRange("an integer outside \(range.lowerBound) … \(range.upperBound)")
    }
    return Reading(value: .integer(number), isExact: isExact)
  }

  private static func text(_ stored: SQLiteValue) throws(Refusal) -> String {
    switch stored {
    case .text(let text): return text
    case .integer(let number): return String(number)
    case .real(let number): return SQLiteNumber.text(number)
    case .blob(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw .wrongType("bytes that are not UTF-8 instead of text")
      }
      return text
    case .longBlob, .null, .unreadableText: throw wrongType(stored, "text")
    }
  }

  private static func bytes(_ stored: SQLiteValue) throws(Refusal) -> [UInt8] {
    switch stored {
    case .blob(let bytes): return bytes
    case .text(let text): return Array(text.utf8)
    case .integer(let number): return Array(String(number).utf8)
    case .real(let number): return Array(SQLiteNumber.text(number).utf8)
    case .longBlob, .null, .unreadableText: throw wrongType(stored, "bytes")
    }
  }

  private static func decimal(_ stored: SQLiteValue) throws(Refusal) -> Decimal {
    switch stored {
    case .integer(let number): return Decimal(number)
    case .real(let number):
      guard number.isFinite, let value = DecimalText(number.description)?.value else {
        throw .outOfRange("a number outside the range of a Decimal")
      }
      return value
    case .text, .blob:
      let text = try text(stored)
      guard text.utf8.count <= longestDecimal else { throw .outOfRange("text that is too long for a decimal number") }
      if text.uppercased() == "NAN" { return .nan }
      guard let number = DecimalText(text, isLoose: true) else { throw .wrongType("text that is not a decimal number") }
      // Core Data would round it.
      guard let value = number.value else {
        throw .outOfRange("a decimal number with \(DecimalText.range)")
      }
      return value
    default: throw wrongType(stored, "a decimal number")
    }
  }

  private static func uuid(_ stored: SQLiteValue) throws(Refusal) -> UUID {
    if case .text(let text) = stored, let value = UUID(uuidString: text) { return value }
    switch stored {
    case .blob(let bytes) where bytes.count == 16: return uuid(bytes)
    case .text(let text) where text.utf8.count == 16: return uuid(Array(text.utf8))
    case .blob: throw .wrongType("bytes that are not the 16 bytes of a UUID")
    case .text: throw .wrongType("text that is not a UUID")
    default: throw wrongType(stored, "the 16 bytes of a UUID")
    }
  }

  private static func uuid(_ bytes: [UInt8]) -> UUID {
    bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }
}

/// Numbers in SQLite's conversions.
enum SQLiteNumber {
  /// Converts like `sqlite3_column_int64`: a floating-point number is truncated, and clamped to the range; a text
  /// counts as the integer that it starts with, else 0; bytes are a text.
  static func integer(_ stored: SQLiteValue) throws(CoreDataValue.Refusal) -> (number: Int64, isExact: Bool) {
    switch stored {
    case .integer(let number): return (number, true)
    case .real(let number):
      return (Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max), Int64(exactly: number) != nil)
    case .text(let text): return wholeNumber(Array(text.utf8))
    case .blob(let bytes): return wholeNumber(bytes)
    case .longBlob, .null, .unreadableText: throw CoreDataValue.wrongType(stored, "an integer")
    }
  }

  /// Converts like `sqlite3_column_double`: a text counts as the number that it starts with, else 0; bytes are a text.
  static func real(_ stored: SQLiteValue) throws(CoreDataValue.Refusal) -> (number: Double, isExact: Bool) {
    switch stored {
    case .integer(let number): return (Double(number), Int64(exactly: Double(number)) == number)
    case .real(let number): return (number, true)
    case .text(let text): return number(Array(text.utf8))
    case .blob(let bytes): return number(bytes)
    case .longBlob, .null, .unreadableText: throw CoreDataValue.wrongType(stored, "a number")
    }
  }

  private static func wholeNumber(_ bytes: [UInt8]) -> (number: Int64, isExact: Bool) {
    guard let prefix = prefix(bytes) else { return (0, false) }
    let digits = String(decoding: bytes[prefix.start..<prefix.whole], as: UTF8.self)
    guard prefix.hasWholeDigits else { return (0, false) }
    guard let number = Int64(digits) else { return (digits.hasPrefix("-") ? .min : .max, false) }
    return (number, prefix.whole == bytes.count)
  }

  private static func number(_ bytes: [UInt8]) -> (number: Double, isExact: Bool) {
    guard let prefix = prefix(bytes),
      let number = Double(String(decoding: bytes[prefix.start..<prefix.end], as: UTF8.self))
    else { return (0, false) }
    return (number, prefix.end == bytes.count)
  }

  /// The number that a text starts with, after white space: a sign, digits, a point, digits, and an exponent, of which
  /// only some digits are required. Nil if the text starts with no number.
  static func prefix(
    _ bytes: [UInt8]
  ) -> (start: Int, whole: Int, hasWholeDigits: Bool, end: Int)? {
    var place = bytes.firstIndex { !(9...13).contains($0) && $0 != 32 } ?? bytes.count
    func isDigit(_ place: Int) -> Bool {
      place < bytes.count && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[place])
    }
    func has(_ text: String, at place: Int) -> Bool { place < bytes.count && text.utf8.contains(bytes[place]) }
    let start = place
    if has("+-", at: place) { place += 1 }
    let first = place
    while isDigit(place) { place += 1 }
    let whole = place
    var count = place - first
    if has(".", at: place) {
      place += 1
      while isDigit(place) {
        place += 1
        count += 1
      }
    }
    guard count > 0 else { return nil }
    var end = place
    if has("eE", at: place) {
      var exponent = place + 1
      if has("+-", at: exponent) { exponent += 1 }
      let digits = exponent
      while isDigit(exponent) { exponent += 1 }
      if exponent > digits { end = exponent }
    }
    return (start, whole, whole > first, end)
  }

  /// Converts like `sqlite3_column_text`: 15 digits, always with a point.
  static func text(_ number: Double) -> String {
    if number.isInfinite { return number < 0 ? "-Inf" : "Inf" }
    // Zero has no sign there.
    if number == 0 { return "0.0" }
    let text = String(format: "%.15g", number)
    if text.contains(".") { return text }
    guard let exponent = text.firstIndex(of: "e") else { return text + ".0" }
    return text[..<exponent] + ".0" + text[exponent...]
  }
}

extension SQLiteValue {
  /// The kind of value, for messages.
  package var kind: String {
    switch self {
    case .null: "NULL"
    case .integer: "an integer"
    case .real: "a floating-point number"
    case .text, .unreadableText: "text"
    case .blob, .longBlob: "bytes"
    }
  }
}

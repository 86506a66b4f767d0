import Foundation
package import KVCloneModel

/// How Core Data keeps an attribute's value in a column.
package enum CoreDataValue {
  /// Why a column's value is none of the attribute.
  package enum Refusal: Error, Sendable {
    case wrongType(String)
    case outOfRange(String)
  }

  /// A decimal number has 38 digits, and at most 165 with all zeros written out.
  private static let longestDecimal = 400

  /// Bytes of a reference to a file: 02, a name, and a zero byte.
  package static let externalReferenceLength = 38

  /// The value as the attribute has it; nil for NULL. Long blobs are not for here.
  package static func value(
    _ stored: SQLiteValue, of attribute: AttributeDescription
  ) throws(Refusal) -> AttributeValue? {
    if stored == .null { return nil }
    if case .unreadableText(let problem) = stored {
      switch problem {
      case .encoding: throw .wrongType("text whose bytes are not of the database's encoding")
      case .length: throw .outOfRange("text of more than \(SQLiteScan.textLimit) bytes")
      }
    }
    switch attribute.type {
    case .integer16: return .integer(try integer(stored, Int64(Int16.min)...Int64(Int16.max)))
    case .integer32: return .integer(try integer(stored, Int64(Int32.min)...Int64(Int32.max)))
    case .integer64: return .integer(try integer(stored, Int64.min...Int64.max))
    case .boolean:
      switch try integer(stored, Int64.min...Int64.max) {
      case 0: return .boolean(false)
      case 1: return .boolean(true)
      default: throw .outOfRange("a number other than 0 and 1")
      }
    case .double: return .double(try real(stored, "a number"))
    case .float:
      let value = try real(stored, "a number")
      let float = Float(value)
      if value.isFinite, !float.isFinite { throw .outOfRange("a number too large for a Float") }
      return .float(float)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: try real(stored, "seconds since 2001")))
    case .decimal: return .decimal(try decimal(stored))
    case .string: return .string(try text(stored, "text"))
    case .uri: return .uri(try text(stored, "the text of a URI"))
    case .uuid: return .uuid(try uuid(stored))
    case .binary, .transformable:
      guard case .blob(let bytes) = stored else { throw wrongType(stored, "bytes") }
      return attribute.type == .binary ? .binary(Data(bytes)) : .transformable(Data(bytes))
    case .composite, .undefined: throw wrongType(stored, "nothing")
    }
  }

  /// The name of the file that bytes refer to; nil where they are no reference.
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

  private static func wrongType(_ stored: SQLiteValue, _ wanted: String) -> Refusal {
    .wrongType("\(stored.kind) where \(wanted) belongs")
  }

  private static func integer(_ stored: SQLiteValue, _ range: ClosedRange<Int64>) throws(Refusal) -> Int64 {
    let value: Int64
    switch stored {
    case .integer(let number): value = number
    case .real(let number):
      guard let exact = Int64(exactly: number) else { throw wrongType(stored, "an integer") }
      value = exact
    default: throw wrongType(stored, "an integer")
    }
    guard range.contains(value) else {
      throw .outOfRange("an integer outside \(range.lowerBound) … \(range.upperBound)")
    }
    return value
  }

  private static func real(_ stored: SQLiteValue, _ wanted: String) throws(Refusal) -> Double {
    switch stored {
    case .integer(let number): return Double(number)
    case .real(let number): return number
    default: throw wrongType(stored, wanted)
    }
  }

  private static func text(_ stored: SQLiteValue, _ wanted: String) throws(Refusal) -> String {
    guard case .text(let text) = stored else { throw wrongType(stored, wanted) }
    return text
  }

  private static func decimal(_ stored: SQLiteValue) throws(Refusal) -> Decimal {
    switch stored {
    case .integer(let number): return Decimal(number)
    case .real(let number):
      guard number.isFinite, let value = Decimal(string: number.description) else {
        throw .outOfRange("a number that a Decimal does not reach")
      }
      return value
    case .text(let text):
      guard text.utf8.count <= longestDecimal else { throw .outOfRange("text that is longer than any decimal number") }
      if text.uppercased() == "NAN" { return .nan }
      guard isDecimal(text), let value = Decimal(string: text), !value.isNaN else {
        throw .wrongType("text that is no decimal number")
      }
      return value
    default: throw wrongType(stored, "a decimal number")
    }
  }

  /// Whether it is a sign, digits, a point, digits, and an exponent, of which only some digits have to be there. Decimal takes a lone
  /// sign, and the beginning of anything, for a number.
  private static func isDecimal(_ text: String) -> Bool {
    var rest = Array(text.utf8)[...]
    func skip(_ bytes: String) -> Int {
      let part = rest.prefix { bytes.utf8.contains($0) }
      rest = rest.dropFirst(part.count)
      return part.count
    }
    let digits = "0123456789"
    guard skip("+-") <= 1 else { return false }
    var count = skip(digits)
    if rest.first == UInt8(ascii: ".") {
      rest = rest.dropFirst()
      count += skip(digits)
    }
    guard count > 0 else { return false }
    if skip("eE") == 1 {
      guard skip("+-") <= 1, skip(digits) > 0 else { return false }
    }
    return rest.isEmpty
  }

  private static func uuid(_ stored: SQLiteValue) throws(Refusal) -> UUID {
    switch stored {
    case .blob(let bytes) where bytes.count == 16:
      return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    case .blob: throw .wrongType("bytes that are not the 16 of a UUID")
    case .text(let text):
      guard let value = UUID(uuidString: text) else { throw .wrongType("text that is no UUID") }
      return value
    default: throw wrongType(stored, "the 16 bytes of a UUID")
    }
  }
}

extension SQLiteValue {
  /// What it is, for people.
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

import Foundation
import KVCloneModel
import Testing

/// The bytes of JSON values, compared with slower ways to the same text.
@Suite
struct JSONBytesTests {
  private static func text(atMost limit: Int, _ write: (UnsafeMutablePointer<UInt8>) -> Int) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      if let base = buffer.baseAddress { count = write(base) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func short(_ value: Double) -> String {
    text(atMost: JSONBytes.shortLimit) { JSONBytes.short(value, to: $0) }
  }

  @Test
  func aShortNumberIsTheShortestText() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200_000 {
      let digits = Double(Int64.random(in: -(1 << 53)...(1 << 53), using: &random) >> Int64.random(in: 0...50))
      let values = [
        digits / pow(10, Double(Int.random(in: 0...8))), digits, Double(bitPattern: random.next()),
        Double.random(in: -1...1) * pow(10, Double(Int.random(in: -8...18))),
      ]
      for value in values {
        let short = Self.short(value)
        #expect(short.isEmpty || short == JSONBytes.text(value), "\(value.bitPattern)")
      }
    }
  }

  @Test(arguments: [
    (0.0, "0"), (-0.0, "-0"), (1, "1"), (-1.5, "-1.5"), (0.1, "0.1"), (0.001, "0.001"), (100, "100"),
    (123_456.789, "123456.789"), (752_123_456.789012, "752123456.789012"), (99_999_999_999_999, "99999999999999"),
    (0.0001, ""), (1e15, ""), (0.1234567, ""), (.nan, ""), (.infinity, ""), (5e-324, ""),
  ])
  func aNumberWithFewDigitsIsShort(_ value: Double, _ text: String) {
    #expect(Self.short(value) == text)
  }

  @Test
  func integersHaveAllDigits() {
    var values: [Int64] = [0, .min, .max, .min + 1]
    var power: Int64 = 1
    for _ in 0..<18 {
      power *= 10
      values += [power, power - 1, power + 1, -power, 1 - power]
    }
    for value in values {
      #expect(Self.text(atMost: JSONBytes.integerLimit) { JSONBytes.integer(value, to: $0) } == "\(value)")
    }
    #expect(Self.text(atMost: JSONBytes.integerLimit) { JSONBytes.integer(UInt64.max, to: $0) } == "\(UInt64.max)")
  }

  @Test
  func everyByteIsEscapedAtEveryPosition() {
    for byte in UInt8(0)...127 {
      let escaped: String =
        switch byte {
        case 8: "\\b"
        case 9: "\\t"
        case 10: "\\n"
        case 12: "\\f"
        case 13: "\\r"
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(decoding: [byte], as: UTF8.self)
        case ..<32, 127: String(format: "\\u%04x", Int(byte))
        default: String(decoding: [byte], as: UTF8.self)
        }
      for length in [0, 1, 15, 16, 17, 33] {
        for place in 0...length {
          var bytes = Array(repeating: UInt8(ascii: "a"), count: length)
          bytes.insert(byte, at: place)
          let expected = String(repeating: "a", count: place) + escaped + String(repeating: "a", count: length - place)
          let found = bytes.withUnsafeBytes { bytes in
            Self.text(atMost: JSONBytes.escapedLimit(bytes.count)) { JSONBytes.escape(bytes, to: $0) }
          }
          #expect(found == expected)
        }
      }
    }
  }

  @Test
  func uuidsAndDatesAreThoseOfFoundation() {
    let uuid = UUID()
    #expect(Self.text(atMost: JSONBytes.uuidLength) { JSONBytes.uuid(uuid, to: $0) } == "\"\(uuid.uuidString)\"")
    let date = Self.text(atMost: CalendarText.shortLimit + 2) { JSONBytes.date(-2.25, to: $0) }
    #expect(date == "\"2000-12-31T23:59:57.75Z\"")
    #expect(Self.text(atMost: CalendarText.shortLimit + 2) { JSONBytes.date(-0.0, to: $0) }.isEmpty)
    #expect(Self.text(atMost: CalendarText.shortLimit + 2) { JSONBytes.date(3e11, to: $0) }.isEmpty)
  }
}

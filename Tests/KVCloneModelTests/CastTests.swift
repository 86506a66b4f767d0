import Foundation
import KVCloneModel
import Testing

/// The results of CAST for values of every type, and the values that it rejects.
struct CastTests {
  private static func decimal(_ text: String) -> AttributeValue { .decimal(Decimal(string: text) ?? .nan) }

  private static func date(_ seconds: Double) -> AttributeValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

  private static let uuid = UUID()

  @Test(
    "a value as one of another type",
    arguments: [
      (AttributeType.integer16, AttributeValue.string("-32768"), AttributeValue.integer(-32_768)),
      (.integer32, 1.9, 1), (.integer32, -1.9, -1), (.integer64, decimal("9223372036854775807.9"), .integer(.max)),
      (.integer64, "9007199254740993.5", 9_007_199_254_740_993), (.integer64, "1e3", 1000), (.integer64, true, 1),
      (.integer64, date(7.5), 7), (.boolean, 0.5, true), (.boolean, "no", false), (.boolean, "TRUE", true),
      (.boolean, "0.0", false), (.boolean, decimal("0"), false), (.double, 3, 3.0), (.double, "0.1", 0.1),
      (.double, ".5", 0.5), (.double, "-Infinity", .double(-.infinity)), (.double, date(2.5), 2.5),
      (.double, false, 0.0),
      (.double, .integer(1 << 53 + 1), decimal("9007199254740993")),
      (.double, "9223372036854775809", decimal("9223372036854775809")),
      (.double, decimal("0.1"), 0.1), (.double, decimal("0.10000000000000000001"), decimal("0.10000000000000000001")),
      (.float, "0.1", .float(0.1)), (.float, 1e10, .float(1e10)), (.decimal, 0.1, decimal("0.1")),
      (.decimal, "NaN", .decimal(.nan)),
      (.decimal, "12345678901234567890.12345678901234567", decimal("12345678901234567890.12345678901234567")),
      (.decimal, .integer(.min), decimal("-9223372036854775808")), (.date, "2001-01-01T00:00:07.5Z", date(7.5)),
      (.date, 7, date(7)),
      (.date, date(1), date(1)), (.string, 7, "7"), (.string, true, "1"), (.string, decimal("1.10"), "1.1"),
      (.string, date(0.5), "2001-01-01T00:00:00.5Z"), (.string, .uuid(uuid), .string(uuid.uuidString)),
      (.uri, "a:b", .uri("a:b")), (.string, .uri("a:b"), "a:b"),
      (.uuid, .string(uuid.uuidString.lowercased()), .uuid(uuid)),
      (.binary, "aGk=", .binary(Data("hi".utf8))), (.transformable, "aGk=", .transformable(Data("hi".utf8))),
      (.binary, .binary(Data([1])), .binary(Data([1]))), (.undefined, "x", "x"),
    ] as [(AttributeType, AttributeValue, AttributeValue)])
  func converted(_ type: AttributeType, _ value: AttributeValue, _ expected: AttributeValue) throws {
    #expect(try type.cast(value) == expected)
  }

  @Test(
    "what has no value of a type is an error that does not show it",
    arguments: [
      (AttributeType.integer16, AttributeValue.integer(32_768)), (.integer32, .double(.nan)), (.integer64, 0x1p63),
      (.integer64, "9223372036854775808"), (.integer64, ""), (.integer64, " 1"), (.integer64, "0x1F"),
      (.integer64, "1_000"),
      (.integer64, "１"), (.integer64, .binary(Data())), (.boolean, "maybe"), (.boolean, .uuid(UUID())),
      (.double, "1e400"),
      (.double, "nan"), (.double, "0x1p3"), (.double, "1e"), (.double, "."), (.double, "1.2.3"), (.float, 1e39),
      (.decimal, "123456789012345678901234567890123456789"), (.decimal, "1e400"), (.decimal, .double(.infinity)),
      (.decimal, 1e200),
      (.date, "607134600"), (.date, "2020-02-30T00:00:00Z"), (.date, .uuid(UUID())), (.string, date(1e300)),
      (.string, .binary(Data())),
      (.uuid, "6BA7B810"), (.uuid, 1), (.binary, "*secret*"), (.binary, 1), (.transformable, .binary(Data())),
      (.composite, "{}"),
    ] as [(AttributeType, AttributeValue)])
  func refused(_ type: AttributeType, _ value: AttributeValue) {
    let error = #expect(throws: CastProblem.self) { try type.cast(value) }
    #expect(error?.reason.isEmpty == false)
    if case .string(let text) = value, text.utf8.count > 3 { #expect(error?.reason.contains(text) == false) }
  }

  @Test("a cast to a text and back gives the value")
  func texts() throws {
    let values: [(AttributeType, AttributeValue)] = [
      (.integer64, .integer(.min)), (.double, .double(.leastNonzeroMagnitude)),
      (.double, .double(-1.7976931348623157e308)),
      (.decimal, Self.decimal("-0.12345678901234567890123456789012345678")), (.date, Self.date(-63_145_526_399.75)),
      (.uuid, .uuid(Self.uuid)), (.boolean, true), (.uri, .uri("é")),
    ]
    for (type, value) in values { #expect(try type.cast(AttributeType.string.cast(value)) == value, "\(type)") }
  }
}

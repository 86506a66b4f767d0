import Foundation
import KVClone
import KVCloneTestSupport
import Testing

@Suite("Dates as text")
struct CalendarTextTests {
  @Test(
    "dates have the text that RFC 3339 gives them",
    arguments: [
      (0, "2001-01-01T00:00:00Z"), (658_656_600.25, "2021-11-15T08:10:00.25Z"), (-0.1, "2000-12-31T23:59:59.9Z"),
      (-63_113_904_000, "0001-01-01T00:00:00Z"), (-63_145_526_400, "0000-01-01T00:00:00Z"),
      (252_423_993_599, "9999-12-31T23:59:59Z"), (-978_307_200, "1970-01-01T00:00:00Z"),
      (-26_524_800, "2000-02-29T00:00:00Z"), (5e-7, "2001-01-01T00:00:00.0000005Z"),
    ] as [(Double, String)])
  func known(_ seconds: Double, _ text: String) {
    #expect(CalendarText.text(secondsSince2001: seconds) == text)
    #expect(CalendarText.secondsSince2001(text) == seconds)
  }

  @Test("a date without an equal calendar text is written as a number")
  func impossible() {
    for seconds in [-0.0, .nan, .infinity, -.infinity, 252_423_993_600, -63_145_526_401, 1e300] {
      #expect(CalendarText.text(secondsSince2001: seconds) == nil)
    }
  }

  @Test("every other date reads back to the bit")
  func roundTrip() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = TransferRandom(seed: seed)
    for round in 0..<50_000 {
      let seconds: Double =
        switch round % 5 {
        case 0: Double(bitPattern: random.next())
        case 1: .random(in: -6e10...2.5e11, using: &random)
        case 2: Double(Int64.random(in: -63_000_000_000...252_000_000_000, using: &random))
        case 3: Double(Int64.random(in: -63_000_000_000...252_000_000_000, using: &random)) / 1000
        default: .random(in: -1...1, using: &random)
        }
      if let text = CalendarText.text(secondsSince2001: seconds) {
        let back = CalendarText.secondsSince2001(text)?.bitPattern
        #expect(back == seconds.bitPattern, "\(seconds) as \(text), seed \(seed)")
      } else {
        #expect(!(seconds.magnitude < 6e10) || seconds == 0, "\(seconds), seed \(seed)")
      }
    }
  }

  @Test("offsets are subtracted, and invalid dates are rejected")
  func reading() {
    #expect(CalendarText.secondsSince2001("2001-01-01T01:30:00+01:30") == 0)
    #expect(CalendarText.secondsSince2001("2000-12-31t19:00:00.500-05:00") == 0.5)
    for text in [
      "", "2021-11-15", "2021-11-15T08:10:00", "2021-13-01T00:00:00Z", "2021-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
      "2021-11-15T24:00:00Z", "2021-11-15T08:60:00Z", "2021-11-15T08:10:60Z", "2021-11-15T08:10:00.Z",
      "2021-11-15T08:10:00Zx", "2021-11-15T08:10:00+1:00", "21-11-15T08:10:00Z", "2021-00-10T00:00:00Z",
      "2021-01-00T00:00:00Z", "２０２１-11-15T08:10:00Z",
    ] {
      #expect(CalendarText.secondsSince2001(text) == nil, "\(text)")
    }
  }
}

@Suite("Attribute values as JSON")
struct AttributeJSONTests {
  private func written(_ value: AttributeValue) -> String {
    var writer = JSONWriter()
    AttributeJSON.write(value, to: &writer)
    return writer.text
  }

  private func read(_ text: String, _ attribute: AttributeDescription) throws -> AttributeValue? {
    var attributes = AttributeJSON.Attributes()
    try AttributeJSON.read(try JSONParser.parse(text), for: attribute, into: &attributes)
    return attributes.values[attribute.name] ?? nil
  }

  private static let uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")

  @Test("each type has its form, and reads back equal")
  func forms() throws {
    let cases: [(AttributeType, AttributeValue, String)] = [
      (.integer16, .integer(-32768), "-32768"), (.integer32, .integer(2_147_483_647), "2147483647"),
      (.integer64, .integer(.min), "-9223372036854775808"), (.double, .double(0.1), "0.1"), (.double, .double(3), "3"),
      (.double, .double(-0.0), "-0"), (.double, .double(.nan), "\"NaN\""), (.float, .float(0.1), "0.1"),
      (.float, .float(-.infinity), "\"-Infinity\""), (.boolean, .boolean(true), "true"),
      (.string, .string("a\"\n"), #""a\"\n""#), (.uri, .uri("x:y"), "\"x:y\""),
      (.uuid, .uuid(try #require(Self.uuid)), "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\""),
      (.decimal, .decimal(try #require(Decimal(string: "-12.50"))), "\"-12.5\""), (.decimal, .decimal(.nan), "\"NaN\""),
      (
        .decimal, .decimal(try #require(Decimal(string: "12345678901234567890123456789012345678"))),
        "\"12345678901234567890123456789012345678\""
      ),
      (.date, .date(Date(timeIntervalSinceReferenceDate: 0.25)), "\"2001-01-01T00:00:00.25Z\""),
      (.date, .date(Date(timeIntervalSinceReferenceDate: 1e300)), #"{"secondsSince2001":1e300}"#),
      (.date, .date(Date(timeIntervalSinceReferenceDate: -0.0)), #"{"secondsSince2001":-0}"#),
      (.binary, .binary(Data([0, 255])), #"{"base64":"AP8="}"#), (.binary, .binary(Data()), #"{"base64":""}"#),
      (.transformable, .transformable(Data([1, 2, 3])), #"{"base64":"AQID"}"#),
    ]
    for (type, value, text) in cases {
      #expect(written(value) == text)
      #expect(try read(text, AttributeDescription("a", type)) == value, "\(text)")
    }
  }

  @Test("composites are objects with sorted names")
  func composites() throws {
    let elements = [AttributeDescription("y", .double), AttributeDescription("x", .integer32)]
    let attribute = AttributeDescription("place", .composite, composite: "Place", elements: elements)
    let value = AttributeValue.composite(["y": .double(0.5), "x": .integer(7)])
    #expect(written(value) == #"{"x":7,"y":0.5}"#)
    #expect(try read(#"{"x":7,"y":0.5}"#, attribute) == value)
    #expect(throws: AttributeJSON.Refusal.self) { try read(#"{"z":7}"#, attribute) }
  }

  @Test("wrong types and values out of range are distinguished, and no value is shown")
  func refusals() throws {
    let cases: [(AttributeType, String, TransferError.Kind)] = [
      (.integer16, "32768", .outOfRange), (.integer32, "-2147483649", .outOfRange),
      (.integer64, "9223372036854775808", .outOfRange), (.integer64, "1.5", .wrongType),
      (.integer64, "\"1\"", .wrongType),
      (.integer64, "true", .wrongType), (.boolean, "1", .wrongType), (.boolean, "\"true\"", .wrongType),
      (.double, "\"1\"", .wrongType), (.double, "\"nan\"", .wrongType), (.float, "1e300", .outOfRange),
      (.decimal, "1.5", .wrongType), (.decimal, "\"1,5\"", .wrongType), (.decimal, "\"1x\"", .wrongType),
      (.decimal, "\"123456789012345678901234567890123456789\"", .outOfRange), (.decimal, "\"1e999\"", .outOfRange),
      (.string, "5", .wrongType), (.uuid, "\"x-secret\"", .wrongType), (.date, "5", .wrongType),
      (.date, "\"secret\"", .wrongType), (.date, #"{"secondsSince2001":"x"}"#, .wrongType),
      (.binary, "\"AP8=\"", .wrongType), (.binary, #"{"base64":"A"}"#, .wrongType),
      (.binary, #"{"base64":"","file":"x"}"#, .wrongType), (.composite, "[]", .wrongType),
    ]
    for (type, text, kind) in cases {
      let refusal = #expect(throws: AttributeJSON.Refusal.self) { try read(text, AttributeDescription("a", type)) }
      #expect(refusal?.kind == kind, "\(type) \(text)")
      #expect(refusal?.reason.contains("secret") == false)
    }
  }

  @Test("base64 in parts equals base64 of all bytes")
  func base64() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = TransferRandom(seed: seed)
    for count in 0..<200 {
      let data = Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
      var writer = JSONWriter()
      writer.base64 { writer, encoder in
        var rest = data[...]
        while !rest.isEmpty {
          let piece = rest.prefix(Int.random(in: 1...20, using: &random))
          piece.withUnsafeBytes { writer.append(base64: $0, &encoder) }
          rest = rest.dropFirst(piece.count)
        }
      }
      #expect(writer.text == "\"\(data.base64EncodedString())\"", "seed \(seed)")
    }
  }
}

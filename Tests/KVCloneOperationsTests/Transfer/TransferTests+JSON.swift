import KVClone
import KVCloneTestSupport
import Testing

@Suite("JSON")
struct JSONTests {
  @Test("written values are read back equal")
  func roundTrip() throws {
    let text = #"{"a":[1,-0,2.5e3,"x\u00e9\ud83d\ude00\n\u0001\"\\\/",true,false,null,{},[]],"b":{"c":1e-7}}"#
    let value = try JSONParser.parse(text)
    var writer = JSONWriter()
    writer.value(value)
    #expect(same(try JSONParser.parse(writer.text), value))
    #expect(writer.text == #"{"a":[1,-0,2500,"xé😀\n\u0001\"\\/",true,false,null,{},[]],"b":{"c":1e-7}}"#)
  }

  @Test("objects are equal in any order of their members")
  func memberOrder() throws {
    let value = try JSONParser.parse(#"{"size":3,"in":[{"a":1,"b":2}]}"#)
    #expect(try JSONParser.parse(#"{"in":[{"b":2,"a":1}],"size":3}"#) == value)
    for other in [#"{"in":[{"b":2,"a":1}]}"#, #"{"in":[{"b":1,"a":2}],"size":3}"#, #"{"In":[{"a":1,"b":2}],"size":3}"#]
    {
      #expect(try JSONParser.parse(other) != value)
    }
  }

  @Test("integers keep every digit", arguments: [.min, .min + 1, -1, 0, 1, 9_007_199_254_740_993, .max] as [Int64])
  func integers(_ number: Int64) throws {
    #expect(try JSONParser.parse("\(number)") == .integer(number))
  }

  @Test("integers past 64 bits become doubles, and numbers past those are rejected")
  func largeNumbers() throws {
    #expect(try JSONParser.parse("9223372036854775808") == .number(9_223_372_036_854_775_808))
    #expect(try JSONParser.parse("-9223372036854775809") == .number(-9_223_372_036_854_775_808))
    #expect(throws: JSONError(kind: .numberOutOfRange, column: 6)) { try JSONParser.parse("1e999") }
  }

  @Test(
    "what is no JSON is refused at its byte",
    arguments: [
      ("", .unexpectedEnd, 1), ("{", .unexpectedEnd, 2), ("[1,]", .unexpectedByte, 4),
      ("[1 2]", .unexpectedByte, 4), ("{\"a\":1,\"a\":2}", .duplicateKey, 11), ("01", .invalidNumber, 3),
      ("-", .unexpectedEnd, 2), ("1.", .unexpectedEnd, 3), ("1.e5", .invalidNumber, 3), ("+1", .unexpectedByte, 1),
      ("nul", .unexpectedEnd, 4), ("True", .unexpectedByte, 1), ("\"\\x\"", .invalidEscape, 3),
      ("\"\\ud800\"", .invalidEscape, 8), ("\"\\udc00\"", .invalidEscape, 8),
      ("\"\\ud800\\u0041\"", .invalidEscape, 14),
      ("\"a\nb\"", .controlCharacter, 3), ("\"abc", .unexpectedEnd, 5), ("1 2", .trailingBytes, 3),
      ("{'a':1}", .unexpectedByte, 2), ("NaN", .unexpectedByte, 1),
    ] as [(String, JSONError.Kind, Int)])
  func refusals(_ text: String, _ kind: JSONError.Kind, _ column: Int) {
    #expect(throws: JSONError(kind: kind, column: column)) { try JSONParser.parse(text) }
  }

  @Test("bytes that are no UTF-8 are refused")
  func invalidUTF8() {
    for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82]] {
      let text = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
      #expect(throws: JSONError.self) { try JSONParser.parse(text.span) }
    }
  }

  @Test("nesting has a limit on both sides of which nothing overflows")
  func depth() throws {
    let limit = JSONParser.depthLimit
    _ = try JSONParser.parse(String(repeating: "[", count: limit) + String(repeating: "]", count: limit))
    #expect(throws: JSONError.self) { try JSONParser.parse(String(repeating: "[", count: limit + 1)) }
    #expect(throws: JSONError.self) { try JSONParser.parse(String(repeating: "{\"a\":", count: 1_000_000)) }
  }

  @Test("objects with many members find repeated names too")
  func manyMembers() throws {
    let members = (0..<100).map { "\"k\($0)\":\($0)" }
    guard case .object(let object) = try JSONParser.parse("{\(members.joined(separator: ","))}") else {
      Issue.record("not an object")
      return
    }
    #expect(object.members.map(\.name) == (0..<100).map { "k\($0)" })
    #expect(throws: JSONError.self) { try JSONParser.parse("{\(members.joined(separator: ",")),\"k7\":0}") }
  }

  @Test("doubles and floats are written short, and read back to the bit")
  func numbers() throws {
    for (value, text) in [
      (1.0, "1"), (0.1, "0.1"), (1e22, "1e22"), (.leastNonzeroMagnitude, "5e-324"), (-0.0, "-0"), (1e-5, "1e-5"),
      (123456.5, "123456.5"),
      (.nan, "\"NaN\""), (.infinity, "\"Infinity\""), (-.infinity, "\"-Infinity\""),
    ] {
      var writer = JSONWriter()
      writer.double(value)
      #expect(writer.text == text)
    }
    let seed = UInt64.random(in: 0 ... .max)
    var random = TransferRandom(seed: seed)
    for _ in 0..<20_000 {
      let bits = random.next()
      let double = Double(bitPattern: bits)
      if double.isFinite { #expect(read(writing: double) == double.bitPattern, "seed \(seed)") }
      let float = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
      guard float.isFinite else { continue }
      var writer = JSONWriter()
      writer.float(float)
      let back = Double(writer.text).map { Float($0).bitPattern }
      #expect(back == float.bitPattern, "seed \(seed)")
    }
  }

  private func read(writing double: Double) -> UInt64? {
    var writer = JSONWriter()
    writer.double(double)
    switch try? JSONParser.parse(writer.text) {
    case .integer(let value)?: return Double(value).bitPattern
    case .number(let value)?: return value.bitPattern
    default: return nil
    }
  }

  @Test("no bytes make the parser trap")
  func mutations() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = TransferRandom(seed: seed)
    let template = Array(
      #"{"id":"Note/1","attributes":{"name":"x\u00e9\ud83d\ude00","n":-12.5e+3,"b":true,"d":null},"relationships":{"items":["Item/1","@Item/2"]}}"#
        .utf8)
    var accepted = 0
    for _ in 0..<30_000 {
      var bytes = template
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: index)
        default: bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
        }
        if bytes.isEmpty { bytes = [0x20] }
      }
      guard let value = try? JSONParser.parse(bytes.span) else { continue }
      accepted += 1
      var writer = JSONWriter()
      writer.value(value)
      #expect((try? JSONParser.parse(writer.text)).map { same($0, value) } == true, "seed \(seed)")
    }
    #expect(accepted > 0, "seed \(seed)")
  }

  /// Returns whether values are equal, where 2500 and 2.5e3 are.
  private func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.integer(let a), .number(let b)), (.number(let b), .integer(let a)): Double(a) == b
    case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { same($0, $1) }
    case (.object(let a), .object(let b)):
      a.members.count == b.members.count
        && zip(a.members, b.members).allSatisfy { $0.name == $1.name && same($0.value, $1.value) }
    default: left == right
    }
  }
}

/// Random numbers from a seed, so that a failure can be repeated (SplitMix64).
struct TransferRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

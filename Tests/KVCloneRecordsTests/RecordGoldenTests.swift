import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The record of Format.md's example.
enum Example {
  static let layout = RecordLayout(
    id: 3, entityCode: 4,
    fields: [
      .init(propertyCode: 1, kind: .boolean), .init(propertyCode: 2, kind: .date),
      .init(propertyCode: 3, kind: .toMany), .init(propertyCode: 4, kind: .double),
      .init(propertyCode: 5, kind: .integer32), .init(propertyCode: 6, kind: .string),
      .init(propertyCode: 7, kind: .toOne), .init(propertyCode: 8, kind: .binary),
      .init(propertyCode: 9, kind: .uuid), .init(propertyCode: 10, kind: .integer16),
    ])
  static let seed = ValueEnvelope.seed(object: ObjectID(rawValue: 1 << 48 | 42))
  static let uuid = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
  static let members = [ObjectID(rawValue: 2 << 48 | 4), ObjectID(rawValue: 2 << 48 | 5)]

  static func field(_ code: UInt16) -> Int {
    layout.fieldIndex(ofProperty: code) ?? -1
  }

  static func record() throws -> [UInt8] {
    var buffer = RecordBuffer(layout: layout)
    try buffer.setBlob(field(8), BlobReference(id: 17, byteCount: 5000))
    buffer.setBoolean(field(1), true)
    try buffer.setInlineIDs(field(3), members)
    buffer.setDouble(field(4), 2.5)
    buffer.setInteger32(field(5), -2)
    try buffer.set(field(6), "hé")
    buffer.setToOne(field(7), ObjectID(rawValue: 2 << 48 | 3))
    buffer.setUUID(field(9), uuid)
    buffer.seal(commit: 258, seed: seed)
    return array(buffer.bytes)
  }
}

@Suite struct RecordGoldenTests {
  @Test func layoutBytes() throws {
    #expect(hex(Example.layout.encoded(seed: Golden.seed)) == Golden.layout)
    let decoded = try RecordLayout(stored: unhex(Golden.layout), seed: Golden.seed)
    #expect(decoded == Example.layout)
    #expect(decoded.fields.map(\.propertyCode) == [9, 2, 4, 7, 3, 5, 6, 8, 10, 1])
    #expect(decoded.fieldIndex(ofProperty: 11) == nil)
    #expect(decoded.toManyFields == 4..<5)
    #expect(decoded.variableFields == 6..<8)
    #expect(decoded.fixedLength == 26 + 16 + 4 * 8 + 3 * 4 + 2 + 1)
  }

  @Test func layoutsThatAreNotInOrderAreRefused() {
    let payload = Array(unhex(Golden.layout)[8...])
    func error(_ change: (inout [UInt8]) -> Void) -> RecordError? {
      var payload = payload
      change(&payload)
      do {
        _ = try RecordLayout(stored: ValueEnvelope.encode(payload, seed: 1), seed: 1)
        return nil
      } catch {
        return error
      }
    }
    #expect(error { _ in } == nil)
    #expect(error { $0.removeLast() } == .tooShort)
    #expect(error { $0.append(0) } == .trailingBytes)
    #expect(error { $0[6] = 1 } == .badFlag)
    #expect(error { $0[10] = 16 } == .badFlag)
    #expect(error { $0[11] = 1 } == .badFlag)
    #expect(error { $0[5] = 0xFF } == .badCount)
    #expect(error { $0.swapAt(12, 16) } == .badOrder)
    #expect(error { $0[8] = 1 } == .badOrder, "property 1 twice")
  }

  @Test func recordBytes() throws {
    #expect(hex(try Example.record()) == Golden.record)
  }

  @Test func recordValues() throws {
    let bytes = unhex(Golden.record)
    #expect(try RecordView.layoutID(of: bytes.span.bytes) == 3)
    #expect(try RecordView.entityCode(of: bytes.span.bytes) == 4)
    #expect(try RecordView.commit(of: bytes.span.bytes) == 258)
    let isIntact = ValueEnvelope.isIntact(bytes.span.bytes, seed: Example.seed)
    #expect(isIntact)
    let view = try RecordView(bytes.span.bytes, layout: Example.layout, seed: Example.seed)
    let values = try (0..<Example.layout.fieldCount).map { field throws(RecordError) in
      Example.layout.kind(field).hasNullBit ? try view.value(field) : nil
    }
    let expected: [AttributeValue?] = [
      .uuid(Example.uuid), nil, .double(2.5), nil, nil, .integer(-2), "hé",
      .blob(BlobReference(id: 17, byteCount: 5000)), nil, true,
    ]
    #expect(values == expected)
    let toOne = view.toOne(Example.field(7))
    #expect(toOne == ObjectID(rawValue: 2 << 48 | 3))
    let head = view.head(Example.field(3))
    #expect(head == ListHead(count: 2))
    let ids = view.inlineIDs(Example.field(3)).array
    #expect(ids == Example.members)
    let commit = view.commit
    #expect(commit == 258)
    #expect(throws: RecordError.wrongKind) {
      let view = try RecordView(bytes.span.bytes, layout: Example.layout, seed: Example.seed)
      _ = try view.value(Example.field(3))
    }
  }

  @Test func emptyRecord() throws {
    var buffer = RecordBuffer(layout: Example.layout)
    buffer.seal(commit: 1, seed: 2)
    let bytes = array(buffer.bytes)
    #expect(bytes.count == Example.layout.fixedLength)
    let view = try RecordView(bytes.span.bytes, layout: Example.layout, seed: 2)
    let nulls = (0..<10).map { view.isNull($0) }
    #expect(nulls == [true, true, true, true, false, true, true, true, true, true])
    var none = RecordBuffer()
    none.seal(commit: 0, seed: 0)
    #expect(none.byteCount == 24)
  }

  @Test func equalDecimalsHaveEqualBytes() {
    let layout = RecordLayout(id: 1, entityCode: 1, fields: [.init(propertyCode: 1, kind: .decimal)])
    func bytes(_ value: Decimal) -> String {
      var buffer = RecordBuffer(layout: layout)
      buffer.setDecimal(0, value)
      return hex(Array(array(buffer.bytes)[25...]))
    }
    let zeros = String(repeating: "00", count: 14)
    #expect(bytes(Decimal(-150)) == "0f00" + zeros + "01010000")
    #expect(bytes(Decimal(sign: .plus, exponent: -2, significand: 1500)) == bytes(Decimal(15)))
    #expect(bytes(.nan) == "0000" + zeros + "00020000")
    #expect(bytes(0) == "0000" + zeros + "00000000")
    #expect(bytes(Decimal(sign: .plus, exponent: -3, significand: 1)) == "0100" + zeros + "fd000000")
  }

  @Test func integersAreDecimalsWithTheSameBytes() {
    let layout = RecordLayout(id: 1, entityCode: 1, fields: [.init(propertyCode: 1, kind: .decimal)])
    var generator = SeededGenerator(5)
    var samples: [Int64] = [0, 1, -1, 10, -150, 1_000_000_000_000_000_000, .max, .min, .min + 8, 9_999_999_999]
    for _ in 0..<300 {
      samples.append(Int64.random(in: .min ... .max, using: &generator) >> Int64.random(in: 0...62, using: &generator))
    }
    for value in samples {
      var one = RecordBuffer(layout: layout)
      var other = RecordBuffer(layout: layout)
      one.setDecimal(0, integer: value)
      other.setDecimal(0, Decimal(value))
      #expect(array(one.bytes) == array(other.bytes), "seed 5: \(value)")
    }
  }

  @Test func decimalsComeBack() throws {
    let layout = RecordLayout(id: 1, entityCode: 1, fields: [.init(propertyCode: 1, kind: .decimal)])
    var buffer = RecordBuffer(layout: layout)
    var generator = SeededGenerator(4)
    var samples: [Decimal] = [
      0, 1, -1, .nan, .greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude, Decimal(UInt64.max),
      Decimal(sign: .plus, exponent: 127, significand: 1), Decimal(sign: .minus, exponent: -128, significand: 1),
      .pi,
    ]
    for _ in 0..<500 {
      let digits = (0..<Int.random(in: 1...38, using: &generator)).map { _ in
        String(Int.random(in: 0...9, using: &generator))
      }.joined()
      let text = digits + "e" + String(Int.random(in: -90...80, using: &generator))
      samples.append(try #require(Decimal(string: text)))
    }
    for value in samples {
      buffer.setDecimal(0, value)
      let back = buffer.view.decimal(0)
      #expect(back == value || (back.isNaN && value.isNaN), "seed 4: \(value) became \(back)")
    }
  }

  @Test func valuesOfTheWrongKindOrSizeAreRefusedAndChangeNothing() throws {
    var buffer = RecordBuffer(layout: Example.layout)
    let before = array(buffer.bytes)
    var errors: [RecordError] = []
    let attempts: [(UInt16, AttributeValue?)] = [
      (10, 40_000), (5, .integer(1 << 40)), (10, 1.5), (6, .uri("x")), (1, "x"), (7, nil), (3, nil),
      (8, .transformable(Data())), (8, .blob(BlobReference(id: 1, byteCount: 1, isTransformable: true))),
      (6, .composite([:])),
    ]
    for (code, value) in attempts {
      do { try buffer.set(Example.field(code), value) } catch { errors.append(error) }
    }
    #expect(errors == [.outOfRange, .outOfRange] + Array(repeating: .wrongKind, count: 8))
    #expect(array(buffer.bytes) == before)
  }
}

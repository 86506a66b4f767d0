import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite struct IndexKeyTests {
  private func key(_ values: [AttributeValue?], descending: Bool = false) throws(RecordError) -> String {
    var builder = IndexKeyBuilder(indexID: 0x0102, valueCount: values.count)
    for value in values { try builder.append(value, descending: descending) }
    return hex(builder.key(ObjectID(rawValue: 1 << 48 | 5)))
  }

  /// The part of a key between the index id and the object's id.
  private func value(_ value: AttributeValue?, descending: Bool = false) throws(RecordError) -> String {
    String(try key([value], descending: descending).dropFirst(4).dropLast(16))
  }

  @Test func goldenBytes() throws {
    #expect(try key([nil, true, "a"]) == "0102" + "00" + "0101" + "01610000" + "0001000000000005")
    #expect(try value(nil, descending: true) == "ff")
    #expect(try value(false) == "0100")
    #expect(try value(1) == "018000000000000001")
    #expect(try value(-1) == "017fffffffffffffff")
    #expect(try value(-1, descending: true) == "fe8000000000000000")
    #expect(try value(1.0) == "01bff0000000000000")
    #expect(try value(-1.0) == "01400fffffffffffff")
    #expect(try value(.double(-0.0)) == "018000000000000000")
    #expect(try value(.double(.nan)) == "01fff8000000000000")
    #expect(try value(.double(-.nan)) == "01fff8000000000000")
    #expect(try value(.float(1)) == "01bf800000")
    #expect(try value(.float(.nan)) == "01ffc00000")
    #expect(try value(.date(Date(timeIntervalSinceReferenceDate: 1))) == "01bff0000000000000")
    #expect(try value(.decimal(0)) == "0120")
    #expect(try value(.decimal(.nan)) == "0140")
    #expect(try value(.decimal(1)) == "01308001" + "0b" + "00")
    #expect(try value(.decimal(-123)) == "01107ffc" + "f2" + "e0" + "ff")
    #expect(try value(.uuid(Example.uuid)) == "01000102030405060708090a0b0c0d0e0f")
    #expect(try value("a\0b") == "016100ff620000")
    #expect(try value(.binary(Data([0, 0]))) == "0100ff00ff0000")
    #expect(try value(.uri("x")) == "01780000")
  }

  @Test func partsOfAKey() throws {
    let bytes = unhex(try key(["a"]))
    #expect(try IndexKey.indexID(of: bytes.span.bytes) == 0x0102)
    #expect(try IndexKey.objectID(of: bytes.span.bytes) == ObjectID(rawValue: 1 << 48 | 5))
    #expect(hex(array(try IndexKey.values(of: bytes.span.bytes))) == "010201610000")
    #expect(IndexKey.prefix(indexID: 0x0102) == [1, 2])
  }

  @Test func unindexableValuesAreRefusedAndChangeNothing() throws {
    var builder = IndexKeyBuilder(indexID: 1, valueCount: 1)
    let values: [AttributeValue] = [
      .composite([:]), .transformable(Data()), .blob(BlobReference(id: 1, byteCount: 1)),
    ]
    for value in values {
      #expect(throws: RecordError.notIndexable) { try builder.append(value) }
    }
    #expect(builder.bytes == [0, 1])
  }

  @Test func longValuesAreCutInOrder() throws {
    func prefix(_ text: String) throws(RecordError) -> (bytes: [UInt8], isTruncated: Bool) {
      var builder = IndexKeyBuilder(indexID: 1, valueCount: 1)
      try builder.append(.string(text))
      return (builder.bytes, builder.isTruncated)
    }
    let limit = 467
    let full = String(repeating: "m", count: limit)
    #expect(try prefix(full).isTruncated == false)
    #expect(try prefix(full + "m").isTruncated)
    #expect(try prefix(full + "m").bytes == prefix(full + "z").bytes)
    let ordered = [
      String(full.dropLast()), full.dropLast() + "\0", full, full + "\0", full.dropLast() + "n",
    ]
    for (left, right) in zip(ordered, ordered.dropFirst()) {
      #expect(try prefix(left).bytes.lexicographicallyPrecedes(prefix(right).bytes))
    }
    var builder = IndexKeyBuilder(indexID: 1, valueCount: 1)
    try builder.append(.string(full + full))
    #expect(builder.key(ObjectID(rawValue: 1)).count == FormatLimits.maximumKeyLength)
  }

  @Test func keysOfAnyNumberOfValuesAreWithinTheLimit() throws {
    let samples: [AttributeValue] = [
      .string(String(repeating: "\0", count: 600)), .binary(Data(repeating: 1, count: 600)),
      .decimal(.greatestFiniteMagnitude), .decimal(.pi), .uuid(Example.uuid),
      .decimal(try #require(Decimal(string: "99999999999999999999999999999999999999"))),
    ]
    for count in 1...16 {
      for sample in samples {
        var builder = IndexKeyBuilder(indexID: 1, valueCount: count)
        for _ in 0..<count { try builder.append(sample) }
        #expect(builder.key(ObjectID(rawValue: 1)).count <= FormatLimits.maximumKeyLength)
      }
    }
  }

  private enum Order {
    case before, same, after

    init<Value: Comparable>(_ left: Value, _ right: Value) {
      self = left < right ? .before : right < left ? .after : .same
    }
  }

  /// A second implementation of the order of index keys: nil, then values, NaN last.
  private func order(_ left: AttributeValue?, _ right: AttributeValue?) -> Order {
    switch (left, right) {
    case (nil, nil): .same
    case (nil, _): .before
    case (_, nil): .after
    case (.boolean(let a), .boolean(let b)): Order(a ? 1 : 0, b ? 1 : 0)
    case (.integer(let a), .integer(let b)): Order(a, b)
    case (.double(let a), .double(let b)): a.isNaN || b.isNaN ? Order(a.isNaN ? 1 : 0, b.isNaN ? 1 : 0) : Order(a, b)
    case (.float(let a), .float(let b)): a.isNaN || b.isNaN ? Order(a.isNaN ? 1 : 0, b.isNaN ? 1 : 0) : Order(a, b)
    case (.date(let a), .date(let b)):
      order(.double(a.timeIntervalSinceReferenceDate), .double(b.timeIntervalSinceReferenceDate))
    case (.decimal(let a), .decimal(let b)):
      a.isNaN || b.isNaN ? Order(a.isNaN ? 1 : 0, b.isNaN ? 1 : 0) : Order(a, b)
    case (.string(let a), .string(let b)), (.uri(let a), .uri(let b)): order(Array(a.utf8), Array(b.utf8))
    case (.binary(let a), .binary(let b)): order(Array(a), Array(b))
    case (.uuid(let a), .uuid(let b)):
      order(withUnsafeBytes(of: a.uuid) { Array($0) }, withUnsafeBytes(of: b.uuid) { Array($0) })
    default: .same
    }
  }

  private func order(_ left: [UInt8], _ right: [UInt8]) -> Order {
    left == right ? .same : left.lexicographicallyPrecedes(right) ? .before : .after
  }

  private func value(_ kind: FieldKind, _ generator: inout SeededGenerator) -> AttributeValue? {
    let small = Int.random(in: -3...3, using: &generator)
    switch (kind, Int.random(in: 0..<4, using: &generator)) {
    case (_, 0): return nil
    case (.integer64, 1): return .integer(Int64(small))
    case (.double, 1):
      return .double([.nan, -.nan, .infinity, -.infinity, 0, -0.0, 1, -1].randomElement(using: &generator) ?? 0)
    case (.float, 1):
      return .float([.nan, .infinity, -.infinity, 0, -0.0, 1, -1].randomElement(using: &generator) ?? 0)
    case (.decimal, 1): return .decimal([.nan, 0, 1, 10, 11, -1, -10, -11].randomElement(using: &generator) ?? 0)
    case (.decimal, 2):
      let exponent = Int.random(in: -2...2, using: &generator)
      return .decimal(
        Decimal(sign: small < 0 ? .minus : .plus, exponent: exponent, significand: Decimal(abs(small) * 10)))
    case (.string, 1), (.uri, 1), (.binary, 1):
      let bytes = (0..<Int.random(in: 0...4, using: &generator)).map { _ in UInt8.random(in: 0...2, using: &generator) }
      return kind == .binary
        ? .binary(Data(bytes))
        : kind == .uri ? .uri(String(decoding: bytes, as: UTF8.self)) : .string(String(decoding: bytes, as: UTF8.self))
    case (.string, 2):
      // Around the limit of 153 bytes for one of three values.
      let count = Int.random(in: 151...155, using: &generator)
      return .string(String(repeating: "a", count: count) + ["", "\0", "b"][abs(small) % 3])
    case (.binary, 2): return randomValue(.binary, &generator).flatMap { if case .blob = $0 { nil } else { $0 } }
    default:
      let value = randomValue(kind, &generator)
      if case .blob = value { return nil }
      return value
    }
  }

  @Test(arguments: UInt64(0)..<40) func orderOfKeysIsTheOrderOfValues(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed)
    let kinds: [FieldKind] = [.boolean, .integer64, .double, .float, .date, .decimal, .uuid, .string, .uri, .binary]
    for _ in 0..<300 {
      let columns = (0..<3).map { _ in kinds.randomElement(using: &generator) ?? .boolean }
      let descending = (0..<3).map { _ in Bool.random(using: &generator) }
      let rows = (0..<2).map { _ in columns.map { value($0, &generator) } }
      var builders = [IndexKeyBuilder](repeating: .init(indexID: 1, valueCount: 3), count: 2)
      var expected = Order.same
      for column in 0..<3 {
        for row in 0..<2 { try builders[row].append(rows[row][column], descending: descending[column]) }
        if expected == .same {
          expected = order(rows[0][column], rows[1][column])
          if descending[column], expected != .same { expected = expected == .before ? .after : .before }
        }
        let actual = order(builders[0].bytes, builders[1].bytes)
        if builders[0].isTruncated && builders[1].isTruncated {
          // Truncated values may be equal although the values are not, and later values then decide: compare no
          // further.
          #expect(actual == expected || actual == .same, "seed \(seed)")
          break
        }
        #expect(actual == expected, "seed \(seed), \(rows), \(descending)")
      }
    }
  }
}

import KVCloneModel
import KVCloneRecords
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The bytes of index keys for values of every type, ascending and descending. The bytes were computed from Format.md
/// by another program (Python).
@Suite("Index keys of every type, both ways")
struct IndexKeyGoldenTests {
  private static let rows: [(value: AttributeValue?, ascending: String, descending: String)] = [
    (nil, "00", "ff"),
    (false, "0100", "feff"),
    (true, "0101", "fefe"),
    (-32_768, "017fffffffffff8000", "fe8000000000007fff"),
    (2_147_483_647, "01800000007fffffff", "fe7fffffff80000000"),
    (.integer(.min), "010000000000000000", "feffffffffffffffff"),
    (.integer(.max), "01ffffffffffffffff", "fe0000000000000000"),
    (.double(2.5), "01c004000000000000", "fe3ffbffffffffffff"),
    (.double(-2.5), "013ffbffffffffffff", "fec004000000000000"),
    (.double(-0.0), "018000000000000000", "fe7fffffffffffffff"),
    (.double(.infinity), "01fff0000000000000", "fe000fffffffffffff"),
    (.double(-.infinity), "01000fffffffffffff", "fefff0000000000000"),
    (.double(.nan), "01fff8000000000000", "fe0007ffffffffffff"),
    (.float(2.5), "01c0200000", "fe3fdfffff"),
    (.float(-2.5), "013fdfffff", "fec0200000"),
    (.float(-0.0), "0180000000", "fe7fffffff"),
    (.float(.nan), "01ffc00000", "fe003fffff"),
    (.date(Date(timeIntervalSinceReferenceDate: -0.1)), "014046666666666665", "febfb999999999999a"),
    (.date(Date(timeIntervalSinceReferenceDate: 1.5)), "01bff8000000000000", "fe4007ffffffffffff"),
    (.decimal(0), "0120", "fedf"),
    (.decimal(.nan), "0140", "febf"),
    (.decimal(number(-375, -2)), "01107ffed9ccff", "feef8001263300"),
    (.decimal(number(12_345, -1)), "013080040d233300", "fecf7ffbf2dcccff"),
    (.decimal(number(1, 127)), "013080800b00", "fecf7f7ff4ff"),
    (.decimal(number(-1, -128)), "0110807ef4ff", "feef7f810b00"),
    (.decimal(100), "013080030b00", "fecf7ffcf4ff"),
    (.uuid(Example.uuid), "01000102030405060708090a0b0c0d0e0f", "fefffefdfcfbfaf9f8f7f6f5f4f3f2f1f0"),
    ("", "010000", "feffff"),
    ("a\0é", "016100ffc3a90000", "fe9eff003c56ffff"),
    (.uri("x:"), "01783a0000", "fe87c5ffff"),
    (.binary(Data([0, 255])), "0100ffff0000", "feff0000ffff"),
  ]

  private static func number(_ significand: Int, _ exponent: Int) -> Decimal {
    Decimal(sign: significand < 0 ? .minus : .plus, exponent: exponent, significand: Decimal(abs(significand)))
  }

  /// Values for which keys of fetch indexes differ from those of constraints.
  private static let fetchRows: [(value: AttributeValue?, ascending: String, descending: String)] = [
    (nil, "00", "ff"),
    (.double(.nan), "010000000000000000", "feffffffffffffffff"),
    (.date(Date(timeIntervalSinceReferenceDate: .nan)), "010000000000000000", "feffffffffffffffff"),
    (.float(.nan), "0100000000", "feffffffff"),
    (.decimal(.nan), "0108", "fef7"),
    (.double(-.infinity), "01000fffffffffffff", "fefff0000000000000"),
    (.transformable(Data([1])), "02", "fd"),
    (.blob(BlobReference(id: 3, byteCount: 5000, isTransformable: false)), "02", "fd"),
    ("a", "01610000", "fe9effff"),
  ]

  @Test func fetchIndexes() throws {
    for (value, ascending, descending) in Self.fetchRows {
      var builder = IndexKeyBuilder(indexID: 1, valueCount: 2, isFetchIndex: true)
      try builder.append(value)
      try builder.append(value, descending: true)
      let id = ObjectID(rawValue: 1 << 48 | 5)
      #expect(
        hex(builder.key(id)) == "0001" + ascending + descending + "0001000000000005", "\(String(describing: value))")
    }
  }

  @Test func singleColumns() throws {
    let builder = IndexKeyBuilder(indexID: 1, valueCount: 10)
    #expect(try builder.column("ab").bytes == [1, 0x61, 0x62, 0, 0])
    #expect(try builder.column(nil).bytes == [0])
    #expect(builder.column(beginningWith: "a\0").bytes == [1, 0x61, 0, 0xFF])
    let long = String(repeating: "a", count: 44)
    #expect(try builder.column(.string(long)).isTruncated == false)
    #expect(try builder.column(.string(long + "a")).isTruncated)
    #expect(builder.column(beginningWith: long + "a").bytes == [1] + [UInt8](repeating: 0x61, count: 44))
    #expect(builder.bytes == [0, 1])
  }

  @Test func everyTypeBothWays() throws {
    for (value, ascending, descending) in Self.rows {
      var builder = IndexKeyBuilder(indexID: 1, valueCount: 2)
      try builder.append(value)
      try builder.append(value, descending: true)
      let id = ObjectID(rawValue: 1 << 48 | 5)
      #expect(
        hex(builder.key(id)) == "0001" + ascending + descending + "0001000000000005", "\(String(describing: value))")
    }
  }

  @Test func cutValuesBothWays() throws {
    var builder = IndexKeyBuilder(indexID: 1, valueCount: 16)
    // ⌊470 / 16⌋ − 3 = 26 bytes; a zero that needs two bytes is truncated if only one is left.
    let text = String(repeating: "m", count: 25) + "\0m"
    try builder.append(.string(text))
    try builder.append(.string(text), descending: true)
    let cut = "01" + String(repeating: "6d", count: 25) + "0001"
    let complement = "fe" + String(repeating: "92", count: 25) + "fffe"
    #expect(hex(builder.bytes) == "0001" + cut + complement)
    #expect(builder.isTruncated)
  }
}

import KVCloneRecords

/// A seeded generator (SplitMix64), so that a failure can be repeated from the seed it prints.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) }
  }
}

func hex(_ bytes: [UInt8]) -> String {
  bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

func unhex(_ text: String) -> [UInt8] {
  let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

func array(_ span: RawSpan) -> [UInt8] {
  span.withUnsafeBytes { Array($0) }
}

/// A value in its envelope (seed 0), without the assertion that its reader accepts it.
func unchecked(_ value: some ValueCodec) -> [UInt8] {
  var writer = ByteWriter()
  value.write(to: &writer)
  return ValueEnvelope.encode(writer.bytes, seed: 0)
}

extension FormatRecord {
  init(bytes: [UInt8]) throws(RecordError) { try self.init(stored: bytes.span.bytes) }
}

/// Decompresses raw deflate data (RFC 1951) from untrusted input: output is bounded by a limit, and time by the input.
///
/// Core Data compresses a store's model. The project needs no more of deflate than this, and no further library for it.
struct Inflate {
  /// The bytes are not deflate data, or too long.
  struct Malformed: Error, Equatable {}

  private let bytes: [UInt8]
  private let limit: Int
  private var place = 0
  private var bits: UInt32 = 0
  private var bitCount = 0
  private var output: [UInt8] = []

  /// Returns the decompressed data.
  ///
  /// - Parameter limit: the maximum size of the output.
  static func bytes(of packed: [UInt8], limit: Int) throws(Malformed) -> [UInt8] {
    var inflate = Inflate(packed, limit)
    try inflate.run()
    return inflate.output
  }

  private init(_ bytes: [UInt8], _ limit: Int) {
    self.bytes = bytes
    self.limit = limit
  }

  private mutating func run() throws(Malformed) {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try stored()
      case 1: try block(Self.fixedLengths, Self.fixedDistances)
      case 2:
        let (lengths, distances) = try codes()
        try block(lengths, distances)
      default: throw Malformed()
      }
    }
  }

  private mutating func take(_ count: Int) throws(Malformed) -> Int {
    while bitCount < count {
      guard place < bytes.count else { throw Malformed() }
      bits |= UInt32(bytes[place]) << UInt32(bitCount)
      place += 1
      bitCount += 8
    }
    let value = bits & ((1 << UInt32(count)) - 1)
    bits >>= UInt32(count)
    bitCount -= count
    return Int(value)
  }

  private mutating func append(_ byte: UInt8) throws(Malformed) {
    guard output.count < limit else { throw Malformed() }
    output.append(byte)
  }

  private mutating func stored() throws(Malformed) {
    // Discards the rest of the byte; no whole byte was read ahead.
    (bits, bitCount) = (0, 0)
    guard place + 4 <= bytes.count else { throw Malformed() }
    let count = Int(bytes[place]) | Int(bytes[place + 1]) << 8
    let complement = Int(bytes[place + 2]) | Int(bytes[place + 3]) << 8
    place += 4
    guard count == ~complement & 0xFFFF, count <= bytes.count - place, count <= limit - output.count else {
      throw Malformed()
    }
    output.append(contentsOf: bytes[place..<place + count])
    place += count
  }

  // MARK: Codes

  /// A canonical Huffman code: the number of symbols for each length, and the symbols in the order of their codes.
  private struct Code {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int]

    init(_ lengths: [Int]) throws(Malformed) {
      symbols = [Int](repeating: 0, count: lengths.count)
      for length in lengths { counts[length] += 1 }
      counts[0] = 0
      var left = 1
      for length in 1..<16 {
        left = left * 2 - counts[length]
        if left < 0 { throw Malformed() }
      }
      var starts = [Int](repeating: 0, count: 17)
      for length in 1..<16 { starts[length + 1] = starts[length] + counts[length] }
      for (symbol, length) in lengths.enumerated() where length > 0 {
        symbols[starts[length]] = symbol
        starts[length] += 1
      }
    }
  }

  private static let fixedLengths = known(
    [Int](repeating: 8, count: 144) + [Int](repeating: 9, count: 112) + [Int](repeating: 7, count: 24)
      + [Int](repeating: 8, count: 8))
  private static let fixedDistances = known([Int](repeating: 5, count: 30))

  private static func known(_ lengths: [Int]) -> Code {
    guard let code = try? Code(lengths) else { preconditionFailure("the fixed code of RFC 1951 is one") }
    return code
  }

  private mutating func symbol(_ code: Code) throws(Malformed) -> Int {
    var (value, first, index) = (0, 0, 0)
    for length in 1..<16 {
      value |= try take(1)
      let count = code.counts[length]
      if value - first < count { return code.symbols[index + value - first] }
      index += count
      first = (first + count) << 1
      value <<= 1
    }
    throw Malformed()
  }

  private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

  private mutating func codes() throws(Malformed) -> (Code, Code) {
    let lengthCount = try take(5) + 257
    let distanceCount = try take(5) + 1
    let codeCount = try take(4) + 4
    guard lengthCount <= 286, distanceCount <= 30 else { throw Malformed() }
    var lengths = [Int](repeating: 0, count: 19)
    for index in 0..<codeCount { lengths[Self.lengthOrder[index]] = try take(3) }
    let code = try Code(lengths)
    lengths = []
    while lengths.count < lengthCount + distanceCount {
      let next = try symbol(code)
      if next < 16 {
        lengths.append(next)
        continue
      }
      var repeated = 0
      if next == 16 {
        guard let last = lengths.last else { throw Malformed() }
        repeated = last
      }
      let count =
        switch next {
        case 16: 3 + (try take(2))
        case 17: 3 + (try take(3))
        default: 11 + (try take(7))
        }
      guard lengths.count + count <= lengthCount + distanceCount else { throw Malformed() }
      lengths.append(contentsOf: repeatElement(repeated, count: count))
    }
    // Without an end code, a block could not end.
    guard lengths[256] > 0 else { throw Malformed() }
    return (try Code(Array(lengths[..<lengthCount])), try Code(Array(lengths[lengthCount...])))
  }

  private static let lengthBases = [
    3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
  ]
  private static let lengthBits = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
  ]
  private static let distanceBases = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
  ]
  private static let distanceBits = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
  ]

  private mutating func block(_ lengths: Code, _ distances: Code) throws(Malformed) {
    while true {
      let symbol = try symbol(lengths)
      if symbol == 256 { return }
      if symbol < 256 {
        try append(UInt8(symbol))
        continue
      }
      guard symbol - 257 < Self.lengthBases.count else { throw Malformed() }
      let length = Self.lengthBases[symbol - 257] + (try take(Self.lengthBits[symbol - 257]))
      let code = try self.symbol(distances)
      guard code < Self.distanceBases.count else { throw Malformed() }
      let distance = Self.distanceBases[code] + (try take(Self.distanceBits[code]))
      guard distance <= output.count else { throw Malformed() }
      for _ in 0..<length { try append(output[output.count - distance]) }
    }
  }
}

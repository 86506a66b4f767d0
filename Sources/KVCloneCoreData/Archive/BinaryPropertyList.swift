/// A binary property list that reads values lazily, one by one: the caller decides how deep and how much, so that a
/// list that contains itself is harmless.
///
/// Foundation's parser recurses as deep as a file says, and does not expose references between archived objects.
struct BinaryPropertyList {
  /// A value; members are indexes of other values.
  enum Value {
    case null
    case boolean(Bool)
    case integer(Int64)
    case real(Double)
    /// Seconds since 2001.
    case date(Double)
    case data([UInt8])
    case string(String)
    /// A reference to an object of a keyed archive.
    case reference(Int)
    case array([Int])
    case dictionary([(key: Int, value: Int)])
  }

  /// The bytes are not a property list; no further detail is known or needed.
  struct Malformed: Error, Equatable {}

  /// The index of the outermost value.
  let top: Int
  private let bytes: [UInt8]
  private let count: Int
  private let tableStart: Int
  private let offsetSize: Int
  private let referenceSize: Int
  private let memory: Memory

  /// The state of reading. Copies of a list share it, because the bound applies to the bytes, not to a reader of a part
  /// of them.
  private final class Memory {
    /// The number of bytes that may still be read. Shared values are read again and again; without a bound, a few
    /// hundred bytes could keep a reader busy for years.
    var budget: Int
    /// Cached texts: the names of fields are stored once, and read with every object.
    var texts: [Int: String] = [:]

    init(budget: Int) {
      self.budget = budget
    }
  }

  private static let header = Array("bplist00".utf8)
  private static let trailerSize = 32

  init(_ bytes: [UInt8]) throws(Malformed) {
    guard bytes.count >= Self.header.count + Self.trailerSize, bytes.starts(with: Self.header) else {
      throw Malformed()
    }
    let trailer = bytes.count - Self.trailerSize
    let sizes = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard (1...8).contains(sizes.0), (1...8).contains(sizes.1) else { throw Malformed() }
    // Every value has at least one byte and an entry in the table, so none of the numbers can exceed the length.
    guard let count = Self.number(in: bytes, at: trailer + 8, size: 8), count >= 1, count <= bytes.count,
      let top = Self.number(in: bytes, at: trailer + 16, size: 8), top < count,
      let tableStart = Self.number(in: bytes, at: trailer + 24, size: 8), tableStart >= Self.header.count,
      tableStart <= trailer, count * sizes.0 <= trailer - tableStart
    else { throw Malformed() }
    self.bytes = bytes
    self.count = count
    self.top = top
    self.tableStart = tableStart
    offsetSize = sizes.0
    referenceSize = sizes.1
    memory = Memory(budget: 4_096 + 16 * bytes.count)
  }

  /// Returns the value at an index.
  mutating func value(at index: Int) throws(Malformed) -> Value {
    guard (0..<count).contains(index),
      let offset = Self.number(in: bytes, at: tableStart + index * offsetSize, size: offsetSize),
      offset >= Self.header.count, offset < tableStart
    else { throw Malformed() }
    try spend(1)
    if let text = memory.texts[index] { return .string(text) }
    let value = try value(atOffset: offset)
    if case .string(let text) = value { memory.texts[index] = text }
    return value
  }

  private mutating func value(atOffset offset: Int) throws(Malformed) -> Value {
    let low = Int(bytes[offset] & 0x0F)
    let start = offset + 1
    switch bytes[offset] >> 4 {
    case 0x0: return try simple(low)
    case 0x1: return .integer(try integer(at: start, exponent: low))
    case 0x2: return .real(try real(at: start, exponent: low))
    case 0x3:
      guard low == 3 else { throw Malformed() }
      return .date(try real(at: start, exponent: 3))
    case 0x4: return .data(Array(try part(at: start, low, width: 1)))
    case 0x5:
      let part = try part(at: start, low, width: 1)
      guard part.allSatisfy({ $0 < 0x80 }) else { throw Malformed() }
      return .string(String(decoding: part, as: UTF8.self))
    case 0x6: return .string(try wideText(try part(at: start, low, width: 2)))
    case 0x8:
      guard low < 8, let reference = Self.number(in: bytes[..<tableStart], at: start, size: low + 1) else {
        throw Malformed()
      }
      return .reference(reference)
    case 0xA: return .array(try references(in: try part(at: start, low, width: referenceSize)))
    case 0xD: return .dictionary(try pairs(in: try part(at: start, low, width: 2 * referenceSize)))
    default: throw Malformed()
    }
  }

  private func simple(_ low: Int) throws(Malformed) -> Value {
    switch low {
    case 0x0: return .null
    case 0x8: return .boolean(false)
    case 0x9: return .boolean(true)
    default: throw Malformed()
    }
  }

  private func integer(at start: Int, exponent: Int) throws(Malformed) -> Int64 {
    guard exponent <= 4, start + (1 << exponent) <= tableStart else { throw Malformed() }
    // Up to 4 bytes are unsigned, and of 16 bytes the last 8 count.
    let size = min(1 << exponent, 8)
    let first = start + (1 << exponent) - size
    let bits = bytes[first..<first + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Int64(bitPattern: bits)
  }

  private func real(at start: Int, exponent: Int) throws(Malformed) -> Double {
    guard exponent == 2 || exponent == 3, start + (1 << exponent) <= tableStart else { throw Malformed() }
    let bits = bytes[start..<start + (1 << exponent)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return exponent == 3 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
  }

  /// Returns the bytes of so many items of a width; a count that does not fit into four bits precedes them.
  private mutating func part(at start: Int, _ low: Int, width: Int) throws(Malformed) -> ArraySlice<UInt8> {
    var (items, first) = (low, start)
    if low == 0x0F {
      guard start < tableStart, bytes[start] >> 4 == 0x1 else { throw Malformed() }
      let exponent = Int(bytes[start] & 0x0F)
      guard exponent <= 3 else { throw Malformed() }
      guard let given = Int(exactly: try integer(at: start + 1, exponent: exponent)), given >= 0 else {
        throw Malformed()
      }
      (items, first) = (given, start + 1 + (1 << exponent))
    }
    guard first <= tableStart, items <= (tableStart - first) / width else { throw Malformed() }
    try spend(items * width)
    return bytes[first..<first + items * width]
  }

  private func wideText(_ part: ArraySlice<UInt8>) throws(Malformed) -> String {
    let units = stride(from: part.startIndex, to: part.endIndex, by: 2).map {
      UInt16(part[$0]) << 8 | UInt16(part[$0 + 1])
    }
    guard let text = String(validating: units, as: UTF16.self) else { throw Malformed() }
    return text
  }

  private func references(in part: ArraySlice<UInt8>) throws(Malformed) -> [Int] {
    var result: [Int] = []
    for start in stride(from: part.startIndex, to: part.endIndex, by: referenceSize) {
      guard let reference = Self.number(in: part, at: start, size: referenceSize) else { throw Malformed() }
      result.append(reference)
    }
    return result
  }

  private func pairs(in part: ArraySlice<UInt8>) throws(Malformed) -> [(key: Int, value: Int)] {
    let all = try references(in: part)
    let half = all.count / 2
    return (0..<half).map { (all[$0], all[half + $0]) }
  }

  private mutating func spend(_ amount: Int) throws(Malformed) {
    memory.budget -= amount
    if memory.budget < 0 { throw Malformed() }
  }

  /// Returns an unsigned big-endian number; nil if it is larger than any index, or beyond the bytes.
  private static func number(in bytes: [UInt8], at start: Int, size: Int) -> Int? {
    number(in: bytes[...], at: start, size: size)
  }

  private static func number(in bytes: ArraySlice<UInt8>, at start: Int, size: Int) -> Int? {
    guard start >= bytes.startIndex, start <= bytes.endIndex - size else { return nil }
    return Int(exactly: bytes[start..<start + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}

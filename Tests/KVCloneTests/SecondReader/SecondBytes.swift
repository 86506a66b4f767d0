import Foundation

/// What the second reader found wrong; the text is all it says.
struct SecondError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Reads one value from front to back: little-endian numbers, counted bytes.
struct SecondBytes {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  var count: Int { bytes.endIndex - position }

  mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
    guard count >= 0, count <= self.count else { throw SecondError("a value ends too early") }
    defer { position += count }
    return bytes[position..<position + count]
  }

  mutating func rest() -> ArraySlice<UInt8> {
    defer { position = bytes.endIndex }
    return bytes[position...]
  }

  mutating func u8() throws -> UInt8 { try number() }
  mutating func u16() throws -> UInt16 { try number() }
  mutating func u32() throws -> UInt32 { try number() }
  mutating func u64() throws -> UInt64 { try number() }
  mutating func u128() throws -> UInt128 { try number() }
  mutating func f64() throws -> Double { Double(bitPattern: try number()) }
  mutating func counted() throws -> ArraySlice<UInt8> { try take(Int(try u32())) }

  mutating func numbers(_ count: Int) throws -> [UInt64] {
    try take(count * 8).withUnsafeBytes { bytes in
      (0..<count).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
    }
  }

  mutating func text() throws -> String {
    guard let text = String(validating: try counted(), as: UTF8.self) else { throw SecondError("a text is not UTF-8") }
    return text
  }

  mutating func zero(_ count: Int) throws {
    guard try take(count).allSatisfy({ $0 == 0 }) else { throw SecondError("a reserved byte is not 0") }
  }

  func end() throws {
    guard count == 0 else { throw SecondError("a value is too long") }
  }

  private mutating func number<N: FixedWidthInteger>() throws -> N {
    try take(MemoryLayout<N>.size).withUnsafeBytes { N(littleEndian: $0.loadUnaligned(as: N.self)) }
  }
}

/// Big-endian numbers of keys.
func secondNumber(_ key: ArraySlice<UInt8>) -> UInt64 { key.reduce(0) { $0 << 8 | UInt64($1) } }

/// A number as the key bytes that order as it does.
func secondKey<N: FixedWidthInteger>(_ number: N) -> [UInt8] {
  (0..<MemoryLayout<N>.size).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

/// XXH64, written down from its published definition.
func secondXXH64(_ bytes: some Collection<UInt8>, seed: UInt64) -> UInt64 {
  let hash = bytes.withContiguousStorageIfAvailable { xxh64(UnsafeRawBufferPointer($0), seed) }
  return hash ?? Array(bytes).withUnsafeBytes { xxh64($0, seed) }
}

private let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
  0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5
)

private func rotate(_ x: UInt64, _ by: UInt64) -> UInt64 { x &<< by | x &>> (64 &- by) }

private func round(_ lane: UInt64, _ input: UInt64) -> UInt64 { rotate(lane &+ input &* primes.1, 31) &* primes.0 }

private func xxh64(_ bytes: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
  let count = bytes.count
  var at = 0
  var hash: UInt64
  if count >= 32 {
    var a = seed &+ primes.0 &+ primes.1
    var b = seed &+ primes.1
    var c = seed
    var d = seed &- primes.0
    while at &+ 32 <= count {
      a = round(a, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      b = round(b, bytes.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self))
      c = round(c, bytes.loadUnaligned(fromByteOffset: at &+ 16, as: UInt64.self))
      d = round(d, bytes.loadUnaligned(fromByteOffset: at &+ 24, as: UInt64.self))
      at = at &+ 32
    }
    hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
    for lane in [a, b, c, d] { hash = (hash ^ round(0, lane)) &* primes.0 &+ primes.3 }
  } else {
    hash = seed &+ primes.4
  }
  hash = hash &+ UInt64(count)
  while at + 8 <= count {
    let lane = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
    hash = rotate(hash ^ round(0, lane), 27) &* primes.0 &+ primes.3
    at += 8
  }
  if at + 4 <= count {
    let lane = UInt64(bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
    hash = rotate(hash ^ lane &* primes.0, 23) &* primes.1 &+ primes.2
    at += 4
  }
  while at < count {
    hash = rotate(hash ^ UInt64(bytes[at]) &* primes.4, 11) &* primes.0
    at += 1
  }
  hash = (hash ^ hash &>> 33) &* primes.1
  hash = (hash ^ hash &>> 29) &* primes.2
  return hash ^ hash &>> 32
}

import Foundation
import KVCloneTestSupport

/// An error that the second reader found, as text.
struct SecondError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// Reads one value sequentially: little-endian numbers, counted bytes.
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

/// Decodes a big-endian number of a key.
func secondNumber(_ key: ArraySlice<UInt8>) -> UInt64 { key.reduce(0) { $0 << 8 | UInt64($1) } }

/// Encodes a number as key bytes in numeric order.
func secondKey<N: FixedWidthInteger>(_ number: N) -> [UInt8] {
  (0..<MemoryLayout<N>.size).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
}

/// Writes little-endian numbers and counted bytes.
package struct ByteWriter {
  package internal(set) var bytes: [UInt8] = []

  package init() {}

  package mutating func put8(_ value: UInt8) { bytes.append(value) }
  package mutating func put16(_ value: UInt16) { put(value.littleEndian) }
  package mutating func put32(_ value: UInt32) { put(value.littleEndian) }
  package mutating func put64(_ value: UInt64) { put(value.littleEndian) }
  package mutating func putDouble(_ value: Double) { put64(value.bitPattern) }

  /// Writes bytes without their length.
  package mutating func putRaw(_ value: some Sequence<UInt8>) { bytes.append(contentsOf: value) }

  /// Writes a length u32 and the bytes.
  package mutating func putBytes(_ value: [UInt8]) {
    put32(UInt32(value.count))
    bytes.append(contentsOf: value)
  }

  /// Writes a length u32 and UTF-8.
  package mutating func putString(_ value: String) { putBytes(Array(value.utf8)) }

  @inline(__always)
  private mutating func put(_ value: some FixedWidthInteger) {
    withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
  }
}

/// Reads what ``ByteWriter`` writes, and throws if the bytes end too early.
package struct ByteReader: ~Escapable {
  private let span: RawSpan
  private var offset = 0

  @_lifetime(copy span)
  package init(_ span: RawSpan) {
    self.span = span
  }

  package var remaining: Int { span.byteCount - offset }
  package var isAtEnd: Bool { remaining == 0 }

  package mutating func get8() throws(RecordError) -> UInt8 { try get(UInt8.self) }
  package mutating func get16() throws(RecordError) -> UInt16 { UInt16(littleEndian: try get(UInt16.self)) }
  package mutating func get32() throws(RecordError) -> UInt32 { UInt32(littleEndian: try get(UInt32.self)) }
  package mutating func get64() throws(RecordError) -> UInt64 { UInt64(littleEndian: try get(UInt64.self)) }
  package mutating func getDouble() throws(RecordError) -> Double { Double(bitPattern: try get64()) }

  package mutating func getRaw(_ count: Int) throws(RecordError) -> [UInt8] {
    guard count >= 0, count <= remaining else { throw .tooShort }
    let part = span.extracting(offset..<offset + count)
    offset += count
    return part.withUnsafeBytes { Array($0) }
  }

  package mutating func getBytes() throws(RecordError) -> [UInt8] {
    try getRaw(Int(try get32()))
  }

  package mutating func getString() throws(RecordError) -> String {
    guard let text = String(validating: try getBytes(), as: UTF8.self) else { throw .invalidUTF8 }
    return text
  }

  /// Reads a count of entries that each take at least `width` bytes: throws before any allocation if the count exceeds
  /// what can follow.
  package mutating func getCount(width: Int) throws(RecordError) -> Int {
    let count = Int(try get32())
    guard count <= remaining / width else { throw .badCount }
    return count
  }

  private mutating func get<Number: FixedWidthInteger & BitwiseCopyable>(
    _ type: Number.Type
  ) throws(RecordError) -> Number {
    guard remaining >= MemoryLayout<Number>.size else { throw .tooShort }
    let value = span.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type)
    offset += MemoryLayout<Number>.size
    return value
  }
}

extension UnsafeRawPointer {
  /// Reads the little-endian number at an offset.
  @inlinable @inline(__always)
  func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, _ type: Number.Type) -> Number {
    Number(littleEndian: (self + offset).loadUnaligned(as: type))
  }
}

extension UnsafeMutableRawPointer {
  /// Writes a number in little-endian order.
  @inlinable @inline(__always)
  func set<Number: FixedWidthInteger & BitwiseCopyable>(_ value: Number, at offset: Int) {
    storeBytes(of: value.littleEndian, toByteOffset: offset, as: Number.self)
  }
}

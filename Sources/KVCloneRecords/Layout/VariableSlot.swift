/// The end offset of a variable value.
@usableFromInline
enum VariableSlot {
  /// Set if the bytes are a blob reference.
  @inlinable static var blobBit: UInt32 { 1 << 31 }
  @inlinable static var endMask: UInt32 { blobBit - 1 }
  /// serial u64 | byte length u64.
  @inlinable static var blobLength: Int { 16 }
}

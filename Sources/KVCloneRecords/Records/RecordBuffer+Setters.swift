#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

extension RecordBuffer {
  /// Clears the null bit and writes the slot.
  @inlinable @inline(__always)
  mutating func store<Number: FixedWidthInteger & BitwiseCopyable>(
    _ value: Number, _ field: Int, _ kind: FieldKind
  ) {
    let entry = layout.entry(field)
    precondition(entry.kind == kind, "the field is of another kind")
    clearNull(field)
    base.set(value, at: Int(entry.offset))
  }

  @inlinable @inline(__always)
  mutating func clearNull(_ field: Int) {
    let byte = RecordHeader.length &+ field &>> 3
    let bits = base.load(fromByteOffset: byte, as: UInt8.self)
    base.storeBytes(of: bits & ~(1 &<< UInt8(truncatingIfNeeded: field & 7)), toByteOffset: byte, as: UInt8.self)
  }

  @inlinable
  package mutating func setBoolean(_ field: Int, _ value: Bool) { store(value ? 1 : 0 as UInt8, field, .boolean) }

  @inlinable
  package mutating func setInteger16(_ field: Int, _ value: Int16) { store(value, field, .integer16) }

  @inlinable
  package mutating func setInteger32(_ field: Int, _ value: Int32) { store(value, field, .integer32) }

  @inlinable
  package mutating func setInteger64(_ field: Int, _ value: Int64) { store(value, field, .integer64) }

  @inlinable
  package mutating func setFloat(_ field: Int, _ value: Float) { store(value.bitPattern, field, .float) }

  @inlinable
  package mutating func setDouble(_ field: Int, _ value: Double) { store(value.bitPattern, field, .double) }

  /// Seconds since 2001.
  @inlinable
  package mutating func setSeconds(_ field: Int, _ value: Double) { store(value.bitPattern, field, .date) }

  @inlinable
  package mutating func setDate(_ field: Int, _ value: Date) {
    setSeconds(field, value.timeIntervalSinceReferenceDate)
  }

  package mutating func setDecimal(_ field: Int, _ value: Decimal) {
    precondition(layout.kind(field) == .decimal, "the field is of another kind")
    clearNull(field)
    DecimalCodec.store(DecimalCodec.parts(of: value), to: base + layout.offset(field))
  }

  /// Sets an integral decimal: many times as fast.
  package mutating func setDecimal(_ field: Int, integer value: Int64) {
    precondition(layout.kind(field) == .decimal, "the field is of another kind")
    clearNull(field)
    DecimalCodec.store(DecimalCodec.parts(of: value), to: base + layout.offset(field))
  }

  @inlinable
  package mutating func setUUID(_ field: Int, _ value: UUID) {
    let entry = layout.entry(field)
    precondition(entry.kind == .uuid, "the field is of another kind")
    clearNull(field)
    base.storeBytes(of: value.uuid, toByteOffset: Int(entry.offset), as: uuid_t.self)
  }

  @inlinable
  package mutating func setToOne(_ field: Int, _ value: ObjectID?) {
    let entry = layout.entry(field)
    precondition(entry.kind == .toOne, "the field is of another kind")
    base.set(value?.rawValue ?? 0, at: Int(entry.offset))
  }

  /// Makes an attribute or to-one relationship nil. The slot becomes zero, so that equal objects have equal bytes.
  ///
  /// - Precondition: the field is not a list.
  package mutating func setNull(_ field: Int) {
    let kind = layout.kind(field)
    precondition(kind != .toMany, "a list is never nil")
    if kind.isVariable {
      // Shorter than before, so the splice cannot fail.
      try? setVariable(field, UnsafeRawBufferPointer(start: nil, count: 0))
    } else {
      (base + layout.offset(field)).initializeMemory(as: UInt8.self, repeating: 0, count: kind.width)
    }
    guard kind.hasNullBit else { return }
    let byte = RecordHeader.length + field / 8
    let bits = base.load(fromByteOffset: byte, as: UInt8.self)
    base.storeBytes(of: bits | 1 << UInt8(field % 8), toByteOffset: byte, as: UInt8.self)
  }

  /// Sets the bytes of a string (UTF-8), URI, binary or transformable field. They must not be the buffer's own.
  ///
  /// - Throws: `recordTooLarge`; the record is then unchanged.
  @inlinable
  package mutating func setVariable(_ field: Int, _ value: UnsafeRawBufferPointer) throws(RecordError) {
    try replaceVariable(field, with: value, isBlob: false)
  }

  /// Sets the bytes of a variable field. They must not be the buffer's own.
  ///
  /// - Throws: `recordTooLarge`; the record is then unchanged.
  @inlinable
  package mutating func setVariable(_ field: Int, _ value: RawSpan) throws(RecordError) {
    try replaceVariable(field, with: value.withUnsafeBytes { $0 }, isBlob: false)
  }

  /// Sets a blob reference as the value.
  ///
  /// - Precondition: the field is binary or transformable.
  package mutating func setBlob(_ field: Int, _ reference: BlobReference) throws(RecordError) {
    precondition(layout.kind(field).mayBeBlob, "the field is of another kind")
    let words = (reference.id.littleEndian, reference.byteCount.littleEndian)
    try withUnsafeBytes(of: words) { words throws(RecordError) in
      try replaceVariable(field, with: words, isBlob: true)
    }
  }

  @inlinable
  mutating func replaceVariable(
    _ field: Int, with value: UnsafeRawBufferPointer, isBlob: Bool
  ) throws(RecordError) {
    let range = view.variable(field).range
    try splice(range, count: value.count)
    if let start = value.baseAddress {
      base.advanced(by: range.lowerBound).copyMemory(from: start, byteCount: value.count)
    }
    clearNull(field)
    let slot = Int(layout.entry(field).offset)
    let end = UInt32(truncatingIfNeeded: range.lowerBound &- variableStart &+ value.count)
    base.set(end | (isBlob ? VariableSlot.blobBit : 0), at: slot)
    let growth = value.count &- range.count
    guard growth != 0 else { return }
    var next = slot &+ 4
    let last = layout.table.pointee.endsOffset &+ 4 &* layout.table.pointee.variableCount
    while next < last {
      // The blob bit is above any end, so adding keeps it.
      let old = UnsafeRawPointer(base).number(at: next, UInt32.self)
      base.set(old &+ UInt32(truncatingIfNeeded: growth), at: next)
      next &+= 4
    }
  }
}

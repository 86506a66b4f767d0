/// A borrowed object record in the memory map or a buffer: its values by field index.
///
/// A view exists only of completely checked bytes (or those built by a ``RecordBuffer``), so its accessors do not fail;
/// reading a field as another kind is a programming error and traps. It is valid as long as the bytes.
@usableFromInline
package struct RecordView: ~Escapable {
  @usableFromInline let base: UnsafeRawPointer
  /// The size of the record in bytes.
  @usableFromInline package let byteCount: Int
  @usableFromInline package let layout: RecordLayout
  /// The offset of the variable bytes: after the fixed slots and the inline ids.
  @usableFromInline let variableStart: Int

  /// Checks length, checksum, layout, list heads and offsets of a record.
  ///
  /// - Parameter seed: `ValueEnvelope.seed(object:)` of the object's id.
  @inlinable
  @_lifetime(copy bytes)
  package init(_ bytes: RawSpan, layout: RecordLayout, seed: UInt64) throws(RecordError) {
    let buffer = bytes.withUnsafeBytes { $0 }
    guard let base = buffer.baseAddress, buffer.count >= RecordHeader.length else { throw .tooShort }
    guard ValueEnvelope.isIntact(buffer, seed: seed) else { throw .checksumMismatch }
    self.base = base
    self.layout = layout
    byteCount = buffer.count
    variableStart = try Self.validate(base, count: buffer.count, layout: layout)
  }

  /// Checks everything but the checksum, which the caller has verified.
  @inlinable
  @_lifetime(copy bytes)
  package init(intact bytes: RawSpan, layout: RecordLayout) throws(RecordError) {
    let buffer = bytes.withUnsafeBytes { $0 }
    guard let base = buffer.baseAddress, buffer.count >= RecordHeader.length else { throw .tooShort }
    self.base = base
    self.layout = layout
    byteCount = buffer.count
    variableStart = try Self.validate(base, count: buffer.count, layout: layout)
  }

  /// Creates a view of bytes that are known to be a record of this layout.
  @inlinable
  @_lifetime(immortal)
  init(unchecked base: UnsafeRawPointer, count: Int, layout: RecordLayout, variableStart: Int) {
    self.base = base
    self.layout = layout
    byteCount = count
    self.variableStart = variableStart
  }

  /// Checks all of a record but its checksum; returns the offset of its variable bytes.
  ///
  /// Called for every record that is read. Properties of the layout are read once, because the compiler cannot know
  /// that they are constant.
  @inlinable
  static func validate(
    _ base: UnsafeRawPointer, count: Int, layout: RecordLayout
  ) throws(RecordError) -> Int {
    let table = layout.table
    guard base.number(at: RecordHeader.layout, UInt32.self) == table.pointee.layoutAndEntity else { throw .wrongLayout }
    guard Int(base.number(at: RecordHeader.totalLength, UInt32.self)) == count,
      count <= FormatLimits.maximumRecordLength
    else { throw .wrongLength }
    guard count >= table.pointee.fixedLength else { throw .tooShort }
    if table.pointee.hasShortBitmap {
      guard base.number(at: RecordHeader.length, UInt64.self) & table.pointee.forbiddenBits == 0 else { throw .badFlag }
    } else {
      for index in 0..<table.pointee.bitmapLength {
        let bits = base.load(fromByteOffset: RecordHeader.length &+ index, as: UInt8.self)
        guard bits & ~table.pointee.nullMask[index] == 0 else { throw .badFlag }
      }
    }
    var inlineIDs = 0
    var next = base + table.pointee.headsOffset
    let headsEnd = next + 8 &* table.pointee.toManyCount
    while next < headsEnd {
      let head = ListHead(rawValue: next.number(at: 0, UInt64.self))
      guard head.isValid else { throw .badCount }
      inlineIDs &+= head.inlineCount
      next += 8
    }
    let variableStart = table.pointee.fixedLength &+ 8 &* inlineIDs
    guard variableStart <= count else { throw .tooShort }
    var end: UInt32 = 0
    let firstSlot = base + table.pointee.endsOffset
    next = firstSlot
    let slotsEnd = next + 4 &* table.pointee.variableCount
    while next < slotsEnd {
      let slot = next.number(at: 0, UInt32.self)
      let slotEnd = slot & VariableSlot.endMask
      guard slotEnd >= end else { throw .badOffset }
      if slot & VariableSlot.blobBit != 0 {
        let index = (next - firstSlot) / 4
        guard table.pointee.entries[table.pointee.firstVariable &+ index].kind.mayBeBlob else { throw .badFlag }
        guard slotEnd &- end == UInt32(VariableSlot.blobLength) else { throw .badOffset }
      }
      end = slotEnd
      next += 4
    }
    guard variableStart &+ Int(end) == count else { throw .badOffset }
    return variableStart
  }
}

extension RecordView {
  /// The layout id of a record, to find its layout; nothing else is checked.
  @inlinable
  package static func layoutID(of bytes: RawSpan) throws(RecordError) -> UInt16 {
    guard bytes.byteCount >= RecordHeader.length else { throw .tooShort }
    return UInt16(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: RecordHeader.layout, as: UInt16.self))
  }

  /// The code of the object's concrete entity; nothing else is checked.
  @inlinable
  package static func entityCode(of bytes: RawSpan) throws(RecordError) -> UInt16 {
    guard bytes.byteCount >= RecordHeader.length else { throw .tooShort }
    return UInt16(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: RecordHeader.entity, as: UInt16.self))
  }

  /// The layout id (low 16 bits) and the entity's code (high 16 bits), which adjacent records mostly share; nothing
  /// else is checked.
  @inlinable
  package static func layoutAndEntity(of bytes: RawSpan) throws(RecordError) -> UInt32 {
    guard bytes.byteCount >= RecordHeader.length else { throw .tooShort }
    return UInt32(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: RecordHeader.layout, as: UInt32.self))
  }

  /// The size of the header of every record.
  package static var headerLength: Int { RecordHeader.length }

  /// The commit that last changed the object; nothing else is checked.
  @inlinable
  package static func commit(of bytes: RawSpan) throws(RecordError) -> UInt64 {
    guard bytes.byteCount >= RecordHeader.length else { throw .tooShort }
    return UInt64(
      littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: RecordHeader.commit, as: UInt64.self))
  }
}

public import KVCloneModel

/// A copied record in memory of another owner, which is turned into another object's record in place.
///
/// A clone does that with millions of records: their copies are contiguous, and a few words at offsets of their layout
/// are replaced. It is two words of a trivial type, so that a loop over records neither counts references nor
/// allocates. The caller keeps the memory alive and exclusive; setters require the layout that the bytes were checked
/// against.
@usableFromInline
package struct RecordPatch {
  @usableFromInline let base: UnsafeMutableRawPointer
  /// The record's current size in bytes.
  @usableFromInline package private(set) var byteCount: Int
  /// Offset of the variable bytes.
  @usableFromInline package private(set) var variableStart: Int

  /// Checks a record completely, its checksum first.
  ///
  /// - Parameter seed: `ValueEnvelope.seed(object:)` of the id that the bytes were stored under.
  @inlinable
  package init(
    _ bytes: UnsafeMutableRawBufferPointer, layout: RecordLayout, seed: UInt64
  ) throws(RecordError) {
    guard let base = bytes.baseAddress, bytes.count >= RecordHeader.length else { throw .tooShort }
    guard ValueEnvelope.isIntact(UnsafeRawBufferPointer(bytes), seed: seed) else { throw .checksumMismatch }
    self.base = base
    byteCount = bytes.count
    variableStart = try RecordView.validate(UnsafeRawPointer(base), count: bytes.count, layout: layout)
  }

  /// Reads the layout and the concrete entity of a record, without checking anything else.
  ///
  /// - Throws: `tooShort`.
  @inlinable @inline(__always)
  package static func header(of bytes: UnsafeRawBufferPointer) throws(RecordError) -> (layout: UInt16, entity: UInt16) {
    guard let base = bytes.baseAddress, bytes.count >= RecordHeader.length else { throw .tooShort }
    return (base.number(at: RecordHeader.layout, UInt16.self), base.number(at: RecordHeader.entity, UInt16.self))
  }

  /// The target of a to-one relationship with its slot at `offset`.
  @inlinable @inline(__always)
  package func toOne(at offset: Int) -> ObjectID? {
    let id = UnsafeRawPointer(base).number(at: offset, UInt64.self)
    return id == 0 ? nil : ObjectID(rawValue: id)
  }

  /// Sets a to-one relationship.
  @inlinable @inline(__always)
  package func setToOne(at offset: Int, _ id: ObjectID?) {
    base.set(id?.rawValue ?? 0, at: offset)
  }

  /// The head of a list.
  @inlinable @inline(__always)
  package func head(at offset: Int) -> ListHead {
    ListHead(rawValue: UnsafeRawPointer(base).number(at: offset, UInt64.self))
  }

  /// Sets the head of a list in chunks, which stays there or becomes empty.
  @inlinable @inline(__always)
  package func setHead(at offset: Int, _ head: ListHead) {
    base.set(head.rawValue, at: offset)
  }

  /// A member of an inline list; `start` is the offset of the list's ids.
  @inlinable @inline(__always)
  package func inlineID(at start: Int, _ index: Int) -> ObjectID {
    ObjectID(rawValue: UnsafeRawPointer(base).number(at: start &+ 8 &* index, UInt64.self))
  }

  /// Replaces a member of an inline list.
  @inlinable @inline(__always)
  package func setInlineID(at start: Int, _ index: Int, _ id: ObjectID) {
    base.set(id.rawValue, at: start &+ 8 &* index)
  }

  /// Sorts the ids of an inline list: at most 16.
  @inlinable
  package func sortInlineIDs(at start: Int, count: Int) {
    for index in 1..<max(1, count) {
      let id = inlineID(at: start, index)
      var place = index
      while place > 0, id < inlineID(at: start, place &- 1) {
        setInlineID(at: start, place, inlineID(at: start, place &- 1))
        place &-= 1
      }
      setInlineID(at: start, place, id)
    }
  }

  /// Empties an inline list of `count` ids, and moves up what follows.
  @inlinable
  package mutating func removeInlineIDs(at start: Int, head: Int, count: Int) {
    let end = start &+ 8 &* count
    // `copyMemory` may overlap.
    base.advanced(by: start).copyMemory(from: base + end, byteCount: byteCount &- end)
    byteCount &-= 8 &* count
    variableStart &-= 8 &* count
    base.set(0 as UInt64, at: head)
    base.set(UInt32(truncatingIfNeeded: byteCount), at: RecordHeader.totalLength)
  }

  /// The offset of the first inline list's ids.
  @inlinable @inline(__always)
  package static func inlineStart(_ layout: RecordLayout) -> Int { layout.fixedLength }

  /// Sets an attribute of eight bytes: a date's seconds, as bits.
  @inlinable @inline(__always)
  package func set(_ place: RecordPlace, _ word: UInt64) {
    clearNull(place)
    base.set(word, at: place.offset)
  }

  /// Sets an attribute of sixteen bytes: a UUID's, in their order.
  @inlinable @inline(__always)
  package func set(_ place: RecordPlace, _ bytes: (UInt64, UInt64)) {
    clearNull(place)
    // Bytes in memory order, on any machine.
    base.storeBytes(of: bytes.0, toByteOffset: place.offset, as: UInt64.self)
    base.storeBytes(of: bytes.1, toByteOffset: place.offset &+ 8, as: UInt64.self)
  }

  /// Makes an attribute of fixed width nil.
  @inlinable
  package func setNull(_ place: RecordPlace) {
    (base + place.offset).initializeMemory(as: UInt8.self, repeating: 0, count: place.width)
    let bits = base.load(fromByteOffset: place.nullByte, as: UInt8.self)
    base.storeBytes(of: bits | place.nullBit, toByteOffset: place.nullByte, as: UInt8.self)
  }

  @inlinable @inline(__always)
  func clearNull(_ place: RecordPlace) {
    let bits = base.load(fromByteOffset: place.nullByte, as: UInt8.self)
    base.storeBytes(of: bits & ~place.nullBit, toByteOffset: place.nullByte, as: UInt8.self)
  }

  /// The blob that the variable value with its end offset at `offset` refers to; nil if the value is not a blob.
  @inlinable @inline(__always)
  package func blob(at offset: Int) -> (serial: UInt64, byteCount: UInt64)? {
    let slot = UnsafeRawPointer(base).number(at: offset, UInt32.self)
    if slot & VariableSlot.blobBit == 0 { return nil }
    let start = variableStart &+ Int(slot & VariableSlot.endMask) &- VariableSlot.blobLength
    return (
      UnsafeRawPointer(base).number(at: start, UInt64.self), UnsafeRawPointer(base).number(at: start &+ 8, UInt64.self)
    )
  }

  /// Writes the commit and the checksum: the bytes can then be stored under the key that the seed was computed from.
  @inlinable @inline(__always)
  package func seal(commit: UInt64, seed: UInt64) {
    base.set(commit, at: RecordHeader.commit)
    let checksum = XXH3.hash(UnsafeRawPointer(base + 8), count: byteCount &- 8, seed: seed)
    base.set(checksum, at: 0)
  }

  /// The record's current values; the memory has to outlive the view.
  @_lifetime(immortal)
  package func view(_ layout: RecordLayout) -> RecordView {
    RecordView(unchecked: UnsafeRawPointer(base), count: byteCount, layout: layout, variableStart: variableStart)
  }
}

/// The place of a fixed-width attribute in the records of a layout.
@usableFromInline
package struct RecordPlace: BitwiseCopyable {
  @usableFromInline let offset: Int
  @usableFromInline let nullByte: Int
  @usableFromInline let nullBit: UInt8
  @usableFromInline let width: Int

  /// The place of a field.
  package init(_ layout: RecordLayout, field: Int) {
    offset = layout.offset(field)
    nullByte = RecordHeader.length + field / 8
    nullBit = 1 << UInt8(field & 7)
    width = layout.kind(field).width
  }
}

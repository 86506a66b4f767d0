/// The offsets of lists and blob references in records of one layout, for counting them without reading anything else.
///
/// Checksums are not verified; every offset is checked against the record's length, so that any bytes may be passed.
package struct RecordOutline: Sendable {
  /// The number of leading bytes that describe a record's lists and the places of blob references.
  package let fixedLength: Int
  private let toOne: [(offset: Int, property: UInt16)]
  private let toMany: [(offset: Int, property: UInt16)]
  /// All fields of variable length, in their order, with the offset of the end offset.
  private let variable: [(offset: Int, property: UInt16, mayBeBlob: Bool)]

  package init(_ layout: RecordLayout) {
    fixedLength = layout.fixedLength
    var toOne: [(offset: Int, property: UInt16)] = []
    for field in 0..<layout.fieldCount where layout.kind(field) == .toOne {
      toOne.append((layout.offset(field), layout[field].propertyCode))
    }
    self.toOne = toOne
    toMany = layout.toManyFields.map { (layout.offset($0), layout[$0].propertyCode) }
    variable = layout.variableFields.map {
      (layout.offset($0), layout[$0].propertyCode, layout.kind($0).mayBeBlob)
    }
  }

  /// Whether a record can refer to blobs.
  package var mayHaveBlobs: Bool { variable.contains { $0.mayBeBlob } }

  /// Whether the layout has relationships.
  package var hasLinks: Bool { !toOne.isEmpty || !toMany.isEmpty }

  /// Calls `body` with each relationship: its number of members, and the bytes of the record that it takes.
  ///
  /// - Parameter fixed: the first `fixedLength` bytes of a record.
  package func forEachLink(_ fixed: UnsafeRawBufferPointer, _ body: (_ property: UInt16, _ link: Link) -> Void)
    throws(RecordError)
  {
    guard let base = fixed.baseAddress, fixed.count >= fixedLength else { throw .tooShort }
    for field in toOne {
      let target = base.number(at: field.offset, UInt64.self)
      body(field.property, Link(count: target == 0 ? 0 : 1, byteCount: 8, isChunked: false))
    }
    for field in toMany {
      let head = ListHead(rawValue: base.number(at: field.offset, UInt64.self))
      guard head.isValid else { throw .badCount }
      body(
        field.property, Link(count: head.count, byteCount: 8 + 8 * head.inlineCount, isChunked: head.isChunked))
    }
  }

  /// Calls `body` with the offset of each blob reference in a record of `byteCount` bytes: 16 bytes each.
  package func forEachBlob(
    _ fixed: UnsafeRawBufferPointer, byteCount: Int, _ body: (_ property: UInt16, _ offset: Int) -> Void
  ) throws(RecordError) {
    guard let base = fixed.baseAddress, fixed.count >= fixedLength else { throw .tooShort }
    var start = fixedLength
    for field in toMany {
      let head = ListHead(rawValue: base.number(at: field.offset, UInt64.self))
      guard head.isValid else { throw .badCount }
      start += 8 * head.inlineCount
    }
    var previous: UInt32 = 0
    for field in variable {
      let slot = base.number(at: field.offset, UInt32.self)
      let end = slot & VariableSlot.endMask
      if slot & VariableSlot.blobBit != 0 {
        guard field.mayBeBlob, end >= previous, end - previous == UInt32(VariableSlot.blobLength),
          start + Int(end) <= byteCount
        else { throw .badOffset }
        body(field.property, start + Int(previous))
      }
      previous = end
    }
  }

  /// The size of a blob reference in bytes.
  package static var blobNameLength: Int { VariableSlot.blobLength }

  /// Decodes the serial of a blob reference.
  package static func blobSerial(_ name: UnsafeRawBufferPointer) throws(RecordError) -> UInt64 {
    guard let base = name.baseAddress, name.count >= blobNameLength else { throw .tooShort }
    return base.number(at: 0, UInt64.self)
  }

  /// A relationship of one record.
  package struct Link {
    package let count: Int
    /// Bytes of the record: the slot, and inline ids.
    package let byteCount: Int
    /// Whether the members are in chunks.
    package let isChunked: Bool
  }
}

extension ListChunk {
  /// The number of ids in a stored chunk; its checksum is not verified.
  package static func memberCount(of bytes: UnsafeRawBufferPointer) throws(RecordError) -> Int {
    guard let base = bytes.baseAddress, bytes.count >= headerLength else { throw .tooShort }
    return Int(base.number(at: 8, UInt16.self))
  }
}

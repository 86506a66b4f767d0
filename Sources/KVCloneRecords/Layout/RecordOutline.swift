/// Where the lists and large values of records of one layout are named, for whoever counts them and reads nothing else.
///
/// No checksum is asked; every place is held against the record's length, so that any bytes may be given.
package struct RecordOutline: Sendable {
  /// How many bytes from its begin tell of a record's lists, and where the names of large values are.
  package let fixedLength: Int
  private let toOne: [(offset: Int, property: UInt16)]
  private let toMany: [(offset: Int, property: UInt16)]
  /// All fields of variable length, in their order: where the end offset is.
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

  /// Whether a record can name large values at all.
  package var mayHaveBlobs: Bool { variable.contains { $0.mayBeBlob } }

  /// Whether there are relationships.
  package var hasLinks: Bool { !toOne.isEmpty || !toMany.isEmpty }

  /// Tells of each relationship: how many members it has, and how many bytes of the record are for it.
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

  /// Tells where in the record, of `byteCount` bytes, the names of large values are: 16 bytes each.
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

  /// Bytes of the name of a large value.
  package static var blobNameLength: Int { VariableSlot.blobLength }

  /// The large value that such bytes name.
  package static func blobSerial(_ name: UnsafeRawBufferPointer) throws(RecordError) -> UInt64 {
    guard let base = name.baseAddress, name.count >= blobNameLength else { throw .tooShort }
    return base.number(at: 0, UInt64.self)
  }

  /// A relationship of one record.
  package struct Link {
    package let count: Int
    /// Bytes of the record: the slot, and ids that are in the record.
    package let byteCount: Int
    /// Whether the members are elsewhere.
    package let isChunked: Bool
  }
}

extension ListChunk {
  /// How many members a stored chunk names; its checksum is not asked.
  package static func memberCount(of bytes: UnsafeRawBufferPointer) throws(RecordError) -> Int {
    guard let base = bytes.baseAddress, bytes.count >= headerLength else { throw .tooShort }
    return Int(base.number(at: 8, UInt16.self))
  }
}

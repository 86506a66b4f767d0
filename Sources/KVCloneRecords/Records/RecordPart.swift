/// A part of an object record with its place: for showing the bytes of a record.
package struct RecordPart: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case checksum, commit, layout, entity, length, nullBitmap
    /// The value of a field of fixed length, the target of a to-one relationship, or the head of a list.
    case slot(field: Int)
    /// The end offset of a field of variable length.
    case endOffset(field: Int)
    /// The members of a list in the record.
    case members(field: Int)
    /// The bytes of a field of variable length.
    case bytes(field: Int)
    case blobReference(field: Int)
    /// Bytes of a record that cannot be read.
    case unknown
  }

  package let content: Content
  /// The offsets of the bytes in the record.
  package let range: Range<Int>

  package init(_ content: Content, _ range: Range<Int>) {
    self.content = content
    self.range = range
  }

  /// The parts of any bytes in the place of a record: the header, as far as it is complete, and the rest.
  package static func header(byteCount: Int) -> [RecordPart] {
    let parts = [
      RecordPart(.checksum, 0..<RecordHeader.commit), RecordPart(.commit, RecordHeader.commit..<RecordHeader.layout),
      RecordPart(.layout, RecordHeader.layout..<RecordHeader.entity),
      RecordPart(.entity, RecordHeader.entity..<RecordHeader.totalLength),
      RecordPart(.length, RecordHeader.totalLength..<RecordHeader.length),
    ].prefix { $0.range.upperBound <= byteCount }
    let end = parts.last?.range.upperBound ?? 0
    return parts + (end < byteCount ? [RecordPart(.unknown, end..<byteCount)] : [])
  }
}

extension RecordView {
  /// Calls `body` with each part that is not empty, in the order of the bytes, until it returns false.
  package func forEachPart(_ body: (RecordPart) -> Bool) {
    for part in RecordPart.header(byteCount: RecordHeader.length) where !body(part) { return }
    let slots = layout.fieldCount > 0 ? layout.offset(0) : layout.fixedLength
    if slots > RecordHeader.length, !body(RecordPart(.nullBitmap, RecordHeader.length..<slots)) { return }
    for field in 0..<layout.fieldCount {
      let start = layout.offset(field)
      let kind = layout.kind(field)
      let content = kind.isVariable ? RecordPart.Content.endOffset(field: field) : .slot(field: field)
      if !body(RecordPart(content, start..<start + kind.width)) { return }
    }
    for field in layout.toManyFields {
      let count = head(field).inlineCount
      let start = inlineOffset(field)
      if count > 0, !body(RecordPart(.members(field: field), start..<start + 8 * count)) { return }
    }
    for field in layout.variableFields {
      let (range, isBlob) = variable(field)
      let content = isBlob ? RecordPart.Content.blobReference(field: field) : .bytes(field: field)
      if !range.isEmpty, !body(RecordPart(content, range)) { return }
    }
  }
}

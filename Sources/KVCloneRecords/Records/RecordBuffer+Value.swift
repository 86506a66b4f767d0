#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel

extension RecordBuffer {
  /// Sets an attribute.
  ///
  /// - Throws: `wrongKind` if the type of the value does not match the field, `outOfRange`, `recordTooLarge`; the
  ///   record
  ///   is then unchanged.
  package mutating func set(_ field: Int, _ value: AttributeValue?) throws(RecordError) {
    let kind = layout.kind(field)
    guard kind.hasNullBit else { throw .wrongKind }
    switch (kind, value) {
    case (_, nil): setNull(field)
    case (.boolean, .boolean(let value)): setBoolean(field, value)
    case (.integer16, .integer(let value)):
      guard let narrow = Int16(exactly: value) else { throw .outOfRange }
      setInteger16(field, narrow)
    case (.integer32, .integer(let value)):
      guard let narrow = Int32(exactly: value) else { throw .outOfRange }
      setInteger32(field, narrow)
    case (.integer64, .integer(let value)): setInteger64(field, value)
    case (.float, .float(let value)): setFloat(field, value)
    case (.double, .double(let value)): setDouble(field, value)
    case (.date, .date(let value)): setDate(field, value)
    case (.decimal, .decimal(let value)): setDecimal(field, value)
    case (.uuid, .uuid(let value)): setUUID(field, value)
    case (.string, .string(let value)), (.uri, .uri(let value)): try setString(field, value)
    case (.binary, .binary(let value)), (.transformable, .transformable(let value)): try setData(field, value)
    case (.binary, .blob(let reference)) where !reference.isTransformable: try setBlob(field, reference)
    case (.transformable, .blob(let reference)) where reference.isTransformable: try setBlob(field, reference)
    default: throw .wrongKind
    }
  }

  /// Sets the UTF-8 of a string or URI.
  package mutating func setString(_ field: Int, _ value: String) throws(RecordError) {
    var value = value
    value.makeContiguousUTF8()
    try setVariable(field, value.utf8Span.span.bytes)
  }

  private mutating func setData(_ field: Int, _ value: Data) throws(RecordError) {
    try setVariable(field, value.bytes)
  }

  /// Replaces the content by the record of `layout` with every value of `view` of a property that has the same kind in
  /// the layout; all other fields are nil or empty. This converts a record of an older layout to the current one.
  ///
  /// - Returns: the fields of `layout` without a value in `view`.
  package mutating func convert(
    _ view: borrowing RecordView, to layout: RecordLayout
  ) throws(RecordError) -> [Int] {
    reset(layout)
    base.set(view.commit, at: RecordHeader.commit)
    var missing: [Int] = []
    for field in 0..<layout.fieldCount {
      let kind = layout.kind(field)
      guard let source = view.layout.fieldIndex(ofProperty: layout[field].propertyCode),
        view.layout.kind(source) == kind
      else {
        missing.append(field)
        continue
      }
      try copy(source, of: view, to: field, kind)
    }
    return missing
  }

  /// Converts by a prepared conversion of the two layouts.
  ///
  /// - Precondition: the view has the conversion's source layout.
  package mutating func convert(
    _ view: borrowing RecordView, by conversion: LayoutConversion
  ) throws(RecordError) {
    assert(view.layout == conversion.source, "a conversion of another layout")
    reset(conversion.destination)
    base.set(view.commit, at: RecordHeader.commit)
    for (source, field, kind) in conversion.fields { try copy(source, of: view, to: field, kind) }
  }

  mutating func copy(
    _ source: Int, of view: borrowing RecordView, to field: Int, _ kind: FieldKind
  ) throws(RecordError) {
    if view.isNull(source) { return setNull(field) }
    if kind == .toMany {
      let head = view.head(source)
      if head.isChunked { return setHead(field, head) }
      return try setInlineIDs(field, view.inlineIDs(source).array)
    }
    if kind.isVariable {
      let bytes = view.variableBytes(source)
      return try replaceVariable(field, with: bytes.withUnsafeBytes { $0 }, isBlob: view.isBlob(source))
    }
    if kind.hasNullBit { clearNull(field) }
    base.advanced(by: layout.offset(field)).copyMemory(
      from: view.base + view.layout.offset(source), byteCount: kind.width)
  }
}

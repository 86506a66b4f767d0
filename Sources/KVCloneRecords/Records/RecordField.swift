/// The place of a property in records of one layout, looked up once: its values are read without the layout.
///
/// It may be used only with records of its layout, and for values of its kind.
@usableFromInline
package struct RecordField: Sendable {
  package let layout: RecordLayout
  @usableFromInline package let kind: FieldKind
  @usableFromInline let isFirstVariable: Bool
  /// Zero if the kind has none.
  @usableFromInline let nullBit: UInt8
  @usableFromInline let nullOffset: UInt16
  @usableFromInline let offset: UInt32

  /// Nil if records of the layout do not have the property.
  package init?(_ layout: RecordLayout, property: UInt16) {
    guard let field = layout.fieldIndex(ofProperty: property) else { return nil }
    let entry = layout.entry(field)
    self.layout = layout
    kind = entry.kind
    isFirstVariable = field == layout.table.pointee.firstVariable
    nullBit = entry.kind.hasNullBit ? 1 &<< UInt8(field & 7) : 0
    nullOffset = UInt16(RecordHeader.length + field / 8)
    offset = entry.offset
  }

  /// Whether an attribute is nil.
  @inlinable @inline(__always)
  func isNull(_ base: UnsafeRawPointer) -> Bool {
    base.load(fromByteOffset: Int(nullOffset), as: UInt8.self) & nullBit != 0
  }

  /// Reads an integer, or 0 and 1 for a boolean.
  @inlinable @inline(__always)
  func integer(_ base: UnsafeRawPointer) -> Int64 {
    switch kind {
    case .boolean: base.load(fromByteOffset: Int(offset), as: UInt8.self) == 0 ? 0 : 1
    case .integer16: Int64(base.number(at: Int(offset), Int16.self))
    case .integer32: Int64(base.number(at: Int(offset), Int32.self))
    default: base.number(at: Int(offset), Int64.self)
    }
  }

  /// Reads a double, a float, or a date's seconds.
  @inlinable @inline(__always)
  func double(_ base: UnsafeRawPointer) -> Double {
    if kind == .float { return Double(Float(bitPattern: base.number(at: Int(offset), UInt32.self))) }
    return Double(bitPattern: base.number(at: Int(offset), UInt64.self))
  }

  /// Whether the value is within so many variable bytes.
  @inline(__always)
  func isWithin(_ base: UnsafeRawPointer, _ length: Int) -> Bool {
    let end = base.number(at: Int(offset), UInt32.self) & VariableSlot.endMask
    let start = isFirstVariable ? 0 : base.number(at: Int(offset) &- 4, UInt32.self) & VariableSlot.endMask
    return start <= end && Int(end) <= length
  }

  /// The bytes of a value of variable length.
  @inlinable @inline(__always)
  func bytes(_ base: UnsafeRawPointer, _ variableStart: Int) -> UnsafeRawBufferPointer {
    let end = base.number(at: Int(offset), UInt32.self) & VariableSlot.endMask
    let start = isFirstVariable ? 0 : base.number(at: Int(offset) &- 4, UInt32.self) & VariableSlot.endMask
    return UnsafeRawBufferPointer(start: base + (variableStart &+ Int(start)), count: Int(end &- start))
  }
}

extension RecordView {
  /// Whether an attribute is nil.
  @inlinable @inline(__always)
  package func isNull(_ field: RecordField) -> Bool { field.isNull(base) }

  /// Reads an integer, or 0 and 1 for a boolean.
  @inlinable @inline(__always)
  package func integer(_ field: RecordField) -> Int64 { field.integer(base) }

  /// Reads a double, a float, or a date's seconds.
  @inlinable @inline(__always)
  package func double(_ field: RecordField) -> Double { field.double(base) }

  /// The bytes of a value of variable length.
  @inlinable
  @_lifetime(copy self)
  package func bytes(_ field: RecordField) -> RawSpan {
    let span = RawSpan(_unsafeBytes: field.bytes(base, variableStart))
    return _overrideLifetime(span, copying: self)
  }

  /// The text of a string or URI.
  ///
  /// - Throws: `invalidUTF8`.
  package func string(_ field: RecordField) throws(RecordError) -> String { try Self.string(bytes(field)) }

  /// The bytes of a string or URI.
  ///
  /// - Throws: `invalidUTF8`.
  @_lifetime(copy self)
  package func utf8(_ field: RecordField) throws(RecordError) -> RawSpan {
    let bytes = bytes(field)
    guard Self.isASCII(bytes) || bytes.withUnsafeBytes({ Self.isUTF8($0) }) else { throw .invalidUTF8 }
    return bytes
  }

  /// Decodes a text.
  static func string(_ bytes: RawSpan) throws(RecordError) -> String {
    // Not `String(validating:as:)`, which is generic inside the standard library, and twice as slow; nor the check of
    // `UTF8Span(validating:)`: the checks for ASCII, which most texts are, and for UTF-8 are faster here.
    let isASCII = isASCII(bytes)
    guard isASCII || bytes.withUnsafeBytes({ isUTF8($0) }) else { throw .invalidUTF8 }
    return String(copying: UTF8Span(unchecked: Span<UInt8>(_bytes: bytes), isKnownASCII: isASCII))
  }

  private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    return UTF8Check.isValid(base, count: bytes.count)
  }

  @inline(__always)
  private static func isASCII(_ bytes: RawSpan) -> Bool {
    bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return true }
      let count = bytes.count
      var all: UInt64 = 0
      if count >= 8 {
        var index = 0
        while index &+ 8 <= count {
          all |= base.number(at: index, UInt64.self)
          index &+= 8
        }
        // The last eight, which may overlap those before.
        all |= base.number(at: count &- 8, UInt64.self)
      } else {
        for index in 0..<count { all |= UInt64(base.load(fromByteOffset: index, as: UInt8.self)) }
      }
      return all & 0x8080_8080_8080_8080 == 0
    }
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

extension RecordView {
  /// The commit that last changed the object.
  @inlinable
  package var commit: UInt64 { base.number(at: RecordHeader.commit, UInt64.self) }

  /// The whole record, as stored.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(copy self)
    get { span(0..<byteCount) }
  }

  /// Whether an attribute or to-one relationship is nil; a list never is.
  @inlinable
  package func isNull(_ field: Int) -> Bool {
    if layout.kind(field) == .toOne { return toOne(field) == nil }
    let bits = base.load(fromByteOffset: RecordHeader.length &+ field / 8, as: UInt8.self)
    return bits & (1 &<< UInt8(truncatingIfNeeded: field & 7)) != 0
  }

  /// The slot's bytes as a number, ignoring the null bit.
  @inlinable @inline(__always)
  func slot<Number: FixedWidthInteger & BitwiseCopyable>(
    _ field: Int, _ kind: FieldKind, _ type: Number.Type
  ) -> Number {
    let entry = layout.entry(field)
    precondition(entry.kind == kind, "the field is of another kind")
    return base.number(at: Int(entry.offset), type)
  }

  @inlinable
  package func boolean(_ field: Int) -> Bool { slot(field, .boolean, UInt8.self) != 0 }

  @inlinable
  package func integer16(_ field: Int) -> Int16 { slot(field, .integer16, Int16.self) }

  @inlinable
  package func integer32(_ field: Int) -> Int32 { slot(field, .integer32, Int32.self) }

  @inlinable
  package func integer64(_ field: Int) -> Int64 { slot(field, .integer64, Int64.self) }

  @inlinable
  package func float(_ field: Int) -> Float { Float(bitPattern: slot(field, .float, UInt32.self)) }

  @inlinable
  package func double(_ field: Int) -> Double { Double(bitPattern: slot(field, .double, UInt64.self)) }

  /// Seconds since 2001.
  @inlinable
  package func seconds(_ field: Int) -> Double { Double(bitPattern: slot(field, .date, UInt64.self)) }

  @inlinable
  package func date(_ field: Int) -> Date { Date(timeIntervalSinceReferenceDate: seconds(field)) }

  package func decimal(_ field: Int) -> Decimal {
    precondition(layout.kind(field) == .decimal, "the field is of another kind")
    return DecimalCodec.load(from: base + layout.offset(field))
  }

  @inlinable
  package func uuid(_ field: Int) -> UUID {
    let entry = layout.entry(field)
    precondition(entry.kind == .uuid, "the field is of another kind")
    return UUID(uuid: (base + Int(entry.offset)).loadUnaligned(as: uuid_t.self))
  }

  @inlinable
  package func toOne(_ field: Int) -> ObjectID? {
    let id = slot(field, .toOne, UInt64.self)
    return id == 0 ? nil : ObjectID(rawValue: id)
  }

  /// The head of a to-many list.
  @inlinable
  package func head(_ field: Int) -> ListHead {
    ListHead(rawValue: slot(field, .toMany, UInt64.self))
  }

  /// The members of an inline list; empty if it is chunked.
  @inlinable
  @_lifetime(copy self)
  package func inlineIDs(_ field: Int) -> ObjectIDList {
    let count = head(field).inlineCount
    return _overrideLifetime(ObjectIDList(base: base + inlineOffset(field), count: count), copying: self)
  }

  /// The offset of an inline list's ids.
  @inlinable
  func inlineOffset(_ field: Int) -> Int {
    let table = layout.table
    var ids = 0
    for index in 0..<field &- table.pointee.firstToMany {
      ids &+= ListHead(rawValue: base.number(at: table.pointee.headsOffset &+ 8 &* index, UInt64.self)).inlineCount
    }
    return table.pointee.fixedLength &+ 8 &* ids
  }

  /// The range of a variable field's bytes, and whether they are a blob reference.
  @inlinable
  func variable(_ field: Int) -> (range: Range<Int>, isBlob: Bool) {
    let entry = layout.entry(field)
    precondition(entry.kind.isVariable, "the field is of another kind")
    let slot = base.number(at: Int(entry.offset), UInt32.self)
    var start: UInt32 = 0
    if field > layout.table.pointee.firstVariable {
      start = base.number(at: Int(entry.offset) &- 4, UInt32.self) & VariableSlot.endMask
    }
    let range = Range(
      uncheckedBounds: (variableStart &+ Int(start), variableStart &+ Int(slot & VariableSlot.endMask)))
    return (range, slot & VariableSlot.blobBit != 0)
  }

  /// The bytes of a variable field; those of the reference for a blob. Empty if nil.
  @inlinable
  @_lifetime(copy self)
  package func variableBytes(_ field: Int) -> RawSpan {
    span(variable(field).range)
  }

  /// Whether the value is a blob.
  @inlinable
  package func isBlob(_ field: Int) -> Bool {
    variable(field).isBlob
  }

  /// The reference of the value's blob, or nil.
  @inlinable
  package func blobReference(_ field: Int) -> BlobReference? {
    let (range, isBlob) = variable(field)
    guard isBlob else { return nil }
    return BlobReference(
      id: base.number(at: range.lowerBound, UInt64.self),
      byteCount: base.number(at: range.lowerBound &+ 8, UInt64.self),
      isTransformable: layout.kind(field) == .transformable)
  }

  /// The text of a string or URI.
  ///
  /// - Throws: `invalidUTF8`.
  package func string(_ field: Int) throws(RecordError) -> String {
    try Self.string(variableBytes(field))
  }

  @inlinable
  @_lifetime(copy self)
  func span(_ range: Range<Int>) -> RawSpan {
    let span = RawSpan(_unsafeStart: base + range.lowerBound, byteCount: range.count)
    return _overrideLifetime(span, copying: self)
  }

  /// An attribute's value, or nil.
  ///
  /// - Throws: `invalidUTF8`; `wrongKind` for a relationship.
  package func value(_ field: Int) throws(RecordError) -> AttributeValue? {
    if isNull(field) { return nil }
    switch layout.kind(field) {
    case .boolean: return .boolean(boolean(field))
    case .integer16: return .integer(Int64(integer16(field)))
    case .integer32: return .integer(Int64(integer32(field)))
    case .integer64: return .integer(integer64(field))
    case .float: return .float(float(field))
    case .double: return .double(double(field))
    case .date: return .date(date(field))
    case .decimal: return .decimal(decimal(field))
    case .uuid: return .uuid(uuid(field))
    case .string: return .string(try string(field))
    case .uri: return .uri(try string(field))
    case .binary: return blobReference(field).map { .blob($0) } ?? .binary(data(field))
    case .transformable: return blobReference(field).map { .blob($0) } ?? .transformable(data(field))
    case .toOne, .toMany: throw .wrongKind
    }
  }

  private func data(_ field: Int) -> Data {
    variableBytes(field).withUnsafeBytes { Data($0) }
  }
}

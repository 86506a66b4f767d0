import Synchronization

/// The offsets of the fields in one entity's records.
///
/// A layout is described in `metadata` under its id for as long as the store exists, so that every record ever written
/// can be read. Layouts are interned: equal ones share one immortal table, so that a layout is one pointer, is copied
/// without reference counting, and may be used by any thread. Fields are sorted by placement (wide slots first) and
/// then by property code; fields are identified by their index in that order.
@usableFromInline
package struct RecordLayout: @unchecked Sendable {
  @usableFromInline let table: UnsafePointer<LayoutTable>

  init(table: UnsafePointer<LayoutTable>) {
    self.table = table
  }

  /// One property of the entity.
  @usableFromInline
  package struct Field: Hashable, Sendable {
    /// The number of the property in the store's catalog.
    @usableFromInline package var propertyCode: UInt16
    @usableFromInline package var kind: FieldKind

    @inlinable
    package init(propertyCode: UInt16, kind: FieldKind) {
      self.propertyCode = propertyCode
      self.kind = kind
    }
  }

  /// Creates the layout of these fields, given in any order.
  ///
  /// - Precondition: at most `FormatLimits.maximumFieldCount` fields, no property code twice.
  package init(id: UInt16, entityCode: UInt16, fields: [Field]) {
    let sorted = fields.sorted(by: Self.precedes)
    precondition(sorted.count <= FormatLimits.maximumFieldCount, "too many properties for one entity")
    precondition(Set(sorted.map(\.propertyCode)).count == sorted.count, "a property has one field")
    self = Self.interned(Key(id: id, entityCode: entityCode, fields: sorted))
  }

  /// The order of fields.
  static func precedes(_ left: Field, _ right: Field) -> Bool {
    (left.kind.placement, left.propertyCode) < (right.kind.placement, right.propertyCode)
  }

  /// The number of this layout in the store.
  @inlinable
  package var id: UInt16 { table.pointee.id }

  /// The number of the concrete entity.
  @inlinable
  package var entityCode: UInt16 { table.pointee.entityCode }

  @inlinable
  package var fieldCount: Int { table.pointee.fieldCount }

  /// The field at an index.
  @inlinable
  package subscript(field: Int) -> Field {
    Field(propertyCode: entry(field).propertyCode, kind: entry(field).kind)
  }

  /// All fields, in their order.
  package var fields: [Field] {
    (0..<fieldCount).map { self[$0] }
  }

  /// The kind of a field.
  @inlinable
  package func kind(_ field: Int) -> FieldKind { entry(field).kind }

  /// The offset of a field's fixed slot from the start of the record.
  @inlinable
  package func offset(_ field: Int) -> Int { Int(entry(field).offset) }

  /// The field of a property; linear in the number of fields, so look it up once per layout.
  package func fieldIndex(ofProperty propertyCode: UInt16) -> Int? {
    let entries = table.pointee.entries
    for field in 0..<fieldCount where entries[field].propertyCode == propertyCode { return field }
    return nil
  }

  /// The indexes of the list fields.
  @inlinable
  package var toManyFields: Range<Int> {
    let first = table.pointee.firstToMany
    return first..<first + table.pointee.toManyCount
  }

  /// The indexes of the fields with variable length.
  @inlinable
  package var variableFields: Range<Int> {
    let first = table.pointee.firstVariable
    return first..<first + table.pointee.variableCount
  }

  /// The length of a record with nil in all values: header, bitmap and fixed slots.
  @inlinable
  package var fixedLength: Int { table.pointee.fixedLength }

  @inlinable @inline(__always)
  func entry(_ field: Int) -> LayoutTable.Entry {
    precondition(UInt(bitPattern: field) < UInt(bitPattern: table.pointee.fieldCount), "no such field")
    return table.pointee.entries[field]
  }

  /// A layout without fields, for buffers without a record.
  static let empty = RecordLayout(id: 0, entityCode: 0, fields: [])
}

extension RecordLayout: Equatable, Hashable {
  @inlinable
  package static func == (left: Self, right: Self) -> Bool { left.table == right.table }

  @inlinable
  package func hash(into hasher: inout Hasher) { hasher.combine(table) }
}

/// Offsets in the header of every object record.
@usableFromInline
enum RecordHeader {
  /// checksum u64 at 0.
  @inlinable static var commit: Int { 8 }
  @inlinable static var layout: Int { 16 }
  @inlinable static var entity: Int { 18 }
  @inlinable static var totalLength: Int { 20 }
  /// The null bitmap follows.
  @inlinable static var length: Int { 24 }
}

/// The computed offsets of a layout, in memory that is never freed.
@usableFromInline
struct LayoutTable {
  @usableFromInline
  struct Entry {
    @usableFromInline let propertyCode: UInt16
    @usableFromInline let kind: FieldKind
    @usableFromInline let offset: UInt32
  }

  @usableFromInline let id: UInt16
  @usableFromInline let entityCode: UInt16
  /// Both as in a record's header.
  @usableFromInline let layoutAndEntity: UInt32
  @usableFromInline let fieldCount: Int
  @usableFromInline let bitmapLength: Int
  @usableFromInline let firstToMany: Int
  @usableFromInline let toManyCount: Int
  /// Offset of the first list head.
  @usableFromInline let headsOffset: Int
  @usableFromInline let firstVariable: Int
  @usableFromInline let variableCount: Int
  /// Offset of the first end offset.
  @usableFromInline let endsOffset: Int
  @usableFromInline let fixedLength: Int
  @usableFromInline let entries: UnsafePointer<Entry>
  /// The valid bits of the bitmap.
  @usableFromInline let nullMask: UnsafePointer<UInt8>
  /// Whether every record has at least eight bytes from the bitmap on, which include the whole bitmap.
  @usableFromInline let hasShortBitmap: Bool
  /// The bits of these eight bytes that must be clear.
  @usableFromInline let forbiddenBits: UInt64
  /// An unsealed record with every value nil, `fixedLength` bytes.
  @usableFromInline let template: UnsafePointer<UInt8>
}

extension RecordLayout {
  private struct Key: Hashable {
    var id: UInt16
    var entityCode: UInt16
    var fields: [Field]
  }

  private static let known = Mutex<[Key: RecordLayout]>([:])

  private static func interned(_ key: Key) -> RecordLayout {
    known.withLock { known in
      if let layout = known[key] { return layout }
      let table = UnsafeMutablePointer<LayoutTable>.allocate(capacity: 1)
      table.initialize(to: makeTable(key))
      let layout = RecordLayout(table: UnsafePointer(table))
      known[key] = layout
      return layout
    }
  }

  private static func makeTable(_ key: Key) -> LayoutTable {
    let count = key.fields.count
    let bitmapLength = (count + 7) / 8
    let entries = UnsafeMutablePointer<LayoutTable.Entry>.allocate(capacity: count)
    let mask = UnsafeMutablePointer<UInt8>.allocate(capacity: bitmapLength)
    mask.initialize(repeating: 0, count: bitmapLength)
    var offset = RecordHeader.length + bitmapLength
    for (index, field) in key.fields.enumerated() {
      (entries + index).initialize(
        to: .init(propertyCode: field.propertyCode, kind: field.kind, offset: UInt32(offset)))
      if field.kind.hasNullBit { mask[index / 8] |= 1 << UInt8(index % 8) }
      offset += field.kind.width
    }
    let template = UnsafeMutablePointer<UInt8>.allocate(capacity: offset)
    template.initialize(repeating: 0, count: offset)
    let header = UnsafeMutableRawPointer(template)
    header.storeBytes(of: key.id.littleEndian, toByteOffset: RecordHeader.layout, as: UInt16.self)
    header.storeBytes(of: key.entityCode.littleEndian, toByteOffset: RecordHeader.entity, as: UInt16.self)
    header.storeBytes(of: UInt32(offset).littleEndian, toByteOffset: RecordHeader.totalLength, as: UInt32.self)
    (template + RecordHeader.length).update(from: mask, count: bitmapLength)

    let firstToMany = key.fields.firstIndex { $0.kind == .toMany } ?? count
    let firstVariable = key.fields.firstIndex { $0.kind.isVariable } ?? count
    var forbiddenBits: UInt64 = 0
    for index in 0..<min(bitmapLength, 8) { forbiddenBits |= UInt64(~mask[index]) << UInt64(8 * index) }
    return LayoutTable(
      id: key.id, entityCode: key.entityCode, layoutAndEntity: UInt32(key.entityCode) << 16 | UInt32(key.id),
      fieldCount: count, bitmapLength: bitmapLength,
      firstToMany: firstToMany, toManyCount: key.fields.count { $0.kind == .toMany },
      headsOffset: firstToMany < count ? Int(entries[firstToMany].offset) : offset,
      firstVariable: firstVariable, variableCount: key.fields.count { $0.kind.isVariable },
      endsOffset: firstVariable < count ? Int(entries[firstVariable].offset) : offset,
      fixedLength: offset, entries: UnsafePointer(entries), nullMask: UnsafePointer(mask),
      hasShortBitmap: bitmapLength <= 8 && offset >= RecordHeader.length + 8, forbiddenBits: forbiddenBits,
      template: UnsafePointer(template))
  }
}

import Foundation
import KVCloneModel
import KVCloneRecords
import Synchronization

/// A resolved attribute for fast reads from any number of objects, see ``ObjectView``.
///
/// A key can be kept and used from any thread. In another store, or after reopening the store, the key still works, but
/// its attribute is looked up by name, which is slower.
public struct AttributeKey<Value: AttributeConvertible>: Sendable {
  let place: AttributePlace
}

extension AttributeKey {
  /// Resolves an attribute of an entity.
  init(_ schema: Schema, _ entity: String, _ name: String) throws(StoreError) {
    place = try AttributePlace(schema, entity, name)
    try place.check(Value.self, schema)
  }
}

/// The location of an attribute in a schema: two words, without a reference that would be counted whenever a key is
/// passed on.
struct AttributePlace: @unchecked Sendable {
  /// The number of the schema that the location is valid for.
  let schemaNumber: UInt64
  /// Immortal and immutable, so any thread may read it.
  private let info: UnsafePointer<AttributeInfo>

  /// The attribute's name, `composite.leaf` for an element.
  var path: String { info.pointee.path }
  var entityName: String { info.pointee.entityName }
  var entityCode: UInt16 { info.pointee.entityCode }
  var code: UInt16 { info.pointee.code }
  /// The attribute's field in records of the entity itself, in the usual case; nil for an attribute that is not one
  /// stored value.
  @inline(__always)
  var field: RecordField? { info.pointee.field }

  init(_ schema: Schema, _ entity: String, _ path: String) throws(StoreError) {
    let entity = try schema.entity(entity)
    let attribute = entity.attributeIndex[path].map { entity.attributes[$0] }
    if attribute == nil, entity.composite(at: path) == nil { throw entity.unknownAttribute(path) }
    let code = attribute?.code ?? 0
    schemaNumber = schema.number
    info = AttributeInfo(
      entityName: entity.name, entityCode: entity.code, path: path, code: code,
      field: attribute?.field == nil ? nil : RecordField(entity.layout, property: code)
    ).interned()
  }

  /// - Throws: `wrongType` if the attribute never has values of a type.
  func check(_ type: Any.Type, _ schema: Schema) throws(StoreError) {
    let entity = try schema.entity(entityName)
    guard let index = entity.attributeIndex[path] else { return }
    let stored = entity.attributes[index].description.type
    guard stored != .undefined, let read = Self.typesRead(by: type), !read.contains(stored) else { return }
    throw StoreError(
      .wrongType,
      "\(entity.name).\(path) is \(stored.rawValue), which cannot be read as \(type); use the attribute's type",
      entity: entity.name, property: path)
  }

  /// Returns the attribute types for one of the library's own Swift types; nil for a type of the app.
  private static func typesRead(by type: Any.Type) -> [AttributeType]? {
    switch type {
    case is Int.Type, is Int64.Type, is Int32.Type, is Int16.Type: [.integer16, .integer32, .integer64]
    case is Double.Type: [.double]
    case is Float.Type: [.float]
    case is Decimal.Type: [.decimal]
    case is Bool.Type: [.boolean]
    case is String.Type: [.string]
    case is Date.Type: [.date]
    case is UUID.Type: [.uuid]
    case is URL.Type: [.uri]
    case is BinaryValue.Type: [.binary, .transformable]
    default: nil
    }
  }
}

/// The resolved information about a key's attribute. Equal instances are shared and live forever: their number is
/// limited by the attributes of the opened models.
private struct AttributeInfo: Hashable, Sendable {
  let entityName: String
  let entityCode: UInt16
  let path: String
  let code: UInt16
  let field: RecordField?

  private static let known = Mutex<[AttributeInfo: Place]>([:])

  private struct Place: @unchecked Sendable {
    let pointer: UnsafePointer<AttributeInfo>
  }

  func interned() -> UnsafePointer<AttributeInfo> {
    Self.known.withLock { known in
      if let place = known[self] { return place }
      let pointer = UnsafeMutablePointer<AttributeInfo>.allocate(capacity: 1)
      pointer.initialize(to: self)
      let place = Place(pointer: UnsafePointer(pointer))
      known[self] = place
      return place
    }.pointer
  }

  // The field follows from the layout, of which there is one for each set of fields.
  static func == (left: Self, right: Self) -> Bool {
    left.entityName == right.entityName && left.entityCode == right.entityCode && left.path == right.path
      && left.code == right.code && left.field?.layout == right.field?.layout
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(entityName)
    hasher.combine(path)
    hasher.combine(code)
    hasher.combine(field?.layout)
  }
}

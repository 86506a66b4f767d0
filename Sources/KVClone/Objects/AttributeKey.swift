import Foundation
import KVCloneModel
import KVCloneRecords

/// An attribute that is looked up once, to be read of any number of objects: see ``ObjectView``.
///
/// A key may be kept as long as one likes, and be used by many threads. It stands for the attribute's name: in a store that
/// was opened again, or another one, that name is looked up, which takes longer.
public struct AttributeKey<Value: AttributeConvertible>: Sendable {
  let place: AttributePlace
}

extension ObjectStore {
  /// Looks up an attribute, or an element of a composite one, `place.latitude`.
  ///
  /// ```swift
  /// let title = try store.attribute("Note", "title", as: String.self)
  /// ```
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`; `wrongType` where the type is one that the attribute never has.
  public func attribute<Value>(_ entity: String, _ name: String, as type: Value.Type = Value.self) throws(StoreError)
    -> AttributeKey<Value>
  {
    let place = try AttributePlace(schema, entity, name)
    try place.check(type)
    return AttributeKey(place: place)
  }

  /// Looks up an attribute by a key path of generated source, `\Note.Fields.title`.
  ///
  /// - Throws: `unknownProperty` for a key path that is no attribute, or of an entity that the store does not have.
  public func attribute<Fields: EntityFields, Value>(_ path: KeyPath<Fields, Value>) throws(StoreError)
    -> AttributeKey<Value>
  {
    try attribute(path as AnyKeyPath, of: Fields.self)
  }

  /// Looks up an optional attribute by a key path of generated source.
  ///
  /// - Throws: `unknownProperty` for a key path that is no attribute, or of an entity that the store does not have.
  public func attribute<Fields: EntityFields, Value>(_ path: KeyPath<Fields, Value?>) throws(StoreError)
    -> AttributeKey<Value>
  {
    try attribute(path as AnyKeyPath, of: Fields.self)
  }

  private func attribute<Fields: EntityFields, Value>(_ path: AnyKeyPath, of fields: Fields.Type) throws(StoreError)
    -> AttributeKey<Value>
  {
    let entity = Fields.Object.entity.name
    guard let name = Fields.name(of: path) else {
      throw StoreError(.unknownProperty, "the key path is no attribute of \(entity)", entity: entity)
    }
    return try attribute(entity, name)
  }
}

/// Where a schema has an attribute.
final class AttributePlace: @unchecked Sendable {
  let entity: CompiledEntity
  /// The attribute's name, `composite.leaf` for an element.
  let path: String
  /// The schema of which all this is true, and where it is: to compare with, without counting references.
  let schema: Schema
  let schemaPlace: UnsafeRawPointer
  /// Where records of the entity itself have it, as a rule; nil for what is no stored value of its own.
  let field: RecordField?
  let code: UInt16

  init(_ schema: Schema, _ entity: String, _ path: String) throws(StoreError) {
    self.entity = try schema.entity(entity)
    self.path = path
    self.schema = schema
    schemaPlace = UnsafeRawPointer(Unmanaged.passUnretained(schema).toOpaque())
    let attribute = self.entity.attributeIndex[path].map { [entity = self.entity] in entity.attributes[$0] }
    code = attribute?.code ?? 0
    field = attribute?.field == nil ? nil : RecordField(self.entity.layout, property: code)
    if attribute == nil, self.entity.composite(at: path) == nil {
      throw self.entity.unknownAttribute(path)
    }
  }

  /// - Throws: `wrongType` where the attribute never has values of a type.
  func check(_ type: Any.Type) throws(StoreError) {
    guard let index = entity.attributeIndex[path] else { return }
    let stored = entity.attributes[index].description.type
    guard stored != .undefined, let read = Self.typesRead(by: type), !read.contains(stored) else { return }
    throw StoreError(
      .wrongType,
      "\(entity.name).\(path) is \(stored.rawValue), which is never read as \(type); name the type that it has",
      entity: entity.name, property: path)
  }

  /// The attribute types that one of the library's own Swift types is for; nil for a type of the app.
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

public import KVCloneCore
import KVCloneModel

extension ObjectStore {
  /// Resolves an attribute by a key path of generated source, such as `\Note.Fields.title`.
  ///
  /// - Throws: `unknownProperty` if the key path is not an attribute, or the store does not have its entity.
  public func attribute<Fields: EntityFields, Value>(_ path: KeyPath<Fields, Value>) throws(StoreError)
    -> AttributeKey<Value>
  {
    try attribute(path as AnyKeyPath, of: Fields.self)
  }

  /// Resolves an optional attribute by a key path of generated source.
  ///
  /// - Throws: `unknownProperty` if the key path is not an attribute, or the store does not have its entity.
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
      throw StoreError(.unknownProperty, "the key path is not an attribute of \(entity)", entity: entity)
    }
    return try attribute(entity, name)
  }
}

public import KVCloneCore
import KVCloneModel

extension ObjectStore {
  /// Resolves an attribute by a key path of generated source, such as `\Note.Fields.title`.
  ///
  /// - Throws: `unknownProperty` if the key path is not an attribute, or the store does not have its entity.
  public func attribute<Fields: EntityFields, Value>(_ path: KeyPath<Fields, Value>) throws(StoreError)
    -> AttributeKey<Value>
  {
    try attribute(Fields.Object.entity.name, Fields.attributeName(path))
  }

  /// Resolves an optional attribute by a key path of generated source.
  ///
  /// - Throws: `unknownProperty` if the key path is not an attribute, or the store does not have its entity.
  public func attribute<Fields: EntityFields, Value>(_ path: KeyPath<Fields, Value?>) throws(StoreError)
    -> AttributeKey<Value>
  {
    try attribute(Fields.Object.entity.name, Fields.attributeName(path))
  }
}

extension EntityFields {
  /// The name of the attribute that a key path stands for.
  fileprivate static func attributeName(_ path: AnyKeyPath) throws(StoreError) -> String {
    if let name = name(of: path) { return name }
    let entity = Object.entity.name
    throw StoreError(.unknownProperty, "the key path is not an attribute of \(entity)", entity: entity)
  }
}

public import KVCloneModel

/// Changes of single objects with Swift values.
extension WriteTransaction {
  /// Inserts an object with values of Swift types, such as variables of type `String`, `Int`, `Date` or `UUID`.
  ///
  /// ```swift
  /// let note = try tx.insert("Note", ["title": title, "created": Date()])
  /// ```
  ///
  /// - Parameters:
  ///   - entity: the name of a concrete entity.
  ///   - attributes: values by attribute; a missing attribute gets its default.
  ///   - relationships: members by relationship.
  /// - Returns: the id of the new object.
  /// - Throws: see ``insert(_:_:relationships:)-(_,[String:AttributeValue?],_)``.
  @_disfavoredOverload
  @discardableResult
  public mutating func insert(
    _ entity: String, _ attributes: [String: (any AttributeConvertible)?], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    try insert(entity, attributes.mapValues { $0?.attributeValue }, relationships: relationships)
  }

  /// Sets an attribute to a value of a Swift type, such as a variable of type `String`, `Int`, `Date` or `UUID`.
  ///
  /// - Throws: `unknownProperty`, `wrongType`, `outOfRange`, `objectNotFound`.
  @_disfavoredOverload
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: (some AttributeConvertible)?)
    throws(StoreError)
  {
    let value: AttributeValue? = value?.attributeValue
    try set(id, attribute, value)
  }

  /// Links an object to one other object. Sets a to-one relationship; appends to a to-many relationship.
  ///
  /// - Throws: `unknownProperty`, `wrongDestination`, `objectNotFound`.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ target: ObjectID) throws(StoreError) {
    try link(id, relationship, [target])
  }

  /// Deletes an object and applies the delete rules of the model.
  ///
  /// - Returns: the number of deleted objects, including those that cascade rules deleted.
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete(_ id: ObjectID) throws(StoreError) -> DeleteResult { try delete([id]) }
}

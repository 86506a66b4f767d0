public import KVCloneCore
import KVCloneModel

/// Storing objects as the Swift types of their entities.
extension WriteTransaction {
  /// Inserts a new object.
  ///
  /// Objects that it links to must be stored already. To store new objects that refer to each other, use an
  /// ``EditingContext``.
  ///
  /// - Returns: the stored object with its id.
  /// - Throws: `objectNotFound` for a link to an object that is not stored; the errors of
  ///   ``insert(_:_:relationships:)-(_,[String:AttributeValue?],_)``.
  @discardableResult
  public mutating func insert<Object: EntityObject>(_ object: Object) throws(StoreError) -> Object {
    let compiled = try _withSession { (session) throws(StoreError) in try session.schema.entity(Object.entity.name) }
    let values = try object.values(of: compiled).withoutEmptyRelationships
    if let name = values.propertyWithTemporaryTarget {
      throw StoreError(
        .objectNotFound,
        "\(Object.entity.name).\(name) refers to an object that is not stored yet; insert that object first, or insert "
          + "both in an EditingContext", entity: Object.entity.name, property: name)
    }
    let id = try insert(Object.entity.name, values.attributes)
    try values.link(id, in: &self)
    return try self.object(TypedObjectID(id))
  }

  /// Writes the changes of an object since it was read.
  ///
  /// - Parameters:
  ///   - object: the object that was read, with changed values.
  ///   - ifUnchanged: whether to refuse the save with `staleObject` if the stored object has changed since it was read
  ///     (optimistic locking). The default is false.
  /// - Returns: the object as stored.
  /// - Throws: `objectNotFound`, also for a new object; `staleObject`, `wrongType`, `outOfRange`, `wrongDestination`.
  @discardableResult
  public mutating func save<Object: EntityObject>(_ object: Object, ifUnchanged: Bool = false) throws(StoreError)
    -> Object
  {
    guard let original = object.objectState.original else {
      throw StoreError(
        .objectNotFound, "the new object of \(Object.entity.name) is not stored yet; insert it before saving changes",
        entity: Object.entity.name)
    }
    let changes = try object.changes(object.values(of: original.entity), from: original)
    if ifUnchanged { try save(original, ifUnchanged: true) }
    try setAttributes(original.id, changes.attributes)
    try changes.link(original.id, in: &self)
    return try self.object(object.objectID)
  }

  /// Deletes an object and applies the delete rules of the model.
  ///
  /// - Returns: the number of deleted objects, including those that cascade rules deleted.
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> DeleteResult {
    try delete([id.objectID])
  }
}

/// Changes of stored objects through their Swift types.
extension WriteTransaction {
  /// Reads an object, calls `body` to change it, and saves it.
  ///
  /// ```swift
  /// try tx.update(list.objectID) { $0.title = "Groceries" }
  /// ```
  ///
  /// - Returns: the object as stored.
  /// - Throws: `objectNotFound`; the error of `body`; the errors of ``save(_:ifUnchanged:)-(Object,_)``.
  @discardableResult
  public mutating func update<Object>(_ id: TypedObjectID<Object>, _ body: (inout Object) throws -> Void) throws
    -> Object
  {
    var object = try object(id)
    try body(&object)
    return try save(object)
  }

  /// Deletes an object and applies the delete rules of the model.
  ///
  /// - Returns: the number of deleted objects, including those that cascade rules deleted.
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete<Object: EntityObject>(_ object: Object) throws(StoreError) -> DeleteResult {
    try delete(object.objectID)
  }
}

import KVCloneModel

/// Changes of stored objects through their Swift types.
extension WriteTransaction {
  /// Reads an object, lets `body` change it, and saves it.
  ///
  /// ```swift
  /// try tx.update(list.objectID) { $0.title = "Groceries" }
  /// ```
  ///
  /// - Returns: the object as stored.
  /// - Throws: `objectNotFound`; what `body` throws; see ``save(_:ifUnchanged:)-(Object,_)``.
  @discardableResult
  public mutating func update<Object>(_ id: TypedObjectID<Object>, _ body: (inout Object) throws -> Void) throws
    -> Object
  {
    var object = try object(id)
    try body(&object)
    return try save(object)
  }

  /// Deletes an object by the delete rules of the model.
  ///
  /// - Returns: the number of deleted objects, including those deleted by the rule cascade.
  /// - Throws: `objectNotFound`; `deleteDenied`. Nothing is deleted if it throws.
  @discardableResult
  public mutating func delete<Object: EntityObject>(_ object: Object) throws(StoreError) -> DeleteResult {
    try delete(object.objectID)
  }
}

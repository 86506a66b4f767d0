public import KVCloneCore
import KVCloneModel

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

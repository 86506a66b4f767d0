public import Foundation
public import KVCloneCore
public import KVCloneModel

/// Reading one object, or none.
extension ObjectReading where Self: ~Copyable {
  /// Returns the first object of an entity that matches a predicate, or nil.
  ///
  /// ```swift
  /// let inbox = try tx.fetchOne(Folder.self, where: #Predicate { $0.name == "Inbox" })
  /// ```
  ///
  /// - Throws: `invalidPredicate` for expressions that the store cannot evaluate; `corrupted`.
  public borrowing func fetchOne<Object: EntityObject>(
    _ type: Object.Type, where predicate: Foundation.Predicate<Object.Fields>? = nil,
    sortedBy order: [SortDescriptor<Object.Fields>] = []
  ) throws(StoreError) -> Object? {
    try fetch(type, where: predicate, sortedBy: order, limit: 1).first
  }

  /// Returns the first result of a request, or nil.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func fetchOne(_ request: FetchRequest) throws(StoreError) -> ManagedObject? {
    var request = request
    request.fetchLimit = 1
    return try fetch(request).first
  }

  /// Returns an object, or nil if it does not exist.
  ///
  /// - Throws: `wrongDestination` if the object belongs to another entity; `corrupted`.
  public borrowing func object<Object>(ifExists id: TypedObjectID<Object>) throws(StoreError) -> Object? {
    guard try exists(id.objectID) else { return nil }
    return try object(id)
  }

  /// Returns an object, or nil if it does not exist.
  ///
  /// - Throws: `corrupted`.
  public borrowing func object(ifExists id: ObjectID) throws(StoreError) -> ManagedObject? {
    guard try exists(id) else { return nil }
    return try object(id)
  }

  /// Returns whether an object exists.
  public borrowing func exists<Object>(_ id: TypedObjectID<Object>) throws(StoreError) -> Bool {
    try exists(id.objectID)
  }
}

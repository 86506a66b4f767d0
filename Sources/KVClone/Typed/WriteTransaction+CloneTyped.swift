public import KVCloneCore
public import KVCloneModel

/// Deep clone of typed objects, as part of a write transaction.
extension WriteTransaction {
  /// Clones an object and its subgraph by the clone rules.
  ///
  /// ```swift
  /// let copy = try tx.clone(list)  // TodoList.ID
  /// ```
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: ``CloneError``, ``StoreError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone<Object: EntityObject>(_ object: Object, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    try clone(object.objectID, options: options)
  }

  /// Clones an object and its subgraph by the clone rules.
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: ``CloneError``, ``StoreError``. After an error, the transaction is abort-only (R1).
  @discardableResult
  public mutating func clone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    TypedObjectID(try clone([id.objectID], options: options).root)
  }

  /// Clones several objects and their subgraphs at once. Objects that the subgraphs share are cloned once.
  ///
  /// - Returns: the clone of each root, with counts and bytes.
  /// - Throws: ``CloneError``; the transaction is abort-only after it (R1).
  @discardableResult
  public mutating func clone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) throws
    -> TypedCloneResult<Object>
  {
    TypedCloneResult(try clone(ids.map(\.objectID), options: options))
  }

  /// Clones an object and its subgraph as a snapshot shows them.
  ///
  /// - Returns: the id of the clone; with ``CloneOptions/count`` above 1, of the first one.
  /// - Throws: ``CloneError``; the transaction is abort-only after it (R1). `snapshotNotFound`.
  @discardableResult
  public mutating func clone<Object>(
    _ id: TypedObjectID<Object>, from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) throws -> TypedObjectID<Object> {
    TypedObjectID(try clone([id.objectID], from: snapshot, options: options).root)
  }

  /// Clones an object and its subgraph by the rules of the model.
  ///
  /// - Returns: the id of the clone; with ``CloneOptions/count`` above 1, of the first one.
  /// - Throws: ``CloneError``; the transaction is abort-only after it (R1).
  @discardableResult
  public mutating func clone(_ id: ObjectID, options: CloneOptions = CloneOptions()) throws -> ObjectID {
    try clone([id], options: options).root
  }
}

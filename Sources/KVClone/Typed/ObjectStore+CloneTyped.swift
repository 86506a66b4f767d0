public import KVCloneCore
public import KVCloneModel

/// Deep clone of typed objects, in a write transaction of its own.
extension ObjectStore {
  /// Clones an object and its subgraph by the clone rules.
  ///
  /// ```swift
  /// let copy = try store.clone(list)  // TodoList.ID
  /// ```
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: the errors of `clone(_:options:)`, with nothing written.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone<Object: EntityObject>(_ object: Object, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    try clone(object.objectID, options: options)
  }

  /// Clones an object and its subgraph by the rules of the model, from asynchronous code.
  @discardableResult
  public func clone<Object: EntityObject>(_ object: Object, options: CloneOptions = CloneOptions()) async throws
    -> TypedObjectID<Object>
  {
    try await clone(object.objectID, options: options)
  }

  /// Clones an object and its subgraph by the clone rules.
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: the errors of `clone(_:options:)`, with nothing written.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) throws
    -> TypedObjectID<Object>
  {
    TypedObjectID(try clone([id.objectID], options: options).root)
  }

  /// Clones an object and its subgraph by the rules of the model, from asynchronous code.
  @discardableResult
  public func clone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) async throws
    -> TypedObjectID<Object>
  {
    TypedObjectID(try await clone([id.objectID], options: options).root)
  }

  /// Clones several objects and their subgraphs in one transaction. Objects that belong to several subgraphs are cloned
  /// once.
  ///
  /// - Returns: the clone of each root, with the number of objects and bytes.
  /// - Throws: the errors of `clone(_:options:)`, with nothing written.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) throws
    -> TypedCloneResult<Object>
  {
    TypedCloneResult(try clone(ids.map(\.objectID), options: options))
  }

  /// Clones several objects and their subgraphs at once, from asynchronous code.
  @discardableResult
  public func clone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) async throws
    -> TypedCloneResult<Object>
  {
    TypedCloneResult(try await clone(ids.map(\.objectID), options: options))
  }

  /// Clones an object and its subgraph by the clone rules.
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: the errors of `clone(_:options:)`, with nothing written.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ id: ObjectID, options: CloneOptions = CloneOptions()) throws -> ObjectID {
    try clone([id], options: options).root
  }

  /// Clones an object and its subgraph by the rules of the model, from asynchronous code.
  @discardableResult
  public func clone(_ id: ObjectID, options: CloneOptions = CloneOptions()) async throws -> ObjectID {
    try await clone([id], options: options).root
  }

  /// Clones an object and its subgraph from a snapshot, in the state that the snapshot shows.
  ///
  /// - Returns: the id of the clone; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: ``CloneError``; ``StoreError``, such as `snapshotNotFound`. Nothing is written then.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone<Object>(
    _ id: TypedObjectID<Object>, from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) throws -> TypedObjectID<Object> {
    TypedObjectID(try clone([id.objectID], from: snapshot, options: options).root)
  }

  /// Clones an object and its subgraph from a snapshot, from asynchronous code.
  @discardableResult
  public func clone<Object>(
    _ id: TypedObjectID<Object>, from snapshot: Snapshot, options: CloneOptions = CloneOptions()
  ) async throws -> TypedObjectID<Object> {
    TypedObjectID(try await clone([id.objectID], from: snapshot, options: options).root)
  }

  /// Clones an object and its subgraph into another store. The two models may differ.
  ///
  /// - Returns: the id of the clone in the other store; of the first copy if ``CloneOptions/count`` is above 1.
  /// - Throws: ``CloneError``; ``StoreError``. Nothing is written then.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone<Object>(
    _ id: TypedObjectID<Object>, into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> TypedObjectID<Object> {
    TypedObjectID(try clone([id.objectID], into: destination, options: options).root)
  }

  /// Clones an object and its subgraph into another store, from asynchronous code.
  @discardableResult
  public func clone<Object>(
    _ id: TypedObjectID<Object>, into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) async throws -> TypedObjectID<Object> {
    TypedObjectID(try await clone([id.objectID], into: destination, options: options).root)
  }

  /// Plans a clone of an object without writing anything (dry run).
  ///
  /// - Returns: the numbers of objects and bytes that the clone would create, share and affect, and every error that
  ///   would fail it.
  /// - Throws: the errors of ``planClone(_:options:)-([ObjectID],_)``.
  public func planClone<Object: EntityObject>(_ object: Object, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try planClone([object.objectID.objectID], options: options)
  }

  /// Plans a clone of an object without writing anything (dry run).
  ///
  /// - Returns: the numbers of objects and bytes that the clone would create, share and affect, and every error that
  ///   would fail it.
  /// - Throws: the errors of ``planClone(_:options:)-([ObjectID],_)``.
  public func planClone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try planClone([id.objectID], options: options)
  }

  /// Plans a clone of several objects without writing anything (dry run).
  ///
  /// - Returns: the numbers of objects and bytes that the clone would create, share and affect, and every error that
  ///   would fail it.
  /// - Throws: the errors of ``planClone(_:options:)-([ObjectID],_)``.
  public func planClone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try planClone(ids.map(\.objectID), options: options)
  }
}

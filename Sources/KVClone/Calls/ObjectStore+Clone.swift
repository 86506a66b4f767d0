public import KVCloneCore
public import KVCloneModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Clones objects in a write transaction of its own.
extension ObjectStore {
  /// Clones objects and their subgraphs by the rules of the model, in a separate write transaction.
  ///
  /// The plan is created without the write lock. All rules are checked before the first byte is written (R1). If the
  /// map is too small, it grows before the clone, or after a first attempt, which is then repeated.
  ///
  /// - Parameters:
  ///   - roots: the objects to clone; at least one.
  ///   - options: rules, limits and hooks of this call.
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError`` if the plan finds an error; ``ValidationError``; `busy`; `diskFull` and `mapFull`, before
  ///   the first byte if the plan detects it; other file system errors as `io`. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> CloneResult {
    try CloneCall(roots, options, to: self).run()
  }

  /// Clones objects and their subgraphs from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written. The result and other errors are those
  /// of the synchronous form.
  @discardableResult
  public func clone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) async throws -> CloneResult {
    try await CloneCall(roots, options, to: self).runOnWriterThread()
  }

  /// Clones one object with the parameters of MOCloner, and returns the clone (R27).
  ///
  /// The clone runs in a separate write transaction, so `saveBeforeReturn` must be true. Inside `write`, use
  /// ``WriteTransaction/clone(object:excludedRelationshipNames:passingExclusionList:saveBeforeReturn:config:)``.
  ///
  /// - Throws: `invalidConfiguration` if `saveBeforeReturn` is false; the errors of `clone(_:options:)`.
  @available(*, noasync, message: "use the asynchronous form of clone(_:options:)")
  @discardableResult
  public func clone(
    object: ObjectID, excludedRelationshipNames: [String] = [], passingExclusionList: Bool = false,
    saveBeforeReturn: Bool = true, config: CloneUserInfoKeys = .standard
  ) throws -> ObjectID {
    guard saveBeforeReturn else {
      throw CloneError(
        .invalidConfiguration, "a clone without saving needs a surrounding write transaction; call it inside write"
      )
    }
    return try clone(
      [object],
      options: CloneOptions(
        excludedRelationshipNames: excludedRelationshipNames, passingExclusionList: passingExclusionList, config: config
      )
    ).root
  }

  /// Returns what a clone would create, share and change, which rules apply, and all errors, without writing (R36).
  ///
  /// The plan reads one snapshot and waits for no writer. If the clone would almost fill the file or the disk, the
  /// plan runs it in a write transaction that is rolled back, because only this shows whether it fits. That
  /// transaction holds the write lock as long as the clone would. Hooks of the store are not called, so the plan does
  /// not contain their rejections.
  ///
  /// - Throws: ``StoreError`` if the store cannot be read; errors of ``CloneOptions/willClone``. Errors of the clone
  ///   itself are in ``ClonePlan/errors``.
  public func planClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) throws -> ClonePlan {
    try CloneCall(roots, options, to: self).plan()
  }

  /// Starts a deep clone on a thread of the store and returns immediately.
  ///
  /// Use the returned task to observe the clone or to cancel it from other code.
  public func startClone(_ roots: [ObjectID], options: CloneOptions = CloneOptions()) -> CloneTask {
    let operation = CloneTask(options.progress)
    let call = CloneCall(roots, options, to: self)
    let span = call.span
    writerQueue.async {
      operation.end(Result { try span.run { try call.run(operation.control) } })
    }
    return operation
  }

  /// Clones objects and their subgraphs from a snapshot, in a separate write transaction.
  ///
  /// The clones restore, under new ids, the objects that the snapshot shows. The store may have changed or deleted the
  /// objects since. The clone rules are those of the store's current model. The snapshot decides which objects belong
  /// to the clone, and their values, lists and order. Everything outside the clone is the current state of the store:
  ///
  /// - A link to an object that is not cloned leads to the same object, and its inverse gains the clone. If that object
  ///   no longer exists, the link is left out. If the model requires the link, the clone fails with
  ///   `requiredRelationshipExcluded`.
  /// - Maximum counts, occupied to-one inverses and uniqueness constraints are checked against the current state.
  /// - Blobs are shared, including blobs that only snapshots reference. Their bytes stay when the snapshot is deleted.
  ///
  /// - Returns: the clones of the roots, with counts, bytes and duration.
  /// - Throws: ``CloneError`` if the plan finds an error, `objectNotFound` if the snapshot does not show a root;
  ///   `snapshotNotFound`; ``ValidationError``; `busy`, `diskFull`, `mapFull`. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> CloneResult
  {
    try CloneCall(roots, options, from: .snapshot(snapshot), to: self).run()
  }

  /// Clones objects and their subgraphs from a snapshot, from asynchronous code, on a thread of the store.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) async throws
    -> CloneResult
  {
    try await CloneCall(roots, options, from: .snapshot(snapshot), to: self).runOnWriterThread()
  }

  /// Returns what a clone from a snapshot would create, share and change in the current state, and all errors, without
  /// writing (R36).
  ///
  /// - Throws: `snapshotNotFound`; ``StoreError`` if the store cannot be read; errors of ``CloneOptions/willClone``.
  ///   Errors of the clone itself are in ``ClonePlan/errors``.
  public func planClone(_ roots: [ObjectID], from snapshot: Snapshot, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try CloneCall(roots, options, from: .snapshot(snapshot), to: self).plan()
  }

  /// Clones objects and their subgraphs into another store, in a separate write transaction of `destination` (R35).
  ///
  /// The rules, the model and the state are those of this store. This store is only read.
  ///
  /// For every entity of the clones, the model of the destination must have an entity of the same name, with the
  /// attributes and relationships of this one under the same names and types. Links never cross stores. A link to an
  /// object that is not cloned leads to the object of the destination that has the same values under a uniqueness
  /// constraint; ``CloneOptions/outsideObjects-swift.property`` selects another treatment. Each blob is written once,
  /// even if several clones reference it.
  ///
  /// - Returns: the clones of the roots, as objects of the destination. Affected objects belong to the destination too.
  /// - Throws: ``CloneError`` if the plan finds an error, such as `incompatibleModel` and `outsideObjectUnmatched`, and
  ///   `invalidConfiguration` if both stores are the same; ``ValidationError`` for the model of the destination;
  ///   `busy`, `diskFull`, `mapFull` of the destination. Nothing is written if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func clone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> CloneResult {
    try CloneCall(roots, options, from: .store(self), to: destination).run()
  }

  /// Clones objects and their subgraphs into another store from asynchronous code, on the writer thread of the
  /// destination.
  ///
  /// Cancelling the task ends the clone with `cancelled`, and nothing is written.
  @discardableResult
  public func clone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) async throws -> CloneResult {
    try await CloneCall(roots, options, from: .store(self), to: destination).runOnWriterThread()
  }

  /// Returns what a clone into another store would create there, and all errors, without writing (R35, R36). Affected
  /// objects belong to the destination.
  ///
  /// - Throws: ``StoreError`` if a store cannot be read; errors of ``CloneOptions/willClone``. Errors of the clone
  ///   itself are in ``ClonePlan/errors``.
  public func planClone(
    _ roots: [ObjectID], into destination: ObjectStore, options: CloneOptions = CloneOptions()
  ) throws -> ClonePlan {
    try CloneCall(roots, options, from: .store(self), to: destination).plan()
  }

  /// Purges idempotency keys, so that they can be used again (R31). Without arguments, purges all keys.
  ///
  /// A key is purged if it matches every argument that is given.
  ///
  /// - Parameters:
  ///   - keys: restricts the purge to these keys.
  ///   - before: restricts the purge to keys of operations before this time.
  ///   - expiredOnly: restricts the purge to expired keys. Expired keys are already treated as unknown, but use space
  ///     until they are reused or purged.
  /// - Returns: the number of purged keys.
  /// - Throws: `busy`, and other ``StoreError`` of a write transaction. Nothing is changed if it throws.
  @available(*, noasync, message: "use the asynchronous form")
  @discardableResult
  public func purgeIdempotencyKeys(
    _ keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false
  ) throws -> Int {
    try runWrite(label: "purge operations", timeout: nil) { transaction in
      try CloneKey.purge(keys, before: before, expiredOnly: expiredOnly, in: &transaction)
    }
  }

  /// Purges idempotency keys, from asynchronous code.
  @discardableResult
  public func purgeIdempotencyKeys(
    _ keys: [String]? = nil, before: Date? = nil, expiredOnly: Bool = false
  ) async throws -> Int {
    try await write(label: "purge operations") { transaction in
      try CloneKey.purge(keys, before: before, expiredOnly: expiredOnly, in: &transaction)
    }
  }

  // MARK: Typed objects

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

  /// Clones the object with an id; otherwise like the form that takes the object.
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

  /// Clones the object with an id; otherwise like the form that takes the object.
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

  /// Plans a clone of the object with an id; otherwise like the form that takes the object.
  public func planClone<Object>(_ id: TypedObjectID<Object>, options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try planClone([id.objectID], options: options)
  }

  /// Plans a clone of several objects; otherwise like the form that takes one object.
  public func planClone<Object>(_ ids: [TypedObjectID<Object>], options: CloneOptions = CloneOptions()) throws
    -> ClonePlan
  {
    try planClone(ids.map(\.objectID), options: options)
  }
}

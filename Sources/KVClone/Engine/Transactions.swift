public import KVCloneModel

/// A read transaction: a consistent view of the store at the last commit before it began.
///
/// It lives as long as the closure of `ObjectStore.read`. Object ids and ``ManagedObject``s may leave the closure.
public struct ReadTransaction: ~Copyable, ObjectReading {
  /// In memory of its own: a session has some hundred bytes, which would be copied wherever the transaction is lent.
  private let place: Box<Session>

  var session: Session { _read { yield place.value } }

  init(_ session: consuming Session) {
    place = Box(session)
  }

  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    try body(place.value)
  }
}

/// A write transaction: all of its changes are committed, or none.
///
/// Returning from the closure of `ObjectStore.write` commits; throwing rolls back. An operation that fails before its
/// first change, such as one with an unknown name or a value of the wrong type, leaves the transaction usable. An
/// operation that fails after a change makes the transaction abort-only: later changes and the commit throw
/// `transactionAborted`.
public struct WriteTransaction: ~Copyable, ObjectReading {
  /// In memory of its own, because reading settles what waits, though to whoever reads nothing changes. Nobody borrows
  /// anything from the session then: nothing waits while somebody reads, because only changes make it wait.
  private let place: Box<Session>

  var session: Session {
    _read { yield place.value }
    _modify { yield &place.value }
  }

  init(_ session: consuming Session) {
    place = Box(session)
  }

  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    if !place.value.isSettled {
      do throws(StoreError) {
        try place.value.settle()
      } catch {
        // Who cannot be told reads on; the commit will tell.
        if let error = error as? E { throw error }
      }
    }
    return try body(place.value)
  }

  /// Moves the session out for the commit.
  consuming func takeSession() -> Session { place.take() }

  /// Writes the deferred inverse links and index entries of inserted objects, for callers that use the session
  /// directly.
  mutating func settle() throws(StoreError) { try session.settle() }

  /// Runs a change. An error before the first written byte leaves the transaction usable; a later one makes it
  /// abort-only.
  mutating func change<R, E: Error>(_ body: (inout Session) throws(E) -> R) throws -> R {
    if let failure = session.changes.failure { throw failure }
    try session.settle()
    let before = session.storage.changeCount
    do {
      return try body(&session)
    } catch {
      if session.storage.changeCount != before { session.changes.fail(error) }
      throw error
    }
  }

  /// Like `change`, for changes that only throw `StoreError`.
  ///
  /// - Parameter settles: whether deferred links and index entries of inserted objects are written first; only inserts
  ///   may pass false.
  mutating func changeObjects<R>(settles: Bool = true, _ body: (inout Session) throws(StoreError) -> R)
    throws(StoreError) -> R
  {
    if let failure = session.changes.failure { throw failure }
    if settles { try session.settle() }
    let before = session.storage.changeCount
    do throws(StoreError) {
      return try body(&session)
    } catch {
      if session.storage.changeCount != before { session.changes.fail(error) }
      throw error
    }
  }
}

extension WriteTransaction {
  /// Inserts an object.
  ///
  /// - Parameters:
  ///   - entity: the name of a concrete entity.
  ///   - attributes: the attribute values by name. Attributes without a value here get their defaults.
  ///   - relationships: the targets by relationship name; at most one for a to-one relationship. Both sides are linked.
  /// - Returns: the id of the object.
  /// - Throws: `unknownEntity`, `abstractEntity`, `unknownProperty`, `wrongType`, `outOfRange`, `wrongDestination`,
  ///   `objectNotFound`, `limitExceeded`.
  @discardableResult
  public mutating func insert(
    _ entity: String, _ attributes: [String: AttributeValue?] = [:], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    let id = try restore(entity, attributes, relationships: relationships)
    try awake(id, attributes)
    return id
  }

  /// Inserts an object without calling hooks, because the object is not new to the app.
  mutating func restore(
    _ entity: String, _ attributes: [String: AttributeValue?], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    try changeObjects(settles: false) { (session) throws(StoreError) in
      try session.insert(try session.schema.entity(entity), attributes, relationships)
    }
  }

  /// Sets an attribute; nil clears it.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`, `outOfRange`.
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws(StoreError) {
    try setAttributes(id, [attribute: value])
  }

  /// Sets several attributes of an object; nil clears an attribute.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`, `outOfRange`.
  public mutating func setAttributes(_ id: ObjectID, _ values: [String: AttributeValue?]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.set(id, values) }
  }

  /// Sets a to-one relationship; nil clears it. The links of the previous target, and of the previous partner of
  /// `target`, are removed.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws(StoreError) {
    try setMembers(id, relationship, target.map { [$0] } ?? [])
  }

  /// Replaces the members of a relationship. An ordered relationship stores them in this order.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`.
  public mutating func setMembers(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.setMembers(id, relationship, targets) }
  }

  /// Adds links to `targets`.
  ///
  /// A to-one relationship replaces its target. A to-many relationship adds the targets that are not members yet. An
  /// ordered relationship without `index` appends them. With `index`, it inserts all targets there, and moves those
  /// that are members already.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongDestination`; `invalidIndex` if `index` is outside the list,
  ///   or the relationship is not ordered.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID], at index: Int? = nil)
    throws(StoreError)
  {
    try changeObjects { (session) throws(StoreError) in try session.link(id, relationship, targets, at: index) }
  }

  /// Removes the links to `targets`, or all links of the relationship if `targets` is nil.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]? = nil) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.unlink(id, relationship, targets) }
  }

  /// Deletes objects and applies the delete rules of the model.
  ///
  /// Cascade also deletes the members of the relationship. Deny refuses the delete if the relationship has members.
  /// Nullify and no action remove the links.
  ///
  /// - Throws: `objectNotFound`; `deleteDenied`, with nothing deleted.
  @discardableResult
  public mutating func delete(_ ids: [ObjectID]) throws(StoreError) -> DeleteResult {
    let ids = ObjectSet(ids)
    try validateDelete(ids)
    return try changeObjects { (session) throws(StoreError) in DeleteResult(deletedCount: try session.delete(ids)) }
  }

  /// Writes the values that were set on an object after it was read.
  ///
  /// - Parameters:
  ///   - object: the object that was read, with the changed values.
  ///   - ifUnchanged: whether to refuse the save with `staleObject` if the stored object has changed since it was read
  ///     (optimistic locking). The default is false.
  /// - Throws: `staleObject`, `objectNotFound`, `wrongType`, `outOfRange`.
  public mutating func save(_ object: ManagedObject, ifUnchanged: Bool = false) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      if ifUnchanged {
        let commit = try session.existingRecord(object.id).commit
        guard commit == object.commit else {
          throw StoreError(
            .staleObject,
            "\(object.name) is stale: it was read at commit \(object.commit), and commit \(commit) changed it; read it "
              + "again", entity: object.entityName, object: object.name)
        }
      }
      try session.set(object.id, object.pending)
    }
  }

  /// Sets a binary or transformable attribute from a stream, with constant memory use.
  ///
  /// `source` runs while the transaction holds the write lock. For bytes from a network or a pipe, use
  /// ``ObjectStore/stageBlob(timeout:_:)`` instead.
  ///
  /// - Throws: the error of `source`; `objectNotFound`, `unknownProperty`, `wrongType`, `mapFull`, `diskFull`.
  public mutating func setData(
    _ id: ObjectID, _ attribute: String, from source: (inout BlobWriter) throws -> Void
  ) throws {
    try change { session in try session.setData(id, attribute, from: source) }
  }
}

/// The result of a delete.
public struct DeleteResult: Sendable, Hashable {
  /// The number of deleted objects, including those that cascade rules deleted.
  public let deletedCount: Int
}

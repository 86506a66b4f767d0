public import KVCloneModel

/// A consistent view of the store: what was committed when it began, whatever is written meanwhile.
///
/// It lives as long as the closure of `ObjectStore.read`; ids and ``ManagedObject``s may leave it.
public struct ReadTransaction: ~Copyable, ObjectReading {
  /// In memory of its own: a session has some hundred bytes, which would be copied wherever the transaction is lent.
  private let place: Box<Session>

  var session: Session { _read { yield place.value } }

  init(_ session: consuming Session) {
    place = Box(session)
  }

  /// Lends the transaction's insides to the library's own extensions.
  @_documentation(visibility: private)
  public borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R {
    try body(place.value)
  }
}

/// The one write transaction: all of its changes, or none.
///
/// Returning from the closure of `ObjectStore.write` commits, throwing gives everything up. An
/// operation that fails before it has changed anything (an unknown name, a value of the wrong type) leaves the
/// transaction as it was; one that fails half way leaves it good for nothing but being given up, and a commit then throws
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

  /// Lends the transaction's insides to the library's own extensions.
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

  /// Hands on what is to be committed.
  consuming func takeSession() -> Session { place.take() }

  /// Writes what new objects owe others, for those who use the session itself.
  mutating func settle() throws(StoreError) { try session.settle() }

  /// Runs a change. What it throws before the first byte is written is the caller's to handle; afterwards the
  /// transaction can only be given up.
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

  /// As `change`, for changes that fail with a `StoreError` only.
  ///
  /// - Parameter settles: whether new objects' links and index entries are written before; only inserts can do without.
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
  /// Makes an object. Attributes that are not named have their defaults; relationships are linked on both sides.
  ///
  /// - Throws: `unknownEntity`, `abstractEntity`, `unknownProperty`, `wrongType`, `outOfRange`, `wrongDestination`,
  ///   `objectNotFound`.
  @discardableResult
  public mutating func insert(
    _ entity: String, _ attributes: [String: AttributeValue?] = [:], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    let id = try restore(entity, attributes, relationships: relationships)
    try awake(id, attributes)
    return id
  }

  /// Makes an object that is not new to the app: no hook is called.
  mutating func restore(
    _ entity: String, _ attributes: [String: AttributeValue?], relationships: [String: [ObjectID]] = [:]
  ) throws(StoreError) -> ObjectID {
    try changeObjects(settles: false) { (session) throws(StoreError) in
      try session.insert(try session.schema.entity(entity), attributes, relationships)
    }
  }

  /// Sets an attribute; nil makes it nil.
  public mutating func set(_ id: ObjectID, _ attribute: String, _ value: AttributeValue?) throws(StoreError) {
    try setAttributes(id, [attribute: value])
  }

  /// Sets several attributes of an object at once.
  public mutating func setAttributes(_ id: ObjectID, _ values: [String: AttributeValue?]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.set(id, values) }
  }

  /// Sets a to-one relationship. The previous target, and the target's previous partner, let go.
  public mutating func setToOne(_ id: ObjectID, _ relationship: String, _ target: ObjectID?) throws(StoreError) {
    try setMembers(id, relationship, target.map { [$0] } ?? [])
  }

  /// Replaces the members of a relationship; an ordered one gets them in this order.
  public mutating func setMembers(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.setMembers(id, relationship, targets) }
  }

  /// Links objects: a to-one relationship takes the one given instead of what it has; a to-many one takes those that are
  /// not members yet, an ordered one at `index`, where members given move to.
  public mutating func link(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID], at index: Int? = nil)
    throws(StoreError)
  {
    try changeObjects { (session) throws(StoreError) in try session.link(id, relationship, targets, at: index) }
  }

  /// Cuts the links to `targets`, or all of them.
  public mutating func unlink(_ id: ObjectID, _ relationship: String, _ targets: [ObjectID]? = nil) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in try session.unlink(id, relationship, targets) }
  }

  /// Deletes objects by the delete rules of the model: cascade takes members along, deny refuses while there are any,
  /// nullify and no action let them go.
  ///
  /// - Throws: `deleteDenied` with nothing deleted.
  @discardableResult
  public mutating func delete(_ ids: [ObjectID]) throws(StoreError) -> DeleteResult {
    let ids = ObjectSet(ids)
    try validateDelete(ids)
    return try changeObjects { (session) throws(StoreError) in DeleteResult(deletedCount: try session.delete(ids)) }
  }

  /// Writes what was set on an object since it was read.
  ///
  /// - Parameters:
  ///   - object: what was read, with the values that were set on it.
  ///   - ifUnchanged: refuses with `changedSince` when the object has changed since it was read (optimistic locking).
  public mutating func save(_ object: ManagedObject, ifUnchanged: Bool = false) throws(StoreError) {
    try changeObjects { (session) throws(StoreError) in
      if ifUnchanged {
        let commit = try session.existingRecord(object.id).commit
        guard commit == object.commit else {
          throw StoreError(
            .staleObject,
            "\(object.name) has changed: it was read at commit \(object.commit), and commit \(commit) wrote it; read it "
              + "again", entity: object.entityName, object: object.name)
        }
      }
      try session.set(object.id, object.pending)
    }
  }

  /// Sets a binary or transformable attribute from a stream, in memory that does not grow with it.
  ///
  /// `source` runs while the write lock is held: stage bytes that come from a network or a pipe, by
  /// ``ObjectStore/stageBlob(timeout:_:)``.
  public mutating func setData(
    _ id: ObjectID, _ attribute: String, from source: (inout BlobWriter) throws -> Void
  ) throws {
    try change { session in try session.setData(id, attribute, from: source) }
  }
}

/// What a delete did.
public struct DeleteResult: Sendable, Hashable {
  /// Objects that went, cascades included.
  public let deletedCount: Int
}

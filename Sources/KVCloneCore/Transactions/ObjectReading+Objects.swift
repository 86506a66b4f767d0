public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Returns the object in its current state, as a value that may leave the transaction.
  ///
  /// - Throws: `objectNotFound`, `corrupted`.
  public borrowing func object(_ id: ObjectID) throws(StoreError) -> ManagedObject {
    try _withSession { (session) throws(StoreError) in try session.object(id) }
  }

  /// Returns whether the object exists.
  public borrowing func exists(_ id: ObjectID) throws(StoreError) -> Bool {
    try _withSession { (session) throws(StoreError) in try session.exists(id) }
  }

  /// Returns the id of an object from its name `Note/12` or its URI `x-kvclone://STORE-UUID/Note/p12`.
  ///
  /// The entity in the name may be the object's concrete entity or one of its super-entities.
  ///
  /// - Throws: `invalidObjectName`, `unknownEntity`, `objectNotFound`.
  public borrowing func objectID(named name: String) throws(StoreError) -> ObjectID {
    try _withSession { (session) throws(StoreError) in try session.objectID(named: name) }
  }

  /// Returns the name of an object: its concrete entity and its serial, such as `Note/12`.
  public borrowing func name(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in try session.name(of: id) }
  }

  /// Returns the URI of an object, `x-kvclone://STORE-UUID/Note/p12`, which is unique across stores.
  public borrowing func uri(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in
      "x-kvclone://\(session.storeUUID.uuidString)/\(try session.entity(of: id).name)/p\(id.serial)"
    }
  }

  /// Returns the name of the object's concrete entity.
  public borrowing func entityName(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in try session.entity(of: id).name }
  }

  /// Returns the value of an attribute, or nil.
  ///
  /// A binary value above the inline size is returned as `AttributeValue.blob`. Read its bytes with ``data(_:_:)`` or
  /// ``readData(_:_:_:)``.
  public borrowing func value(_ id: ObjectID, _ attribute: String) throws(StoreError) -> AttributeValue? {
    try _withSession { (session) throws(StoreError) in try session.value(id, attribute) }
  }

  /// Returns the number of objects of an entity, by default including its subentities.
  public borrowing func count(entity: String, includesSubentities: Bool = true) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try session.count(of: try session.schema.entity(entity), includesSubentities: includesSubentities)
    }
  }

  /// Calls `body` with each object of an entity in ascending order of serials, until `body` returns false.
  public borrowing func forEachObject(
    of entity: String, includesSubentities: Bool = true, _ body: (ManagedObject) throws -> Bool
  ) throws {
    try forEachView(of: entity, includesSubentities: includesSubentities) { try body($0.managedObject()) }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Calls `body` with a view of an object, without copying the object.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `objectNotFound`, `corrupted`, and the error of `body`.
  public borrowing func withObject<Result>(_ id: ObjectID, _ body: (ObjectView) throws -> Result) throws -> Result {
    try _withSession { session in try session.withObject(id, body) }
  }

  /// Calls `body` with a view of each object of an entity in ascending order of serials, until `body` returns false.
  ///
  /// Objects are not copied.
  ///
  /// - Throws: `unknownEntity`, `corrupted`, and the error of `body`.
  public borrowing func forEachView(
    of entity: String, includesSubentities: Bool = true, _ body: (ObjectView) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      let entity = try session.schema.entity(entity)
      try session.forEachRecord(of: entity, includesSubentities: includesSubentities) {
        (id, record) throws(StoreError) in
        let view = try ObjectView(copy record, id: id, session.schema, transients: session.transients(of: id))
        do { return try body(view) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }
}

extension Session {
  /// Calls `body` with a view of an existing object, without copying the object.
  @inline(__always)
  borrowing func withObject<Result>(_ id: ObjectID, _ body: (ObjectView) throws -> Result) throws -> Result {
    try body(try ObjectView(try existingRecord(id), id: id, schema, transients: transients(of: id)))
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Returns the target of a to-one relationship, or nil if it is empty. ``toOne(_:_:)`` is the short form.
  public borrowing func objectID(forRelationshipNamed relationship: String, of id: ObjectID) throws(StoreError)
    -> ObjectID?
  {
    try toOne(id, relationship)
  }

  /// Returns the members of a relationship. ``members(_:_:)-(ObjectID,_)`` is the short form.
  ///
  /// - Returns: the members of an ordered relationship in its order, those of an unordered one in ascending order of
  ///   their ids; at most one member for a to-one relationship.
  public borrowing func objectIDs(forRelationshipNamed relationship: String, of id: ObjectID) throws(StoreError)
    -> [ObjectID]
  {
    try members(id, relationship)
  }

  /// Returns the target of a to-one relationship, or nil if it is empty.
  public borrowing func toOne(_ id: ObjectID, _ relationship: String) throws(StoreError) -> ObjectID? {
    try members(id, relationship).first
  }

  /// Returns the members of a relationship.
  ///
  /// - Returns: the members of an ordered relationship in its order, those of an unordered one in ascending order of
  ///   their ids; at most one member for a to-one relationship.
  public borrowing func members(_ id: ObjectID, _ relationship: String) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      try session.members(id, try session.entity(of: id).relationship(relationship))
    }
  }

  /// Calls `body` with each member of a relationship until `body` returns false, without loading all members.
  ///
  /// Members come in the same order as from ``members(_:_:)-(ObjectID,_)``.
  public borrowing func forEachMember(
    _ id: ObjectID, _ relationship: String, _ body: (ObjectID) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      let view = try session.existingRecord(id)
      let entity = try session.schema.entity(of: view, id: id)
      let compiled = try entity.relationship(relationship)
      try session.forEachMember(id, compiled, in: view, entity) { (member) throws(StoreError) in
        do { return try body(member) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }

  /// Returns the number of members of a relationship. The cost does not depend on the number.
  public borrowing func count(_ id: ObjectID, _ relationship: String) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in try session.count(id, relationship) }
  }
}

/// Names of objects that may have been deleted, as in the result of a repeated operation (R31).
extension ObjectReading where Self: ~Copyable {
  /// Returns the name of an object. A deleted object is named after its root entity.
  package borrowing func nameOfAny(_ id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in
      try session.exists(id) ? try session.name(of: id) : session.schema.rootName(of: id)
    }
  }

  /// Returns the id for the name of a deleted object; nil if the text is not a name of this store.
  package borrowing func objectID(ofDeleted name: String) -> ObjectID? {
    _withSession { session in
      guard let id = try? session.parse(name).id, (try? session.exists(id)) == false else { return nil }
      return id
    }
  }
}

extension ObjectReading where Self: ~Copyable {
  /// Checks the names like ``WriteTransaction/setData(_:_:_:)``. The value of the attribute is not read, because it is
  /// about to be replaced.
  ///
  /// - Throws: `objectNotFound`, `unknownProperty`, `wrongType`.
  package borrowing func checkIsBinary(_ id: ObjectID, _ attribute: String) throws(StoreError) {
    try _withSession { (session) throws(StoreError) in
      _ = try BlobValues.attribute(attribute, try session.entity(of: id), in: session)
    }
  }
}

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

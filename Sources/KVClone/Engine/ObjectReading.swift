#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// What both kinds of transaction can read.
///
/// Names of entities and properties are the model's. A name that the model does not have is an error, `unknownEntity` or
/// `unknownProperty`; an id without an object is `objectNotFound`; bytes that cannot be trusted are `damaged`.
public protocol ObjectReading: ~Copyable {
  /// Lends the transaction's insides to the library's own extensions.
  @_documentation(visibility: private)
  borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R
}

extension ObjectReading where Self: ~Copyable {
  /// The object as it is now, as a value that may leave the transaction.
  public borrowing func object(_ id: ObjectID) throws(StoreError) -> ManagedObject {
    try _withSession { (session) throws(StoreError) in try session.object(id) }
  }

  /// Whether there is such an object.
  public borrowing func exists(_ id: ObjectID) throws(StoreError) -> Bool {
    try _withSession { (session) throws(StoreError) in try session.exists(id) }
  }

  /// The id of an object written `Note/12`, or as a URI `x-kvclone://STORE-UUID/Note/p12`. The entity is the object's own
  /// or one above it.
  ///
  /// - Throws: `invalidObjectName`, `unknownEntity`, `objectNotFound`.
  public borrowing func objectID(named name: String) throws(StoreError) -> ObjectID {
    try _withSession { (session) throws(StoreError) in try session.objectID(named: name) }
  }

  /// `Note/12`: the object's concrete entity and its serial.
  public borrowing func name(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in try session.name(of: id) }
  }

  /// `x-kvclone://STORE-UUID/Note/p12`, which names the object among those of all stores.
  public borrowing func uri(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in
      "x-kvclone://\(session.storeUUID.uuidString)/\(try session.entity(of: id).name)/p\(id.serial)"
    }
  }

  /// The name of the object's concrete entity.
  public borrowing func entityName(of id: ObjectID) throws(StoreError) -> String {
    try _withSession { (session) throws(StoreError) in try session.entity(of: id).name }
  }

  /// An attribute's value. A binary value above the inline size comes as `AttributeValue.blob`, see
  /// ``data(_:_:)`` and ``readData(_:_:_:)``.
  public borrowing func value(_ id: ObjectID, _ attribute: String) throws(StoreError) -> AttributeValue? {
    try _withSession { (session) throws(StoreError) in try session.value(id, attribute) }
  }

  /// The bytes of a binary or transformable attribute, all of them in memory; nil where it is nil.
  ///
  /// - Throws: `wrongType` for attributes of other types.
  public borrowing func data(_ id: ObjectID, _ attribute: String) throws(StoreError) -> Data? {
    try _withSession { (session) throws(StoreError) in
      var data = Data()
      let count = try session.readData(id, attribute) { (bytes) throws(StoreError) in
        bytes.withUnsafeBytes { data.append(contentsOf: $0) }
      }
      return count == nil ? nil : data
    }
  }

  /// Reads a binary or transformable attribute piece by piece, at most 1 MiB each, in memory that does not grow with it.
  ///
  /// - Returns: how many bytes there are; nil where the attribute is nil.
  public borrowing func readData(
    _ id: ObjectID, _ attribute: String, _ body: (borrowing RawSpan) throws -> Void
  ) throws -> UInt64? {
    var failure: (any Error)?
    do {
      return try _withSession { (session) throws(StoreError) in
        try session.readData(id, attribute) { (bytes) throws(StoreError) in
          do {
            try body(bytes)
          } catch {
            failure = error
            throw StoreError(.io, "the reader of a binary value stopped")
          }
        }
      }
    } catch {
      throw failure ?? error
    }
  }

  /// The target of a to-one relationship, or nil. ``toOne(_:_:)`` is the short form.
  public borrowing func objectID(forRelationshipNamed relationship: String, of id: ObjectID) throws(StoreError)
    -> ObjectID?
  {
    try toOne(id, relationship)
  }

  /// The members of a relationship. ``members(_:_:)-(ObjectID,_)`` is the short form.
  ///
  /// - Returns: the members of an ordered relationship in its order, those of an unordered one by ascending id, and none
  ///   or one for a to-one relationship.
  public borrowing func objectIDs(forRelationshipNamed relationship: String, of id: ObjectID) throws(StoreError)
    -> [ObjectID]
  {
    try members(id, relationship)
  }

  /// The target of a to-one relationship.
  public borrowing func toOne(_ id: ObjectID, _ relationship: String) throws(StoreError) -> ObjectID? {
    try members(id, relationship).first
  }

  /// The members of a relationship: an ordered one in its order, an unordered one by ascending id, a to-one as none or
  /// one.
  public borrowing func members(_ id: ObjectID, _ relationship: String) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      try session.members(id, try session.entity(of: id).relationship(relationship))
    }
  }

  /// The members of a relationship one by one, without holding them all, until `body` answers false.
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

  /// How many members a relationship has, at the same cost for any number.
  public borrowing func count(_ id: ObjectID, _ relationship: String) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in try session.count(id, relationship) }
  }

  /// How many objects an entity has.
  public borrowing func count(entity: String, includesSubentities: Bool = true) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try session.count(of: try session.schema.entity(entity), includesSubentities: includesSubentities)
    }
  }

  /// An entity's objects by ascending serial, one by one, until `body` answers false.
  public borrowing func forEachObject(
    of entity: String, includesSubentities: Bool = true, _ body: (ManagedObject) throws -> Bool
  ) throws {
    try forEachView(of: entity, includesSubentities: includesSubentities) { try body($0.managedObject()) }
  }
}

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
public import KVCloneModel

/// Read operations of transactions and snapshots.
///
/// Entity and property names are those of the model. Unless documented otherwise, operations throw `unknownEntity` or
/// `unknownProperty` for names that the model does not define, `objectNotFound` for ids without an object, and
/// `corrupted` for bytes that fail verification.
public protocol ObjectReading: ~Copyable {
  /// Passes the session to extensions of the library.
  @_documentation(visibility: private)
  borrowing func _withSession<R, E: Error>(_ body: (borrowing Session) throws(E) -> R) throws(E) -> R
}

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

  /// Returns all bytes of a binary or transformable attribute in memory, or nil if the attribute is nil.
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

  /// Reads a binary or transformable attribute in chunks of at most 1 MiB, with constant memory use.
  ///
  /// - Parameters:
  ///   - id: the object.
  ///   - attribute: the name of the attribute.
  ///   - body: receives the chunks in order. Throwing ends the read.
  /// - Returns: the number of bytes, or nil if the attribute is nil.
  /// - Throws: the error of `body`; `wrongType` for attributes of other types.
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
            throw StoreError(.io, "the closure that reads a binary value threw an error")
          }
        }
      }
    } catch {
      throw failure ?? error
    }
  }

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

  /// Returns the number of objects of an entity, by default including its sub-entities.
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

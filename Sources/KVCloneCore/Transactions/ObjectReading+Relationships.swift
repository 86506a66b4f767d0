public import KVCloneModel

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

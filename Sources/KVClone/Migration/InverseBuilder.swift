import KVCloneCore
import KVCloneModel

/// Builds the inverse side of relationships that had none so far, or another one.
struct InverseBuilder: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Adds the owners to the inverse side of the members, if nothing is stored there yet.
  mutating func build(
    rootCode: UInt16, _ oneSided: [UInt16: [CompiledRelationship]], _ run: MigrationRun
  ) throws(StoreError) {
    var batches = ObjectBatches(session, rootCode: rootCode)
    while let batch = try batches.next(session, where: { oneSided[$0] != nil }) {
      for (id, code) in batch {
        for relationship in oneSided[code] ?? [] {
          try session.forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
            for member in members {
              do throws(StoreError) {
                try Self.tell(member, relationship, of: id, &session)
              } catch {
                guard error.kind == .mappingRequired else { throw error }
                try run.refuse(error)
              }
            }
          }
        }
      }
      session.state.forget()
      try run.advance(by: batch.count)
    }
  }

  private static func tell(
    _ member: ObjectID, _ relationship: CompiledRelationship, of id: ObjectID, _ session: inout Session
  ) throws(StoreError) {
    guard relationship.hasInverse else {
      _ = try session.storage.insertUnordered(session.address(member, relationship.inverseCode), id)
      return
    }
    if !relationship.inverseIsToMany {
      let inverse = try session.entity(of: member).relationship(code: relationship.inverseCode, member, session.schema)
      if let other = try session.toOne(member, inverse) {
        if other == id { return }
        throw StoreError(
          .mappingRequired,
          "\(try session.name(of: member)) is in \(relationship.name) of \(try session.name(of: other)) and of "
            + "\(try session.name(of: id)), but the new inverse \(inverse.name) is to-one; make it to-many, or unlink one of them first",
          entity: relationship.declaringEntity, property: relationship.name, object: try session.name(of: member))
      }
    }
    _ = try session.attach(member, relationship.inverseCode, id)
  }
}

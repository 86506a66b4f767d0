import KVCloneBranches
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rolls some objects and their subgraphs back by the ordinary operations on objects, which update both sides of every
/// relationship, indexes and derived values.
struct ObjectRollback: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Counts the changes that `run` will make.
  ///
  /// This has to precede it: restoring a link also restores its inverse, after which the other object would not differ.
  borrowing func count(_ sets: RollbackSets, to target: RollbackTarget) throws(StoreError) -> RollbackTally {
    var tally = RollbackTally()
    tally.deletedCount = sets.doomed.count
    guard let recorder = session.storage.recorder else { return tally }
    let past = try past(target, recorder)
    let all = ObjectSet(sets.past)
    var windows = ReadWindows(session.storage)
    for id in sets.past {
      windows.next()
      if try !session.exists(id) {
        tally.recreatedCount += 1
      } else if try isChanged(id, since: past, all) {
        tally.updatedCount += 1
      }
    }
    return tally
  }

  /// Restores the objects. Returns the size of the replaced data, in bytes.
  mutating func run(_ sets: RollbackSets, to target: RollbackTarget) throws(StoreError) -> UInt64 {
    guard let recorder = session.storage.recorder else { return 0 }
    _ = try ObjectDeletion.deleteAll(ObjectSet(sets.doomed), in: &session)
    let past = try past(target, recorder)
    // First all objects, then the links between them.
    var recreated = ObjectSet()
    var windows = ReadWindows(session.storage)
    for id in sets.past {
      windows.next()
      if try session.exists(id) { continue }
      try ObjectRecreation.recreate(id, from: past, in: &session)
      _ = recreated.insert(id)
    }
    session.state.history?.noteRecreated(recreated)
    for id in sets.past where !recreated.contains(id) {
      windows.next()
      try restoreAttributes(of: id, past)
    }
    for id in sets.past {
      windows.next()
      try restoreLinks(of: id, past)
    }
    try recorder.flush()
    return recorder.savedByteCount
  }

  /// Returns the content of the snapshot, by the current schema.
  private borrowing func past(_ target: RollbackTarget, _ recorder: PreimageRecorder) throws(StoreError) -> Session {
    let layer = try target.layer(in: session.storage)
    return StoreContext(uuid: session.storeUUID, serialFloor: session.serialFloor).session(
      SnapshotBackend(
        layer ?? recorder.inner, preimages: session.schema.tables.preimages,
        SnapshotHorizon(target.value, session.schema.orderedLists),
        isWritten: true), session.schema)
  }

  /// Sets the attributes that differ, except derived ones.
  private mutating func restoreAttributes(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let values = try changedAttributes(of: id, since: past)
    if values.isEmpty { return }
    // Setting a blob counts its references; only its description is missing.
    var described: [BlobReference] = []
    for case (_, .blob(let blob)?) in values {
      try session.blobTables.addReference(to: blob, &session.storage, describedIn: past.storage)
      described.append(blob)
    }
    let entity = try session.load(id)
    try session.write(values, to: id, entity)
    for blob in described { try session.releaseBlob(blob) }
  }

  /// Restores the links of an object, except to objects that no longer exist.
  private mutating func restoreLinks(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let entity = try session.entity(of: id)
    for relationship in entity.relationships {
      if let members = try changedMembers(of: id, relationship, since: past, ObjectSet()) {
        try RelationshipLinks.setMembers(id, relationship.name, members, in: &session)
      }
    }
  }

  // MARK: Differences

  /// Whether an existing object differs from its earlier state, except for derived attributes and links to deleted
  /// objects.
  ///
  /// - Parameter coming: the objects that are restored with it.
  private borrowing func isChanged(_ id: ObjectID, since past: borrowing Session, _ coming: ObjectSet)
    throws(StoreError)
    -> Bool
  {
    if try !changedAttributes(of: id, since: past).isEmpty { return true }
    for relationship in try session.entity(of: id).relationships {
      if try changedMembers(of: id, relationship, since: past, coming) != nil { return true }
    }
    return false
  }

  /// Returns the attributes that differ, except derived ones, with their earlier values.
  private borrowing func changedAttributes(of id: ObjectID, since past: borrowing Session) throws(StoreError)
    -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    var values: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    let then = try past.existingRecord(id)
    let now = try session.existingRecord(id)
    let entity = try session.schema.entity(of: now, id: id)
    for attribute in entity.attributes where attribute.field != nil && !attribute.isDerived {
      let value = try entity.value(of: attribute, in: then, id: id, schema: session.schema)
      let present = try entity.value(of: attribute, in: now, id: id, schema: session.schema)
      if try !SnapshotComparison.isSame(present, in: session, as: value, in: past) { values.append((attribute, value)) }
    }
    return values
  }

  /// Returns the earlier members of a relationship that exist or are in `coming`; nil if the relationship has exactly
  /// these.
  private borrowing func changedMembers(
    of id: ObjectID, _ relationship: CompiledRelationship, since past: borrowing Session, _ coming: ObjectSet
  ) throws(StoreError) -> [ObjectID]? {
    var members: [ObjectID] = []
    for member in try past.members(id, relationship) {
      let isThere = try session.exists(member)
      if isThere || coming.contains(member) { members.append(member) }
    }
    let present = try self.session.members(id, relationship)
    return members == present ? nil : members
  }
}

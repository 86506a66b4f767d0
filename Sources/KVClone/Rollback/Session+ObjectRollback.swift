import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Rolling some objects back, with all that belongs to them: by the operations that everybody has, so that both sides of every
/// relationship, indexes and derived values follow.
extension Session {
  mutating func rollBack(
    to snapshot: SnapshotValue, _ sets: RollbackSets, _ automatic: SnapshotInfo
  ) throws(StoreError) -> RollbackResult {
    var tally = sets.tally
    guard let recorder = storage.recorder else { return tally.result(automatic) }
    let horizon = SnapshotHorizon(snapshot, schema.orderedLists)
    _ = try deleteAll(ObjectSet(sets.doomed))
    let past = StoreContext(uuid: storeUUID, serialFloor: serialFloor).session(
      SnapshotBackend(recorder.inner, preimages: schema.tables.preimages, horizon, isWritten: true), schema)
    // First all objects, then the links between them.
    var recreated = ObjectSet()
    for id in sets.past where try !exists(id) {
      try recreate(id, past)
      _ = recreated.insert(id)
    }
    noteRecreated(recreated)
    for id in sets.past where !recreated.contains(id) { try restoreAttributes(of: id, past) }
    for id in sets.past { try restoreLinks(of: id, past) }
    try recorder.flush()
    tally.replacedByteCount = recorder.savedByteCount
    return tally.result(automatic)
  }

  /// Makes an object again, under its id, with its values and without links.
  private mutating func recreate(_ id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let bytes: [UInt8]
    do {
      let key = ShortKey.object(id)
      guard let table = schema.objectTable(rootCode: id.rootCode),
        let value = try past.storage.get(table, key.bytes)
      else { throw schema.notFound(id) }
      bytes = value.withUnsafeBytes { Array($0) }
    }
    let view = try schema.view(of: bytes.span.bytes, id: id)
    let entity = try schema.entity(of: view, id: id)
    try Self.load(&scratch, view, entity, id)
    // Those that the record has by the present layout, in which it is stored.
    for blob in entity.blobs(in: scratch.view) { try addReference(to: blob, describedIn: past.storage) }
    for relationship in entity.relationships {
      if relationship.isToMany {
        scratch.setHead(relationship.field, ListHead(count: 0, isChunked: true))
        try edit(id) { (record) throws(RecordError) in try record.setInlineIDs(relationship.field, [] as [ObjectID]) }
      } else {
        scratch.setToOne(relationship.field, nil)
      }
    }
    try store(id, entity)
    changes.isEmpty = false
    changes.noteInsert(id)
    try addIndexEntries(id, entity)
    noteDerivedInsert(id, entity)
    try restoreProvenance(of: id, past)
  }

  private mutating func restoreProvenance(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let key = ShortKey.object(id)
    guard let value = try past.storage.get(schema.tables.provenance, key.bytes) else { return }
    let bytes = value.withUnsafeBytes { Array($0) }
    try storage.put(schema.tables.provenance, key.bytes, bytes.span.bytes)
    changes.hasProvenance = true
  }

  /// Sets the attributes that differ, derived ones aside.
  private mutating func restoreAttributes(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let values = try changedAttributes(of: id, since: past)
    if values.isEmpty { return }
    // Setting a large value counts its referrers itself; it only has to be described.
    var described: [BlobReference] = []
    for case (_, .blob(let blob)?) in values {
      try addReference(to: blob, describedIn: past.storage)
      described.append(blob)
    }
    let entity = try load(id)
    try write(values, to: id, entity)
    for blob in described { try releaseBlob(blob) }
  }

  /// Links an object as it was linked, as far as the others are there.
  private mutating func restoreLinks(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let entity = try entity(of: id)
    for relationship in entity.relationships {
      if let members = try changedMembers(of: id, relationship, since: past, ObjectSet()) {
        try setMembers(id, relationship.name, members)
      }
    }
  }

  // MARK: What is to be done

  /// Whether an object that is there is not what it was, derived attributes and links to what is gone aside.
  ///
  /// - Parameter coming: the objects that are brought back with it.
  borrowing func isChanged(_ id: ObjectID, since past: borrowing Session, _ coming: ObjectSet) throws(StoreError)
    -> Bool
  {
    if try !changedAttributes(of: id, since: past).isEmpty { return true }
    for relationship in try entity(of: id).relationships {
      if try changedMembers(of: id, relationship, since: past, coming) != nil { return true }
    }
    return false
  }

  /// The attributes that differ, derived ones aside, with what they were.
  private borrowing func changedAttributes(of id: ObjectID, since past: borrowing Session) throws(StoreError)
    -> [(attribute: CompiledAttribute, value: AttributeValue?)]
  {
    var values: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    let then = try past.existingRecord(id)
    let now = try existingRecord(id)
    let entity = try schema.entity(of: now, id: id)
    for attribute in entity.attributes where attribute.field != nil && !attribute.isDerived {
      let value = try entity.value(of: attribute, in: then, id: id, schema: schema)
      let present = try entity.value(of: attribute, in: now, id: id, schema: schema)
      if try !isSame(present, as: value, in: past) { values.append((attribute, value)) }
    }
    return values
  }

  /// The members that a relationship had, as far as they are there or are `coming`; nil where it has them.
  private borrowing func changedMembers(
    of id: ObjectID, _ relationship: CompiledRelationship, since past: borrowing Session, _ coming: ObjectSet
  ) throws(StoreError) -> [ObjectID]? {
    var members: [ObjectID] = []
    for member in try past.members(id, relationship) {
      let isThere = try exists(member)
      if isThere || coming.contains(member) { members.append(member) }
    }
    let present = try self.members(id, relationship)
    return members == present ? nil : members
  }
}

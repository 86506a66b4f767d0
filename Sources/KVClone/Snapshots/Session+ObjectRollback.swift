import KVCloneModel
import KVCloneRecords

/// Rolling some objects back, with all that belongs to them: by the operations that everybody has, so that both sides of every
/// relationship, indexes and derived values follow.
extension Session {
  mutating func rollBack(
    to snapshot: SnapshotValue, _ sets: RollbackSets, _ automatic: SnapshotInfo
  ) throws(StoreError) -> RollbackResult {
    var tally = RollbackTally()
    guard let recorder = storage.recorder else { return tally.result(automatic) }
    let horizon = SnapshotHorizon(snapshot, schema.orderedLists)
    tally.deletedCount = try deleteAll(ObjectSet(sets.doomed))
    let past = Session(
      storage: StorageTransaction(SnapshotBackend(recorder.inner, preimages: schema.tables.preimages, horizon)),
      schema: schema, commit: 0, storeUUID: storeUUID, serialFloor: serialFloor)
    // First all objects, then the links between them.
    var recreated = ObjectSet()
    for id in sets.past where try !exists(id) {
      try recreate(id, past)
      _ = recreated.insert(id)
    }
    noteRecreated(recreated)
    for id in sets.past where !recreated.contains(id) {
      let before = storage.changeCount
      try restoreAttributes(of: id, past)
      if storage.changeCount != before { tally.updatedCount += 1 }
    }
    for id in sets.past {
      let before = storage.changeCount
      try restoreLinks(of: id, past)
      if storage.changeCount != before, !recreated.contains(id) { tally.updatedCount += 1 }
    }
    tally.updatedCount = min(tally.updatedCount, sets.past.count - recreated.count)
    tally.recreatedCount = recreated.count
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
    for blob in entity.blobs(in: view) { try addReference(to: blob, describedIn: past.storage) }
    try Self.load(&scratch, view, entity, id)
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
  }

  /// Sets the attributes that differ, derived ones aside.
  private mutating func restoreAttributes(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    var values: [(attribute: CompiledAttribute, value: AttributeValue?)] = []
    let entity = try load(id)
    do {
      let then = try past.existingRecord(id)
      for attribute in entity.attributes where attribute.field != nil && !attribute.isDerived {
        let value = try entity.value(of: attribute, in: then, id: id, schema: schema)
        let present = try entity.value(of: attribute, in: scratch.view, id: id, schema: schema)
        if value != present { values.append((attribute, value)) }
      }
    }
    if values.isEmpty { return }
    // Setting a large value counts its referrers itself; it only has to be described.
    var described: [BlobReference] = []
    for case (_, .blob(let blob)?) in values {
      try addReference(to: blob, describedIn: past.storage)
      described.append(blob)
    }
    _ = try load(id)
    try write(values, to: id, entity)
    for blob in described { try releaseBlob(blob) }
  }

  /// Links an object as it was linked, as far as the others are there.
  private mutating func restoreLinks(of id: ObjectID, _ past: borrowing Session) throws(StoreError) {
    let entity = try entity(of: id)
    for relationship in entity.relationships {
      let then = try past.members(id, relationship)
      var members: [ObjectID] = []
      for member in then where try exists(member) { members.append(member) }
      if try members != self.members(id, relationship) { try setMembers(id, relationship.name, members) }
    }
  }

  // MARK: The cost

  /// Bytes of an object's record and lists.
  borrowing func storedByteCount(of id: ObjectID) throws(StoreError) -> UInt64 {
    guard let table = schema.objectTable(rootCode: id.rootCode) else { return 0 }
    let key = ShortKey.object(id)
    var byteCount = UInt64(try storage.get(table, key.bytes)?.byteCount ?? 0)
    let owner = ShortKey.linkPrefix(owner: id)
    try storage.scan(schema.tables.links, from: owner.bytes) { (key, value) throws(StoreError) in
      guard let link = try? LinkKey(copy key), link.owner == id else { return false }
      byteCount += UInt64(key.byteCount + value.byteCount)
      return true
    }
    return byteCount
  }

  /// Adds the bytes of all that has changed since a snapshot, or came since, as it is now.
  borrowing func addReplacedBytes(since snapshot: SnapshotValue, to tally: inout RollbackTally) throws(StoreError) {
    let horizon = SnapshotHorizon(snapshot, schema.orderedLists)
    var byteCount: UInt64 = 0
    try forEachSavedKey(in: snapshot.epoch..<UInt64.max) { (code, key, _) throws(StoreError) in
      guard code != .blobInfo, let table = schema.table(code), key.withUnsafeBytes({ horizon.sees(code, $0) }) else {
        return
      }
      byteCount += UInt64(key.count + (try storage.get(table, key.span.bytes)?.byteCount ?? 0))
    }
    for rootCode in schema.rootCodes {
      guard let table = schema.objectTable(rootCode: rootCode) else { continue }
      let first = ShortKey.object(horizon.firstLater(rootCode: rootCode))
      try storage.scan(table, from: first.bytes) { (key, value) throws(StoreError) in
        byteCount += UInt64(key.byteCount + value.byteCount)
        return true
      }
      try storage.scan(schema.tables.links, from: first.bytes) { (key, value) throws(StoreError) in
        guard let link = try? LinkKey(copy key), link.owner.rootCode == rootCode else { return false }
        byteCount += UInt64(key.byteCount + value.byteCount)
        return true
      }
    }
    tally.replacedByteCount += byteCount
  }
}

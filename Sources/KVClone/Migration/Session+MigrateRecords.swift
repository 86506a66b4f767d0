package import KVCloneCore
package import KVCloneModel
package import KVCloneRecords

/// Copies of some records, one after the other.
private struct RecordBatch {
  /// A batch ends with the record that reaches it.
  static let byteLimit = 1 << 20

  var records: [(id: ObjectID, entity: UInt16, place: Range<Int>)] = []
  var bytes: [UInt8] = []
}

extension Session {
  /// How many objects are looked for at a time.
  private static var batchCount: Int { 1024 }

  /// Rewrites the records of those entities of a table for which there is something to be done; how many were looked at.
  ///
  /// - Parameter chains: by the entity's code.
  mutating func migrateRecords(
    rootCode: UInt16, _ chains: [UInt16: RecordChain], _ run: MigrationRun
  ) throws(StoreError) -> Int {
    guard let table = schema.objectTable(rootCode: rootCode) else { return 0 }
    var count = 0
    // Previous states come in the order of the objects, too.
    storage.retainCursors(in: storage.recorder == nil ? [table] : [table, schema.tables.preimages])
    defer { storage.retainCursors(in: []) }
    var batch = RecordBatch()
    var spare = RecordBuffer()
    // By number: it is looked at for each record.
    var byCode = [RecordChain?](repeating: nil, count: Int(chains.keys.max() ?? 0) + 1)
    for (code, chain) in chains { byCode[Int(code)] = chain }
    var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
    while let start = next {
      next = try Self.gather(
        storage, schema, table, from: start, { $0 < byCode.count && byCode[Int($0)] != nil }, into: &batch)
      for record in batch.records {
        guard let chain = byCode[Int(record.entity)] else { continue }
        let bytes = batch.bytes.span.bytes.extracting(record.place)
        do throws(StoreError) {
          try migrateRecord(record.id, chain, bytes, &spare, run)
        } catch {
          // A record that is too long is one reason among others.
          guard error.kind == .limitExceeded else { throw error }
          try run.refuse(error)
        }
      }
      count += batch.records.count
      try run.advance(by: batch.records.count)
    }
    return count
  }

  /// Copies the next records of some entities; where to go on.
  private static func gather(
    _ storage: borrowing StorageTransaction, _ schema: Schema, _ table: StorageTable, from start: ObjectID,
    _ isWanted: (UInt16) -> Bool, into batch: inout RecordBatch
  ) throws(StoreError) -> ObjectID? {
    var next: ObjectID?
    var found = RecordBatch()
    // Taken, so that its memory is used again.
    swap(&found, &batch)
    found.records.removeAll(keepingCapacity: true)
    found.bytes.removeAll(keepingCapacity: true)
    let key = ShortKey.object(start)
    try storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if found.records.count == batchCount || found.bytes.count >= RecordBatch.byteLimit {
        next = id
        return false
      }
      let code: UInt16
      do throws(RecordError) { code = try RecordView.entityCode(of: copy value) } catch {
        throw schema.corrupted(id, error)
      }
      guard isWanted(code) else { return true }
      let start = found.bytes.count
      value.withUnsafeBytes { found.bytes.append(contentsOf: $0) }
      found.records.append((id, code, start..<found.bytes.count))
      return true
    }
    swap(&found, &batch)
    return next
  }

  /// Calls `body` with the objects of some entities of a root's table, some at a time; it may change everything.
  ///
  /// - Parameter end: the serial to stop at.
  mutating func forEachBatch(
    rootCode: UInt16, below end: UInt64 = .max, _ isWanted: (UInt16) -> Bool,
    _ body: (inout Session, [(id: ObjectID, entity: UInt16)]) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard let table = schema.objectTable(rootCode: rootCode) else { return }
    var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
    while let start = next {
      var batch: [(id: ObjectID, entity: UInt16)] = []
      next = try Self.gather(storage, schema, table, from: start, below: end, isWanted, into: &batch)
      if !batch.isEmpty { try body(&self, batch) }
    }
  }

  private static func gather(
    _ storage: borrowing StorageTransaction, _ schema: Schema, _ table: StorageTable, from start: ObjectID,
    below end: UInt64, _ isWanted: (UInt16) -> Bool, into batch: inout [(id: ObjectID, entity: UInt16)]
  ) throws(StoreError) -> ObjectID? {
    var next: ObjectID?
    var found: [(id: ObjectID, entity: UInt16)] = []
    found.reserveCapacity(batchCount)
    let key = ShortKey.object(start)
    let stop = ShortKey.object(ObjectID(rootCode: start.rootCode, serial: min(end, ObjectID.maximumSerial)))
    let isBounded = end <= ObjectID.maximumSerial
    try storage.scan(table, from: key.bytes, before: isBounded ? stop.bytes : RawSpan()) {
      (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if id.serial >= end { return false }
      if found.count == batchCount {
        next = id
        return false
      }
      let code: UInt16
      do throws(RecordError) { code = try RecordView.entityCode(of: copy value) } catch {
        throw schema.corrupted(id, error)
      }
      if isWanted(code) { found.append((id, code)) }
      return true
    }
    batch = found
    return next
  }

  /// Writes a record that is in an earlier layout in the present one; no other difference can be told.
  ///
  /// - Parameters:
  ///   - spares: whether a record stays as it is that keeps large values of attributes that are gone: a snapshot may show them
  ///     elsewhere.
  ///   - chains: by the entity's code; those that are missing are added.
  /// - Returns: whether it was written.
  package mutating func renewRecord(
    _ id: ObjectID, sparingBlobs spares: Bool, _ chains: inout [UInt16: RecordChain], _ spare: inout RecordBuffer
  ) throws(StoreError) -> Bool {
    let entity = try entity(of: id)
    let chain = chains[entity.code] ?? RecordChain(layoutOf: entity)
    chains[entity.code] = chain
    var leftovers = RecordLeftovers()
    let commit = try Self.renewed(id, storage, schema, entity, chain, into: &scratch, &spare, &leftovers)
    if let refusal = leftovers.refusals.first { throw refusal }
    guard let commit else { return false }
    if spares, !leftovers.blobs.isEmpty { return false }
    scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&storage, entity.table, id, scratch)
    for blob in leftovers.blobs { try releaseBlob(blob) }
    return true
  }

  private static func renewed(
    _ id: ObjectID, _ storage: borrowing StorageTransaction, _ schema: Schema, _ entity: CompiledEntity,
    _ chain: RecordChain, into buffer: inout RecordBuffer, _ spare: inout RecordBuffer,
    _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(entity.table, key.bytes) else { throw schema.notFound(id) }
    return try chain.run(bytes, id, schema, into: &buffer, &spare, &leftovers)
  }

  private mutating func migrateRecord(
    _ id: ObjectID, _ chain: RecordChain, _ bytes: RawSpan, _ spare: inout RecordBuffer, _ run: MigrationRun
  ) throws(StoreError) {
    var leftovers = RecordLeftovers()
    let changed = try chain.run(bytes, id, schema, into: &scratch, &spare, &leftovers)
    for refusal in leftovers.refusals { try run.refuse(refusal) }
    for (relationship, from, members) in leftovers.lists {
      var ids: [ObjectID]
      switch members {
      case .inline(let members): ids = members
      case .chunked(let count):
        ids = try storage.members(address(id, from), count: count)
        try storage.deleteList(address(id, from))
      }
      if !relationship.isOrdered { ids.sort() }
      try writeList(address(id, relationship.code), ids, relationship, relationship.field)
    }
    guard let commit = changed, let entity = chain.migrations.last?.entity else { return }
    // The object was changed by nobody.
    scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&storage, entity.table, id, scratch)
    for blob in leftovers.blobs { try releaseBlob(blob) }
  }

  private static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ id: ObjectID, _ record: borrowing RecordBuffer
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.put(table, key.bytes, record.bytes)
  }
}

/// The other sides of relationships that had none so far, or another one.
extension Session {
  /// Has the members of relationships know whose members they are, where nothing of the kind is stored yet.
  mutating func buildOtherSides(
    rootCode: UInt16, _ oneSided: [UInt16: [CompiledRelationship]], _ run: MigrationRun
  ) throws(StoreError) {
    try forEachBatch(rootCode: rootCode, { oneSided[$0] != nil }) {
      (session, batch) throws(StoreError) in
      for (id, code) in batch {
        for relationship in oneSided[code] ?? [] {
          try session.forEachMemberBatch(id, relationship) { (session, members) throws(StoreError) in
            for member in members {
              do throws(StoreError) {
                try session.tell(member, relationship, of: id)
              } catch {
                guard error.kind == .mappingRequired else { throw error }
                try run.refuse(error)
              }
            }
          }
        }
      }
      session.forgetChanges()
      try run.advance(by: batch.count)
    }
  }

  private mutating func tell(_ member: ObjectID, _ relationship: CompiledRelationship, of id: ObjectID)
    throws(StoreError)
  {
    guard relationship.hasInverse else {
      _ = try storage.insertUnordered(address(member, relationship.inverseCode), id)
      return
    }
    if !relationship.inverseIsToMany {
      let inverse = try entity(of: member).relationship(code: relationship.inverseCode, member, schema)
      if let other = try toOne(member, inverse) {
        if other == id { return }
        throw StoreError(
          .mappingRequired,
          "\(try name(of: member)) is in \(relationship.name) of \(try name(of: other)) and of \(try name(of: id)), "
            + "but the new inverse \(inverse.name) is to-one; make it to-many, or unlink one of them first",
          entity: relationship.declaringEntity, property: relationship.name, object: try name(of: member))
      }
    }
    _ = try attach(member, relationship.inverseCode, id)
  }

  /// Forgets what the transaction has changed, but for the serials that it has taken: a migration is no change of objects, and
  /// has nothing validated and no history.
  mutating func forgetChanges() {
    var fresh = PendingChanges()
    fresh.nextSerials = changes.nextSerials
    fresh.nextBlobSerial = changes.nextBlobSerial
    fresh.isEmpty = false
    changes = fresh
  }
}

package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// Copies of some records, contiguous.
private struct RecordBatch {
  /// A batch ends with the record that reaches it.
  static let byteLimit = 1 << 20

  var records: [(id: ObjectID, entity: UInt16, place: Range<Int>)] = []
  var bytes: [UInt8] = []
}

/// Rewrites the records of a table to the last version of some steps.
package struct RecordMigrator: ~Copyable, SessionOwner {
  private var session: Session

  package init(_ session: consuming Session) {
    self.session = session
  }

  package consuming func finish() -> Session { session }

  /// The number of objects per batch.
  private static var batchCount: Int { 1024 }

  /// Rewrites the records of affected entities in a table; returns the number of records read.
  ///
  /// - Parameter chains: by entity code.
  mutating func migrate(
    rootCode: UInt16, _ chains: [UInt16: RecordChain], _ run: MigrationRun
  ) throws(StoreError) -> Int {
    guard let table = session.schema.objectTable(rootCode: rootCode) else { return 0 }
    var count = 0
    // Preimages are written in the order of the objects, too.
    session.storage.retainCursors(
      in: session.storage.recorder == nil ? [table] : [table, session.schema.tables.preimages])
    defer { session.storage.retainCursors(in: []) }
    var batch = RecordBatch()
    var spare = RecordBuffer()
    // An array, because it is accessed for each record.
    var byCode = [RecordChain?](repeating: nil, count: Int(chains.keys.max() ?? 0) + 1)
    for (code, chain) in chains { byCode[Int(code)] = chain }
    var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
    while let start = next {
      next = try Self.gather(
        session.storage, session.schema, table, from: start, { $0 < byCode.count && byCode[Int($0)] != nil },
        into: &batch)
      for record in batch.records {
        guard let chain = byCode[Int(record.entity)] else { continue }
        let bytes = batch.bytes.span.bytes.extracting(record.place)
        do throws(StoreError) {
          try migrate(record.id, chain, bytes, &spare, run)
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

  /// Copies the next records of some entities; returns where to continue.
  private static func gather(
    _ storage: borrowing StorageTransaction, _ schema: Schema, _ table: StorageTable, from start: ObjectID,
    _ isWanted: (UInt16) -> Bool, into batch: inout RecordBatch
  ) throws(StoreError) -> ObjectID? {
    var next: ObjectID?
    var found = RecordBatch()
    // Moved, to reuse its memory.
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

  private mutating func migrate(
    _ id: ObjectID, _ chain: RecordChain, _ bytes: RawSpan, _ spare: inout RecordBuffer, _ run: MigrationRun
  ) throws(StoreError) {
    var leftovers = RecordLeftovers()
    let changed = try chain.run(bytes, id, session.schema, into: &session.scratch, &spare, &leftovers)
    for refusal in leftovers.refusals { try run.refuse(refusal) }
    for (relationship, from, members) in leftovers.lists {
      var ids: [ObjectID]
      switch members {
      case .inline(let members): ids = members
      case .chunked(let count):
        ids = try session.storage.members(session.address(id, from), count: count)
        try session.storage.deleteList(session.address(id, from))
      }
      if !relationship.isOrdered { ids.sort() }
      try session.writeList(session.address(id, relationship.code), ids, relationship, relationship.field)
    }
    guard let commit = changed, let entity = chain.migrations.last?.entity else { return }
    // Keeps the commit: no user changed the object.
    session.scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&session.storage, entity.table, id, session.scratch)
    for blob in leftovers.blobs { try session.releaseBlob(blob) }
  }

  /// Rewrites a record of an earlier layout in the current one, without other changes.
  ///
  /// - Parameters:
  ///   - spares: whether a record stays unchanged that references blobs of removed attributes: a snapshot may still
  ///     need them.
  ///   - chains: by entity code; missing ones are added.
  /// - Returns: whether it was written.
  package static func renew(
    _ id: ObjectID, _ session: inout Session, sparingBlobs spares: Bool, _ chains: inout [UInt16: RecordChain],
    _ spare: inout RecordBuffer
  ) throws(StoreError) -> Bool {
    let entity = try session.entity(of: id)
    let chain = chains[entity.code] ?? RecordChain(layoutOf: entity)
    chains[entity.code] = chain
    var leftovers = RecordLeftovers()
    let commit = try Self.renewed(
      id, session.storage, session.schema, entity, chain, into: &session.scratch, &spare, &leftovers)
    if let refusal = leftovers.refusals.first { throw refusal }
    guard let commit else { return false }
    if spares, !leftovers.blobs.isEmpty { return false }
    session.scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&session.storage, entity.table, id, session.scratch)
    for blob in leftovers.blobs { try session.releaseBlob(blob) }
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

  private static func put(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ id: ObjectID, _ record: borrowing RecordBuffer
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.put(table, key.bytes, record.bytes)
  }
}

import KVCloneModel
import KVCloneRecords

/// What a record had that goes elsewhere, or away.
struct RecordLeftovers {
  /// Members of relationships that are kept in another place now.
  var lists: [(to: CompiledRelationship, from: UInt16, members: [ObjectID]?)] = []
  /// Large values of attributes that the entity has no more.
  var blobs: [BlobReference] = []
}

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
  /// - Parameter chains: by the entity's code, what is done to a record, one after the other.
  mutating func migrateRecords(
    rootCode: UInt16, _ chains: [UInt16: [RecordMigration]], _ run: MigrationRun
  ) throws(StoreError) -> Int {
    guard let table = schema.objectTable(rootCode: rootCode) else { return 0 }
    var count = 0
    // Previous states come in the order of the objects, too.
    storage.keepPlaces(in: storage.recorder == nil ? [table] : [table, schema.tables.preimages])
    defer { storage.keepPlaces(in: []) }
    var batch = RecordBatch()
    var spare = RecordBuffer()
    var next: ObjectID? = ObjectID(rootCode: rootCode, serial: 0)
    while let start = next {
      next = try Self.gather(storage, schema, table, from: start, { chains[$0] != nil }, into: &batch)
      for record in batch.records {
        guard let chain = chains[record.entity] else { continue }
        try migrateRecord(record.id, chain, batch.bytes.span.bytes.extracting(record.place), &spare)
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
    try storage.scan(table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if found.records.count == batchCount || found.bytes.count >= RecordBatch.byteLimit {
        next = id
        return false
      }
      let code: UInt16
      do throws(RecordError) { code = try RecordView.entityCode(of: copy value) } catch {
        throw schema.damaged(id, error)
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
    try storage.scan(table, from: key.bytes) { (key, value) throws(StoreError) in
      let id = try schema.objectID(key)
      if id.serial >= end { return false }
      if found.count == batchCount {
        next = id
        return false
      }
      let code: UInt16
      do throws(RecordError) { code = try RecordView.entityCode(of: copy value) } catch {
        throw schema.damaged(id, error)
      }
      if isWanted(code) { found.append((id, code)) }
      return true
    }
    batch = found
    return next
  }

  /// Writes a record that is in an earlier layout in the present one; no other difference can be told.
  ///
  /// - Parameter spares: whether a record stays as it is that keeps large values of attributes that are gone: a snapshot may show them
  ///   elsewhere.
  /// - Returns: whether it was written.
  mutating func renewRecord(_ id: ObjectID, sparingBlobs spares: Bool) throws(StoreError) -> Bool {
    let entity = try load(id)
    var leftovers = RecordLeftovers()
    let commit = try Self.renewed(id, storage, schema, entity, into: &scratch, &leftovers)
    guard let commit else { return false }
    if spares, !leftovers.blobs.isEmpty { return false }
    scratch.seal(commit: commit, seed: ValueEnvelope.seed(object: id))
    try Self.put(&storage, entity.table, id, scratch)
    for blob in leftovers.blobs { try releaseBlob(blob) }
    return true
  }

  private static func renewed(
    _ id: ObjectID, _ storage: borrowing StorageTransaction, _ schema: Schema, _ entity: CompiledEntity,
    into buffer: inout RecordBuffer, _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    let key = ShortKey.object(id)
    guard let bytes = try storage.get(entity.table, key.bytes) else { throw schema.notFound(id) }
    let view = try schema.view(of: bytes, id: id)
    return try migrate(id, view, schema, RecordMigration(layoutOf: entity), into: &buffer, &leftovers)
  }

  private mutating func migrateRecord(
    _ id: ObjectID, _ chain: [RecordMigration], _ bytes: RawSpan, _ spare: inout RecordBuffer
  ) throws(StoreError) {
    var leftovers = RecordLeftovers()
    let changed = try Self.migrate(id, bytes, schema, chain, into: &scratch, &spare, &leftovers)
    for (relationship, from, members) in leftovers.lists {
      var ids: [ObjectID]
      if let members {
        ids = members
      } else {
        ids = try storage.members(address(id, from))
        try storage.deleteList(address(id, from))
      }
      if !relationship.isOrdered { ids.sort() }
      try writeList(address(id, relationship.code), ids, relationship, relationship.field)
    }
    guard let commit = changed, let entity = chain.last?.entity else { return }
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

  /// Puts the record into `buffer` as the last version of some has it; the commit that it is of, or nil where nothing is to be
  /// written.
  private static func migrate(
    _ id: ObjectID, _ bytes: RawSpan, _ schema: Schema, _ chain: [RecordMigration], into buffer: inout RecordBuffer,
    _ spare: inout RecordBuffer, _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    var commit: UInt64?
    for migration in chain {
      if commit == nil {
        let view = try schema.view(of: bytes, id: id)
        commit = try migrate(id, view, schema, migration, into: &buffer, &leftovers)
        continue
      }
      // What a step has made is what the next one finds, as if it had been stored in between.
      swap(&buffer, &spare)
      if try migrate(id, spare.view, schema, migration, into: &buffer, &leftovers) == nil { swap(&buffer, &spare) }
    }
    return commit
  }

  /// Puts the record into `buffer` as the new version has it; the commit that it is of, or nil where nothing is to be written.
  private static func migrate(
    _ id: ObjectID, _ view: borrowing RecordView, _ schema: Schema, _ migration: RecordMigration,
    into buffer: inout RecordBuffer, _ leftovers: inout RecordLeftovers
  ) throws(StoreError) -> UInt64? {
    let entity = migration.entity
    try load(&buffer, view, entity, id)
    var isChanged = view.layout != entity.layout
    var taken: Set<UInt16> = []
    var outlived: [BlobReference] = []
    for step in migration.steps {
      switch step {
      case .convert(let from, let to, let conversion, let path):
        guard let field = entity.layout.fieldIndex(ofProperty: to) else { continue }
        // A record that was written since by the new layout has it converted already.
        if view.layout.fieldIndex(ofProperty: to) != nil { continue }
        taken.insert(from)
        var value = migration.fills[from]
        do throws(RecordError) {
          if let old = view.layout.fieldIndex(ofProperty: from) { value = try view.value(old) }
        } catch {
          throw schema.damaged(id, error)
        }
        if case .integer(let number)? = value, entity.layout.kind(field) == .decimal {
          buffer.setDecimal(field, integer: number)
          continue
        }
        let converted = value.flatMap(conversion.convert)
        if value != nil, converted == nil { throw schema.notConvertible(id, entity, path, conversion) }
        try set(&buffer, field, converted, id, schema)
      case .fill(let code, let value):
        guard let field = entity.layout.fieldIndex(ofProperty: code), buffer.view.isNull(field) else { continue }
        try set(&buffer, field, value, id, schema)
        isChanged = true
      case .complete(let code, let value, let siblings):
        guard let field = entity.layout.fieldIndex(ofProperty: code), buffer.view.isNull(field) else { continue }
        let isThere = siblings.contains { sibling in
          entity.layout.fieldIndex(ofProperty: sibling).map { !buffer.view.isNull($0) } ?? false
        }
        if !isThere { continue }
        try set(&buffer, field, value, id, schema)
        isChanged = true
      case .renew(let code, let value):
        guard let field = entity.layout.fieldIndex(ofProperty: code) else { continue }
        if let old = view.layout.fieldIndex(ofProperty: code), view.layout.kind(old).mayBeBlob, !view.isNull(old),
          let blob = view.blobReference(old)
        {
          outlived.append(blob)
        }
        try set(&buffer, field, value, id, schema)
        isChanged = true
      case .clear(let relationship):
        guard view.layout.fieldIndex(ofProperty: relationship.code) != nil else { continue }
        if relationship.isToMany {
          do throws(RecordError) { try buffer.setInlineIDs(relationship.field, []) } catch {
            throw schema.damaged(id, error)
          }
        } else {
          buffer.setToOne(relationship.field, nil)
        }
        isChanged = true
      case .move(let from, let wasToMany, let relationship):
        guard let old = view.layout.fieldIndex(ofProperty: from) else { continue }
        if !wasToMany {
          guard let target = view.toOne(old) else { continue }
          if relationship.isToMany {
            leftovers.lists.append((relationship, from, [target]))
          } else {
            buffer.setToOne(relationship.field, target)
          }
        } else if view.head(old).isChunked {
          leftovers.lists.append((relationship, from, nil))
        } else if view.head(old).count > 0 {
          leftovers.lists.append((relationship, from, view.inlineIDs(old).array))
        }
      }
    }
    guard isChanged else { return nil }
    leftovers.blobs += view.blobs(missingIn: entity.layout, taken: taken) + outlived
    return view.commit
  }

  private static func set(
    _ buffer: inout RecordBuffer, _ field: Int, _ value: AttributeValue?, _ id: ObjectID, _ schema: Schema
  ) throws(StoreError) {
    do throws(RecordError) {
      try buffer.set(field, value)
    } catch {
      throw StoreError(
        .limitExceeded, "\(schema.rootName(of: id)) cannot be stored by the new version of the model: \(error)",
        object: schema.rootName(of: id))
    }
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
            for member in members { try session.tell(member, relationship, of: id) }
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
          .notInferable,
          "\(try name(of: member)) is in \(relationship.name) of \(try name(of: other)) and of \(try name(of: id)), and the new "
            + "inverse \(inverse.name) leads to one only; make it to-many, or unlink one of them before",
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

extension Schema {
  fileprivate func notConvertible(
    _ id: ObjectID, _ entity: CompiledEntity, _ path: String, _ conversion: AttributeConversion
  ) -> StoreError {
    StoreError(
      .notConvertible,
      "\(path) of \(entity.name)/\(id.serial) has a value that no \(conversion.destination.rawValue) is equal to; change it before, "
        + "or migrate with a mapping model", entity: entity.name, property: path, object: "\(entity.name)/\(id.serial)")
  }
}

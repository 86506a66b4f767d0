import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The new ids of objects that get another root entity, without a hash table: by the rank of each among those that move
/// between the same two roots.
struct MovedObjects {
  private struct Move {
    let to: UInt16
    let first: UInt64
    let set: SerialSet
    let ranks: SerialRanks
  }

  /// By the old root code.
  private var moves: [UInt16: [Move]] = [:]

  /// - Parameter set: the moving objects; it must not change any more.
  mutating func add(_ set: SerialSet, from: UInt16, to: UInt16, first: UInt64) {
    moves[from, default: []].append(Move(to: to, first: first, set: set, ranks: SerialRanks(set)))
  }

  /// The new id of an object; nil for one that stays.
  func newID(of id: ObjectID) -> ObjectID? {
    guard let moves = moves[id.rootCode] else { return nil }
    for move in moves where move.set.contains(id.serial) {
      guard let rank = move.ranks.rank(of: id.serial) else { continue }
      return ObjectID(rootCode: move.to, serial: move.first + rank)
    }
    return nil
  }
}

/// Moves objects of entities that get another root entity.
struct ObjectMover: ~Copyable, SessionOwner {
  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Assigns ids under the new root to objects of entities with another root in the new version, and updates all
  /// references; returns their number. The old ids redirect to the new ones.
  mutating func move(by step: MigrationStep, _ run: MigrationRun) throws(StoreError) -> Int {
    let moves = step.moves
    if moves.isEmpty { return 0 }
    try run.begin(.move)
    // Before any object has a new id.
    var ends: [UInt16: UInt64] = [:]
    for rootCode in session.schema.rootCodes { ends[rootCode] = try session.nextSerial(rootCode: rootCode) }
    let tables = try tablesOfRoots(Set(moves.map(\.to)))
    let (moved, count) = try newIDs(moves, run)
    if count == 0 { return 0 }
    let removed = step.removedEntities
    let from = Set(moves.map(\.from))
    let concerned = Set(
      session.schema.entities.filter { entity in
        !removed.contains(entity.code)
          && (moves.contains { $0.entity == entity.code }
            || entity.relationships.contains { from.contains($0.destinationRootCode) } || !entity.referrerCodes.isEmpty)
      }.map(\.code))
    for rootCode in session.schema.rootCodes {
      var batches = ObjectBatches(session, rootCode: rootCode, below: ends[rootCode] ?? 0)
      while let batch = try batches.next(session, where: { concerned.contains($0) }) {
        for (id, _) in batch { try move(id, moved, tables) }
        try run.advance(by: batch.count)
      }
    }
    return count
  }

  private mutating func tablesOfRoots(_ roots: Set<UInt16>) throws(StoreError) -> [UInt16: StorageTable] {
    var tables = session.schema.tables.objects
    let missing = roots.filter { tables[$0] == nil }.sorted()
    if missing.isEmpty { return tables }
    let made = try session.storage.makeTables(missing.map { TableCode.objects(rootCode: $0) })
    for (root, table) in zip(missing, made) { tables[root] = table }
    return tables
  }

  private mutating func newIDs(
    _ moves: [(entity: UInt16, from: UInt16, to: UInt16)], _ run: MigrationRun
  ) throws(StoreError) -> (MovedObjects, Int) {
    var moved = MovedObjects()
    var count = 0
    for from in Set(moves.map(\.from)).sorted() {
      for to in Set(moves.filter { $0.from == from }.map(\.to)).sorted() {
        let entities = Set(moves.filter { $0.from == from && $0.to == to }.map(\.entity))
        let set = SerialSet()
        var batches = ObjectBatches(session, rootCode: from)
        while let batch = try batches.next(session, where: { entities.contains($0) }) {
          for (id, _) in batch { _ = set.insert(id.serial) }
          try run.advance(by: 0)
        }
        if set.count == 0 { continue }
        // Above the old root's, too, so that no earlier name ever refers to another object.
        let first = max(try session.nextSerial(rootCode: to), try session.nextSerial(rootCode: from))
        session.changes.nextSerials[to] = first
        _ = try session.reserveSerials(rootCode: to, count: UInt64(set.count))
        moved.add(set, from: from, to: to, first: first)
        count += set.count
      }
    }
    return (moved, count)
  }

  /// Rewrites one object with the new ids of its targets, under its own new id.
  private mutating func move(_ id: ObjectID, _ moved: MovedObjects, _ tables: [UInt16: StorageTable]) throws(StoreError)
  {
    let newID = moved.newID(of: id)
    let owner = newID ?? id
    let entity = try session.load(id)
    let lastCommit = session.scratch.view.commit
    var isChanged = newID != nil
    for relationship in entity.relationships {
      let field = relationship.field
      if !relationship.isToMany {
        guard let target = session.scratch.view.toOne(field), let new = moved.newID(of: target) else { continue }
        session.scratch.setToOne(field, new)
        isChanged = true
        continue
      }
      let head = session.scratch.view.head(field)
      let list = session.address(id, relationship.code)
      let members =
        head.isChunked
        ? try session.storage.members(list, count: head.count) : session.scratch.view.inlineIDs(field).array
      var news = members.map { moved.newID(of: $0) ?? $0 }
      guard news != members || newID != nil && head.isChunked else { continue }
      if !relationship.isOrdered { news.sort() }
      if head.isChunked { try session.storage.deleteList(list) }
      try session.writeList(session.address(owner, relationship.code), news, relationship, field)
      isChanged = true
    }
    for code in entity.referrerCodes {
      let list = session.address(id, code)
      let members = try session.storage.members(list)
      if members.isEmpty { continue }
      let news = members.map { moved.newID(of: $0) ?? $0 }.sorted()
      guard news != members || newID != nil else { continue }
      try session.storage.deleteList(list)
      try session.storage.writeUnordered(session.address(owner, code), news)
    }
    guard isChanged else { return }
    guard let table = newID == nil ? entity.table : tables[owner.rootCode] else { throw session.schema.notFound(owner) }
    session.scratch.seal(commit: lastCommit, seed: ValueEnvelope.seed(object: owner))
    try Self.putMoved(&session.storage, table, owner, session.scratch)
    try session.releaseOrphanedBlobs(id)
    if newID != nil { try leave(id, for: owner, entity) }
  }

  private static func putMoved(
    _ storage: inout StorageTransaction, _ table: StorageTable, _ id: ObjectID, _ record: borrowing RecordBuffer
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    try storage.put(table, key.bytes, record.bytes)
  }

  /// Removes an object's data under its old id, and redirects to the new one.
  private mutating func leave(_ id: ObjectID, for newID: ObjectID, _ entity: CompiledEntity) throws(StoreError) {
    let key = ShortKey.object(id)
    try session.storage.delete(entity.table, key.bytes)
    var source: ProvenanceValue?
    if let value = try session.storage.get(session.schema.tables.provenance, key.bytes) {
      // What cannot be decoded stays, for `check` to report.
      source = try? ProvenanceValue(stored: value, seed: ValueEnvelope.seed(tableCode: .provenance, objectID: id))
    }
    if let source {
      try session.storage.delete(session.schema.tables.provenance, key.bytes)
      try ProvenanceTable.write(source, of: newID, in: &session)
    }
    try RedirectValue.leave(at: id, to: newID, &session)
  }
}

extension RedirectValue {
  /// Redirects an old id to its new object, if there is no redirect yet.
  static func leave(
    at id: ObjectID, to newID: ObjectID, _ session: inout Session
  ) throws(StoreError) {
    let key = ShortKey.object(id)
    if try session.storage.get(session.schema.tables.redirects, key.bytes) != nil { return }
    let redirect = RedirectValue(target: newID, commit: session.commit)
    let value = redirect.encoded(seed: ValueEnvelope.seed(tableCode: .redirects, objectID: id))
    try session.storage.put(session.schema.tables.redirects, key.bytes, value.span.bytes)
  }
}

import KVCloneBranches
package import KVCloneCore
import KVCloneModel
package import KVCloneRecords

/// Finds the objects that differ between a snapshot and a later state: compares objects with preimages in both states,
/// and reports those with later serials as inserted.
package struct SnapshotComparison {
  private let store: ObjectStore
  private let from: Snapshot
  private let to: Snapshot?

  /// - Parameter to: a snapshot that is not older than `from`; nil for the current state.
  private init(_ store: ObjectStore, _ from: Snapshot, _ to: Snapshot?) {
    self.store = store
    self.from = from
    self.to = to
  }

  /// Calls `body` with every object that differs between a snapshot and another snapshot, or the current state.
  ///
  /// - Parameters:
  ///   - after: the id after which to begin; nil for all objects.
  ///   - isCancelled: called before each object; the comparison throws `cancelled` if it returns true.
  static func compare(
    _ store: ObjectStore, _ from: Snapshot, _ to: Snapshot?, after: ObjectID? = nil,
    isCancelled: () -> Bool = { false }, _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    try StoreSnapshots(store).requireOwn(from)
    guard let to else { return try SnapshotComparison(store, from, nil).forEach(after, isCancelled, body) }
    try StoreSnapshots(store).requireOwn(to)
    if from.info.epoch <= to.info.epoch {
      return try SnapshotComparison(store, from, to).forEach(after, isCancelled, body)
    }
    try SnapshotComparison(store, to, from).forEach(after, isCancelled) { try body($0.inverted) }
  }

  private func forEach(
    _ after: ObjectID?, _ isCancelled: () -> Bool, _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    // A snapshot never changes, so the two sessions need not share a transaction; the preimages are those of the later
    // one.
    let old = try StoreSnapshots(store).session(of: from)
    let new =
      if let to { try StoreSnapshots(store).session(of: to) } else { try store.readSession() }
    let first = try Snapshots.existing(
      new.storage, new.schema.tables, from.info.name, epoch: from.info.epoch)
    let changes =
      if let changes = try Self.changesAcrossLayers(from.name, first, new) {
        changes
      } else {
        try Self.changes(in: first.epoch..<(to?.info.epoch ?? .max), first, new, isCancelled)
      }
    var oldWindows = ReadWindows(old.storage)
    var newWindows = ReadWindows(new.storage)
    for rootCode in Set(old.schema.rootCodes + new.schema.rootCodes).sorted() where rootCode >= after?.rootCode ?? 0 {
      let least = rootCode == after?.rootCode ? (after?.serial ?? 0) + 1 : 0
      var next = changes.objects.set(rootCode: rootCode)?.next(from: least)
      while let serial = next {
        if isCancelled() { throw Self.cancelled }
        oldWindows.next()
        newWindows.next()
        let id = ObjectID(rootCode: rootCode, serial: serial)
        if let difference = try Self.difference(id, old, new, changes), try !body(difference) { return }
        next = changes.objects.set(rootCode: rootCode)?.next(from: serial + 1)
      }
      if !new.schema.rootCodes.contains(rootCode) {
        // The later model has no such entity: its objects stay in their table, and have no preimages.
        if try !forEachRetired(rootCode, from: least, old, changes, isCancelled, body) { return }
        continue
      }
      var position: UInt64? = max(least, first.watermarks.first { $0.rootCode == rootCode }?.nextSerial ?? 0)
      while let start = position {
        if isCancelled() { throw Self.cancelled }
        let batch = try Self.objects(rootCode, from: start, new)
        for (id, entityName) in batch {
          let difference = SnapshotDifference(
            id: id, entityName: entityName, kind: .inserted, attributes: [], relationships: [])
          if try !body(difference) { return }
        }
        position = batch.last.map { $0.id.serial + 1 }
      }
    }
  }

  /// Reports the objects of a root entity that the later model does not have, except those already reported; returns
  /// false if `body` stops.
  private func forEachRetired(
    _ rootCode: UInt16, from least: UInt64, _ old: borrowing Session, _ changes: Changes, _ isCancelled: () -> Bool,
    _ body: (SnapshotDifference) throws -> Bool
  ) throws -> Bool {
    var position: UInt64? = least
    while let start = position {
      if isCancelled() { throw Self.cancelled }
      let batch = try Self.objects(rootCode, from: start, old)
      for (id, entityName) in batch where !changes.objects.contains(id) {
        let difference = SnapshotDifference(
          id: id, entityName: entityName, kind: .deleted, attributes: [], relationships: [])
        if try !body(difference) { return false }
      }
      position = batch.last.map { $0.id.serial + 1 }
    }
    return true
  }

  // MARK: Changed keys

  /// The objects with preimages, and the changed chunks of lists.
  package struct Changes {
    package var objects = ObjectSet()
    /// The chunks; sorted, without duplicates.
    var chunks: [ChunkPlace] = []
    /// The horizon of the first state, which identifies later entries.
    package let horizon: SnapshotHorizon

    init(horizon: SnapshotHorizon) { self.horizon = horizon }

    /// Notes the object or the chunk of a saved key.
    package mutating func note(_ table: TableCode, _ key: [UInt8]) {
      if table.rootCode != nil, let id = try? NumberKey.objectID(key.span.bytes) {
        // Snapshots in between may have saved objects that were created after the first one.
        if horizon.sees(id) { _ = objects.insert(id) }
      } else if table == .links, let link = try? LinkKey(key.span.bytes), horizon.sees(link.owner) {
        _ = objects.insert(link.owner)
        guard link.kind == .chunk else { return }
        chunks.append(ChunkPlace(owner: link.owner, relationship: link.relationship, position: link.position))
      }
    }

    /// Sorts the chunks after the last key, and removes duplicates of several epochs.
    package mutating func sortChunks() {
      chunks.sort()
      chunks.removeDuplicates()
    }
  }

  struct ChunkPlace: Comparable {
    let owner: ObjectID
    let relationship: UInt16
    let position: UInt64

    static func < (left: Self, right: Self) -> Bool {
      (left.owner, left.relationship, left.position) < (right.owner, right.relationship, right.position)
    }
  }

  package static func changes(
    in epochs: Range<UInt64>, _ first: SnapshotValue, _ session: borrowing Session,
    _ isCancelled: () -> Bool = { false }
  ) throws(StoreError) -> Changes {
    var changes = Changes(horizon: SnapshotHorizon(first, session.schema.orderedLists))
    var count = 0
    try PreimageKeyList.forEachKey(in: epochs, session) { (table, key) throws(StoreError) in
      count += 1
      if count.isMultiple(of: 1024), isCancelled() { throw Self.cancelled }
      changes.note(table, key)
    }
    changes.sortChunks()
    return changes
  }

  static let cancelled = StoreError(.cancelled, "the comparison was cancelled")

  private static let batchCount = 1000

  /// Returns the next objects of a root entity, as a copy.
  static func objects(_ rootCode: UInt16, from serial: UInt64, _ session: borrowing Session)
    throws(StoreError) -> [(id: ObjectID, entityName: String)]
  {
    guard let table = session.schema.objectTable(rootCode: rootCode), serial <= ObjectID.maximumSerial else {
      return []
    }
    var found: [(id: ObjectID, entityName: String)] = []
    let key = ShortKey.object(ObjectID(rootCode: rootCode, serial: serial))
    let schema = session.schema
    var windows = ReadWindows(session.storage)
    try session.storage.scanToEnd(of: table, from: key.bytes) { (key, value) throws(StoreError) in
      windows.next()
      let id = try schema.objectID(key)
      let view = try schema.view(of: copy value, id: id)
      found.append((id, try schema.entity(of: view, id: id).name))
      return found.count < batchCount
    }
    return found
  }

  // MARK: One object

  /// The difference of an object between two states; nil if they are equal.
  package static func difference(
    _ id: ObjectID, _ old: borrowing Session, _ new: borrowing Session, _ changes: Changes
  ) throws(StoreError) -> SnapshotDifference? {
    // Bound to names, so that both records are alive at once.
    let before = try old.record(id)
    let after = try new.record(id)
    guard let before else {
      guard let after else { return nil }
      let entity = try new.schema.entity(of: after, id: id)
      return SnapshotDifference(id: id, entityName: entity.name, kind: .inserted, attributes: [], relationships: [])
    }
    let oldEntity = try old.schema.entity(of: before, id: id)
    guard let after else {
      return SnapshotDifference(
        id: id, entityName: oldEntity.name, kind: .deleted, attributes: [], relationships: [])
    }
    let newEntity = try new.schema.entity(of: after, id: id)
    var attributes: [SnapshotDifference.Attribute] = []
    for attribute in newEntity.attributes where attribute.field != nil {
      let value = try newEntity.value(of: attribute, in: after, id: id, schema: new.schema)
      let known = oldEntity.attributes.first { $0.code == attribute.code }
      let previous =
        try known.map { known throws(StoreError) in
          try oldEntity.value(of: known, in: before, id: id, schema: old.schema)
        } ?? attribute.fill
      if try !isSame(value, in: new, as: previous, in: old) {
        attributes.append(.init(name: attribute.path, old: previous, new: value))
      }
    }
    var relationships: [SnapshotDifference.Relationship] = []
    for relationship in newEntity.relationships {
      let gaps = relationship.isOrdered ? try Self.gaps(id, relationship, new, changes) : []
      let known = oldEntity.relationships.first { $0.code == relationship.code }
      let was =
        try known.map { known throws(StoreError) in
          try members(id, known, before, oldEntity, old, changes, gaps)
        } ?? Members()
      let now = try members(id, relationship, after, newEntity, new, changes, gaps)
      if let difference = was.difference(to: now, relationship) { relationships.append(difference) }
    }
    if attributes.isEmpty && relationships.isEmpty { return nil }
    return SnapshotDifference(
      id: id, entityName: newEntity.name, kind: .updated, attributes: attributes, relationships: relationships)
  }

  /// The members of a relationship in one state; of a long list, only those in chunks that differ.
  private struct Members {
    var ids: [ObjectID] = []
    /// The number of unchanged stretches before each changed chunk of an ordered list.
    var gaps: [Int] = []

    func difference(to other: Members, _ relationship: CompiledRelationship) -> SnapshotDifference.Relationship? {
      if ids == other.ids, gaps == other.gaps { return nil }
      let (mine, others) = (Set(ids), Set(other.ids))
      let added = others.subtracting(mine).sorted()
      let removed = mine.subtracting(others).sorted()
      let isReordered =
        relationship.isOrdered
        && (ids.filter { others.contains($0) } != other.ids.filter { mine.contains($0) }
          || gaps(ofMembersIn: others) != other.gaps(ofMembersIn: mine))
      if added.isEmpty, removed.isEmpty, !isReordered { return nil }
      return .init(name: relationship.name, added: added, removed: removed, isReordered: isReordered)
    }

    private func gaps(ofMembersIn others: Set<ObjectID>) -> [Int] {
      ids.indices.lazy.filter { others.contains(ids[$0]) }.map { $0 < gaps.count ? gaps[$0] : 0 }
    }
  }

  /// Returns, for the changed chunks of an ordered list, the number of unchanged stretches before each. Members of
  /// unchanged chunks do not move, so two members have swapped places only if that number differs.
  private static func gaps(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ session: borrowing Session, _ changes: Changes
  ) throws(StoreError) -> [Int] {
    let list = session.address(id, relationship.code)
    var gaps: [Int] = []
    var gap = 0
    var last: UInt64?
    for place in changes.chunks(of: id, relationship.code) {
      if let last, last + 1 < place.position {
        let key = list.key(.chunk, last + 1)
        // Entries between two neighbours are not among the changed chunks, so they are the same in both states.
        if let entry = try session.storage.seek(list.links, key.bytes, .atOrAfter),
          let position = try list.position(in: entry.key, .chunk), position < place.position
        {
          gap += 1
        }
      }
      gaps.append(gap)
      last = place.position
    }
    return gaps
  }

  private static func members(
    _ id: ObjectID, _ relationship: CompiledRelationship, _ view: borrowing RecordView, _ entity: CompiledEntity,
    _ session: borrowing Session, _ changes: Changes, _ gaps: [Int]
  ) throws(StoreError) -> Members {
    var members = Members()
    guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { return members }
    guard relationship.isToMany else {
      members.ids = view.toOne(field).map { [$0] } ?? []
      return members
    }
    guard view.head(field).isChunked else {
      members.ids = view.inlineIDs(field).array
      return members
    }
    let list = session.address(id, relationship.code)
    for (place, gap) in zip(changes.chunks(of: id, relationship.code), 0...) {
      let key = list.key(.chunk, place.position)
      guard let value = try session.storage.get(list.links, key.bytes) else { continue }
      let ids = try list.chunk(value, at: place.position, isOrdered: relationship.isOrdered)
      for index in 0..<ids.count {
        members.ids.append(ids[index])
        if gap < gaps.count { members.gaps.append(gaps[gap]) }
      }
    }
    if relationship.isOrdered { return members }
    // Chunks with a first object that was created later have no preimages.
    let rootCode = relationship.destinationRootCode
    let first = changes.horizon.firstLater(rootCode: rootCode)
    try session.storage.forEachChunk(list, from: first.rawValue) { (ids) throws(StoreError) in
      for index in 0..<ids.count { members.ids.append(ids[index]) }
      return true
    }
    return members
  }
}

extension SnapshotComparison {
  /// Whether a value equals an earlier one; for blobs, whether their bytes are equal.
  static func isSame(
    _ value: AttributeValue?, in session: borrowing Session, as previous: AttributeValue?, in past: borrowing Session
  ) throws(StoreError) -> Bool {
    guard case .blob(let first)? = previous, case .blob(let second)? = value else { return previous == value }
    if first.id == second.id { return true }
    guard first.byteCount == second.byteCount, first.isTransformable == second.isTransformable,
      let one = try past.storage.blobInfo(past.blobTables, first.id),
      let other = try session.storage.blobInfo(session.blobTables, second.id)
    else { return false }
    return one.digest == other.digest
  }
}

extension SnapshotComparison.Changes {
  /// Returns the chunks of a list that have preimages.
  func chunks(of owner: ObjectID, _ relationship: UInt16) -> ArraySlice<SnapshotComparison.ChunkPlace> {
    let start = SnapshotComparison.ChunkPlace(owner: owner, relationship: relationship, position: 0)
    let lower = chunks.partitioningIndex { $0 >= start }
    var upper = lower
    while upper < chunks.count, chunks[upper].owner == owner, chunks[upper].relationship == relationship { upper += 1 }
    return chunks[lower..<upper]
  }
}

extension Array where Element: Equatable {
  /// Removes duplicates of sorted elements.
  fileprivate mutating func removeDuplicates() {
    var last: Element?
    removeAll { element in
      defer { last = element }
      return element == last
    }
  }

  /// Returns the first index from which on all elements satisfy the predicate.
  fileprivate func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

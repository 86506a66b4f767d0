import KVCloneModel

/// What an editing context has collected.
struct ContextChanges: Sendable {
  /// New objects in the order in which they were inserted.
  private(set) var inserted: [Insertion] = []
  /// What is to become of new and of stored objects.
  private(set) var edits: [ObjectID: ObjectValues] = [:]
  /// Stored objects that are to go.
  private(set) var deleted: Set<ObjectID> = []
  /// Stored objects as they were read, which changed or deleted ones are compared with.
  private(set) var bases: [ObjectID: ManagedObject] = [:]

  struct Insertion: Sendable {
    let id: ObjectID
    let entity: String
  }

  var isEmpty: Bool { inserted.isEmpty && edits.isEmpty && deleted.isEmpty }
  /// Stored objects that were changed, sorted.
  var updated: [ObjectID] { edits.keys.filter { !$0.isTemporary && !deleted.contains($0) }.sorted() }

  func entity(ofNew id: ObjectID) -> String? { inserted.first { $0.id == id }?.entity }

  mutating func insert(_ id: ObjectID, _ entity: String, _ values: ObjectValues) {
    if self.entity(ofNew: id) == nil { inserted.append(Insertion(id: id, entity: entity)) }
    edits[id] = values
  }

  /// Says what is to become of a stored object, instead of what was said before.
  mutating func replace(_ base: ManagedObject, _ values: ObjectValues) {
    note(base)
    edits[base.id] = values.isEmpty ? nil : values
  }

  /// Adds to what is to become of an object.
  mutating func edit(_ id: ObjectID, _ change: (inout ObjectValues) -> Void) {
    change(&edits[id, default: ObjectValues()])
  }

  mutating func delete(_ base: ManagedObject) {
    note(base)
    deleted.insert(base.id)
    edits[base.id] = nil
  }

  /// Forgets all about an object. A new one never was, so nothing leads to it any more either.
  mutating func discard(_ id: ObjectID) {
    if id.isTemporary {
      for other in Array(edits.keys) {
        edits[other]?.forget(id)
        if !other.isTemporary, edits[other]?.isEmpty ?? false { edits[other] = nil }
      }
    }
    inserted.removeAll { $0.id == id }
    edits[id] = nil
    deleted.remove(id)
    bases[id] = nil
  }

  /// Remembers an object as it was read; the older reading counts, so that no change goes unnoticed.
  mutating func note(_ base: ManagedObject) {
    if let known = bases[base.id], known.commit <= base.commit { return }
    bases[base.id] = base.withoutChanges
  }

  /// The object with what was changed.
  func applied(to object: ManagedObject) -> ManagedObject {
    edits[object.id].map { (bases[object.id] ?? object).with($0) } ?? object
  }

  // MARK: Saving

  /// Makes the changes, or throws and leaves a transaction to be given up.
  func apply(to transaction: inout WriteTransaction, _ policy: MergePolicy) throws -> SaveResult {
    var merged = self
    try merged.merge(transaction, policy)
    var ids: [ObjectID: ObjectID] = [:]
    for new in merged.inserted {
      ids[new.id] = try transaction.insert(new.entity, merged.edits[new.id]?.attributes ?? [:])
    }
    for id in merged.updated {
      if let attributes = merged.edits[id]?.attributes { try transaction.setAttributes(id, attributes) }
    }
    for id in merged.inserted.map(\.id) + merged.updated {
      guard let values = merged.edits[id] else { continue }
      let stored = try values.replacingTemporary { (temporary) throws(StoreError) in
        guard let id = ids[temporary] else { throw Self.notInserted() }
        return id
      }
      try transaction.link(ids[id] ?? id, stored)
    }
    try transaction.delete(merged.deleted.sorted())
    return SaveResult(ids: ids)
  }

  private static func notInserted() -> StoreError {
    StoreError(
      .objectNotFound, "a relationship leads to a new object that was not inserted; insert it into the context")
  }

  /// Compares every object with the store, and leaves what is to be done by the policy.
  private mutating func merge(_ transaction: borrowing WriteTransaction, _ policy: MergePolicy) throws {
    var conflicts: [MergeConflict] = []
    for id in Set(updated).union(deleted).sorted() {
      guard let base = bases[id] else { continue }
      let stored = try transaction.exists(id) ? try transaction.object(id) : nil
      if stored?.commit == base.commit { continue }
      // Gone on both sides is what both wanted.
      if stored == nil && deleted.contains(id) {
        discard(id)
        continue
      }
      let conflict = MergeConflict(
        object: base.name, cached: base, stored: stored, changedProperties: edits[id]?.names ?? [],
        storedProperties: try stored?.differences(from: base) ?? [])
      if !resolve(conflict, policy) { conflicts.append(conflict) }
    }
    if !conflicts.isEmpty { throw MergeConflictError(conflicts: conflicts) }
  }

  /// Whether the policy settles a conflict.
  private mutating func resolve(_ conflict: MergeConflict, _ policy: MergePolicy) -> Bool {
    let id = conflict.cached.id
    switch policy {
    case .error: return false
    case .rollback: discard(id)
    case .mergeByPropertyStoreTrump:
      if conflict.stored == nil || deleted.contains(id) {
        discard(id)
      } else {
        edits[id]?.remove(attributesAndTargets: Set(conflict.storedProperties))
      }
    // An object that is gone does not come back: its id is never used again.
    case .mergeByPropertyObjectTrump: return conflict.stored != nil
    case .overwrite:
      if conflict.stored == nil { return false }
      if !deleted.contains(id) {
        var all = conflict.cached.storedValues
        all.merge(edits[id] ?? ObjectValues())
        edits[id] = all
      }
    }
    return true
  }
}

/// What a save did.
public struct SaveResult: Sendable {
  let ids: [ObjectID: ObjectID]

  /// The id that an object has now: for a new one, instead of its temporary one.
  public func id(of id: ObjectID) -> ObjectID { ids[id] ?? id }

  /// The id that an object has now: for a new one, instead of its temporary one.
  public func id<Object>(of id: TypedObjectID<Object>) -> TypedObjectID<Object> {
    TypedObjectID(self.id(of: id.objectID))
  }
}

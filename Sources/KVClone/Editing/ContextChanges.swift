public import KVCloneCore
public import KVCloneModel
import KVCloneRecords

/// The changes of an editing context.
struct ContextChanges: Sendable {
  /// New objects in order of insertion.
  private(set) var inserted: [ObjectID] = []
  /// Their entities.
  private var entities: [ObjectID: String] = [:]
  /// The changes of new and stored objects.
  private(set) var edits: [ObjectID: ObjectValues] = [:]
  /// The stored objects to delete.
  private(set) var deleted: Set<ObjectID> = []
  /// Stored objects as they were read, for comparison with changed or deleted ones.
  private(set) var bases: [ObjectID: ManagedObject] = [:]

  var isEmpty: Bool { inserted.isEmpty && edits.isEmpty && deleted.isEmpty }
  /// The ids of changed stored objects, sorted.
  var updated: [ObjectID] { edits.keys.filter { !$0.isTemporary && !deleted.contains($0) }.sorted() }

  func entity(ofNew id: ObjectID) -> String? { entities[id] }

  mutating func insert(_ id: ObjectID, _ entity: String, _ values: ObjectValues) {
    if entities.updateValue(entity, forKey: id) == nil { inserted.append(id) }
    edits[id] = values
  }

  /// Replaces the changes of some properties of a stored object.
  mutating func replace(_ base: ManagedObject, _ names: [String], _ values: ObjectValues) {
    note(base)
    var all = edits[base.id]?.without(Set(names)) ?? ObjectValues()
    all.merge(values)
    edits[base.id] = all.isEmpty ? nil : all
  }

  /// Adds changes of an object.
  mutating func edit(_ id: ObjectID, _ change: (inout ObjectValues) -> Void) {
    change(&edits[id, default: ObjectValues()])
  }

  mutating func delete(_ base: ManagedObject) {
    note(base)
    deleted.insert(base.id)
    edits[base.id] = nil
  }

  /// Removes an object. A new one then never existed, so links to it are removed, too.
  mutating func discard(_ id: ObjectID) {
    if id.isTemporary {
      for other in Array(edits.keys) {
        edits[other]?.forget(id)
        if !other.isTemporary, edits[other]?.isEmpty ?? false { edits[other] = nil }
      }
    }
    if entities.removeValue(forKey: id) != nil { inserted.removeAll { $0 == id } }
    edits[id] = nil
    deleted.remove(id)
    bases[id] = nil
  }

  /// Records the state of an object that was read; the older state is kept, so that no conflict goes unnoticed.
  mutating func note(_ base: ManagedObject) {
    if let known = bases[base.id], known.commit <= base.commit { return }
    bases[base.id] = base.withoutChanges
  }

  /// The object with its changes applied.
  func applied(to object: ManagedObject) -> ManagedObject {
    edits[object.id].map { (bases[object.id] ?? object).with($0) } ?? object
  }

  // MARK: Saving

  /// Applies the changes, or throws and leaves an abort-only transaction.
  func apply(to transaction: inout WriteTransaction, _ policy: MergePolicy) throws -> SaveResult {
    var merged = self
    try merged.merge(transaction, policy)
    var ids: [ObjectID: ObjectID] = [:]
    let replaced = ReplacedObjects()
    transaction.session.state.replaced = replaced
    for id in merged.inserted {
      guard let entity = merged.entities[id] else { continue }
      ids[id] = try transaction.insert(entity, merged.edits[id]?.attributes ?? [:])
    }
    for id in merged.updated {
      if let attributes = merged.edits[id]?.attributes { try transaction.setAttributes(id, attributes) }
    }
    func stored(_ values: ObjectValues) throws(StoreError) -> ObjectValues {
      try values.replacingTemporary { (temporary) throws(StoreError) in
        guard let id = ids[temporary] else { throw Self.notInserted() }
        return id
      }
    }
    // Lists first: one that lost all of its members must not lose those that link to its owner from their side.
    for id in merged.updated {
      if let values = merged.edits[id] { try stored(values).linkMembers(id, in: &transaction) }
    }
    for new in merged.inserted {
      guard let id = ids[new], let entity = merged.entities[new], let values = merged.edits[new] else { continue }
      let additions = try values.additions(of: try transaction.session.schema.entity(entity))
      try stored(additions).link(id, in: &transaction)
    }
    for id in merged.updated {
      if let values = merged.edits[id] { try stored(values).linkTargets(id, in: &transaction) }
    }
    try transaction.delete(merged.deleted.sorted())
    return SaveResult(ids: ids, replaced: replaced)
  }

  private static func notInserted() -> StoreError {
    StoreError(
      .objectNotFound, "a relationship refers to a new object that is not in the context; insert the object first")
  }

  /// Compares every object with the store, and resolves conflicts by the policy.
  private mutating func merge(_ transaction: borrowing WriteTransaction, _ policy: MergePolicy) throws {
    var conflicts: [MergeConflict] = []
    for id in Set(updated).union(deleted).sorted() {
      guard let base = bases[id] else { continue }
      let stored = try transaction.exists(id) ? try transaction.object(id) : nil
      if stored?.commit == base.commit { continue }
      // Both sides deleted it: no conflict.
      if stored == nil && deleted.contains(id) {
        discard(id)
        continue
      }
      let conflict = MergeConflict(
        object: base.name, cached: base, stored: stored, changedProperties: edits[id]?.names ?? [],
        storedProperties: try stored?.differences(from: base) ?? [])
      if try !resolve(conflict, policy, transaction) { conflicts.append(conflict) }
    }
    if !conflicts.isEmpty { throw MergeConflictError(conflicts: conflicts) }
  }

  /// Whether the policy resolves a conflict.
  private mutating func resolve(
    _ conflict: MergeConflict, _ policy: MergePolicy, _ transaction: borrowing WriteTransaction
  ) throws(StoreError) -> Bool {
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
    // A deleted object cannot be restored: its id is never reused.
    case .mergeByPropertyObjectTrump: return conflict.stored != nil
    case .overwrite:
      if conflict.stored == nil { return false }
      if !deleted.contains(id) {
        var all = conflict.cached.storedValues
        // Concurrently deleted objects cannot be targets.
        var gone: Set<String> = []
        for (name, target) in all.targets {
          if let target, try !transaction.exists(target) { gone.insert(name) }
        }
        all = all.without(gone)
        all.merge(edits[id] ?? ObjectValues())
        edits[id] = all
      }
    }
    return true
  }
}

/// The result of a save.
public struct SaveResult: Sendable {
  /// The ids of new objects by their temporary ids.
  let ids: [ObjectID: ObjectID]
  /// The objects merged by the commit; known afterwards, because hooks may cause conflicts.
  var replaced: ReplacedObjects?

  /// Returns the current id of an object.
  ///
  /// For a new object, this is its stored id instead of its temporary one. For an object that the merge policy has
  /// merged into another one, it is the id of that object. All other ids are returned unchanged.
  public func id(of id: ObjectID) -> ObjectID {
    let saved = ids[id] ?? id
    return replaced?.last(from: saved) ?? saved
  }

  /// Returns the current id of an object: for a new object, its stored id instead of its temporary one.
  public func id<Object>(of id: TypedObjectID<Object>) -> TypedObjectID<Object> {
    TypedObjectID(self.id(of: id.objectID))
  }
}

package import KVCloneModel
package import KVCloneRecords

/// Calls the hooks of ``ObjectLifecycle``. Without registered hooks, the only cost is a check.
extension WriteTransaction {
  /// The maximum number of `willSave` rounds, until nothing changes anymore.
  static var saveRoundLimit: Int { 100 }

  /// Calls `awakeFromInsert` for a new object. Values that the caller passed take precedence.
  package mutating func awake(_ id: ObjectID, _ given: [String: AttributeValue?]) throws(StoreError) {
    guard let lifecycle = session.lifecycle else { return }
    let entity = try session.entity(of: id)
    let hooks = lifecycle.hooks(entity).compactMap(\.awakeFromInsert)
    if hooks.isEmpty { return }
    let before = try object(id)
    do {
      for hook in hooks { try hook(&self, id) }
    } catch {
      throw abandon(error, "awakeFromInsert", entity, id)
    }
    guard try exists(id) else {
      throw abandon(LifecycleRejection("the hook deleted the new object"), "awakeFromInsert", entity, id)
    }
    var changed: [String: AttributeValue?] = [:]
    // The given values are set, not the stored ones: bytes that a hook has replaced no longer exist.
    for (name, value) in given where try self.value(id, name) != before.value(name) { changed[name] = .some(value) }
    if !changed.isEmpty { try setAttributes(id, changed) }
  }

  /// Prepares a commit for validation: calls `willSave` until nothing changes, computes derived attributes, resolves
  /// conflicts over uniqueness constraints, and runs validation hooks.
  package mutating func prepareToSave() throws {
    try settle()
    try callWillSave([session.changes.inserted, session.changes.updated])
    try DerivedRefresh.refreshAll(in: &session)
    try resolveConflictsToSave()
    guard let lifecycle = session.lifecycle, lifecycle.validatesSaves else { return }
    var issues = session.state.refusals
    try forEachSaved { (transaction, id, entity, isNew) in
      for hooks in lifecycle.hooks(entity) where issues.count < 1000 {
        guard let validate = isNew ? hooks.validateForInsert : hooks.validateForUpdate else { continue }
        do { try validate(transaction, id) } catch { issues.append(entity.refusal(error, id)) }
      }
    }
    session.state.refusals = issues
  }

  /// Calls `willSave` for these objects, and then for those that hooks changed, until nothing changes anymore.
  mutating func callWillSave(_ objects: [ObjectSet]) throws {
    guard let lifecycle = session.lifecycle, lifecycle.changesSaves else { return }
    var waiting = objects.map { $0.copy() }
    var windows = ReadWindows(session.storage)
    for _ in 0..<Self.saveRoundLimit {
      session.changes.recent = ObjectSet()
      for set in waiting {
        var next = set.first(from: ObjectID(rawValue: 0))
        while let id = next {
          windows.next()
          try callWillSave(id, lifecycle)
          next = set.first(from: ObjectID(rawValue: id.rawValue + 1))
        }
      }
      try settle()
      let changed = session.changes.recent ?? ObjectSet()
      if changed.isEmpty {
        session.changes.recent = nil
        return
      }
      waiting = [changed]
    }
    throw Self.endlessSaving()
  }

  static func endlessSaving() -> StoreError {
    StoreError(
      .hookFailed,
      "willSave still changes objects after \(saveRoundLimit) rounds; set only values that differ from the stored ones")
  }

  private mutating func callWillSave(_ id: ObjectID, _ lifecycle: LifecycleTable) throws {
    guard try session.exists(id) else { return }
    let entity = try session.entity(of: id)
    for hooks in lifecycle.hooks(entity) {
      guard let willSave = hooks.willSave, try session.exists(id) else { continue }
      try willSave(&self, id)
      if let failure = session.changes.failure { throw failure }
    }
  }

  /// Calls `validateForDelete` for every object that a deletion would reach.
  package mutating func validateDelete(_ ids: ObjectSet, sparing kept: ObjectID? = nil) throws(StoreError) {
    guard let lifecycle = session.lifecycle, lifecycle.validatesDeletes else { return }
    if let failure = session.changes.failure { throw failure }
    try settle()
    let doomed = try ObjectDeletion.doomed(by: ids, sparing: kept, in: session)
    var issues = session.state.refusals
    var next = doomed.first(from: ObjectID(rawValue: 0))
    var windows = ReadWindows(session.storage)
    while let id = next, issues.count < 1000 {
      windows.next()
      let entity = try session.entity(of: id)
      for validate in lifecycle.hooks(entity).compactMap(\.validateForDelete) {
        do { try validate(self, id) } catch { issues.append(entity.refusal(error, id)) }
      }
      next = doomed.first(from: ObjectID(rawValue: id.rawValue + 1))
    }
    session.state.refusals = issues
  }

  /// Returns the objects with `didSave` hooks, by entity.
  borrowing func announced() throws -> [SavedObjects] {
    guard let lifecycle = session.lifecycle, lifecycle.announcesSaves else { return [] }
    var byEntity: [UInt16: ObjectSet] = [:]
    try forEachSaved { (_, id, entity, _) in
      if lifecycle.hooks(entity).contains(where: { $0.didSave != nil }) {
        _ = byEntity[entity.code, default: ObjectSet()].insert(id)
      }
    }
    return byEntity.sorted { $0.key < $1.key }.compactMap { code, objects in
      session.schema.entity(code: code).map { SavedObjects(hooks: lifecycle.hooks($0), objects: objects) }
    }
  }

  /// Calls `body` with every object that the transaction inserted or changed, and whether it is new.
  private borrowing func forEachSaved(
    _ body: (borrowing WriteTransaction, ObjectID, CompiledEntity, Bool) throws -> Void
  ) throws {
    var windows = ReadWindows(session.storage)
    for (set, isNew) in [(session.changes.inserted, true), (session.changes.updated, false)] {
      var next = set.first(from: ObjectID(rawValue: 0))
      while let id = next {
        windows.next()
        try body(self, id, try session.entity(of: id), isNew)
        next = set.first(from: ObjectID(rawValue: id.rawValue + 1))
      }
    }
  }

  /// Records that a hook failed after changes, and returns the error to throw.
  private mutating func abandon(_ error: any Error, _ hook: String, _ entity: CompiledEntity, _ id: ObjectID)
    -> StoreError
  {
    session.changes.fail(error)
    if let error = error as? StoreError { return error }
    let reason = (error as? LifecycleRejection)?.message ?? "\(error)"
    return StoreError(
      .hookFailed, "\(hook) of \(entity.name) failed: \(reason)", entity: entity.name,
      object: "\(entity.name)/\(id.serial)")
  }
}

/// Objects of one entity that a commit saves, with the hooks to call afterwards.
struct SavedObjects {
  let hooks: [ObjectLifecycle]
  let objects: ObjectSet

  func announce(_ store: ObjectStore) {
    objects.forEach { id in
      for hooks in hooks { hooks.didSave?(store, id) }
      return true
    }
  }
}

extension CompiledEntity {
  /// Converts the error of a validation hook to a violation.
  fileprivate func refusal(_ error: any Error, _ id: ObjectID) -> ValidationIssue {
    let object = "\(name)/\(id.serial)"
    let refusal = error as? LifecycleRejection
    let reason = refusal?.message ?? (error as? any KVCloneError)?.message ?? "\(error)"
    return ValidationIssue(
      kind: .rejectedByHook, entity: name, property: refusal?.property ?? "", object: object,
      message: "\(refusal?.property.map { "\($0) of " } ?? "")\(object) \(reason)", other: nil)
  }
}

extension ObjectSet {
  /// Returns the lowest member that is at least `id`.
  package func first(from id: ObjectID) -> ObjectID? {
    var serial = id.serial
    for root in Int(id.rootCode)..<max(Int(id.rootCode), sets.count) {
      if let found = sets[root]?.next(from: serial) { return ObjectID(rootCode: UInt16(root), serial: found) }
      serial = 0
    }
    return nil
  }
}

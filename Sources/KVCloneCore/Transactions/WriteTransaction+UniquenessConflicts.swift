public import KVCloneModel
import KVCloneRecords
import Synchronization

/// How a write transaction settles conflicts over uniqueness constraints by its merge policy, before its commit validates.
extension WriteTransaction {
  /// The resolution of conflicts over uniqueness constraints in this transaction. The default is ``MergePolicy/error``,
  /// unless `ObjectStore.write` sets another one.
  public var mergePolicy: MergePolicy {
    get { session.changes.mergePolicy }
    set { session.changes.mergePolicy = newValue }
  }

  /// Resolves conflicts over uniqueness constraints by ``mergePolicy`` now instead of at the commit, like Core Data's
  /// `resolve(constraintConflicts:)`.
  ///
  /// With the policy `error`, the call has no effect.
  ///
  /// - Returns: the deleted objects, each with the object that replaces it.
  /// - Throws: `deleteDenied` if a stored object would have to be deleted and its delete rules deny that.
  @discardableResult
  public mutating func resolveConstraintConflicts() throws(StoreError) -> [ObjectID: ObjectID] {
    var resolved = ResolvedConflicts(notesReplaced: true)
    try resolving { (transaction) throws(StoreError) in _ = try transaction.resolveConflicts(&resolved) }
    session.changes.replaced?.note(resolved.replaced)
    return resolved.replaced.mapValues { resolved.replaced.last(from: $0) }
  }

  /// As ``resolveConstraintConflicts()``, for one object that was just inserted, and for those that it gives way to in turn.
  package mutating func resolveConflicts(ofInserted id: ObjectID) throws(StoreError) -> [ObjectID: ObjectID] {
    guard mergePolicy != .error else { return [:] }
    var resolved = ResolvedConflicts(notesReplaced: true)
    try resolving { (transaction) throws(StoreError) in
      try DerivedRefresh.refreshAll(in: &transaction.session)
      var next: ObjectID? = id
      while let id = next {
        _ = try transaction.resolveConflicts(of: id, &resolved)
        next = resolved.replaced[id]
      }
    }
    return resolved.replaced
  }

  /// Asks `willSave` about all that was inserted or changed, before the commit does, and settles the conflicts that there are
  /// then; who gave way to whom.
  package mutating func settleHooks() throws(StoreError) -> [ObjectID: ObjectID] {
    // A hook that makes a batch is asked about it by who asked the hook.
    guard let lifecycle = session.lifecycle, lifecycle.changesSaves, session.changes.recent == nil else { return [:] }
    if let failure = session.changes.failure { throw failure }
    do {
      try settle()
      try callWillSave([session.changes.inserted, session.changes.updated])
      try DerivedRefresh.refreshAll(in: &session)
      return try resolveConflictsToSave(notesReplaced: true)
    } catch {
      session.changes.recent = nil
      session.changes.fail(error)
      if let error = error as? StoreError { throw error }
      throw StoreError(.hookFailed, "willSave failed: \((error as? LifecycleRejection)?.message ?? "\(error)")")
    }
  }

  /// Settles all conflicts before a commit validates. Hooks are asked about what that changed, and may make new ones.
  ///
  /// - Returns: who gave way to whom, if that is noted.
  @discardableResult
  mutating func resolveConflictsToSave(notesReplaced: Bool = false) throws -> [ObjectID: ObjectID] {
    guard mergePolicy != .error else { return [:] }
    var resolved = ResolvedConflicts(notesReplaced: notesReplaced || session.changes.replaced != nil)
    for _ in 0..<Self.saveRoundLimit {
      session.changes.recent = ObjectSet()
      let isChanged = try resolveConflicts(&resolved)
      let changed = session.changes.recent ?? ObjectSet()
      session.changes.recent = nil
      if !isChanged {
        session.changes.replaced?.note(resolved.replaced)
        return resolved.replaced
      }
      try callWillSave([changed])
      try DerivedRefresh.refreshAll(in: &session)
    }
    throw Self.endlessSaving()
  }

  /// Runs `body`; when it fails after the first change, the transaction can only be given up.
  private mutating func resolving(_ body: (inout WriteTransaction) throws(StoreError) -> Void) throws(StoreError) {
    if let failure = session.changes.failure { throw failure }
    try settle()
    let before = session.storage.changeCount
    do throws(StoreError) {
      try body(&self)
    } catch {
      if session.storage.changeCount != before { session.changes.fail(error) }
      throw error
    }
  }

  /// Settles the conflicts of all objects that were inserted or changed; whether there were any. What the policy cannot settle
  /// is left to validation.
  ///
  /// It ends: each step deletes an object, or returns a stored one to what is stored, which happens once, and once more after
  /// another was deleted in favour of it.
  private mutating func resolveConflicts(_ resolved: inout ResolvedConflicts) throws(StoreError) -> Bool {
    guard mergePolicy != .error else { return false }
    try DerivedRefresh.refreshAll(in: &session)
    var isChanged = false
    var goesOn = true
    while goesOn {
      goesOn = false
      for isInserted in [true, false] {
        // The sets change under way.
        var next = changedObjects(isInserted).first(from: ObjectID(rawValue: 0))
        while let id = next {
          if try resolveConflicts(of: id, &resolved) { goesOn = true }
          next = changedObjects(isInserted).first(from: ObjectID(rawValue: id.rawValue + 1))
        }
      }
      isChanged = isChanged || goesOn
    }
    return isChanged
  }

  private borrowing func changedObjects(_ isInserted: Bool) -> ObjectSet {
    isInserted ? session.changes.inserted : session.changes.updated
  }

  private mutating func resolveConflicts(of id: ObjectID, _ resolved: inout ResolvedConflicts) throws(StoreError)
    -> Bool
  {
    var isChanged = false
    while let conflict = try ConstraintConflicts.uniquenessConflict(of: id, in: session),
      try resolve(conflict, &resolved)
    {
      isChanged = true
      try DerivedRefresh.refreshAll(in: &session)
    }
    return isChanged
  }

  /// Settles one conflict; false where the policy has nothing to change.
  private mutating func resolve(_ conflict: UniquenessConflict, _ resolved: inout ResolvedConflicts)
    throws(StoreError) -> Bool
  {
    let (holder, comer) = (conflict.holder, conflict.comer)
    if try session.isNew(comer) {
      try ConstraintConflicts.takeOver(mergePolicy.takeoverFromNew, from: comer, to: holder, in: &session)
      try ConstraintConflicts.discardNew(comer, sparing: holder, in: &session)
      resolved.note(comer, replacedBy: holder)
      return true
    }
    guard let takeover = mergePolicy.takeoverFromStored else {
      guard resolved.returned.insert(comer) else { return false }
      return try ConstraintConflicts.returnToStored(
        comer, onlyUnique: mergePolicy == .mergeByPropertyStoreTrump, in: &session)
    }
    try ConstraintConflicts.takeOver(takeover, from: holder, to: comer, in: &session)
    let gone = ObjectSet([holder])
    try validateDelete(gone, sparing: comer)
    _ = try ObjectDeletion.delete(gone, sparing: comer, in: &session)
    resolved.note(holder, replacedBy: comer)
    return true
  }
}

/// What the settling of conflicts has to remember.
private struct ResolvedConflicts {
  /// Stored objects that were returned to what is stored.
  var returned = ObjectSet()
  /// Objects that went, with those that they gave way to.
  private(set) var replaced: [ObjectID: ObjectID] = [:]
  private let notesReplaced: Bool

  init(notesReplaced: Bool) {
    self.notesReplaced = notesReplaced
  }

  mutating func note(_ gone: ObjectID, replacedBy kept: ObjectID) {
    // What it took over may conflict with others.
    _ = returned.remove(kept)
    if notesReplaced { replaced[gone] = kept }
  }
}

extension MergePolicy {
  /// What the holder of the values takes over from a new object, which goes.
  fileprivate var takeoverFromNew: ConflictTakeover {
    switch self {
    case .error, .rollback: .nothing
    case .mergeByPropertyStoreTrump: .missing
    case .mergeByPropertyObjectTrump: .set
    case .overwrite: .everything
    }
  }

  /// What a stored object that was changed takes over from the stored one that held the values, which goes; nil where the
  /// change is given up instead.
  fileprivate var takeoverFromStored: ConflictTakeover? {
    switch self {
    case .error, .rollback, .mergeByPropertyStoreTrump: nil
    case .mergeByPropertyObjectTrump: .missing
    case .overwrite: .members
    }
  }
}

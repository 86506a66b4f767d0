public import KVCloneModel
import KVCloneRecords
import Synchronization

/// Resolves conflicts over uniqueness constraints by the transaction's merge policy, before the commit validates.
extension WriteTransaction {
  /// The resolution of conflicts over uniqueness constraints in this transaction. The default is ``MergePolicy/error``,
  /// unless `ObjectStore.write` sets another one.
  public var mergePolicy: MergePolicy {
    get { session.state.mergePolicy }
    set { session.state.mergePolicy = newValue }
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
    session.state.replaced?.note(resolved.replaced)
    return resolved.replaced.mapValues { resolved.replaced.last(from: $0) }
  }

  /// Like ``resolveConstraintConflicts()``, for one object that was just inserted, and for those that replace it.
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

  /// Calls `willSave` for all inserted and changed objects before the commit does, and resolves the resulting
  /// conflicts; returns the replaced objects with their replacements.
  package mutating func settleHooks() throws(StoreError) -> [ObjectID: ObjectID] {
    // For a batch inside a hook, the code that called the hook calls `willSave` afterwards.
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

  /// Resolves all conflicts before the commit validates. Calls hooks for the changed objects, which may cause new
  /// conflicts.
  ///
  /// - Returns: the replaced objects with their replacements, if they are recorded.
  @discardableResult
  mutating func resolveConflictsToSave(notesReplaced: Bool = false) throws -> [ObjectID: ObjectID] {
    guard mergePolicy != .error else { return [:] }
    var resolved = ResolvedConflicts(notesReplaced: notesReplaced || session.state.replaced != nil)
    for _ in 0..<Self.saveRoundLimit {
      session.changes.recent = ObjectSet()
      let isChanged = try resolveConflicts(&resolved)
      let changed = session.changes.recent ?? ObjectSet()
      session.changes.recent = nil
      if !isChanged {
        session.state.replaced?.note(resolved.replaced)
        return resolved.replaced
      }
      try callWillSave([changed])
      try DerivedRefresh.refreshAll(in: &session)
    }
    throw Self.endlessSaving()
  }

  /// Runs `body`; if it fails after the first change, the transaction is abort-only.
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

  /// Resolves the conflicts of all inserted and changed objects; returns whether there were any. Conflicts that the
  /// policy cannot resolve are left to validation.
  ///
  /// It terminates: each step deletes an object, or resets a stored one, which happens once, and a second time after
  /// another object was deleted in favour of it.
  private mutating func resolveConflicts(_ resolved: inout ResolvedConflicts) throws(StoreError) -> Bool {
    guard mergePolicy != .error else { return false }
    try DerivedRefresh.refreshAll(in: &session)
    var isChanged = false
    var goesOn = true
    var windows = ReadWindows(session.storage)
    while goesOn {
      goesOn = false
      for isInserted in [true, false] {
        // The sets change during the iteration.
        var next = changedObjects(isInserted).first(from: ObjectID(rawValue: 0))
        while let id = next {
          windows.next()
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

  /// Resolves one conflict; returns false if the policy changes nothing.
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

/// The state of conflict resolution.
private struct ResolvedConflicts {
  /// Stored objects that were reset to their stored values.
  var returned = ObjectSet()
  /// Deleted objects with their replacements.
  private(set) var replaced: [ObjectID: ObjectID] = [:]
  private let notesReplaced: Bool

  init(notesReplaced: Bool) {
    self.notesReplaced = notesReplaced
  }

  mutating func note(_ gone: ObjectID, replacedBy kept: ObjectID) {
    // The values that it took over may conflict with others.
    _ = returned.remove(kept)
    if notesReplaced { replaced[gone] = kept }
  }
}

extension MergePolicy {
  /// The properties that the holder of the values takes over from the new object, which is deleted.
  fileprivate var takeoverFromNew: ConflictTakeover {
    switch self {
    case .error, .rollback: .nothing
    case .mergeByPropertyStoreTrump: .missing
    case .mergeByPropertyObjectTrump: .set
    case .overwrite: .everything
    }
  }

  /// The properties that a changed object takes over from the stored holder of the values, which is deleted; nil if the
  /// change is reset instead.
  fileprivate var takeoverFromStored: ConflictTakeover? {
    switch self {
    case .error, .rollback, .mergeByPropertyStoreTrump: nil
    case .mergeByPropertyObjectTrump: .missing
    case .overwrite: .members
    }
  }
}

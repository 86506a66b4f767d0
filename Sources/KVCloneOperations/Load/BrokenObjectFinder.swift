import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Finds the new objects of a transaction that violate rules of the model, including violations that result from
/// removing others.
///
/// It deletes each object that it finds, because its partners may then lack a link. A transaction with such objects
/// cannot be committed: links to them may have changed existing objects.
struct BrokenObjectFinder: ~Copyable, SessionOwner {
  /// The violation for which an object was found.
  struct Reason {
    let issue: ValidationIssue
    /// Whether the issue is that of another object, which existed before and would violate the rule.
    let isOfOther: Bool
  }

  /// The maximum number of issues in an error.
  private static let issueLimit = 1000

  private var session: Session
  private(set) var found = ObjectSet()
  private(set) var reasons: [ObjectID: Reason] = [:]
  /// The maximum number of ``reasons``.
  var reasonLimit = 0
  /// New objects that violated a uniqueness constraint when they were validated.
  private var duplicates = ObjectSet()
  /// New objects that had too many members when they were validated.
  private var crowded = ObjectSet()

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Finds the objects in three steps: those with invalid values or without required links, until no others remain;
  /// then those equal to an earlier one under a uniqueness constraint; then those with too many members. In this order,
  /// removing an object can also resolve a later violation. If there are none, finds those that make an existing object
  /// violate a rule.
  mutating func find() throws {
    try DerivedRefresh.refreshAll(in: &session)
    var candidates = session.changes.inserted
    repeat {
      try removeBroken(candidates)
      candidates = try removeDuplicates()
      if candidates.isEmpty { candidates = try removeCrowded() }
    } while !candidates.isEmpty
    if found.isEmpty { try findCulprits() }
  }

  private mutating func note(_ id: ObjectID, _ issue: ValidationIssue, isOfOther: Bool = false) {
    guard found.insert(id), reasons.count < reasonLimit else { return }
    reasons[id] = Reason(issue: issue, isOfOther: isOfOther)
  }

  /// Removes objects with a violation that no other removal resolves, and then those that lack links to them.
  private mutating func removeBroken(_ candidates: ObjectSet) throws(StoreError) {
    var candidates = candidates
    while !candidates.isEmpty {
      var broken = ObjectSet()
      var reasons: [(id: ObjectID, issue: ValidationIssue)] = []
      var (duplicates, crowded) = (ObjectSet(), ObjectSet())
      let limit = reasonLimit
      try ObjectValidation.validate(candidates, in: session) { id, issues in
        for issue in issues {
          switch issue.kind {
          case .uniquenessConflict: _ = duplicates.insert(id)
          case .tooManyMembers: _ = crowded.insert(id)
          default: if broken.insert(id), reasons.count < limit { reasons.append((id, issue)) }
          }
        }
        return true
      }
      for (id, issue) in reasons { note(id, issue) }
      Self.add(duplicates, to: &self.duplicates)
      Self.add(crowded, to: &self.crowded)
      if broken.isEmpty { return }
      candidates = try remove(broken)
    }
  }

  /// Removes, in the order of their ids, objects that are equal to one with a lower id.
  ///
  /// - Returns: new objects that lost links.
  private mutating func removeDuplicates() throws(StoreError) -> ObjectSet {
    let candidates = duplicates
    duplicates = ObjectSet()
    var changed = ObjectSet()
    // Computing derived attributes after each object may take quadratic time, and no other constraints depend on them.
    let refreshes = session.schema.entities.contains(where: \.hasDerivedConstraint)
    var next = candidates.first(from: ObjectID(rawValue: 0))
    while let id = next {
      next = candidates.first(from: ObjectID(rawValue: id.rawValue + 1))
      guard session.changes.inserted.contains(id) else { continue }
      var conflict: ValidationIssue?
      // An issue names the first of all equal objects.
      try ObjectValidation.validate(ObjectSet([id]), in: session) { id, issues in
        conflict = issues.first { issue in
          issue.kind == .uniquenessConflict && Self.serial(issue.other ?? "") < id.serial
        }
        return true
      }
      guard let conflict else { continue }
      note(id, conflict)
      Self.add(try remove(ObjectSet([id]), refreshes: refreshes), to: &changed)
    }
    if !refreshes { try DerivedRefresh.refreshAll(in: &session) }
    return session.changes.inserted.intersection(changed)
  }

  /// Removes objects that still have too many members.
  ///
  /// - Returns: new objects that lost links.
  private mutating func removeCrowded() throws(StoreError) -> ObjectSet {
    let candidates = session.changes.inserted.intersection(crowded)
    crowded = ObjectSet()
    var broken = ObjectSet()
    var reasons: [(id: ObjectID, issue: ValidationIssue)] = []
    let limit = reasonLimit
    try ObjectValidation.validate(candidates, in: session) { id, issues in
      guard let issue = issues.first(where: { $0.kind == .tooManyMembers }) else { return true }
      _ = broken.insert(id)
      if reasons.count < limit { reasons.append((id, issue)) }
      return true
    }
    for (id, issue) in reasons { note(id, issue) }
    return broken.isEmpty ? ObjectSet() : try remove(broken)
  }

  private static func serial(_ object: String) -> UInt64 { UInt64(object.drop { $0 != "/" }.dropFirst()) ?? .max }

  private static func add(_ objects: ObjectSet, to sum: inout ObjectSet) {
    objects.forEach { id in
      _ = sum.insert(id)
      return true
    }
  }

  /// Deletes objects regardless of their delete rules.
  ///
  /// - Parameter refreshes: whether to compute derived attributes.
  /// - Returns: new objects that lost links to them, or have derived attributes that changed.
  private mutating func remove(_ objects: ObjectSet, refreshes: Bool = true) throws(StoreError) -> ObjectSet {
    Self.add(objects, to: &found)
    session.changes.recent = ObjectSet()
    // No action is no exception: without these objects, the links would never have existed.
    _ = try ObjectDeletion.deleteAll(objects, validatesAll: true, in: &session)
    if refreshes { try DerivedRefresh.refreshAll(in: &session) }
    let changed = session.changes.recent ?? ObjectSet()
    session.changes.recent = nil
    return session.changes.inserted.intersection(changed)
  }
}

// MARK: - Existing objects

extension BrokenObjectFinder {
  /// Finds the new objects with links that make an existing object violate a rule.
  ///
  /// - Throws: ``ValidationError`` if there are none, but such an object violates a rule.
  private mutating func findCulprits() throws {
    let updated = session.changes.updated
    var issues: [ValidationIssue] = []
    var next = updated.first(from: ObjectID(rawValue: 0))
    while next != nil {
      // Memory may not suffice for the issues of all objects.
      var piece: [ObjectID] = []
      while let id = next, piece.count < Self.issueLimit {
        piece.append(id)
        next = updated.first(from: ObjectID(rawValue: id.rawValue + 1))
      }
      var broken: [(id: ObjectID, issue: ValidationIssue)] = []
      try ObjectValidation.validate(ObjectSet(piece), in: session) { id, issues in
        for issue in issues { broken.append((id, issue)) }
        return true
      }
      for (id, issue) in broken {
        for culprit in try LinkCulprits.find(id, issue, in: session) { note(culprit, issue, isOfOther: true) }
      }
      issues += broken.prefix(Self.issueLimit - issues.count).map(\.issue)
    }
    if !issues.isEmpty, found.isEmpty { throw ValidationError(issues: issues) }
  }
}

extension ObjectSet {
  /// The members of `other`, the smaller set, that are members of this one.
  fileprivate func intersection(_ other: ObjectSet) -> ObjectSet {
    var result = ObjectSet()
    other.forEach { id in
      if contains(id) { _ = result.insert(id) }
      return true
    }
    return result
  }
}

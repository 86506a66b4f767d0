import KVCloneCore
import KVCloneModel

/// Imports objects that violate rules of the model: Core Data checks its rules when it saves, and not when it reads.
struct BrokenObjectKeeper: ~Copyable, SessionOwner {
  /// The number of duplicates that are resolved before the next search.
  private static let duplicateLimit = 10_000

  private var session: Session

  init(_ session: consuming Session) {
    self.session = session
  }

  consuming func finish() -> Session { session }

  /// Validates like a commit, passes each violation to `note`, and keeps the objects unchanged.
  ///
  /// Only unique values cannot be kept: of two objects with equal ones, the one with the greater key loses the first of
  /// them.
  mutating func keep(_ note: (ValidationIssue) throws -> Void) throws {
    try DerivedRefresh.refreshAll(in: &session)
    try resolveDuplicates(note)
    var failure: (any Error)?
    try ObjectValidation.validateChanges(in: session) { issues in
      do {
        for issue in issues { try note(issue) }
      } catch {
        failure = error
      }
      return failure == nil
    }
    if let failure { throw failure }
    session.state.keepsBrokenObjects = true
  }

  /// Removes a value from each object with the same values under a uniqueness constraint as one with a lesser key.
  private mutating func resolveDuplicates(_ note: (ValidationIssue) throws -> Void) throws {
    guard session.schema.entities.contains(where: { !$0.constraints.isEmpty }) else { return }
    while true {
      var duplicates: [ValidationIssue] = []
      try ObjectValidation.validateChanges(in: session) { issues in
        for issue in issues {
          guard issue.kind == .uniquenessConflict, let other = issue.other,
            Self.serial(issue.object) > Self.serial(other)
          else { continue }
          duplicates.append(issue)
        }
        return duplicates.count < Self.duplicateLimit
      }
      // Each of them has one value less, so the loop ends.
      if duplicates.isEmpty { return }
      for issue in duplicates {
        if try giveUp(issue) { try note(issue) }
      }
      try DerivedRefresh.refreshAll(in: &session)
    }
  }

  private static func serial(_ object: String) -> UInt64 { UInt64(object.drop { $0 != "/" }.dropFirst()) ?? 0 }

  /// Removes one of the values of a constraint from an object; returns false if they are no longer duplicates.
  private mutating func giveUp(_ issue: ValidationIssue) throws -> Bool {
    let id = ObjectID(rootCode: try session.schema.entity(issue.entity).rootCode, serial: Self.serial(issue.object))
    guard
      let constraint = try session.schema.entity(issue.entity).constraints.first(where: { $0.name == issue.property })
    else {
      return false
    }
    if try !hasConflict(id, constraint) { return false }
    let entity = try session.load(id)
    switch try Surrender.find(session, id, entity, constraint) {
    case .value(let attribute): try session.write([(attribute, nil)], to: id, entity)
    case .link(let relationship, let target):
      _ = try session.detach(id, relationship.code, target)
      try RelationshipLinks.detachBack(id, relationship, target, in: &session)
    // Derived from the members of a list only: the object has no value of its own to remove.
    case nil: throw CoreDataImportRun.refusal(issue)
    }
    return true
  }

  private borrowing func hasConflict(_ id: ObjectID, _ constraint: CompiledConstraint) throws(StoreError) -> Bool {
    let view = try session.existingRecord(id)
    return try IndexEntries.conflict(constraint, try session.schema.entity(of: view, id: id), view, id, in: session)
      != nil
  }
}

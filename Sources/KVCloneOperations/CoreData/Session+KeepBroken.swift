import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Objects that break rules of the model, of a store in which they were found: Core Data checks its rules when it
/// saves, and not when it reads.
extension WriteTransaction {
  /// Checks the rules of the model as a commit does, hands each broken one to `note`, and keeps the objects as they
  /// are.
  ///
  /// Only values that have to be unique cannot stay: of two objects with the same ones, the one with the greater key
  /// loses the first of them.
  mutating func keepBroken(_ note: (ValidationIssue) throws -> Void) throws {
    try change { (session: inout Session) throws -> Void in
      try session.refreshDerived()
      try session.resolveDuplicates(note)
      var failure: (any Error)?
      try session.validateChanges { issues in
        do {
          for issue in issues { try note(issue) }
        } catch {
          failure = error
        }
        return failure == nil
      }
      if let failure { throw failure }
      session.changes.keepsBrokenObjects = true
    }
  }
}

extension Session {
  /// Duplicates that are resolved before others are looked for.
  private static let duplicateLimit = 10_000

  /// Takes a value from each object that has the same values under a uniqueness constraint as one with a lesser key.
  fileprivate mutating func resolveDuplicates(_ note: (ValidationIssue) throws -> Void) throws {
    guard schema.entities.contains(where: { !$0.constraints.isEmpty }) else { return }
    while true {
      var duplicates: [ValidationIssue] = []
      try validateChanges { issues in
        for issue in issues {
          guard issue.kind == .uniquenessConflict, let other = issue.other,
            Self.serial(issue.object) > Self.serial(other)
          else { continue }
          duplicates.append(issue)
        }
        return duplicates.count < Self.duplicateLimit
      }
      // Each of them has one value less, so that there is an end.
      if duplicates.isEmpty { return }
      for issue in duplicates {
        if try giveUp(issue) { try note(issue) }
      }
      try refreshDerived()
    }
  }

  private static func serial(_ object: String) -> UInt64 { UInt64(object.drop { $0 != "/" }.dropFirst()) ?? 0 }

  /// Takes one of the values of a constraint from an object; false where they are no longer another one's.
  private mutating func giveUp(_ issue: ValidationIssue) throws -> Bool {
    let id = ObjectID(rootCode: try schema.entity(issue.entity).rootCode, serial: Self.serial(issue.object))
    guard let constraint = try schema.entity(issue.entity).constraints.first(where: { $0.name == issue.property })
    else {
      return false
    }
    if try !hasConflict(id, constraint) { return false }
    let entity = try load(id)
    switch try surrender(id, entity, constraint) {
    case .value(let attribute): try write([(attribute, nil)], to: id, entity)
    case .link(let relationship, let target):
      _ = try detach(id, relationship.code, target)
      try detachBack(id, relationship, target)
    // Made of the members of a list only: nothing of the object's own could be taken.
    case nil: throw CoreDataImportRun.refusal(issue)
    }
    return true
  }

  private borrowing func hasConflict(_ id: ObjectID, _ constraint: CompiledConstraint) throws(StoreError) -> Bool {
    let view = try existingRecord(id)
    return try conflict(constraint, try schema.entity(of: view, id: id), view, id) != nil
  }
}

import KVCloneCore
import KVCloneModel

/// The rules of the model, for objects that the merge changes.
extension MergeRun {
  /// Notes every violated rule of values and numbers of members. Derived attributes and hooks are left to the commit.
  func validate() throws {
    var patterns = TextPatterns()
    let ids = Set(inserted.keys).union(attributes.keys).union(links.differences.keys.map(\.owner))
    for id in ids.sorted() {
      guard !undecided.contains(id), let entity = try entity(id), entity.isValidated else { continue }
      if inserted[id] != nil || attributes[id] != nil { try validateAttributes(of: id, entity, &patterns) }
      for relationship in entity.relationships where relationship.isValidated {
        if inserted[id] == nil, links[id, relationship] == nil { continue }
        let count = try members(id, relationship).filter { try self.entity($0) != nil }.count
        guard let (kind, text) = relationship.brokenRule(count) else { continue }
        issues.note(PlanIssue(entity.issue(kind, relationship.name, id, text)))
      }
    }
  }

  private func validateAttributes(of id: ObjectID, _ entity: CompiledEntity, _ patterns: inout TextPatterns) throws {
    let values = try values(id, entity)
    func isEmpty(_ composite: String) -> Bool {
      zip(entity.attributes, values).allSatisfy { $0.composite != composite || $1 == nil }
    }
    for (attribute, value) in zip(entity.attributes, values) where attribute.isValidated {
      if value == nil, let composite = attribute.composite, isEmpty(composite) { continue }
      guard let (kind, text) = attribute.brokenRule(value, &patterns) else { continue }
      issues.note(PlanIssue(entity.issue(kind, attribute.path, id, text)))
    }
    for (name, composite) in entity.composites where !composite.isOptional && isEmpty(name) {
      issues.note(
        PlanIssue(
          entity.issue(.requiredValueMissing, name, id, "is required, and all its elements are nil; set an element")))
    }
  }
}

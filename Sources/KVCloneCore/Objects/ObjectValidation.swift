#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
package import KVCloneModel
package import KVCloneRecords

/// Validates every object that a transaction inserted or changed, as part of the commit.
package enum ObjectValidation {
  /// Returns all violations, at most 1,000 of them.
  package static func issues(in session: borrowing Session) throws(StoreError) -> [ValidationIssue] {
    var issues: [ValidationIssue] = []
    try validateChanges(in: session) { found in
      issues += found
      return issues.count < 1000
    }
    return issues
  }

  /// Calls `body` with the violations of each changed object that has any, until it returns false.
  package static func validateChanges(
    in session: borrowing Session, _ body: ([ValidationIssue]) -> Bool
  ) throws(StoreError) {
    if session.state.keepsBrokenObjects { return }
    for set in [session.changes.inserted, session.changes.updated] {
      try validate(set, in: session) { _, issues in body(issues) }
    }
  }

  /// Calls `body` with each object of a set that violates rules, and with the violations, until it returns false.
  package static func validate(
    _ objects: ObjectSet, in session: borrowing Session, _ body: (ObjectID, [ValidationIssue]) -> Bool
  ) throws(StoreError) {
    var patterns = TextPatterns()
    var windows = ReadWindows(session.storage)
    for (rootCode, serials) in objects.sets.enumerated() {
      // Many models have no rules, and then nothing is read.
      guard let serials, session.schema.isValidated(rootCode: UInt16(rootCode)) else { continue }
      try ObjectSet(rootCode: UInt16(rootCode), serials).forEach { (id) throws(StoreError) in
        windows.next()
        var issues: [ValidationIssue] = []
        try validate(id, &patterns, &issues, in: session)
        return issues.isEmpty || body(id, issues)
      }
    }
  }

  private static func validate(
    _ id: ObjectID, _ patterns: inout TextPatterns, _ issues: inout [ValidationIssue], in session: borrowing Session
  )
    throws(StoreError)
  {
    let view = try session.existingRecord(id)
    let entity = try session.schema.entity(of: view, id: id)
    guard entity.isValidated else { return }
    for attribute in entity.attributes where attribute.isValidated {
      let value = try entity.value(of: attribute, in: view, id: id, schema: session.schema)
      if value == nil, let composite = attribute.composite,
        try entity.value(named: composite, in: view, id: id, schema: session.schema) == nil
      {
        continue
      }
      if let (kind, text) = attribute.brokenRule(value, &patterns) {
        issues.append(entity.issue(kind, attribute.path, id, text))
      }
    }
    for (name, composite) in entity.composites where !composite.isOptional {
      if try entity.value(named: name, in: view, id: id, schema: session.schema) == nil {
        issues.append(
          entity.issue(.requiredValueMissing, name, id, "is required, and all its elements are nil; set an element"))
      }
    }
    for relationship in entity.relationships where relationship.isValidated {
      guard let field = entity.field(relationship.field, code: relationship.code, in: view) else { continue }
      let count = relationship.isToMany ? view.head(field).count : view.toOne(field) == nil ? 0 : 1
      if let (kind, text) = relationship.brokenRule(count) {
        issues.append(entity.issue(kind, relationship.name, id, text))
      }
    }
    for constraint in entity.constraints {
      if let other = try IndexEntries.conflict(constraint, entity, view, id, in: session) {
        let other = try session.name(of: other)
        let text = "must be unique, and \(other) has the same values; change one of them"
        issues.append(entity.issue(.uniquenessConflict, constraint.name, id, text, other: other))
      }
    }
  }
}

extension CompiledEntity {
  package func issue(
    _ kind: ValidationIssue.Kind, _ property: String, _ id: ObjectID, _ text: String, other: String? = nil
  ) -> ValidationIssue {
    let object = "\(name)/\(id.serial)"
    return ValidationIssue(
      kind: kind, entity: name, property: property, object: object, message: "\(property) of \(object) \(text)",
      other: other)
  }
}

extension CompiledRelationship {
  /// Returns the rule that a number of members violates, as in Core Data: an optional relationship may be empty
  /// regardless of its minimum, and so may a required to-many relationship without a minimum.
  package func brokenRule(_ count: Int) -> (ValidationIssue.Kind, String)? {
    if !isToMany {
      guard count == 0, !description.isOptional else { return nil }
      return (.requiredRelationshipMissing, "is required and empty; link an object")
    }
    if count == 0, description.isOptional { return nil }
    if count < description.minCount {
      return count == 0
        ? (.requiredRelationshipMissing, "is required and empty; link at least \(description.minCount)")
        : (.tooFewMembers, "has \(count) members, and its minimum is \(description.minCount)")
    }
    if description.maxCount > 0, count > description.maxCount {
      return (.tooManyMembers, "has \(count) members, and its maximum is \(description.maxCount)")
    }
    return nil
  }
}

extension CompiledAttribute {
  /// Returns the rule that a value violates. An element of a composite attribute is validated only if the composite has
  /// a value.
  package func brokenRule(_ value: AttributeValue?, _ patterns: inout TextPatterns) -> (ValidationIssue.Kind, String)? {
    guard let value else {
      return description.isOptional ? nil : (.requiredValueMissing, "is required and nil; set a value")
    }
    if case .string(let text) = value { return brokenTextRule(text, &patterns) }
    if case .uri(let text) = value { return brokenTextRule(text, &patterns) }
    if let least = description.minValue, value.isLess(than: least) {
      return (.valueTooSmall, "is below the minimum in the model")
    }
    if let most = description.maxValue, most.isLess(than: value) {
      return (.valueTooLarge, "is above the maximum in the model")
    }
    return nil
  }

  private func brokenTextRule(_ text: String, _ patterns: inout TextPatterns) -> (ValidationIssue.Kind, String)? {
    if case .integer(let least) = description.minValue, Int64(text.utf16.count) < least {
      return (.stringTooShort, "is shorter than \(least) characters")
    }
    if case .integer(let most) = description.maxValue, Int64(text.utf16.count) > most {
      return (.stringTooLong, "is longer than \(most) characters")
    }
    guard let pattern = description.regularExpression else { return nil }
    switch patterns.answer(text, pattern) {
    case .match: return nil
    // Core Data raises an exception here: an unreadable rule does not count as satisfied.
    case .unreadable:
      return (
        .patternMismatch,
        "cannot be matched against the regular expression in the model, which ICU cannot parse; correct the expression"
      )
    case .mismatch: return (.patternMismatch, "does not match the regular expression in the model")
    case .unknown:
      return (
        .patternMismatch,
        "cannot be matched against the regular expression in the model: that takes \(TextPatterns.tooMuch); avoid nested "
          + "repetitions in the expression"
      )
    }
  }
}

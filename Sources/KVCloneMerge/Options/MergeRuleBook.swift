import KVCloneCore
import KVCloneModel

/// The rules of one merge, resolved per entity and property on first use.
struct MergeRuleBook {
  private struct Place: Hashable {
    let entity: UInt16
    let property: String
  }

  private let schema: Schema
  private let options: MergeOptions
  private var known: [Place: [MergeRule]] = [:]

  /// - Throws: ``MergeError`` for a rule of the call or of the model that cannot be applied.
  init(_ schema: Schema, _ options: MergeOptions) throws(MergeError) {
    self.schema = schema
    self.options = options
    if let key = options.userInfoKeys.duplicate {
      throw MergeError(.invalidRule, "the userInfo key \(key) has two roles; rename one of them")
    }
    for (name, rule) in options.rules.sorted(by: { $0.key < $1.key }) { try check(name, rule) }
    for entity in schema.entities { try checkUserInfo(of: entity) }
  }

  /// Returns the rule of an attribute, an element of a composite attribute as `composite.element`, or a relationship.
  mutating func rule(of property: String, _ entity: CompiledEntity) -> MergeRule? { rules(of: property, entity).first }

  /// Returns the side that wins a conflict of a property. Where `sum` and `max` do not apply to the values, weaker
  /// rules decide.
  mutating func side(of property: String, _ entity: CompiledEntity) -> MergeSide? {
    rules(of: property, entity).lazy.compactMap(\.side).first
  }

  /// Returns the side that wins conflicts of whole objects, by the rules of the call.
  func side(of entity: CompiledEntity) -> MergeSide? {
    for name in lineage(of: entity) {
      if let rule = options.rules[name] { return exchanged(rule).side }
    }
    return options.policy.map { options.exchangesSides ? $0.other : $0 }
  }

  private func exchanged(_ rule: MergeRule) -> MergeRule { options.exchangesSides ? rule.exchanged : rule }

  /// The rules of a property, strongest first.
  private mutating func rules(of property: String, _ entity: CompiledEntity) -> [MergeRule] {
    let place = Place(entity: entity.code, property: property)
    if let rules = known[place] { return rules }
    let rules = [
      ruleOfCall(property, entity), side(of: entity).map { MergeRule($0) }, ruleOfModel(property, entity),
    ].compactMap(\.self)
    known[place] = rules
    return rules
  }

  private func lineage(of entity: CompiledEntity) -> [String] {
    [entity.name] + schema.model.superentities(of: entity.name)
  }

  private func ruleOfCall(_ property: String, _ entity: CompiledEntity) -> MergeRule? {
    if options.rules.isEmpty { return nil }
    for name in lineage(of: entity) {
      for path in Self.paths(of: property) {
        if let rule = options.rules[name + "." + path] { return exchanged(rule) }
      }
    }
    return nil
  }

  private func ruleOfModel(_ property: String, _ entity: CompiledEntity) -> MergeRule? {
    for path in Self.paths(of: property) {
      let text = Self.userInfo(of: path, entity)?[options.userInfoKeys.merge]
      if let rule = text.flatMap(MergeRule.init(rawValue:)) { return exchanged(rule) }
    }
    return nil
  }

  /// The path of an element and those of the composites that contain it, longest first.
  private static func paths(of property: String) -> [String] {
    var paths = [property]
    while let dot = paths[paths.count - 1].lastIndex(of: ".") { paths.append(String(paths[paths.count - 1][..<dot])) }
    return paths
  }

  // MARK: Mistakes

  private func check(_ name: String, _ rule: MergeRule) throws(MergeError) {
    let dot = name.firstIndex(of: ".") ?? name.endIndex
    let entityName = String(name[..<dot])
    guard let entity = schema.entitiesByName[entityName] else {
      throw MergeError(
        .invalidRule,
        "the merge rule \(name) names the entity \(entityName), which the model does not define; "
          + "check the spelling", entity: entityName)
    }
    if dot == name.endIndex {
      if rule.side != nil { return }
      throw MergeError(
        .invalidRule,
        "the rule \(rule.rawValue) applies to properties, and \(name) is an entity; use ours or theirs, "
          + "or name a property", entity: entityName)
    }
    let property = String(name[name.index(after: dot)...])
    if Self.userInfo(of: property, entity) == nil {
      throw MergeError(
        .invalidRule, "the merge rule \(name) names no stored property of \(entityName); check the spelling",
        entity: entityName, property: property)
    }
    try checkEnd(of: property, entity)
  }

  /// Rejects a rule at the end of a relationship where it would decide nothing (M3).
  private func checkEnd(of name: String, _ entity: CompiledEntity) throws(MergeError) {
    guard let index = entity.relationshipIndex[name] else { return }
    let relationship = entity.relationships[index]
    if LinkEnds.of(schema).isCompared(relationship) || !relationship.isToMany || relationship.isOrdered { return }
    let description = relationship.description
    let other = "\(description.destinationEntityName).\(description.inverseName ?? "")"
    throw MergeError(
      .invalidRule, "the links of \(entity.name).\(name) are merged at their other end; give the rule for \(other)",
      entity: entity.name, property: name)
  }

  private func checkUserInfo(of entity: CompiledEntity) throws(MergeError) {
    let paths =
      entity.attributes.filter { $0.field != nil }.flatMap { Self.paths(of: $0.path) }
      + entity.relationships.map(\.name)
    for path in paths {
      guard let text = Self.userInfo(of: path, entity)?[options.userInfoKeys.merge], MergeRule(rawValue: text) == nil
      else {
        continue
      }
      throw MergeError(
        .invalidRule,
        "the userInfo of \(entity.name).\(path) has the unknown merge rule “\(text)”; use ours, theirs, sum, max or "
          + "skip, or rename the userInfo key of the call", entity: entity.name, property: path)
    }
  }

  /// The annotations of a stored attribute, a composite, an element or a relationship; nil for an unknown one.
  private static func userInfo(of path: String, _ entity: CompiledEntity) -> [String: String]? {
    entity.storedAttribute(path)?.description.userInfo ?? entity.composite(at: path)?.userInfo
      ?? entity.relationshipIndex[path].map { entity.relationships[$0].description.userInfo }
  }
}

import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The rules of one clone operation, resolved per concrete entity before any object is read.
///
/// Contains everything that the model, the userInfo and the call determine (R5 to R7, R15 to R19), so that the stream
/// needs no rules.
final class CloneRuleBook: @unchecked Sendable {
  /// The traversal's treatment of an edge.
  enum Disposition: Hashable {
    case follow
    case exclude
    case stop
  }

  /// The treatment of a relationship's links, by both of their ends ("a link and its inverse get one answer").
  enum LinkMode: Hashable {
    /// Clones every target and links to its clone.
    case follow
    /// Links to the target's clone if it has one, else to the target (R9).
    case stop
    /// Links to the original target (R10).
    case keep
    /// Creates no link (R11).
    case drop
    /// Depends on the target's entity, or on whether an end is a root.
    case dynamic
  }

  struct Decision {
    let disposition: Disposition
    let reason: String
  }

  final class RelationshipPlan {
    let relationship: CompiledRelationship
    let decision: Decision
    let rootDecision: Decision
    let mode: LinkMode
    /// Whether any target of this relationship has edges to follow.
    let targetsAreVisited: Bool
    /// Whether any target of this relationship has a `followParent` attribute.
    let targetsNeedParents: Bool

    init(
      relationship: CompiledRelationship, decision: Decision, rootDecision: Decision, mode: LinkMode,
      targetsAreVisited: Bool, targetsNeedParents: Bool
    ) {
      self.relationship = relationship
      self.decision = decision
      self.rootDecision = rootDecision
      self.mode = mode
      self.targetsAreVisited = targetsAreVisited
      self.targetsNeedParents = targetsNeedParents
    }
  }

  /// The operation on an attribute of the copy.
  enum AttributeOperation {
    case set(field: Int, value: AttributeValue?)
    case uuid(field: Int, code: UInt16)
    case now(field: Int)
    /// Depends on the object: its discovery parent, or whether its composite is nil.
    case compute(index: Int)
  }

  final class EntityPlan {
    let entity: CompiledEntity
    let relationships: [RelationshipPlan]
    let operations: [AttributeOperation]
    /// The rules by attribute index.
    let rules: [AttributeCloneRule]
    /// Errors that occur with any object of the entity in the clone set.
    let errors: [CloneError]
    /// The indexes of attributes with rules that an object can violate.
    let checkedAttributes: [Int]
    /// The codes of attributes that are not copied.
    let replacedCodes: Set<UInt16>
    /// Whether objects have to be checked one by one before the first write.
    let needsCheck: Bool
    /// Whether a composite attribute follows the parent's as a whole, and may be nil as a whole: the commit validates
    /// the result.
    let isValidatedAtCommit: Bool
    /// The indexes of attributes that have to be checked on clones against the model's bounds and patterns.
    let validatedAttributes: [Int]

    init(
      entity: CompiledEntity, relationships: [RelationshipPlan], operations: [AttributeOperation],
      rules: [AttributeCloneRule], errors: [CloneError], checkedAttributes: [Int], validatedAttributes: [Int],
      isValidatedAtCommit: Bool, needsCheck: Bool
    ) {
      self.entity = entity
      self.relationships = relationships
      self.operations = operations
      self.rules = rules
      replacedCodes = Set(
        operations.map { operation in
          switch operation {
          case .set(let field, _), .uuid(let field, _), .now(let field): entity.layout[field].propertyCode
          case .compute(let index): entity.attributes[index].code
          }
        })
      self.errors = errors
      self.validatedAttributes = validatedAttributes
      self.isValidatedAtCommit = isValidatedAtCommit
      self.checkedAttributes = checkedAttributes
      self.needsCheck =
        needsCheck || !errors.isEmpty || !checkedAttributes.isEmpty || !validatedAttributes.isEmpty
        || !entity.constraints.isEmpty || isValidatedAtCommit
    }
  }

  /// Unowned, because the schema caches rule books; a clone's context retains the schema.
  unowned let schema: Schema
  let options: CloneOptions
  /// The errors of the call itself: names and keys.
  private(set) var errors: [CloneError] = []
  /// The errors that every call with these rules has.
  private var ruleErrors: [CloneError] = []
  private var plans: [EntityPlan?]
  /// The plans as programs for the stream.
  private(set) var programs = ClonePrograms([], CloneOptions())
  private let excludedNames: Set<String>
  private let excludedQualified: [(entity: UInt16, name: String)]
  private let perCall: [(entity: UInt16, name: String, rule: CloneRule)]

  /// Reuses the rules for a call that differs only in what the rules do not depend on.
  init(sharing other: CloneRuleBook, options: CloneOptions) {
    schema = other.schema
    self.options = options
    errors = options.configurationErrors + other.ruleErrors
    ruleErrors = other.ruleErrors
    plans = other.plans
    programs = other.programs
    excludedNames = other.excludedNames
    excludedQualified = other.excludedQualified
    perCall = other.perCall
  }

  init(schema: Schema, options: CloneOptions, rootEntities: [CompiledEntity]) {
    self.schema = schema
    self.options = options
    plans = Array(repeating: nil, count: Int(schema.codes.lastEntity) + 1)
    let reachable = Self.reachableEntities(from: rootEntities, schema)
    var parser = CloneNameParser(schema: schema, reachable: reachable)
    var plain: Set<String> = []
    var qualified: [(entity: UInt16, name: String)] = []
    for name in options.excludedRelationshipNames {
      switch parser.parse(name) {
      case .plain(let name): plain.insert(name)
      case .qualified(let entity, let name): qualified.append((entity, name))
      case nil: break
      }
    }
    var perCall: [(entity: UInt16, name: String, rule: CloneRule)] = []
    for (name, rule) in options.rules.sorted(by: { $0.key < $1.key }) {
      if case .qualified(let entity, let name) = parser.parse(name, mustBeQualified: true) {
        perCall.append((entity, name, rule))
      }
    }
    excludedNames = plain
    excludedQualified = qualified
    // The first match counts: a rule for a subentity takes precedence over one for an ancestor, as in R22.
    func depth(_ entity: UInt16) -> Int { schema.entity(code: entity)?.lineage.count ?? 0 }
    self.perCall = perCall.sorted { depth($0.entity) > depth($1.entity) }
    ruleErrors = parser.errors
    if let key = options.userInfoKeys.duplicate {
      ruleErrors.append(
        CloneError(
          .invalidConfiguration, "two roles of the userInfo keys have the name \(key); use a distinct name for each"))
    }
    for entity in reachable.sorted(by: { $0.code < $1.code }) where !entity.isAbstract {
      plans[Int(entity.code)] = plan(entity)
    }
    programs = ClonePrograms(plans, options)
    errors = options.configurationErrors + ruleErrors
  }

  /// The plan for objects of a concrete entity. Every reachable entity has one.
  @inline(__always)
  func plan(_ code: UInt16) -> EntityPlan? {
    Int(code) < plans.count ? plans[Int(code)] : nil
  }

  /// The plans of all reachable entities.
  var allPlans: [EntityPlan] { plans.compactMap { $0 } }

  /// Every entity that is reachable through relationships from the roots, including subentities.
  private static func reachableEntities(from roots: [CompiledEntity], _ schema: Schema) -> [CompiledEntity] {
    var seen: Set<UInt16> = []
    var queue = roots
    var found: [CompiledEntity] = []
    while let entity = queue.popLast() {
      guard seen.insert(entity.code).inserted else { continue }
      found.append(entity)
      for relationship in entity.relationships {
        guard let destination = schema.entity(code: relationship.destinationCode) else { continue }
        queue.append(destination)
        queue += destination.concreteCodes.compactMap { schema.entity(code: $0) }
      }
    }
    return found
  }

  /// The rules for an edge (R5 to R7), strongest first: the call, `exclude`, `clone`, the inverse.
  func decide(_ entity: CompiledEntity, _ relationship: CompiledRelationship, isRoot: Bool) -> Decision {
    let name = relationship.name
    if excludedNames.contains(name), isRoot || options.passingExclusionList {
      return Decision(disposition: .exclude, reason: "excluded by the call (R5)")
    }
    if excludedQualified.contains(where: { $0.name == name && entity.isKind(of: $0.entity) }) {
      return Decision(disposition: .exclude, reason: "excluded by the call (R5)")
    }
    if let rule = perCall.first(where: { $0.name == name && entity.isKind(of: $0.entity) })?.rule {
      return Decision(disposition: rule.disposition, reason: "\(rule.rawValue), by the call (R7)")
    }
    let rule = relationship.description.cloneRule(options.userInfoKeys)
    if rule.isExcluded {
      return Decision(disposition: .exclude, reason: "excluded by userInfo \(options.userInfoKeys.exclude) (R5)")
    }
    if let override = rule.override {
      return Decision(
        disposition: override.disposition,
        reason: "\(override.rawValue), by userInfo \(options.userInfoKeys.clone) (R7)")
    }
    guard relationship.hasInverse else { return Decision(disposition: .follow, reason: "follow, no inverse (R7)") }
    return relationship.inverseIsToMany
      ? Decision(disposition: .stop, reason: "share, the inverse is to-many (R6)")
      : Decision(disposition: .follow, reason: "follow, the inverse is to-one (R7)")
  }

  /// The treatment of a link between two objects that are both cloned: followed, then excluded, then stopped.
  func answer(_ source: Disposition, _ target: Disposition?) -> LinkMode {
    if source == .follow || target == .follow { return .follow }
    if source == .exclude || target == .exclude { return .drop }
    return options.references == .keepOriginal ? .keep : .stop
  }

  private func plan(_ entity: CompiledEntity) -> EntityPlan {
    let relationships = entity.relationships.map { plan($0, of: entity) }
    let rules = entity.attributes.map { rule(of: $0, in: entity) }
    var operations: [AttributeOperation] = []
    var errors: [CloneError] = []
    var validated: [Int] = []
    var checked = rules.indices.filter { !rules[$0].isExcluded && rules[$0].followParent != nil }
    for (index, attribute) in entity.attributes.enumerated() {
      guard let field = attribute.field else { continue }
      let rule = rules[index]
      // With renamed keys, the model's own validation has not seen the rule.
      if attribute.description.hasImpossibleRebuildRule(options.userInfoKeys) {
        errors.append(attribute.rebuildError(entity))
      }
      if attribute.isDerived {
        // The commit computes it (R19). Values that make the record longer, or are indexed, are computed in advance: a
        // plan has to count those bytes, and to find equal values (R24).
        let isCounted = attribute.description.type.isVariable || entity.indexedCodes.contains(attribute.code)
        operations.append(isCounted ? .compute(index: index) : .set(field: field, value: nil))
      } else if attribute.composite != nil, !rule.isCopied, excludedComposite(of: attribute, in: entity) == nil {
        operations.append(.compute(index: index))
        if rule.isExcluded && attribute.isNeverBlank { checked.append(index) }
        if attribute.description.isConstrained { validated.append(index) }
      } else if rule.isExcluded {
        let isOptional = excludedComposite(of: attribute, in: entity)?.isOptional ?? false
        if !isOptional, let error = attribute.blankError(entity) { errors.append(error) }
        operations.append(.set(field: field, value: attribute.description.defaultValue))
        // A default that violates the model's rules: reported with an object.
        if attribute.description.isConstrained, !attribute.isNeverBlank { validated.append(index) }
      } else if rule.followParent != nil {
        operations.append(.compute(index: index))
        if attribute.description.isConstrained { validated.append(index) }
      } else if rule.rebuild == .uuid {
        operations.append(.uuid(field: field, code: attribute.code))
      } else if rule.rebuild == .now {
        operations.append(.now(field: field))
        if attribute.description.minValue != nil || attribute.description.maxValue != nil { validated.append(index) }
      }
    }
    return EntityPlan(
      entity: entity, relationships: relationships, operations: operations, rules: rules, errors: errors,
      checkedAttributes: checked, validatedAttributes: validated,
      isValidatedAtCommit: entity.composites.values.contains { $0.cloneRule(options.userInfoKeys).followParent != nil },
      needsCheck: relationships.contains { needsCheck($0) })
  }

  /// An attribute's rule; an excluded composite excludes its elements, and one that follows its parent follows it
  /// element by element (R17).
  private func rule(of attribute: CompiledAttribute, in entity: CompiledEntity) -> AttributeCloneRule {
    if let composite = attribute.composite.flatMap({ entity.composites[$0] }) {
      let whole = composite.cloneRule(options.userInfoKeys)
      if !whole.isExcluded, let name = whole.followParent {
        let leaf = attribute.path.dropFirst(composite.name.count)
        return AttributeCloneRule(followParent: name + leaf, withoutParent: whole.withoutParent)
      }
    }
    return excludedComposite(of: attribute, in: entity) == nil
      ? attribute.description.cloneRule(options.userInfoKeys) : AttributeCloneRule(isExcluded: true)
  }

  /// The composite of an attribute, if it is excluded as a whole.
  private func excludedComposite(of attribute: CompiledAttribute, in entity: CompiledEntity) -> AttributeDescription? {
    guard let composite = attribute.composite.flatMap({ entity.composites[$0] }) else { return nil }
    return composite.cloneRule(options.userInfoKeys).isExcluded ? composite : nil
  }

  private func plan(_ relationship: CompiledRelationship, of entity: CompiledEntity) -> RelationshipPlan {
    let decision = decide(entity, relationship, isRoot: false)
    let rootDecision = decide(entity, relationship, isRoot: true)
    let targets = (schema.entity(code: relationship.destinationCode)?.concreteCodes ?? []).compactMap {
      schema.entity(code: $0)
    }
    // All possible answers for a link of this relationship; with several, each link has to be checked.
    var answers: Set<LinkMode> = []
    for source in [decision.disposition, rootDecision.disposition] {
      if targets.isEmpty || !relationship.hasInverse { answers.insert(answer(source, nil)) }
      for target in targets {
        guard let inverse = target.inverse(of: relationship) else { continue }
        for isRoot in [false, true] {
          answers.insert(answer(source, decide(target, inverse, isRoot: isRoot).disposition))
        }
      }
    }
    var mode = answers.count == 1 ? answers.first ?? .dynamic : .dynamic
    // A link that is followed only from its other end may lead outside, where its own end decides: a stopped one is
    // then kept, as `stop` requires.
    let ends = Set([decision.disposition, rootDecision.disposition])
    if mode == .follow, ends != [.follow] { mode = ends == [.stop] ? .stop : .dynamic }
    // An excluded end with a target outside makes no link; a stopped end that its partner excludes does.
    if mode == .drop, ends != [.exclude] { mode = .dynamic }
    // A hook may return any answer for an edge (R30); it is not called for excluded ones.
    let hasHook = options.willClone != nil
    if hasHook, isAsked(entity, relationship) || targets.contains(where: { isAsked($0, $0.inverse(of: relationship)) })
    {
      mode = .dynamic
    }
    return RelationshipPlan(
      relationship: relationship, decision: decision, rootDecision: rootDecision, mode: mode,
      targetsAreVisited: targets.contains { target in
        target.relationships.contains {
          let disposition = decide(target, $0, isRoot: false).disposition
          return disposition == .follow || hasHook && disposition != .exclude
        }
      },
      targetsNeedParents: targets.contains { target in
        target.attributes.contains {
          let rule = rule(of: $0, in: target)
          return !rule.isExcluded && rule.followParent != nil && $0.field != nil
        }
      })
  }

  /// Whether the hook is called for edges of the relationship.
  private func isAsked(_ entity: CompiledEntity, _ relationship: CompiledRelationship?) -> Bool {
    guard let relationship else { return false }
    return [false, true].contains { decide(entity, relationship, isRoot: $0).disposition != .exclude }
  }

  private func needsCheck(_ plan: RelationshipPlan) -> Bool {
    let description = plan.relationship.description
    if !description.isOptional || description.minCount > 1, plan.mode == .drop || plan.mode == .dynamic { return true }
    guard plan.mode == .stop || plan.mode == .keep || plan.mode == .dynamic, plan.relationship.hasInverse,
      let inverse = schema.entity(code: plan.relationship.destinationCode)?.inverse(of: plan.relationship)
    else { return false }
    return !inverse.isToMany || inverse.description.maxCount > 0
  }
}

extension CloneRule {
  var disposition: CloneRuleBook.Disposition {
    switch self {
    case .follow: .follow
    case .reference: .stop
    case .skip: .exclude
    }
  }
}

extension CompiledAttribute {
  /// Whether neither nil nor a default is possible.
  var isNeverBlank: Bool { !description.isOptional && description.defaultValue == nil }

  /// The error for a rebuild rule that the type does not support (R16).
  func rebuildError(_ entity: CompiledEntity) -> CloneError {
    CloneError(
      .rebuildTypeMismatch,
      "\(entity.name).\(path) cannot be rebuilt: uuid is for UUID attributes, now is for dates (R16); change its rule",
      entity: entity.name, property: path)
  }

  /// The error for an excluded attribute that has to become blank and cannot (R15).
  func blankError(_ entity: CompiledEntity) -> CloneError? {
    guard isNeverBlank else { return nil }
    return CloneError(
      .excludedAttributeIsRequired,
      "\(entity.name).\(path) is required and has no default, so a clone cannot leave it out (R15); make it optional, "
        + "give it a default, or change its rule", entity: entity.name, property: path)
  }
}

extension AttributeDescription {
  /// Whether the model restricts values beyond their type.
  var isConstrained: Bool { minValue != nil || maxValue != nil || regularExpression != nil || !isOptional }
}

extension AttributeType {
  /// Whether values have bytes beyond a fixed slot.
  var isVariable: Bool {
    switch self {
    case .string, .uri, .binary, .transformable: true
    default: false
    }
  }
}

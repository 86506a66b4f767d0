public import KVCloneModel

/// The options of a reference clone.
public struct ReferenceCloneOptions: Sendable {
  /// The treatment of an edge.
  public enum EdgeRule: Sendable {
    /// The target is cloned too.
    case follow
    /// The target is shared.
    case reference
    /// The link is not created.
    case skip
  }

  /// The target of a stopped link, if another path clones that target.
  public enum References: Sendable {
    /// To the target's clone (R9).
    case remap
    /// To the target itself (R10).
    case keepOriginal
  }

  /// Relationship names (root only, or every level), and `Entity.relationship` (every level) (R5).
  public var excludedRelationshipNames: [String] = []
  /// Whether plain names count on every level.
  public var passingExclusionList = false
  /// Overrides by `Entity.relationship` (R7).
  public var rules: [String: EdgeRule] = [:]
  /// The hook (R30), called for edges that the rules do not skip: owner, relationship, target and the rule.
  public var willClone: (@Sendable (Label, String, Label, EdgeRule) -> EdgeRule)?
  /// R9 or R10.
  public var references: References = .remap
  /// The number of copies of the same plan (R32).
  public var count = 1
  /// The largest number of clones, over all copies.
  public var maxObjects: Int?
  /// The largest distance from a root, which is at 0.
  public var maxDepth: Int?
  /// The names of the userInfo keys (R28).
  public var keys: CloneUserInfoKeys = .standard

  /// The defaults: nothing excluded, one copy.
  public init() {}
}

/// One reason that prevents a clone.
public struct ReferenceCloneError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The typed error's case, such as `uniquenessConflict`.
  public var kind: String
  /// The entity, if known.
  public var entity: String?
  /// The attribute or relationship; a constraint's attributes joined by commas; `composite.element` for an element.
  public var property: String?
  /// The source, or the outside object that would change.
  public var object: Label?

  /// Creates an error.
  public init(_ kind: String, entity: String? = nil, property: String? = nil, object: Label? = nil) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.object = object
  }

  /// `kind(entity.property, object)`.
  public var description: String {
    let place = [entity, property].compactMap { $0 }.joined(separator: ".")
    return "\(kind)(\([place, object?.description ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")))"
  }
}

/// All errors of a plan.
public struct ReferenceCloneFailure: Error, Hashable, Sendable {
  /// All errors, in no particular order; a store may stop at any of them.
  public var errors: [ReferenceCloneError]
  /// Their kinds.
  public var kinds: Set<String> { Set(errors.map(\.kind)) }
}

/// A symbolic value of the reference cloner.
public enum SymbolicValue: Hashable, Sendable {
  /// The UUID rebuilt for this clone's attribute (`composite.element` for an element).
  case fresh(Label, String)
  /// The single `now` of the operation.
  case now
  /// A derived attribute's value, which the reference does not compute.
  case computed
}

/// The result of a reference clone.
public struct ReferenceClone: Sendable {
  /// The graph before.
  public var before: ReferenceGraph
  /// The graph after, clones included, without symbolic values.
  public var after: ReferenceGraph
  /// The clone set in discovery order (R3).
  public var sources: [Label] = []
  /// The discovery parent by source; roots have none.
  public var discoveryParents: [Label: Label] = [:]
  /// The distance from a root by source.
  public var depths: [Label: Int] = [:]
  /// For each copy, the clone by source.
  public var copies: [[Label: Label]] = []
  /// For each copy, the clones of the roots.
  public var roots: [[Label]] = []
  /// Objects outside the clones that the operation changes (R13).
  public var affectedObjectIDs: Set<Label> = []
  /// Symbolic values, by clone and attribute (or `composite.element`).
  public var symbols: [Label: [String: SymbolicValue]] = [:]

  /// All clones.
  public var clones: Set<Label> { Set(copies.flatMap(\.values)) }
}

/// Deep clone over dictionaries, a direct implementation of the rules: the oracle of tests.
///
/// It implements rules R2 to R18, R21 to R24, R28, R30 for edges, and R32; blobs are plain values here (R25).
public struct ReferenceCloner {
  let model: ModelView
  let graph: ReferenceGraph
  let options: ReferenceCloneOptions
  let roots: [Label]
  var errors: [ReferenceCloneError] = []
  var result: ReferenceClone

  /// Clones `roots` and all objects that the rules reach from them.
  ///
  /// - Throws: ``ReferenceCloneFailure`` with every error of the plan.
  public static func clone(
    _ roots: [Label], in graph: ReferenceGraph, model: ModelView, options: ReferenceCloneOptions = .init()
  ) throws(ReferenceCloneFailure) -> ReferenceClone {
    var cloner = ReferenceCloner(model: model, graph: graph, options: options, roots: roots)
    try cloner.run()
    return cloner.result
  }

  private init(model: ModelView, graph: ReferenceGraph, options: ReferenceCloneOptions, roots: [Label]) {
    self.model = model
    self.graph = graph
    self.options = options
    // One identity map: a root that is given twice is one source (R2, R32).
    self.roots = roots.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    result = ReferenceClone(before: graph, after: graph)
  }

  private mutating func run() throws(ReferenceCloneFailure) {
    checkRoots()
    try stopOnErrors()
    checkNames()
    try stopOnErrors()
    traverse()
    try stopOnErrors()
    nameClones()
    makeLinks()
    makeAttributes()
    try stopOnErrors()
  }

  private func stopOnErrors() throws(ReferenceCloneFailure) {
    if !errors.isEmpty { throw ReferenceCloneFailure(errors: errors) }
  }

  private mutating func checkRoots() {
    for root in roots {
      if model.entities[root.entity] == nil {
        errors.append(ReferenceCloneError("unknownEntity", entity: root.entity, object: root))
      } else if graph.objects[root] == nil {
        errors.append(ReferenceCloneError("objectNotFound", entity: root.entity, object: root))
      }
    }
  }

  /// R5: a name that no entity reachable by the model from the roots has is an error.
  private mutating func checkNames() {
    var reachable: Set<String> = []
    var waiting = roots.map(\.entity)
    while let name = waiting.popLast() {
      guard reachable.insert(name).inserted, let entity = model.entities[name] else { continue }
      for relationship in entity.relationships {
        waiting += model.concreteEntities(of: relationship.destination).map(\.name)
      }
    }
    for name in options.excludedRelationshipNames + options.rules.keys.sorted() {
      let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
      let known = reachable.contains { entity in
        if parts.count == 1 { return model.relationship(name, of: entity) != nil }
        return model.isKind(entity, of: parts[0]) && model.relationship(parts[1], of: parts[0]) != nil
      }
      if !known { errors.append(ReferenceCloneError("unknownRelationship", property: name)) }
    }
  }

  /// Names clones as a store does that appends them in the order of their sources. Comparisons do not depend on the
  /// names.
  private mutating func nameClones() {
    func root(_ label: Label) -> String { model.entities[label.entity]?.root ?? label.entity }
    var next: [String: Int] = [:]
    for label in graph.objects.keys { next[root(label)] = max(next[root(label)] ?? 1, label.serial + 1) }
    for _ in 0..<options.count {
      var clones: [Label: Label] = [:]
      for source in result.sources.sorted(by: Label.byAge) {
        clones[source] = Label(source.entity, next[root(source), default: 1])
        next[root(source), default: 1] += 1
      }
      result.copies.append(clones)
      result.roots.append(roots.compactMap { clones[$0] })
    }
    for clones in result.copies {
      for clone in clones.values { result.after.objects[clone] = ReferenceObject(clone) }
    }
  }
}

import KVCloneModel

/// All derivations of a schema, and the changes that affect each.
package final class DerivationPlan: Sendable {
  /// In order of dependency, sources first.
  package let all: [Derivation]
  /// A text that determines the attributes' values; nil if no attribute is derived.
  package let fingerprint: String?
  /// By entity code; nil if no derived attribute depends on the entity's objects.
  private let entities: [EntityDerivations?]

  init(_ model: ManagedObjectModel, _ entities: [CompiledEntity], lastCode: UInt16) {
    let derivations = model.derivations
    let byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    var compiler = Compiler(byName: byName)
    for entry in derivations.entries { compiler.add(entry) }
    compiler.compile()
    all = compiler.all
    fingerprint = all.isEmpty ? nil : derivations.fingerprint
    var byCode = [EntityDerivations?](repeating: nil, count: Int(lastCode) + 1)
    for entity in entities where !entity.isAbstract { byCode[Int(entity.code)] = compiler.derivations(of: entity) }
    self.entities = byCode
  }

  /// Whether every entity's attributes have the same sources as in another plan, by code.
  package func isSame(as other: DerivationPlan) -> Bool {
    Set(parts) == Set(other.parts)
  }

  private struct Part: Hashable {
    let entity: Int
    let attribute: UInt16
    let function: DerivedExpression.Function
    let source: UInt16?
    let hops: [UInt16]
  }

  private var parts: [Part] {
    entities.indices.flatMap { code in
      (entities[code]?.own ?? []).map { derivation, attribute in
        Part(
          entity: code, attribute: attribute.code, function: derivation.function, source: derivation.source?.code,
          hops: derivation.hops.map(\.code))
      }
    }
  }

  /// The effects of an entity's changes; nil if there are none.
  @inline(__always)
  package func entity(_ code: UInt16) -> EntityDerivations? {
    Int(code) < entities.count ? entities[Int(code)] : nil
  }
}

private struct Compiler {
  /// A derivation without an index yet.
  private struct Draft {
    let attribute: CompiledAttribute
    let function: DerivedExpression.Function
    let hops: [CompiledRelationship]
    let source: CompiledAttribute?
    /// The codes of concrete entities with it.
    var owners: Set<UInt16> = []
    /// The entities behind each relationship, and before the first one.
    var places: [CompiledEntity]
  }

  /// The properties by which the derivations of two entities are equal.
  private struct Identity: Hashable {
    let attribute: UInt16
    let function: DerivedExpression.Function
    let source: UInt16?
    let hops: [UInt16]
  }

  let byName: [String: CompiledEntity]
  private var drafts: [Draft] = []
  private var known: [Identity: Int] = [:]
  private(set) var all: [Derivation] = []

  init(byName: [String: CompiledEntity]) {
    self.byName = byName
  }

  /// Adds one entity's attribute: to the derivation of an ancestor, if it is the same one.
  mutating func add(_ entry: ModelDerivations.Entry) {
    guard let entity = byName[entry.entity], let index = entity.attributeIndex[entry.attribute.name] else { return }
    var hops: [CompiledRelationship] = []
    var places = [entity]
    for name in entry.expression.relationships {
      guard let place = places.last, let index = place.relationshipIndex[name],
        let next = byName[place.relationships[index].description.destinationEntityName]
      else { return }
      hops.append(place.relationships[index])
      places.append(next)
    }
    var source: CompiledAttribute?
    if let path = entry.expression.attribute {
      guard let place = places.last, let index = place.attributeIndex[path] else { return }
      source = place.attributes[index]
    }
    let draft = Draft(
      attribute: entity.attributes[index], function: entry.expression.function, hops: hops, source: source,
      owners: entity.isAbstract ? [] : [entity.code], places: places)
    let identity = Identity(
      attribute: draft.attribute.code, function: draft.function, source: source?.code,
      hops: hops.flatMap { [$0.code, $0.destinationCode] })
    if let place = known[identity] {
      drafts[place].owners.formUnion(draft.owners)
    } else {
      known[identity] = drafts.count
      drafts.append(draft)
    }
  }

  /// Assigns the indexes. The drafts are already in order of dependency.
  mutating func compile() {
    // Members' root entity → their owners': the paths along which a change of a member's value propagates.
    var ways: [UInt16: Set<UInt16>] = [:]
    for draft in drafts where draft.hops.count == 1 {
      ways[draft.places[1].rootCode, default: []].insert(draft.places[0].rootCode)
    }
    for (index, draft) in drafts.enumerated() {
      var isInCircle = false
      if draft.hops.count == 1 {
        isInCircle = Self.leads(from: draft.places[0].rootCode, to: draft.places[1].rootCode, ways)
      }
      all.append(
        Derivation(
          index: index, attribute: draft.attribute, function: draft.function, hops: draft.hops, source: draft.source,
          isInCircle: isInCircle))
    }
  }

  private static func leads(from start: UInt16, to end: UInt16, _ ways: [UInt16: Set<UInt16>]) -> Bool {
    var seen: Set<UInt16> = [start]
    var waiting = [start]
    while let code = waiting.popLast() {
      if code == end { return true }
      for next in ways[code] ?? [] where seen.insert(next).inserted { waiting.append(next) }
    }
    return false
  }

  /// The effects of a concrete entity's changes.
  func derivations(of entity: CompiledEntity) -> EntityDerivations? {
    var own: [(derivation: Derivation, attribute: CompiledAttribute)] = []
    var attributes: [UInt16: [DerivationDependency]] = [:]
    var relationships: [UInt16: [DerivationDependency]] = [:]
    for (draft, derivation) in zip(drafts, all) {
      let isOwner = draft.owners.contains(entity.code)
      if isOwner, let attribute = entity.attributes.first(where: { $0.code == derivation.code && $0.field != nil }) {
        own.append((derivation, attribute))
      }
      for (hop, place) in draft.places.enumerated() {
        guard hop == 0 ? isOwner : entity.isKind(of: place.code) else { continue }
        let dependency = DerivationDependency(derivation: derivation, hop: hop)
        if hop < draft.hops.count {
          relationships[draft.hops[hop].code, default: []].append(dependency)
        } else if let source = draft.source {
          attributes[source.code, default: []].append(dependency)
        }
      }
    }
    if own.isEmpty, attributes.isEmpty, relationships.isEmpty { return nil }
    return EntityDerivations(own: own, attributes: attributes, relationships: relationships)
  }
}

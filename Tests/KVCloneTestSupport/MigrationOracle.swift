import Foundation
package import KVClone

/// The expected result of a migration, computed from the two models by the documented rules, independently of the code
/// that migrates.
///
/// Objects keep their serials in the result; an object that moves to another root entity has another serial in the
/// store.
package struct MigrationOracle {
  package let source: ManagedObjectModel
  package let destination: ManagedObjectModel
  /// Later → earlier name.
  package let entities: [String: String]
  /// Earlier → later name.
  package let laterEntities: [String: String]

  /// Other versions of the model, used to follow renaming identifiers.
  package let others: [ManagedObjectModel]
  /// Earlier entity name → all former names in the other versions.
  private let formerNames: [String: Set<String>]

  /// A string that is not a number.
  package struct NotConvertible: Error {
    package let property: String
  }

  package init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, through others: [ManagedObjectModel] = []
  ) {
    self.source = source
    self.destination = destination
    self.others = others
    formerNames = Self.formerNames(others.flatMap { $0.entities.map { ($0.name, $0.renamingIdentifier) } })
    entities = Self.match(
      source.entities.map { ($0.name, $0.renamingIdentifier) },
      destination.entities.map { ($0.name, $0.renamingIdentifier) }, formerNames)
    laterEntities = Dictionary(uniqueKeysWithValues: entities.map { ($0.value, $0.key) })
  }

  // MARK: Matching names

  /// Name → former names by renaming identifiers, transitively.
  package static func formerNames(_ declared: [(name: String, id: String?)]) -> [String: Set<String>] {
    var former: [String: Set<String>] = [:]
    for thing in declared { if let id = thing.id { former[thing.name, default: []].insert(id) } }
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for (name, names) in former {
        let more = names.union(names.flatMap { former[$0] ?? [] })
        if more != names {
          former[name] = more
          isGrowing = true
        }
      }
    }
    return former
  }

  /// Later → earlier name. Matches of canonical names come first, then unambiguous ones through other versions.
  package static func match(
    _ earlier: [(name: String, id: String?)], _ later: [(name: String, id: String?)],
    _ former: [String: Set<String>] = [:]
  ) -> [String: String] {
    var result: [String: String] = [:]
    var taken: Set<String> = []
    typealias Named = (name: String, id: String?)
    func pass(_ isOne: (Named, Named) -> Bool) {
      for new in later where result[new.name] == nil {
        guard let old = earlier.first(where: { !taken.contains($0.name) && isOne($0, new) }) else { continue }
        result[new.name] = old.name
        taken.insert(old.name)
      }
    }
    pass { $1.id != nil && $0.id == $1.id && $0.name == $1.name }
    pass { $1.id != nil && $0.id == $1.id }
    pass { $1.id == $0.name && $0.id == nil }
    pass { $1.id == nil && $0.id == nil && $0.name == $1.name }
    pass { $1.id == nil && $0.id == $1.name }
    pass { $1.id == $0.name }
    pass { $0.name == $1.name }
    if former.isEmpty { return result }
    func names(_ thing: Named) -> Set<String> {
      guard let id = thing.id else { return [thing.name] }
      return (id == thing.name ? [] : former[id] ?? []).union([thing.name, id])
    }
    let rules: [(Named, Named) -> Bool] = [
      { names($0).contains($1.name) || names($1).contains($0.name) },
      { !names($0).isDisjoint(with: names($1)) },
    ]
    for rule in rules {
      let (old, new) = (earlier.filter { !taken.contains($0.name) }, later.filter { result[$0.name] == nil })
      for thing in new {
        let candidates = old.filter { rule($0, thing) }
        guard candidates.count == 1, new.filter({ rule(candidates[0], $0) }).count == 1 else { continue }
        result[thing.name] = candidates[0].name
        taken.insert(candidates[0].name)
      }
    }
    return result
  }

  /// Returns the former names of properties of one entity in the other versions.
  private func formerNames(
    _ later: String, _ earlier: String, _ properties: (ManagedObjectModel, String) -> [(name: String, id: String?)]
  ) -> [String: Set<String>] {
    var names = Set([later, earlier])
    for id in [source.entity(named: earlier), destination.entity(named: later)].compactMap({ $0?.renamingIdentifier })
    where names.insert(id).inserted {
      names.formUnion(formerNames[id] ?? [])
    }
    return Self.formerNames(others.flatMap { version in names.flatMap { properties(version, $0) } })
  }

  private func attributes(_ later: String, _ earlier: String) -> [(AttributeDescription, AttributeDescription?)] {
    let (old, new) = (source.attributes(of: earlier), destination.attributes(of: later))
    let names = Self.match(
      old.map { ($0.name, $0.renamingIdentifier) }, new.map { ($0.name, $0.renamingIdentifier) },
      formerNames(later, earlier) { $0.attributes(of: $1).map { ($0.name, $0.renamingIdentifier) } })
    return new.map { attribute in (attribute, old.first { $0.name == names[attribute.name] && !$0.isTransient }) }
  }

  private func relationships(
    _ later: String, _ earlier: String
  ) -> [(RelationshipDescription, RelationshipDescription?)] {
    let old = source.relationships(of: earlier)
    let new = destination.relationships(of: later)
    let names = Self.match(
      old.map { ($0.name, $0.renamingIdentifier) }, new.map { ($0.name, $0.renamingIdentifier) },
      formerNames(later, earlier) { $0.relationships(of: $1).map { ($0.name, $0.renamingIdentifier) } })
    return new.map { relationship in
      (
        relationship,
        old.first { $0.name == names[relationship.name] && !$0.isTransient && hasRemainingTargets($0) }
      )
    }
  }

  /// Whether any target entity of a relationship exists in the destination: otherwise its links are deleted with their
  /// targets.
  private func hasRemainingTargets(_ relationship: RelationshipDescription) -> Bool {
    source.entities.contains {
      laterEntities[$0.name] != nil && source.entity($0.name, isKindOf: relationship.destinationEntityName)
    }
  }

  private func isConcrete(_ entity: String, _ model: ManagedObjectModel) -> Bool {
    model.entity(named: entity)?.isAbstract == false
  }

  /// Whether objects of an entity, given by its later name, keep their ids.
  package func keepsIDs(_ later: String) -> Bool {
    guard let earlier = entities[later], let root = destination.rootEntity(of: later) else { return false }
    return entities[root] == source.rootEntity(of: earlier)
  }

  // MARK: Rejections

  /// Returns `Entity.property` for all changes that cannot be inferred, of concrete entities with objects.
  package func refusals(_ graph: ReferenceGraph) -> Set<String> {
    var refused: Set<String> = []
    for (earlier, count) in graph.counts where count > 0 {
      guard let later = laterEntities[earlier] else { continue }
      if !isConcrete(later, destination) { refused.insert(later) }
      let objects = graph.objects.values.filter { $0.label.entity == earlier }
      for (new, old) in attributes(later, earlier) {
        let values = objects.map { object in old.flatMap { object.attributes[$0.name] } }
        if isRefused(new, old, values) { refused.insert("\(later).\(new.name)") }
      }
      for (new, old) in relationships(later, earlier) where !new.isTransient {
        let isEmptySomewhere = objects.contains { object in old.map { object.targets($0.name).isEmpty } ?? true }
        if isRefused(new, old, later, earlier, isEmptySomewhere: isEmptySomewhere) {
          refused.insert("\(later).\(new.name)")
        }
      }
    }
    return refused
  }

  /// - Parameter values: the values of the objects, and elements of composites that are not nil.
  private func isRefused(
    _ new: AttributeDescription, _ old: AttributeDescription?, _ values: [AttributeValue?]
  ) -> Bool {
    if new.isTransient { return false }
    guard let old else { return isMandatory(new) && initial(new) == nil }
    let isMissing = isMandatory(new) && old.isOptional && initial(new) == nil && values.contains(nil)
    if old.type != new.type { return !(Self.isConvertible(old.type, new.type) || new.isDerived) || isMissing }
    if new.type == .composite {
      let composites = values.compactMap { value -> [String: AttributeValue]? in
        if case .composite(let elements)? = value { elements } else { nil }
      }
      for element in new.elements {
        let former = old.elements.first { $0.name == element.name }
        if isRefused(element, former, composites.map { $0[element.name] }) { return true }
      }
    }
    return isMissing
  }

  private func isMandatory(_ attribute: AttributeDescription) -> Bool {
    !attribute.isOptional && !attribute.isDerived
  }

  private func isMandatory(_ relationship: RelationshipDescription) -> Bool {
    !relationship.isOptional && (!relationship.isToMany || relationship.minCount > 0)
  }

  private func isRefused(
    _ new: RelationshipDescription, _ old: RelationshipDescription?, _ later: String, _ earlier: String,
    isEmptySomewhere: Bool
  ) -> Bool {
    guard let old else { return isMandatory(new) }
    if old.isToMany && !new.isToMany { return true }
    if isMandatory(new) && !isMandatory(old) && isEmptySomewhere { return true }
    // Every entity that the relationship may lead to must remain a valid destination.
    for target in source.entities where source.entity(target.name, isKindOf: old.destinationEntityName) {
      guard let now = laterEntities[target.name] else { continue }
      if !destination.entity(now, isKindOf: new.destinationEntityName) { return true }
    }
    guard let after = destination.inverse(of: new.name, in: later) else { return false }
    guard let inverseEarlier = entities[after.entityName],
      let former = relationships(after.entityName, inverseEarlier).first(where: { $0.0.name == after.relationship.name }
      )?.1
    else { return false }
    return source.inverse(of: old.name, in: earlier)?.relationship.name != former.name
  }

  /// Whether a new to-one inverse would lead from one object to several.
  package func hasCrowdedInverse(_ graph: ReferenceGraph) -> Bool {
    for (later, earlier) in entities {
      for (new, old) in relationships(later, earlier) {
        guard let old, !new.isTransient, let inverse = destination.inverse(of: new.name, in: later),
          !inverse.relationship.isToMany, source.inverse(of: old.name, in: earlier)?.relationship.isToMany != false
        else { continue }
        let members = graph.objects.values.filter { $0.label.entity == earlier }.flatMap { $0.targets(old.name) }
        if Set(members).count < members.count { return true }
      }
    }
    return false
  }

  package static func isConvertible(_ old: AttributeType, _ new: AttributeType) -> Bool {
    if old == new { return true }
    let wider: [AttributeType: [AttributeType]] = [
      .boolean: [.integer16, .integer32, .integer64],
      .integer16: [.integer32, .integer64, .float, .double, .decimal, .string, .date],
      .integer32: [.integer64, .double, .decimal, .string, .date],
      .integer64: [.decimal, .string],
      .float: [.double, .string, .date],
      .double: [.string, .date],
      .decimal: [.string],
      .date: [.double],
      .string: [.integer16, .integer32, .integer64, .decimal, .double, .float, .uuid, .uri],
      .uuid: [.string],
      .uri: [.string],
    ]
    return wider[old]?.contains(new) ?? false
  }

  // MARK: Objects

  /// Returns the migrated objects, with the names of lists in an undefined order.
  ///
  /// - Parameter unordered: the lists with an undefined order before, by their earlier names.
  package func migrate(
    _ graph: ReferenceGraph, unordered former: [Label: Set<String>] = [:]
  ) throws -> (graph: ReferenceGraph, unordered: [Label: Set<String>]) {
    var result = ReferenceGraph()
    var unordered: [Label: Set<String>] = [:]
    var labels: [Label: Label] = [:]
    for label in graph.labels {
      if let later = laterEntities[label.entity] { labels[label] = Label(later, label.serial) }
    }
    let view = ModelView(destination)
    // Computed once per entity, because there are many objects.
    let attributes = Dictionary(
      uniqueKeysWithValues: entities.map { later, earlier in (later, self.attributes(later, earlier)) })
    let relationships = Dictionary(
      uniqueKeysWithValues: entities.map { later, earlier in (later, self.relationships(later, earlier)) })
    for (label, later) in labels {
      guard let object = graph[label] else { continue }
      var now = ReferenceObject(later)
      for (new, old) in attributes[later.entity] ?? [] where !new.isTransient && !new.isDerived {
        now.attributes[new.name] = try value(new, old, old.flatMap { object.attributes[$0.name] })
      }
      for (new, old) in relationships[later.entity] ?? [] where !new.isTransient {
        guard let old else { continue }
        let members = object.targets(old.name).compactMap { labels[$0] }
        if members.isEmpty { continue }
        now.relationships[new.name] = members
        if new.isOrdered && !old.isOrdered || former[label]?.contains(old.name) == true {
          unordered[later, default: []].insert(new.name)
        }
      }
      result.objects[later] = now
    }
    // The inverses of relationships that had none.
    for later in labels.values {
      for (new, old) in relationships[later.entity] ?? [] where !new.isTransient && old != nil {
        let relationship = view.relationship(new.name, of: later.entity)
        for target in result[later]?.targets(new.name) ?? [] {
          guard let inverse = relationship?.inverse(at: target.entity),
            result[target]?.targets(inverse.name).contains(later) == false
          else { continue }
          result.objects[target]?.relationships[inverse.name, default: []].append(later)
          unordered[target, default: []].insert(inverse.name)
        }
      }
    }
    return (result, unordered)
  }

  /// Returns the value of a new attribute for existing objects.
  private func initial(_ attribute: AttributeDescription) -> AttributeValue? {
    guard attribute.type == .composite else { return attribute.defaultValue }
    var elements: [String: AttributeValue] = [:]
    for element in attribute.elements { elements[element.name] = initial(element) }
    return elements.isEmpty ? nil : .composite(elements)
  }

  private func value(
    _ new: AttributeDescription, _ old: AttributeDescription?, _ value: AttributeValue?
  ) throws -> AttributeValue? {
    guard let old else { return initial(new) }
    guard let value else { return new.isOptional ? nil : initial(new) }
    if new.type == .composite, case .composite(let elements) = value {
      var result: [String: AttributeValue] = [:]
      for element in new.elements {
        let former = old.elements.first { $0.name == element.name }
        result[element.name] = try self.value(element, former, elements[element.name])
      }
      return .composite(result)
    }
    if old.type == new.type { return value }
    guard let converted = Self.convert(value, new.type) else { throw NotConvertible(property: new.name) }
    return converted
  }

  private static func convert(_ value: AttributeValue, _ type: AttributeType) -> AttributeValue? {
    switch (value, type) {
    case (.boolean(let flag), _): return .integer(flag ? 1 : 0)
    case (.integer(let number), .integer32), (.integer(let number), .integer64): return .integer(number)
    case (.integer(let number), .decimal): return .decimal(Decimal(number))
    case (.integer(let number), .double): return .double(Double(number))
    case (.integer(let number), .float): return .float(Float(number))
    case (.integer(let number), .date): return .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case (.float(let number), .double): return .double(Double(number))
    case (.float(let number), .date): return .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case (.double(let number), .date): return .date(Date(timeIntervalSinceReferenceDate: number))
    case (.date(let date), .double): return .double(date.timeIntervalSinceReferenceDate)
    case (.integer(let number), .string): return .string("\(number)")
    case (.float(let number), .string): return .string("\(number)")
    case (.double(let number), .string): return .string("\(number)")
    case (.decimal(let number), .string): return .string("\(number)")
    case (.uuid(let uuid), .string): return .string(uuid.uuidString)
    case (.uri(let text), .string): return .string(text)
    case (.string(let text), .integer16): return Int16(text).map { .integer(Int64($0)) }
    case (.string(let text), .integer32): return Int32(text).map { .integer(Int64($0)) }
    case (.string(let text), .integer64): return Int64(text).map { .integer($0) }
    case (.string(let text), .double): return Double(text).map { .double($0) }
    case (.string(let text), .float): return Float(text).map { .float($0) }
    case (.string(let text), .uuid): return UUID(uuidString: text).map { .uuid($0) }
    case (.string(let text), .uri): return .uri(text)
    case (.string(let text), .decimal): return Double(text) == nil ? nil : Decimal(string: text).map { .decimal($0) }
    default: return nil
    }
  }
}

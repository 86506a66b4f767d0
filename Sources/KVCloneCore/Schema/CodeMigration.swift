package import KVCloneModel
import KVCloneRecords

/// Assigns codes to the next version of a model.
///
/// Data with an unchanged form keeps its code, despite renames and moves in the hierarchy: then no record needs to
/// change. Data with a new form (another type, to-many instead of to-one, ordered) gets a new code, so that a code
/// means the same in every record that was ever written, including preimages.
struct CodeMigration {
  let matching: ModelMatching
  let old: SchemaCodes

  private var source: ManagedObjectModel { matching.source }
  private var destination: ManagedObjectModel { matching.destination }

  /// The codes of the destination, except for layouts, which follow from them.
  ///
  /// - Parameter number: the destination's number among the models of the store.
  func codes(number: UInt64) throws(StoreError) -> SchemaCodes {
    var entities: [String: UInt16] = [:]
    for (later, earlier) in matching.entities { entities[later] = old.entities[earlier] }
    let properties = claimedProperties()
    let referrers = claimedReferrers(properties)
    var codes = SchemaCodes(
      entities: entities, properties: properties, referrers: referrers, indexes: [:], fetchIndexes: old.fetchIndexes,
      layouts: [:], former: nil, fills: old.fills, lastEntity: old.lastEntity, lastProperty: old.lastProperty,
      lastIndex: old.lastIndex, lastLayout: old.lastLayout)
    // Kept indexes are identified by the codes of their columns, which have to be assigned first.
    try codes.assignProperties(destination)
    let indexes = IndexMigration(matching: matching, old: old, new: codes)
    codes.keepIndexes(indexes.keptConstraints(), fetchIndexes: indexes.keptFetchIndexes())
    try codes.assign(destination, givesLayouts: false)
    try codes.assignFetchIndexes(destination)
    codes.former = former(codes, number: number)
    for entity in destination.entities {
      for attribute in entity.attributes {
        let resolved = destination.attribute(attribute.name, of: entity.name) ?? attribute
        for leaf in CompiledAttribute.leaves(of: resolved) where !leaf.description.isDerived {
          // An element of a composite that is nil has no value, regardless of its default.
          guard !leaf.path.contains("."), let code = codes.properties[entity.name]?[leaf.path], code > old.lastProperty,
            let value = leaf.description.defaultValue
          else { continue }
          codes.setFill(value, ofProperty: code)
        }
      }
    }
    return codes
  }

  // MARK: Properties

  /// Declaring entity → property → its former code.
  private func claimedProperties() -> [String: [String: UInt16]] {
    var claimed: [String: [String: UInt16]] = [:]
    var taken: Set<UInt16> = []
    for entity in destination.entities {
      // If several entities had it, and an ancestor has it now, the ancestor can keep the code of one.
      let candidates = [entity.name] + destination.subentities(of: entity.name)
      func claim(_ path: String, _ code: (String) -> UInt16?) {
        for candidate in candidates {
          guard let code = code(candidate), taken.insert(code).inserted else { continue }
          claimed[entity.name, default: [:]][path] = code
          return
        }
      }
      for attribute in entity.attributes where isFirst(attribute.name, entity) && !attribute.isTransient {
        let resolved = destination.attribute(attribute.name, of: entity.name) ?? attribute
        for leaf in CompiledAttribute.leaves(of: resolved) {
          claim(leaf.path) { code(ofLeaf: leaf, attribute.name, in: $0) }
        }
      }
      for relationship in entity.relationships
      where isFirst(relationship.name, entity) && !relationship.isTransient {
        claim(relationship.name) { code(of: relationship, in: $0) }
      }
    }
    return claimed
  }

  private func isFirst(_ property: String, _ entity: EntityDescription) -> Bool {
    SchemaInverse.declaringEntity(of: property, from: entity, in: destination) == entity.name
  }

  /// The former code of a destination's element, if its stored form is unchanged.
  private func code(
    ofLeaf leaf: (path: String, description: AttributeDescription), _ attribute: String, in entity: String
  ) -> UInt16? {
    guard let former = matching.formerLeaf(leaf.path, attribute, of: entity),
      FieldKind(storing: former.description.type) == FieldKind(storing: leaf.description.type)
    else { return nil }
    return old.properties[former.declaringEntity]?[former.path]
  }

  /// The former code of a destination's relationship, if its stored form is unchanged.
  private func code(of relationship: RelationshipDescription, in entity: String) -> UInt16? {
    guard let former = matching.relationship(relationship.name, of: entity), !former.isTransient,
      former.isToMany == relationship.isToMany,
      !relationship.isToMany || former.isOrdered == relationship.isOrdered,
      let declaring = matching.formerDeclaringEntity(of: former.name, below: entity)
    else { return nil }
    return old.properties[declaring]?[former.name]
  }

  /// Declaring entity → relationship without an inverse → the code of its hidden lists, if they are still valid.
  private func claimedReferrers(_ properties: [String: [String: UInt16]]) -> [String: [String: UInt16]] {
    var claimed: [String: [String: UInt16]] = [:]
    for (entity, codes) in properties {
      guard let description = destination.entity(named: entity) else { continue }
      for relationship in description.relationships {
        guard let code = codes[relationship.name],
          SchemaInverse.inverse(of: relationship, declaredIn: entity, in: destination) == nil
        else { continue }
        // The former relationship had no inverse either, if it has a hidden list.
        for (former, names) in old.properties {
          guard let name = names.first(where: { $0.value == code })?.key,
            let hidden = old.referrers[former]?[name]
          else { continue }
          claimed[entity, default: [:]][relationship.name] = hidden
        }
      }
    }
    return claimed
  }

  // MARK: Removed

  private func former(_ codes: SchemaCodes, number: UInt64) -> FormerCodes {
    var former = old.former ?? FormerCodes()
    for (name, code) in old.entities where codes.entities[name] != code { former.entities[name] = code }
    let current = Set(codes.properties.values.flatMap(\.values)).union(codes.referrers.values.flatMap(\.values))
    for names in Array(old.properties.values) + Array(old.referrers.values) {
      for (name, code) in names where !current.contains(code) { former.properties[String(code)] = name }
    }
    for entity in source.entities {
      for relationship in entity.relationships where relationship.isToMany && relationship.isOrdered {
        guard let code = old.properties[entity.name]?[relationship.name], !current.contains(code) else { continue }
        former.orderedLists.append(code)
      }
    }
    former.orderedLists.sort()
    let roots = Set(Self.roots(of: destination, codes))
    for root in Self.roots(of: source, old) where !roots.contains(root) { former.roots[String(root)] = number }
    former.roots = former.roots.filter { !roots.contains(UInt16($0.key) ?? 0) }
    return former
  }

  private static func roots(of model: ManagedObjectModel, _ codes: SchemaCodes) -> [UInt16] {
    model.entities.filter { $0.superentityName == nil }.compactMap { codes.entities[$0.name] }
  }
}

extension ModelMatching {
  /// A stored attribute of the source, or an element of a composite one.
  package struct Leaf {
    let declaringEntity: String
    package let path: String
    package let description: AttributeDescription
  }

  /// The source's element that corresponds to one of a destination's entity; nil if there was none, or it was not
  /// stored.
  package func formerLeaf(_ path: String, _ attribute: String, of entity: String) -> Leaf? {
    guard let former = self.attribute(attribute, of: entity), !former.isTransient,
      let declaring = formerDeclaringEntity(of: former.name, below: entity)
    else { return nil }
    let wanted = former.name + path.dropFirst(attribute.count)
    guard let leaf = CompiledAttribute.leaves(of: former).first(where: { $0.path == wanted }) else { return nil }
    return Leaf(declaringEntity: declaring, path: leaf.path, description: leaf.description)
  }

  /// The topmost entity of the source that declares a property of an entity's counterpart.
  func formerDeclaringEntity(of property: String, below entity: String) -> String? {
    guard let earlier = entities[entity].flatMap({ source.entity(named: $0) }) else { return nil }
    return SchemaInverse.declaringEntity(of: property, from: earlier, in: source)
  }
}

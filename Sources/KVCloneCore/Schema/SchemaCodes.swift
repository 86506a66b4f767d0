package import KVCloneModel
import KVCloneRecords

/// The codes for names in keys and records. They are assigned once and never reused, so a renamed or removed property
/// can never be confused with another one, also in old records and snapshots.
package struct SchemaCodes: Codable, Hashable, Sendable {
  /// The codes of a store without a model.
  package static let empty = SchemaCodes()

  /// Entity name → code. A root entity's code is in its objects' ids.
  package private(set) var entities: [String: UInt16] = [:]
  /// Declaring entity → property (or composite attribute's leaf as `composite.leaf`) → code.
  package private(set) var properties: [String: [String: UInt16]] = [:]
  /// Declaring entity → relationship without an inverse → code of the hidden referrer list.
  package private(set) var referrers: [String: [String: UInt16]] = [:]
  /// Declaring entity → constraint's attributes separated by commas → index id.
  package private(set) var indexes: [String: [String: UInt16]] = [:]
  /// Declaring entity → fetch index's definition → index id: exactly the indexes with complete entries. Nil in a store
  /// that never had one.
  package private(set) var fetchIndexes: [String: [String: UInt16]]?
  /// Concrete entity → the layout of new records.
  package private(set) var layouts: [String: UInt16] = [:]
  /// Codes of earlier versions of the model; nil in a store that was never migrated.
  package var former: FormerCodes?
  /// Property code → the value of objects with records older than the attribute: its default when it was added, which
  /// may have changed since. Attributes without one are nil in older records. Nil instead of empty.
  private(set) var fills: [String: AttributeValue]?
  package private(set) var lastEntity: UInt16 = 0
  private(set) var lastProperty: UInt16 = 0
  package private(set) var lastIndex: UInt16 = 0
  package private(set) var lastLayout: UInt16 = 0

  /// Assigns a code to everything in `model` without one.
  ///
  /// - Parameter givesLayouts: whether entities without a layout get a new one.
  /// - Throws: `limitExceeded` if a store has used all 16-bit codes.
  mutating func assign(_ model: ManagedObjectModel, givesLayouts: Bool = true) throws(StoreError) {
    for entity in model.entities {
      try assignProperties(of: entity, model)
      for constraint in entity.uniquenessConstraints {
        let name = constraint.joined(separator: ",")
        guard indexes[entity.name]?[name] == nil else { continue }
        lastIndex = try next(lastIndex, limit: .max, what: "indexes")
        indexes[entity.name, default: [:]][name] = lastIndex
      }
      if givesLayouts, !entity.isAbstract, layouts[entity.name] == nil { try assignLayout(nil, to: entity.name) }
    }
  }

  /// Assigns codes to the entities of `model` and their properties only.
  mutating func assignProperties(_ model: ManagedObjectModel) throws(StoreError) {
    for entity in model.entities { try assignProperties(of: entity, model) }
  }

  private mutating func assignProperties(of entity: EntityDescription, _ model: ManagedObjectModel) throws(StoreError) {
    if entities[entity.name] == nil {
      lastEntity = try next(lastEntity, limit: FormatLimits.maximumRootCode, what: "entities")
      entities[entity.name] = lastEntity
    }
    for attribute in entity.attributes where !attribute.isTransient && isFirst(attribute.name, entity, model) {
      // The resolved attribute: the declaration may contain only the name of a composite.
      let resolved = model.attribute(attribute.name, of: entity.name) ?? attribute
      for path in CompiledAttribute.leafPaths(of: resolved) { try assignProperty(path, in: entity.name) }
    }
    for relationship in entity.relationships
    where !relationship.isTransient && isFirst(relationship.name, entity, model) {
      try assignProperty(relationship.name, in: entity.name)
      if SchemaInverse.inverse(of: relationship, declaredIn: entity.name, in: model) == nil,
        referrers[entity.name]?[relationship.name] == nil
      {
        lastProperty = try next(lastProperty, limit: .max, what: "properties")
        referrers[entity.name, default: [:]][relationship.name] = lastProperty
      }
    }
  }

  /// Keeps the indexes that a next version shares with this one.
  mutating func keepIndexes(_ indexes: [String: [String: UInt16]], fetchIndexes kept: [String: [String: UInt16]]) {
    self.indexes = indexes
    if fetchIndexes != nil || !kept.isEmpty { fetchIndexes = kept }
  }

  /// Sets the layout of an entity's new records: a known one, or the next new one.
  mutating func assignLayout(_ known: UInt16?, to entity: String) throws(StoreError) {
    if known == nil { lastLayout = try next(lastLayout, limit: .max, what: "record layouts") }
    layouts[entity] = known ?? lastLayout
  }

  /// Sets the value of objects with records older than an attribute.
  mutating func setFill(_ value: AttributeValue, ofProperty code: UInt16) {
    fills = (fills ?? [:]).merging([String(code): value]) { first, _ in first }
  }

  /// The value of objects with records older than an attribute.
  func fill(ofProperty code: UInt16) -> AttributeValue? { fills?[String(code)] }

  /// Removes the indexes that others lack, and that no longer have entries.
  mutating func keepIndexes(of others: SchemaCodes) {
    let left = others.indexIDs
    fetchIndexes = fetchIndexes?.mapValues { $0.filter { left.contains($0.value) } }
    indexes = indexes.mapValues { $0.filter { left.contains($0.value) } }
  }

  /// Assigns ids to the fetch indexes of `model`, and removes those that it lacks. Removed ids are never reused, even
  /// for an equal definition.
  ///
  /// - Parameter givesNew: whether indexes without an id get one.
  mutating func assignFetchIndexes(_ model: ManagedObjectModel, givesNew: Bool = true) throws(StoreError) {
    var assigned: [String: [String: UInt16]] = [:]
    for entity in model.entities {
      for index in model.storedFetchIndexes(declaredIn: entity) {
        let definition = index.definition
        if let known = fetchIndexes?[entity.name]?[definition] {
          assigned[entity.name, default: [:]][definition] = known
        } else if givesNew {
          lastIndex = try next(lastIndex, limit: .max, what: "indexes")
          assigned[entity.name, default: [:]][definition] = lastIndex
        }
      }
    }
    if fetchIndexes != nil || !assigned.isEmpty { fetchIndexes = assigned }
  }

  /// The ids of all fetch indexes.
  package var fetchIndexIDs: Set<UInt16> { Set((fetchIndexes ?? [:]).values.flatMap(\.values)) }

  /// The ids of all indexes, including those of constraints.
  package var indexIDs: Set<UInt16> { fetchIndexIDs.union(indexes.values.flatMap(\.values)) }

  /// Whether records, lists and hidden lists have the same places and meanings as with others.
  func storesAs(_ others: SchemaCodes) -> Bool {
    entities == others.entities && properties == others.properties && referrers == others.referrers
      && layouts == others.layouts && fills == others.fills
  }

  /// The same, with unchanged root entities: an entity that gets another root keeps its code.
  package static func storeAlike(
    _ codes: SchemaCodes, _ model: ManagedObjectModel, as others: SchemaCodes, _ other: ManagedObjectModel
  ) -> Bool {
    codes.storesAs(others)
      && model.entities.allSatisfy { entity in
        let same = other.entity(named: entity.name)
        return same?.superentityName == entity.superentityName && same?.isAbstract == entity.isAbstract
      }
  }

  /// Whether codes are unique, and none exceeds the last one: `assign` ensures that, and a file may violate it.
  var isConsistent: Bool {
    func areDistinct(_ codes: [UInt16], upTo last: UInt16) -> Bool {
      Set(codes).count == codes.count && codes.allSatisfy { $0 >= 1 && $0 <= last }
    }
    func flat(_ codes: [String: [String: UInt16]]) -> [UInt16] { codes.values.flatMap(\.values) }
    return lastEntity <= FormatLimits.maximumRootCode && areDistinct(Array(entities.values), upTo: lastEntity)
      && areDistinct(flat(properties) + flat(referrers), upTo: lastProperty)
      && areDistinct(flat(indexes) + flat(fetchIndexes ?? [:]), upTo: lastIndex)
      && areDistinct(Array(layouts.values), upTo: lastLayout) && (former?.isConsistent(with: self) ?? true)
  }

  /// Whether no ancestor declares the property: a redeclaration shares its code.
  func isFirst(_ property: String, _ entity: EntityDescription, _ model: ManagedObjectModel) -> Bool {
    SchemaInverse.declaringEntity(of: property, from: entity, in: model) == entity.name
  }

  private mutating func assignProperty(_ name: String, in entity: String) throws(StoreError) {
    guard properties[entity]?[name] == nil else { return }
    lastProperty = try next(lastProperty, limit: .max, what: "properties")
    properties[entity, default: [:]][name] = lastProperty
  }

  private func next(_ last: UInt16, limit: UInt16, what: String) throws(StoreError) -> UInt16 {
    guard last < limit else {
      throw StoreError(
        .limitExceeded,
        "a store assigns at most \(limit) codes to \(what), and all are used; dump it, and load the dump into a new store"
      )
    }
    return last + 1
  }
}

/// Codes of names that a store's model no longer has. They are still in keys and records, at least in preimages, and in
/// the history.
package struct FormerCodes: Codable, Hashable, Sendable {
  /// Name → code, for entities that were renamed or removed: URIs and users may contain these names.
  var entities: [String: UInt16] = [:]
  /// Code → name, for removed properties, and for hidden referrer lists.
  package var properties: [String: String] = [:]
  /// The codes of removed relationships with ordered lists.
  var orderedLists: [UInt16] = []
  /// Root code → number of the first model without it as a root.
  package var roots: [String: UInt64] = [:]

  /// Root codes that may still have tables.
  package var rootCodes: [UInt16] { roots.keys.compactMap { UInt16($0) }.sorted() }

  func isConsistent(with codes: SchemaCodes) -> Bool {
    let current = Set(codes.properties.values.flatMap(\.values)).union(codes.referrers.values.flatMap(\.values))
    return entities.values.allSatisfy { 1...max(1, codes.lastEntity) ~= $0 }
      && properties.keys.allSatisfy {
        UInt16($0).map { $0 >= 1 && $0 <= codes.lastProperty && !current.contains($0) } ?? false
      }
      && orderedLists.allSatisfy { $0 >= 1 && $0 <= codes.lastProperty }
      && roots.keys.allSatisfy { UInt16($0).map { $0 >= 1 && $0 <= codes.lastEntity } ?? false }
  }
}

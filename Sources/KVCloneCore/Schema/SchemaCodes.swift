package import KVCloneModel
import KVCloneRecords

/// The numbers that stand for names in keys and records. They are given once and never again to anything else, so a
/// renamed or removed property can never be mistaken for another one, in old records and snapshots either.
package struct SchemaCodes: Codable, Hashable, Sendable {
  /// The codes of a store without a model.
  package static let empty = SchemaCodes()

  /// Entity name → code. A root entity's code is in its objects' ids.
  package private(set) var entities: [String: UInt16] = [:]
  /// Declaring entity → property (or composite attribute's leaf as `composite.leaf`) → code.
  package private(set) var properties: [String: [String: UInt16]] = [:]
  /// Declaring entity → relationship without an inverse → code of the hidden list that remembers who refers to an object.
  package private(set) var referrers: [String: [String: UInt16]] = [:]
  /// Declaring entity → constraint's attributes with commas between → index id.
  package private(set) var indexes: [String: [String: UInt16]] = [:]
  /// Declaring entity → fetch index's definition → index id: exactly the indexes that have all of their entries. nil in a
  /// store that never had one.
  package private(set) var fetchIndexes: [String: [String: UInt16]]?
  /// Concrete entity → the layout that its records are written in.
  package private(set) var layouts: [String: UInt16] = [:]
  /// What earlier versions of the model had; nil in a store that was never migrated.
  package var former: FormerCodes?
  /// Property code → the value of objects whose records are older than the attribute: its default when it came, which the
  /// model may say otherwise by now. Those without one are nil in older records. nil where there is none.
  private(set) var fills: [String: AttributeValue]?
  package private(set) var lastEntity: UInt16 = 0
  private(set) var lastProperty: UInt16 = 0
  package private(set) var lastIndex: UInt16 = 0
  package private(set) var lastLayout: UInt16 = 0

  /// Gives a code to everything in `model` that has none yet.
  ///
  /// - Parameter givesLayouts: whether entities without a layout get a new one.
  /// - Throws: `limitExceeded` when a store has used up the 16 bits.
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

  /// Gives codes to the entities of `model` and their properties, and to nothing else.
  mutating func assignProperties(_ model: ManagedObjectModel) throws(StoreError) {
    for entity in model.entities { try assignProperties(of: entity, model) }
  }

  private mutating func assignProperties(of entity: EntityDescription, _ model: ManagedObjectModel) throws(StoreError) {
    if entities[entity.name] == nil {
      lastEntity = try next(lastEntity, limit: FormatLimits.maximumRootCode, what: "entities")
      entities[entity.name] = lastEntity
    }
    for attribute in entity.attributes where !attribute.isTransient && isFirst(attribute.name, entity, model) {
      // The resolved one: the declaration may give a composite by its name alone, without elements.
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

  /// The indexes that a next version has in common with this one.
  mutating func keepIndexes(_ indexes: [String: [String: UInt16]], fetchIndexes kept: [String: [String: UInt16]]) {
    self.indexes = indexes
    if fetchIndexes != nil || !kept.isEmpty { fetchIndexes = kept }
  }

  /// Has an entity's records written in a layout: one that the store knows, or the next new one.
  mutating func assignLayout(_ known: UInt16?, to entity: String) throws(StoreError) {
    if known == nil { lastLayout = try next(lastLayout, limit: .max, what: "record layouts") }
    layouts[entity] = known ?? lastLayout
  }

  /// Says what objects have in an attribute whose records are older than that.
  mutating func setFill(_ value: AttributeValue, ofProperty code: UInt16) {
    fills = (fills ?? [:]).merging([String(code): value]) { first, _ in first }
  }

  /// What objects have in an attribute whose records are older than that.
  func fill(ofProperty code: UInt16) -> AttributeValue? { fills?[String(code)] }

  /// Forgets the indexes that others have not, and have no entries any more.
  mutating func keepIndexes(of others: SchemaCodes) {
    let left = others.indexIDs
    fetchIndexes = fetchIndexes?.mapValues { $0.filter { left.contains($0.value) } }
    indexes = indexes.mapValues { $0.filter { left.contains($0.value) } }
  }

  /// Gives ids to the fetch indexes of `model`, and forgets those that it has not. An id that was forgotten is never given
  /// again, to an index of the same definition neither.
  ///
  /// - Parameter givesNew: whether indexes that have no id yet get one.
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

  /// The ids of all indexes, those of constraints included.
  package var indexIDs: Set<UInt16> { fetchIndexIDs.union(indexes.values.flatMap(\.values)) }

  /// Whether records, lists and hidden lists are where others have them, and mean the same.
  func storesAs(_ others: SchemaCodes) -> Bool {
    entities == others.entities && properties == others.properties && referrers == others.referrers
      && layouts == others.layouts && fills == others.fills
  }

  /// The same, with entities at the same places: an entity that comes under another root keeps its code.
  package static func storeAlike(
    _ codes: SchemaCodes, _ model: ManagedObjectModel, as others: SchemaCodes, _ other: ManagedObjectModel
  ) -> Bool {
    codes.storesAs(others)
      && model.entities.allSatisfy { entity in
        let same = other.entity(named: entity.name)
        return same?.superentityName == entity.superentityName && same?.isAbstract == entity.isAbstract
      }
  }

  /// Whether no code was given twice, and none beyond the last one: what `assign` keeps, and a file may not.
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

  /// Whether no super-entity has the property already: a redeclaration shares its code.
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

/// Codes that stand for something that a store's model has no more, or under another name. They are in keys and records still,
/// in those that snapshots keep at least, and in the history.
package struct FormerCodes: Codable, Hashable, Sendable {
  /// Name → code, of entities that were renamed or removed: what URIs and people may name.
  var entities: [String: UInt16] = [:]
  /// Code → name, of removed properties, and of hidden lists of referrers.
  package var properties: [String: String] = [:]
  /// Codes of removed relationships whose lists had an order.
  var orderedLists: [UInt16] = []
  /// Root code → number of the first model that did not have it as one any more.
  package var roots: [String: UInt64] = [:]

  /// Root codes that tables may be there for.
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

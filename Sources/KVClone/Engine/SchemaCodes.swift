import KVCloneModel
import KVCloneRecords

/// The numbers that stand for names in keys and records. They are given once and never again to anything else, so a
/// renamed or removed property can never be mistaken for another one, in old records and snapshots either.
struct SchemaCodes: Codable, Hashable, Sendable {
  /// Entity name → code. A root entity's code is in its objects' ids.
  private(set) var entities: [String: UInt16] = [:]
  /// Declaring entity → property (or composite attribute's leaf as `composite.leaf`) → code.
  private(set) var properties: [String: [String: UInt16]] = [:]
  /// Declaring entity → relationship without an inverse → code of the hidden list that remembers who refers to an object.
  private(set) var referrers: [String: [String: UInt16]] = [:]
  /// Declaring entity → constraint's attributes with commas between → index id.
  private(set) var indexes: [String: [String: UInt16]] = [:]
  /// Declaring entity → fetch index's definition → index id: exactly the indexes that have all of their entries. nil in a
  /// store that never had one.
  private(set) var fetchIndexes: [String: [String: UInt16]]?
  /// Concrete entity → the layout that its records are written in.
  private(set) var layouts: [String: UInt16] = [:]
  private(set) var lastEntity: UInt16 = 0
  private(set) var lastProperty: UInt16 = 0
  private(set) var lastIndex: UInt16 = 0
  private(set) var lastLayout: UInt16 = 0

  /// Gives a code to everything in `model` that has none yet.
  ///
  /// - Throws: `limitExceeded` when a store has used up the 16 bits.
  mutating func assign(_ model: ManagedObjectModel) throws(StoreError) {
    for entity in model.entities {
      if entities[entity.name] == nil {
        lastEntity = try next(lastEntity, limit: FormatLimits.maximumRootCode, what: "entities")
        entities[entity.name] = lastEntity
      }
      for attribute in entity.attributes
      where !attribute.isTransient && isFirst(attribute.name, entity, model) {
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
      for constraint in entity.uniquenessConstraints {
        let name = constraint.joined(separator: ",")
        guard indexes[entity.name]?[name] == nil else { continue }
        lastIndex = try next(lastIndex, limit: .max, what: "indexes")
        indexes[entity.name, default: [:]][name] = lastIndex
      }
      if !entity.isAbstract, layouts[entity.name] == nil {
        lastLayout = try next(lastLayout, limit: .max, what: "record layouts")
        layouts[entity.name] = lastLayout
      }
    }
  }

  /// Forgets the fetch indexes that others have not, and have no entries any more.
  mutating func keepFetchIndexes(of others: SchemaCodes) {
    let left = others.fetchIndexIDs
    fetchIndexes = fetchIndexes?.mapValues { $0.filter { left.contains($0.value) } }
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
  var fetchIndexIDs: Set<UInt16> { Set((fetchIndexes ?? [:]).values.flatMap(\.values)) }

  /// Whether no code was given twice, and none beyond the last one: what `assign` keeps, and a file may not.
  var isConsistent: Bool {
    func areDistinct(_ codes: [UInt16], upTo last: UInt16) -> Bool {
      Set(codes).count == codes.count && codes.allSatisfy { $0 >= 1 && $0 <= last }
    }
    func flat(_ codes: [String: [String: UInt16]]) -> [UInt16] { codes.values.flatMap(\.values) }
    return lastEntity <= FormatLimits.maximumRootCode && areDistinct(Array(entities.values), upTo: lastEntity)
      && areDistinct(flat(properties) + flat(referrers), upTo: lastProperty)
      && areDistinct(flat(indexes) + flat(fetchIndexes ?? [:]), upTo: lastIndex)
      && areDistinct(Array(layouts.values), upTo: lastLayout)
  }

  /// Whether no super-entity has the property already: a redeclaration shares its code.
  private func isFirst(_ property: String, _ entity: EntityDescription, _ model: ManagedObjectModel) -> Bool {
    SchemaInverse.declaringEntity(of: property, from: entity, in: model) == entity.name
  }

  private mutating func assignProperty(_ name: String, in entity: String) throws(StoreError) {
    guard properties[entity]?[name] == nil else { return }
    lastProperty = try next(lastProperty, limit: .max, what: "properties")
    properties[entity, default: [:]][name] = lastProperty
  }

  private func next(_ last: UInt16, limit: UInt16, what: String) throws(StoreError) -> UInt16 {
    guard last < limit else {
      throw StoreError(.limitExceeded, "a store numbers at most \(limit) \(what) in its life, and these are used up")
    }
    return last + 1
  }
}

package import KVCloneModel
package import KVCloneRecords

/// A stored value of an entity's objects: a plain attribute, or one element of a composite attribute (R21).
///
/// A class, like all types here that contain a description: what is used for every object must not copy strings.
package final class CompiledAttribute: Sendable {
  /// The attribute's name, or `composite.leaf`.
  package let path: String
  /// The element's own description: its type, default, bounds and userInfo.
  package let description: AttributeDescription
  /// The field of the record layout; nil for transient attributes, which are not stored.
  package let field: Int?
  /// The property code; 0 for transient attributes.
  package let code: UInt16
  /// Whether the store computes it.
  package let isDerived: Bool
  /// Whether a commit has to validate it. Derived attributes are never validated.
  package let isValidated: Bool
  /// The value of objects with records older than the attribute.
  package let fill: AttributeValue?

  init(path: String, description: AttributeDescription, field: Int?, code: UInt16, fill: AttributeValue? = nil) {
    self.fill = fill
    isDerived = description.isDerived
    isValidated =
      field != nil && !description.isDerived
      && (!description.isOptional || description.minValue != nil || description.maxValue != nil
        || description.regularExpression != nil)
    self.path = path
    self.description = description
    self.field = field
    self.code = code
  }

  /// The paths of an attribute's stored elements: itself, or a composite's elements, depth first.
  static func leafPaths(of attribute: AttributeDescription) -> [String] {
    leaves(of: attribute).map(\.path)
  }

  /// The elements with their paths.
  package static func leaves(of attribute: AttributeDescription, prefix: String = "")
    -> [(path: String, description: AttributeDescription)]
  {
    let path = prefix + attribute.name
    guard attribute.type == .composite else { return [(path, attribute)] }
    return attribute.elements.flatMap { leaves(of: $0, prefix: path + ".") }
  }
}

/// A relationship of one concrete entity's objects.
package final class CompiledRelationship: Sendable {
  package let name: String
  package let description: RelationshipDescription
  /// The entity that declares it, for rules written `Entity.relationship`.
  package let declaringEntity: String
  package let code: UInt16
  package let field: Int
  package let destinationCode: UInt16
  package let destinationRootCode: UInt16
  package let isToMany: Bool
  package let isOrdered: Bool
  /// The code of the inverse relationship; of the hidden referrer list if the model has no inverse.
  package let inverseCode: UInt16
  package let hasInverse: Bool
  /// Whether the inverse is an ordered to-many relationship.
  package let inverseIsOrdered: Bool
  package let inverseIsToMany: Bool
  /// Whether the inverse side of a new object can be deferred: only a list changes, and the object is added at its end.
  let inverseMayWait: Bool
  /// Whether a commit has to validate it.
  package let isValidated: Bool

  init(
    description: RelationshipDescription, declaringEntity: String, code: UInt16, field: Int, destinationCode: UInt16,
    destinationRootCode: UInt16, inverseCode: UInt16, inverse: RelationshipDescription?
  ) {
    name = description.name
    self.description = description
    self.declaringEntity = declaringEntity
    self.code = code
    self.field = field
    self.destinationCode = destinationCode
    self.destinationRootCode = destinationRootCode
    self.inverseCode = inverseCode
    isToMany = description.isToMany
    isOrdered = description.isToMany && description.isOrdered
    hasInverse = inverse != nil
    inverseIsToMany = inverse?.isToMany ?? true
    inverseIsOrdered = inverse.map { $0.isToMany && $0.isOrdered } ?? false
    inverseMayWait = inverseIsToMany && !inverseIsOrdered
    isValidated = isToMany ? description.minCount > 0 || description.maxCount > 0 : !description.isOptional
  }
}

/// A uniqueness constraint with its index.
package struct CompiledConstraint: Sendable {
  package let indexID: UInt16
  /// The constraint's attributes, separated by commas.
  package let name: String
  /// Indexes into `CompiledEntity.attributes`, or of to-one relationships.
  package let columns: [Column]

  package enum Column: Sendable {
    case attribute(Int)
    case toOne(Int)
  }
}

/// The compiled description of one entity, for reading and writing its objects.
package final class CompiledEntity: Sendable {
  package let name: String
  package let code: UInt16
  package let rootCode: UInt16
  package let isAbstract: Bool
  package let layout: RecordLayout
  /// The table of this entity and its subentities.
  package let table: StorageTable
  package let attributes: [CompiledAttribute]
  package let attributeIndex: [String: Int]
  private let attributePlaces: NameTable
  /// The default values of a new object's attributes.
  let defaults: [(attribute: CompiledAttribute, value: AttributeValue)]
  /// The fields of attributes in ``layout``; -1 for unstored ones.
  let attributeFields: NameTable
  /// The descriptions of composite attributes by name.
  package let composites: [String: AttributeDescription]
  /// Names in the model's order, with each composite once.
  package let attributeNames: [String]
  package let relationships: [CompiledRelationship]
  package let relationshipIndex: [String: Int]
  private let relationshipPlaces: NameTable
  package let relationshipIndexByCode: [UInt16: Int]
  package let constraints: [CompiledConstraint]
  package let fetchIndexes: [CompiledFetchIndex]
  package let requestIndexes: RequestIndexes
  /// The codes of all indexed attributes and to-one relationships.
  package let indexedCodes: Set<UInt16>
  /// The codes of those in uniqueness constraints.
  let uniqueCodes: Set<UInt16>
  /// The codes of the entity and its ancestors.
  package let lineage: Set<UInt16>
  /// The codes of the entity and its descendants that can have objects.
  package let concreteCodes: Set<UInt16>
  /// The attributes with values that are preserved in a deleted object's history.
  let preservedNames: [String]
  /// Whether a commit has to validate objects of exactly this entity.
  package let isValidated: Bool
  /// The hidden lists of objects of this entity: for relationships without an inverse that can lead to them.
  package let referrerCodes: [UInt16]

  /// Whether a uniqueness constraint contains a derived attribute.
  package var hasDerivedConstraint: Bool {
    !uniqueCodes.isEmpty && attributes.contains { $0.description.isDerived && uniqueCodes.contains($0.code) }
  }

  init(
    name: String, code: UInt16, rootCode: UInt16, isAbstract: Bool, layout: RecordLayout, table: StorageTable,
    attributes: [CompiledAttribute], composites: [String: AttributeDescription], attributeNames: [String],
    relationships: [CompiledRelationship], constraints: [CompiledConstraint],
    fetchIndexes: [CompiledFetchIndex], lineage: Set<UInt16>, concreteCodes: Set<UInt16>, referrerCodes: [UInt16]
  ) {
    self.name = name
    self.code = code
    self.rootCode = rootCode
    self.isAbstract = isAbstract
    self.layout = layout
    self.table = table
    self.attributes = attributes
    attributeIndex = Dictionary(
      attributes.enumerated().map { ($0.element.path, $0.offset) }, uniquingKeysWith: { first, _ in first })
    attributePlaces = NameTable(attributes.enumerated().map { (name: $0.element.path, number: $0.offset) })
    defaults = attributes.compactMap { attribute in
      attribute.isDerived ? nil : attribute.description.defaultValue.map { (attribute, $0) }
    }
    attributeFields = NameTable(attributes.map { (name: $0.path, number: $0.field ?? -1) })
    self.composites = composites
    self.attributeNames = attributeNames
    self.relationships = relationships
    relationshipIndex = Dictionary(
      relationships.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
    relationshipPlaces = NameTable(relationships.enumerated().map { (name: $0.element.name, number: $0.offset) })
    relationshipIndexByCode = Dictionary(
      relationships.enumerated().map { ($0.element.code, $0.offset) }, uniquingKeysWith: { first, _ in first })
    self.constraints = constraints
    self.fetchIndexes = fetchIndexes
    requestIndexes = RequestIndexes(constraints, fetchIndexes, attributes, relationships)
    uniqueCodes = Set(
      constraints.flatMap(\.columns).map { column in
        switch column {
        case .attribute(let index): attributes[index].code
        case .toOne(let index): relationships[index].code
        }
      })
    indexedCodes = uniqueCodes.union(fetchIndexes.flatMap(\.columns).map(\.code))
    self.lineage = lineage
    self.concreteCodes = concreteCodes
    self.referrerCodes = referrerCodes
    isValidated =
      !constraints.isEmpty || attributes.contains(where: \.isValidated) || relationships.contains(where: \.isValidated)
      || composites.values.contains { !$0.isOptional }
    preservedNames = attributeNames.filter { name in
      let leaf = attributes.first { $0.path == name && $0.field != nil }?.description
      return (leaf ?? composites[name])?.preservesValueInHistoryOnDeletion ?? false
    }
  }

  /// Whether objects of this entity also belong to the entity with `code`.
  package func isKind(of code: UInt16) -> Bool { code == self.code || lineage.contains(code) }

  /// The stored attribute called `name`; nil also if the name is found only in the dictionary.
  package func storedAttribute(_ name: String) -> CompiledAttribute? {
    guard let place = attributePlaces[name], attributes[place].field != nil else { return nil }
    return attributes[place]
  }

  /// The relationship called `name`.
  package func relationship(_ name: String) throws(StoreError) -> CompiledRelationship {
    guard let index = relationshipPlaces[name] ?? relationshipIndex[name] else {
      throw StoreError(
        .unknownProperty, "\(self.name) has no stored relationship \(name); check the spelling", entity: self.name,
        property: name)
    }
    return relationships[index]
  }

  /// The inverse of `relationship`, for a target of this entity; nil for hidden referrers.
  package func inverse(of relationship: CompiledRelationship) -> CompiledRelationship? {
    guard relationship.hasInverse, let index = relationshipIndexByCode[relationship.inverseCode] else { return nil }
    return relationships[index]
  }
}

extension CompiledEntity {
  package func wantedCodes(includesSubentities: Bool) -> Set<UInt16> {
    includesSubentities ? concreteCodes : isAbstract ? [] : [code]
  }
}

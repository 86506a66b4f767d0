package import KVCloneModel

/// The migration of one concrete entity's records, if reading them with the new layout is not enough.
package struct RecordMigration {
  /// A change of each record.
  package enum Step {
    /// Converts the value of one field to another type, or moves it.
    case convert(from: UInt16, to: UInt16, AttributeConversion, path: String)
    /// Sets a value if the field is nil.
    case fill(UInt16, AttributeValue)
    /// Sets the default of new objects in a field that the entity's older records lack, or have with outdated values:
    /// other entities had the attribute before.
    case renew(UInt16, AttributeValue?)
    /// Sets a new element, or one that may no longer be nil, in composites with another non-nil element: a composite
    /// that is nil stays nil.
    case complete(UInt16, AttributeValue, siblings: [UInt16])
    /// Clears the members in a field of the same kind.
    case clear(CompiledRelationship)
    /// Moves the members of a list, or the target of a to-one relationship, to another relationship.
    case move(from: UInt16, wasToMany: Bool, to: CompiledRelationship)
  }

  package let entity: CompiledEntity
  package let steps: [Step]
  /// Relationships with members that the inverse side lacks.
  package let oneSided: [CompiledRelationship]
  /// The values of attributes that records are older than, by code in the source.
  package let fills: [UInt16: AttributeValue]

  package var isNothing: Bool { steps.isEmpty && oneSided.isEmpty }

  /// Whether all changes are within one record: later changes can be applied to the result before it is stored.
  package var isAboutRecords: Bool {
    oneSided.isEmpty
      && steps.allSatisfy { step in
        switch step {
        case .convert, .fill, .renew, .complete: true
        case .clear, .move: false
        }
      }
  }

  /// Only converts to the entity's current layout.
  package init(layoutOf entity: CompiledEntity) {
    self.entity = entity
    steps = []
    oneSided = []
    fills = [:]
  }

  /// - Parameter entity: of the destination.
  package init(_ entity: CompiledEntity, _ matching: ModelMatching, old: SchemaCodes) {
    self.entity = entity
    var steps: [Step] = []
    var oneSided: [CompiledRelationship] = []
    var fills: [UInt16: AttributeValue] = [:]
    let known = Set(old.properties.values.flatMap(\.values))
    for attribute in entity.attributes where attribute.field != nil && !attribute.isDerived {
      let top = attribute.path.split(separator: ".").first.map(String.init) ?? attribute.path
      guard let former = matching.formerLeaf(attribute.path, top, of: entity.name),
        let code = old.properties[former.declaringEntity]?[former.path]
      else {
        if let siblings = Self.siblings(of: attribute, in: entity), let value = attribute.description.defaultValue {
          if known.contains(attribute.code) { steps.append(.renew(attribute.code, nil)) }
          steps.append(.complete(attribute.code, value, siblings: siblings))
          continue
        }
        // A subentity can redeclare the attribute with a default other than that of older records, which are then
        // rewritten.
        if known.contains(attribute.code) || attribute.fill != attribute.description.defaultValue {
          steps.append(.renew(attribute.code, attribute.description.defaultValue))
        }
        continue
      }
      if code != attribute.code,
        let conversion = AttributeConversion(from: former.description.type, to: attribute.description.type)
      {
        steps.append(.convert(from: code, to: attribute.code, conversion, path: attribute.path))
        fills[code] = old.fill(ofProperty: code)
      }
      if former.description.isOptional, !attribute.description.isOptional,
        let value = attribute.description.defaultValue
      {
        if let siblings = Self.siblings(of: attribute, in: entity) {
          steps.append(.complete(attribute.code, value, siblings: siblings))
        } else {
          steps.append(.fill(attribute.code, value))
        }
      }
    }
    for relationship in entity.relationships {
      guard let former = matching.relationship(relationship.name, of: entity.name), !former.isTransient,
        let declaring = matching.formerDeclaringEntity(of: former.name, below: entity.name),
        let code = old.properties[declaring]?[former.name]
      else {
        if known.contains(relationship.code) { steps.append(.clear(relationship)) }
        continue
      }
      if code != relationship.code {
        steps.append(.move(from: code, wasToMany: former.isToMany, to: relationship))
      }
      if !Self.isKnownToOtherSide(relationship, former, declaring, entity, matching, old) {
        oneSided.append(relationship)
      }
    }
    self.steps = steps
    self.oneSided = oneSided
    self.fills = fills
  }

  /// The other elements of an attribute's composite; nil for plain attributes.
  private static func siblings(of attribute: CompiledAttribute, in entity: CompiledEntity) -> [UInt16]? {
    guard let dot = attribute.path.firstIndex(of: ".") else { return nil }
    let prefix = attribute.path[...dot]
    return entity.attributes.filter { $0.field != nil && $0.path != attribute.path && $0.path.hasPrefix(prefix) }
      .map(\.code)
  }

  /// Whether the inverse side already has the members' links: its relationship is unchanged, or the same hidden lists.
  private static func isKnownToOtherSide(
    _ relationship: CompiledRelationship, _ former: RelationshipDescription, _ declaring: String,
    _ entity: CompiledEntity, _ matching: ModelMatching, _ old: SchemaCodes
  ) -> Bool {
    let before = SchemaInverse.inverse(of: former, declaredIn: declaring, in: matching.source)
    guard relationship.hasInverse,
      let after = SchemaInverse.inverse(
        of: relationship.description, declaredIn: relationship.declaringEntity, in: matching.destination)
    else {
      return before == nil && old.referrers[declaring]?[former.name] == relationship.inverseCode
    }
    guard let before else { return false }
    // An ancestor of all former entities may declare the inverse.
    let candidates = [after.entity] + matching.destination.subentities(of: after.entity)
    return candidates.contains {
      matching.relationship(after.relationship.name, of: $0)?.name == before.relationship.name
    }
  }
}

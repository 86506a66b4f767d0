import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// Chooses a value to remove from an object with duplicate values.
enum Surrender {
  case value(CompiledAttribute)
  case link(CompiledRelationship, ObjectID)

  /// The first of the values that is the object's own, else a source of the first derived one.
  static func find(
    _ session: borrowing Session, _ id: ObjectID, _ entity: CompiledEntity, _ constraint: CompiledConstraint
  ) throws(StoreError) -> Surrender? {
    for column in constraint.columns {
      switch column {
      case .attribute(let index):
        if !entity.attributes[index].isDerived { return .value(entity.attributes[index]) }
      case .toOne(let index):
        let relationship = entity.relationships[index]
        if let target = try session.toOne(id, relationship) { return .link(relationship, target) }
      }
    }
    for case .attribute(let index) in constraint.columns {
      if let source = try source(of: entity.attributes[index], session, id, entity) { return source }
    }
    return nil
  }

  /// A source of a derived attribute in the object itself; nil if the object has none, or if the source is the members
  /// of a list: without them the value could be equal to others.
  private static func source(
    of attribute: CompiledAttribute, _ session: borrowing Session, _ id: ObjectID, _ entity: CompiledEntity
  ) throws(StoreError) -> Surrender? {
    var attribute = attribute
    // A derived attribute may have derived sources, but not itself.
    while attribute.isDerived {
      let own = session.schema.derivations.entity(entity.code)?.own.first { $0.attribute.code == attribute.code }
      guard let derivation = own?.derivation else { return nil }
      if let hop = derivation.hops.first {
        guard !hop.isToMany, let index = entity.relationshipIndexByCode[hop.code],
          let target = try session.toOne(id, entity.relationships[index])
        else { return nil }
        return .link(entity.relationships[index], target)
      }
      guard let source = derivation.source, let known = entity.attributes.first(where: { $0.code == source.code })
      else { return nil }
      attribute = known
    }
    let view = try session.existingRecord(id)
    guard let preset = attribute.field, let field = entity.field(preset, code: attribute.code, in: view),
      !view.isNull(field)
    else { return nil }
    return .value(attribute)
  }
}

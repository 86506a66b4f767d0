import KVClone

/// The properties of entities as rows.
enum ModelTable {
  static func properties(of entities: [String], _ model: ManagedObjectModel) -> PageTable {
    var rows: [[String?]] = []
    for entity in entities {
      for attribute in model.attributes(of: entity) {
        rows.append([
          entity, attribute.name, "attribute", attribute.type.rawValue, attribute.isOptional ? "true" : "false",
          attribute.defaultValue.map(ValueText.describe), attribute.derivationExpression, nil, nil, nil,
          CloneTreatment(of: attribute).reason,
        ])
      }
      for relationship in model.relationships(of: entity) {
        rows.append([
          entity, relationship.name, "relationship", relationship.destinationEntityName,
          relationship.isOptional ? "true" : "false", nil, nil, relationship.cardinality, relationship.inverseName,
          relationship.deleteRule.rawValue, CloneTreatment(of: relationship, in: entity, model).reason,
        ])
      }
    }
    return PageTable(
      columns: [
        "entity", "property", "kind", "type", "optional", "default", "derivation", "cardinality", "inverse",
        "deleteRule", "clone",
      ], rows: rows)
  }
}

extension ManagedObjectModel {
  /// Returns warnings about shipping this version after another one: data that would be lost because a renaming
  /// identifier is missing, and changes for which no migration can be inferred.
  ///
  /// - Parameters:
  ///   - previous: The version that existing stores have.
  ///   - versions: Other versions of the model, used to resolve renaming identifiers.
  public func versionWarnings(
    since previous: ManagedObjectModel, through versions: [ManagedObjectModel] = []
  ) -> [ModelWarning] {
    let difference = ModelDifference(from: previous, to: self, through: versions)
    let matching = ModelMatching(from: previous, to: self, through: versions)
    var warnings =
      difference.warnings + lostEntities(difference, previous) + lostProperties(difference, previous, matching)
    for refusal in difference.refusals {
      warnings.append(
        ModelWarning(
          .mappingRequired, entity: refusal.entity, property: refusal.property,
          message: "no migration from \(previous.versionIdentifier) can be inferred for stores with affected objects: "
            + "\(refusal.aspect ?? refusal.kind.rawValue)\(refusal.old.map { " \($0)" } ?? "")\(refusal.new.map { " → \($0)" } ?? ""), "
            + "\(refusal.work.reason ?? ""); alternatively, provide a mapping model, or a stage with an intermediate version"
        ))
    }
    return warnings
  }

  /// Warnings about added entities that look like removed ones.
  private func lostEntities(_ difference: ModelDifference, _ previous: ManagedObjectModel) -> [ModelWarning] {
    let removed = difference.changes.filter { $0.kind == .removed && $0.property == nil }.map(\.entity)
    var warnings: [ModelWarning] = []
    for added in difference.changes where added.kind == .added && added.property == nil {
      let names = propertyNames(of: added.entity)
      // At least half of the properties, to exclude coincidences.
      let former = removed.map { ($0, previous.propertyNames(of: $0)) }
        .filter { 2 * $0.1.intersection(names).count >= max(2, max($0.1.count, names.count)) }
        .max { $0.1.intersection(names).count < $1.1.intersection(names).count }
      guard let former = former?.0 else { continue }
      warnings.append(
        ModelWarning(
          .unidentifiedRename, entity: added.entity,
          message:
            "is treated as a new entity, and the objects of \(former) in \(previous.versionIdentifier) are deleted; if \(former) was "
            + "renamed, set the renaming identifier to '\(former)'"))
    }
    return warnings
  }

  /// Warnings about added properties that may be the only removed one of their kind.
  private func lostProperties(
    _ difference: ModelDifference, _ previous: ManagedObjectModel, _ matching: ModelMatching
  ) -> [ModelWarning] {
    var warnings: [ModelWarning] = []
    for (entity, changes) in Dictionary(grouping: difference.changes, by: \.entity).sorted(by: { $0.key < $1.key }) {
      guard let earlier = matching.entities[entity] else { continue }
      let added = changes.filter { $0.kind == .added }.compactMap(\.property)
      // A removed property is reported under the entity's earlier name, or under that of the ancestor that declared it.
      let removed =
        matching.removedAttributes(of: earlier).map { ($0.name, $0.type.rawValue) }
        + matching.removedRelationships(of: earlier).map { ($0.name, "relationship \($0.destinationEntityName)") }
      for name in added {
        let form =
          attribute(name, of: entity)?.type.rawValue
          ?? relationship(name, of: entity).map {
            "relationship \(matching.entities[$0.destinationEntityName] ?? $0.destinationEntityName)"
          }
        let likely = removed.filter { $0.1 == form }
        let rivals = added.filter { attribute($0, of: entity)?.type.rawValue == form }
        guard let former = likely.first?.0, likely.count == 1, rivals.count <= 1 else { continue }
        warnings.append(
          ModelWarning(
            .unidentifiedRename, entity: entity, property: name,
            message:
              "is treated as a new property, and the values of \(former) are lost; if \(former) was renamed, set the "
              + "renaming identifier to '\(former)'"))
      }
    }
    return warnings
  }

  private func propertyNames(of entity: String) -> Set<String> {
    Set(attributes(of: entity).map(\.name) + relationships(of: entity).map(\.name))
  }
}

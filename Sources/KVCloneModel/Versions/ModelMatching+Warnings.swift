extension ModelMatching {
  /// Warns of renaming identifiers of the destination that match nothing in the source: the data is lost, or matched by
  /// name only.
  ///
  /// An entity without a match has one warning, and none for its properties.
  func renamingWarnings() -> [ModelWarning] {
    var warnings: [ModelWarning] = []
    for entity in destination.entities {
      if let identifier = entity.renamingIdentifier, identifier != entity.name {
        let former = entities[entity.name].flatMap { source.entity(named: $0) }
        if isUnmatched(identifier, entity.name, former.map { ($0.name, $0.renamingIdentifier) }) {
          warnings.append(warning(identifier, entity.name, nil, isNew: former == nil))
        }
      }
      guard entities[entity.name] != nil else { continue }
      for attribute in entity.attributes {
        guard let identifier = attribute.renamingIdentifier, identifier != attribute.name else { continue }
        let former = self.attribute(attribute.name, of: entity.name)
        if isUnmatched(identifier, attribute.name, former.map { ($0.name, $0.renamingIdentifier) }) {
          warnings.append(warning(identifier, entity.name, attribute.name, isNew: former == nil))
        }
      }
      for relationship in entity.relationships {
        guard let identifier = relationship.renamingIdentifier, identifier != relationship.name,
          !leadsToRemoved(identifier, relationship.name, entity.name)
        else { continue }
        let former = self.relationship(relationship.name, of: entity.name)
        if isUnmatched(identifier, relationship.name, former.map { ($0.name, $0.renamingIdentifier) }) {
          warnings.append(warning(identifier, entity.name, relationship.name, isNew: former == nil))
        }
      }
    }
    return warnings
  }

  /// Whether an identifier matched nothing: there is no match, or one by the same name alone.
  private func isUnmatched(_ identifier: String, _ name: String, _ former: (name: String, identifier: String?)?) -> Bool
  {
    guard let former else { return true }
    return former.name == name && former.identifier != identifier
  }

  /// Whether the source has the relationship that an identifier names, and the links are removed with all of their
  /// targets.
  private func leadsToRemoved(_ identifier: String, _ name: String, _ entity: String) -> Bool {
    guard relationship(name, of: entity) == nil, let earlier = entities[entity] else { return false }
    return source.relationships(of: earlier).contains { $0.name == identifier || $0.renamingIdentifier == identifier }
  }

  private func warning(_ identifier: String, _ entity: String, _ property: String?, isNew: Bool) -> ModelWarning {
    let outcome =
      isNew
      ? "and it is a new \(property == nil ? "entity without objects" : "property without values"); correct the identifier, or add the "
        + "version that contains '\(identifier)'"
      : "and it is matched by its name; correct or remove the identifier"
    return ModelWarning(
      .unmatchedRenamingIdentifier, entity: entity, property: property,
      message:
        "the renaming identifier '\(identifier)' matches nothing in \(source.versionIdentifier) or through other versions, "
        + outcome)
  }
}

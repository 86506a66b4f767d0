import KVCloneModel

extension Schema {
  /// Checks that this version of the model can read objects of an earlier one, with all properties.
  ///
  /// - Throws: `incompatibleModel` if a migration has since changed the stored form of something, which would be
  ///   missing.
  package func requireReading(_ past: Schema, of snapshot: String) throws(StoreError) {
    if past.catalogNumber == catalogNumber { return }
    let matching = ModelMatching(from: past.model, to: model)
    for entity in entities where !entity.isAbstract {
      try requireKnownNames(entity, past, matching, snapshot)
      guard let former = matching.entities[entity.name] else { continue }
      guard past.model.rootEntity(of: former).flatMap({ past.codes.entities[$0] }) == entity.rootCode else {
        throw Self.storedOtherwise("changed the ids of \(entity.name) objects", snapshot, entity.name, nil)
      }
      for step in RecordMigration(entity, matching, old: past.codes).steps {
        switch step {
        case .convert(_, _, _, let path):
          throw Self.storedOtherwise("changed the storage of \(entity.name).\(path)", snapshot, entity.name, path)
        case .move(_, _, let relationship):
          let name = relationship.name
          throw Self.storedOtherwise("changed the storage of \(entity.name).\(name)", snapshot, entity.name, name)
        case .fill, .complete, .renew, .clear: continue
        }
      }
    }
  }

  /// Rejects properties that may have been renamed and converted since: renaming identifiers that lead through versions
  /// which the store never had cannot be followed here, so a converted value would appear as a new one, and be missing.
  private func requireKnownNames(
    _ entity: CompiledEntity, _ past: Schema, _ matching: ModelMatching, _ snapshot: String
  ) throws(StoreError) {
    guard let former = past.entity(code: entity.code) else { return }
    let isRenamed = matching.entities[entity.name] == nil
    if isRenamed, former.rootCode != entity.rootCode {
      throw Self.storedOtherwise("changed the ids of \(entity.name) objects", snapshot, entity.name, nil)
    }
    func isOpen(_ identifier: String?) -> Bool { isRenamed || identifier != nil }
    let known = Set(former.attributes.map(\.code) + former.relationships.map(\.code))
    let current = Set(entity.attributes.map(\.code) + entity.relationships.map(\.code))
    let lostAttributes = former.attributes.filter { $0.field != nil && !$0.isDerived && !current.contains($0.code) }
    for attribute in entity.attributes
    where attribute.field != nil && !attribute.isDerived && !known.contains(attribute.code) {
      let type = attribute.description.type
      guard isOpen(attribute.description.renamingIdentifier),
        matching.attribute(attribute.path, of: entity.name) == nil,
        lostAttributes.contains(where: { AttributeConversion(from: $0.description.type, to: type) != nil })
      else { continue }
      throw Self.storedOtherwise(
        "may have changed the storage of \(entity.name).\(attribute.path)", snapshot, entity.name, attribute.path)
    }
    let losesRelationship = former.relationships.contains { !current.contains($0.code) }
    for relationship in entity.relationships where losesRelationship && !known.contains(relationship.code) {
      guard isOpen(relationship.description.renamingIdentifier),
        matching.relationship(relationship.name, of: entity.name) == nil
      else { continue }
      throw Self.storedOtherwise(
        "may have changed the storage of \(entity.name).\(relationship.name)", snapshot, entity.name, relationship.name)
    }
  }

  private static func storedOtherwise(
    _ what: String, _ snapshot: String, _ entity: String, _ property: String?
  ) -> StoreError {
    StoreError(
      .incompatibleModel,
      "a migration after the snapshot \(snapshot) \(what); dump the snapshot, load the dump into a new store, migrate "
        + "that store, and clone from it", entity: entity, property: property)
  }
}

import KVCloneModel

extension Schema {
  /// Sees that objects that were stored by an earlier version of the model can be read by this one, with all that this one knows.
  ///
  /// - Throws: `incompatibleModel` where a migration stores something otherwise since, which would be missing.
  func requireReading(_ past: Schema, of snapshot: String) throws(StoreError) {
    if past.catalogNumber == catalogNumber { return }
    let matching = ModelMatching(from: past.model, to: model)
    for entity in entities where !entity.isAbstract {
      guard let former = matching.entities[entity.name] else { continue }
      guard past.model.rootEntity(of: former).flatMap({ past.codes.entities[$0] }) == entity.rootCode else {
        throw Self.storedOtherwise("objects of \(entity.name) have other ids", snapshot, entity.name, nil)
      }
      for step in RecordMigration(entity, matching, old: past.codes).steps {
        switch step {
        case .convert(_, _, _, let path):
          throw Self.storedOtherwise("\(entity.name).\(path) is stored otherwise", snapshot, entity.name, path)
        case .move(_, _, let relationship):
          let name = relationship.name
          throw Self.storedOtherwise("\(entity.name).\(name) is stored otherwise", snapshot, entity.name, name)
        case .fill, .complete, .renew, .clear: continue
        }
      }
    }
  }

  private static func storedOtherwise(
    _ what: String, _ snapshot: String, _ entity: String, _ property: String?
  ) -> StoreError {
    StoreError(
      .incompatibleModel,
      "the store was migrated since the snapshot \(snapshot) was made, and \(what) since; dump the snapshot and load that into a new "
        + "store, migrate it, and clone from there", entity: entity, property: property)
  }
}

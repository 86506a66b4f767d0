import KVCloneModel

extension ManagedObjectModel {
  /// How many entities an error lists.
  private static let listedEntityCount = 12

  /// The error for a name that is no entity of the model, with the names that are.
  package func unknownEntity(_ name: String) -> StoreError {
    let names = entities.map(\.name).sorted()
    let listed = names.prefix(Self.listedEntityCount).joined(separator: ", ")
    let rest = names.count - Self.listedEntityCount
    return StoreError(
      .unknownEntity, "the model has no entity \(name); it has \(listed)\(rest > 0 ? " and \(rest) more" : "")",
      entity: name)
  }
}

extension StoreError {
  /// Kinds whose messages are about names and types of the model.
  private static let kindsOfModel: Set<Kind> = [
    .unknownEntity, .abstractEntity, .unknownProperty, .wrongType, .outOfRange, .wrongDestination, .invalidPredicate,
  ]

  /// The same error, naming the snapshot and the version of the model by which it is read, which is not the store's own.
  func naming(_ snapshot: SnapshotInfo, model: ManagedObjectModel, present: ManagedObjectModel) -> StoreError {
    if !Self.kindsOfModel.contains(kind) { return self }
    return StoreError(
      kind,
      """
      the snapshot \(snapshot.name) uses its own model, version “\(model.versionIdentifier)” (the store now has \
      “\(present.versionIdentifier)”): \(message)
      """, entity: entity, property: property, object: object, underlyingError: underlyingError)
  }
}

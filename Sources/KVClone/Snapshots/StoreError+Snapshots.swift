import KVCloneCore
import KVCloneModel

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

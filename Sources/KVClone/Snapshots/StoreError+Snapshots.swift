import KVCloneCore
import KVCloneModel

extension StoreError {
  /// The kinds of errors with messages that contain names and types of the model.
  private static let kindsOfModel: Set<Kind> = [
    .unknownEntity, .abstractEntity, .unknownProperty, .wrongType, .outOfRange, .wrongDestination, .invalidPredicate,
  ]

  /// Adds the names of the snapshot and of its model version to the error, if that is not the store's own version.
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

package import KVCloneModel

extension ManagedObjectModel {
  /// The maximum number of entities in an error.
  private static let listedEntityCount = 12

  /// The error for an unknown entity name, with the known names.
  package func unknownEntity(_ name: String) -> StoreError {
    let names = entities.map(\.name).sorted()
    let listed = names.prefix(Self.listedEntityCount).joined(separator: ", ")
    let rest = names.count - Self.listedEntityCount
    return StoreError(
      .unknownEntity, "the model has no entity \(name); it has \(listed)\(rest > 0 ? " and \(rest) more" : "")",
      entity: name)
  }
}

package import KVCloneModel

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

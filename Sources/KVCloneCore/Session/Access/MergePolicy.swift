/// The resolution of conflicts between two versions of an object, with the policy names of Core Data.
///
/// An ``EditingContext`` applies it if a changed object was also changed in the store after the context read it. A
/// write transaction applies it if two objects have the same values under a uniqueness constraint.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
  /// Saves nothing and throws ``MergeConflictError`` with every conflict, or ``ValidationError`` for uniqueness
  /// constraints.
  case error
  /// Merges property by property. If both sides have changed a property, the value of the store wins.
  case mergeByPropertyStoreTrump
  /// Merges property by property. If both sides have changed a property, the value of the context wins.
  case mergeByPropertyObjectTrump
  /// Overwrites the stored object with the version of the context, in every attribute and to-one relationship.
  case overwrite
  /// Keeps the stored object and discards the context's changes of it.
  case rollback
}

/// What a commit does with two versions of one object, named as in Core Data: an ``EditingContext`` asks when it saves an
/// object that somebody else has changed since it was read, and a write transaction when two objects have the same values
/// under a uniqueness constraint.
public enum MergePolicy: Sendable, Hashable, CaseIterable {
  /// Saves nothing, and throws ``MergeConflictError`` with every conflict, or ``ValidationError`` where it is about uniqueness.
  case error
  /// Property by property: what only one side has changed is kept, and of what both have changed, the store's.
  case mergeByPropertyStoreTrump
  /// Property by property: what only one side has changed is kept, and of what both have changed, the context's.
  case mergeByPropertyObjectTrump
  /// The object becomes what the context has, in every attribute and to-one relationship.
  case overwrite
  /// The object stays as the store has it; the context's changes of it are given up.
  case rollback
}

/// An object that was changed in a context, and by somebody else since it was read.
public struct MergeConflict: Sendable {
  /// The object's name, `Item/3`.
  public let object: String
  /// The object as it was read.
  public let cached: ManagedObject
  /// The object as it is stored now; nil where it was deleted.
  public let stored: ManagedObject?
  /// The properties that the context has changed, sorted; none where it has deleted the object.
  public let changedProperties: [String]
  /// The properties that are different in the store, sorted. Of a to-many relationship the number of members counts.
  public let storedProperties: [String]
}

/// A save met objects that somebody else has changed; nothing was saved, and the context is as it was.
///
/// The conflicts hold values, the messages never do.
public struct MergeConflictError: KVCloneError {
  /// The conflicts, by ascending id.
  public let conflicts: [MergeConflict]

  /// `mergeConflict`.
  public var kindName: String { "mergeConflict" }
  /// The first conflict's entity.
  public var entity: String? { conflicts.first?.cached.entityName }
  /// The first property that both sides have changed.
  public var property: String? {
    conflicts.first.flatMap { conflict in conflict.changedProperties.first { conflict.storedProperties.contains($0) } }
  }
  /// The first conflict's object.
  public var object: String? { conflicts.first?.object }
  /// How many conflicts there are, and what to do.
  public var message: String {
    let first = conflicts.first
    let what = first?.stored == nil ? "was deleted" : "has changed"
    let others = conflicts.count > 1 ? ", and \(conflicts.count - 1) more like it" : ""
    return "\(first?.object ?? "an object") \(what) since it was read\(others); discard the changes and read again, or "
      + "save with another merge policy"
  }
}

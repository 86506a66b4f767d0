public import KVCloneCore

/// An object that was changed in a context, and changed or deleted in the store after the context read it.
public struct MergeConflict: Sendable {
  /// The name of the object, such as `Item/3`.
  public let object: String
  /// The object at the time of the read.
  public let cached: ManagedObject
  /// The object as currently stored; nil if it was deleted.
  public let stored: ManagedObject?
  /// The names of the properties that the context has changed, sorted; empty if the context has deleted the object.
  public let changedProperties: [String]
  /// The names of the properties that have changed in the store, sorted. A to-many relationship counts as changed if
  /// its number of members differs.
  public let storedProperties: [String]
}

/// The error of a save that met conflicting changes. Nothing was saved, and the context keeps its changes.
///
/// The conflicts contain stored values; the messages do not.
public struct MergeConflictError: KVCloneError {
  /// The conflicts, in ascending order of the ids.
  public let conflicts: [MergeConflict]

  /// The text `mergeConflict`.
  public var kindName: String { "mergeConflict" }
  /// The entity of the first conflict.
  public var entity: String? { conflicts.first?.cached.entityName }
  /// The first property of the first conflict that both sides have changed.
  public var property: String? {
    conflicts.first.flatMap { conflict in conflict.changedProperties.first { conflict.storedProperties.contains($0) } }
  }
  /// The object of the first conflict.
  public var object: String? { conflicts.first?.object }
  /// The first conflict, the number of further conflicts, and the remedy.
  public var message: String {
    let first = conflicts.first
    let what = first?.stored == nil ? "was deleted" : "has changed"
    let others = conflicts.count > 1 ? " (and \(conflicts.count - 1) more)" : ""
    return
      "\(first?.object ?? "an object") \(what) since it was read\(others); roll back the changes and read again, or "
      + "save with another merge policy"
  }
}

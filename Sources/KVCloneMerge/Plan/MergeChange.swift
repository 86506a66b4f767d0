public import KVCloneModel

/// One object that a merge changes.
public struct MergeChange: Sendable, Hashable {
  /// The kinds of changes. The texts are stable.
  public enum Kind: String, Sendable, Hashable, Codable {
    /// The object comes from theirs.
    case insert
    /// Attributes or links change.
    case update
    /// The object is deleted.
    case delete
  }

  /// An attribute or a relationship that changes.
  public struct Property: Sendable, Hashable, Codable {
    /// The attribute, element (`composite.element`) or relationship.
    public let name: String
    /// The value at the fork; nil if the object did not exist.
    public let base: ObjectConflict.Value?
    /// The present value of ours; nil if ours has no such object.
    public let ours: ObjectConflict.Value?
    /// The present value of theirs; nil if theirs has no such object.
    public let theirs: ObjectConflict.Value?
    /// The value after the merge.
    public let result: ObjectConflict.Value?
  }

  /// The kind.
  public let kind: Kind
  /// The id of the object.
  public let id: ObjectID
  /// The object's concrete entity.
  public let entity: String
  /// The properties that change, in the order of the model; empty for a deletion.
  public let properties: [Property]

  /// The object's name, such as `Note/7`.
  public var object: String { "\(entity)/\(id.serial)" }
}

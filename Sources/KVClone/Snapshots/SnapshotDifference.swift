public import KVCloneModel

/// The difference of one object between two states of a store.
public struct SnapshotDifference: Sendable, Hashable {
  /// The kind of a difference.
  public enum Kind: Sendable, Hashable {
    /// The object exists only in the second state.
    case inserted
    /// The object exists in both states with different content.
    case updated
    /// The object exists only in the first state.
    case deleted
  }

  /// An attribute that differs, or an element of a composite attribute as `composite.element`.
  public struct Attribute: Sendable, Hashable {
    /// The name of the attribute.
    public let name: String
    /// The value in the first state; nil for nil. A blob is a reference, and the first state contains its bytes.
    public let old: AttributeValue?
    /// The value in the second state; nil for nil.
    public let new: AttributeValue?
  }

  /// A relationship that differs.
  public struct Relationship: Sendable, Hashable {
    /// The name of the relationship.
    public let name: String
    /// The added members, in ascending order.
    public let added: [ObjectID]
    /// The removed members, in ascending order. They may no longer exist.
    public let removed: [ObjectID]
    /// Whether the order of the remaining members differs.
    public let isReordered: Bool
  }

  /// The id of the object.
  public let id: ObjectID
  /// The name of the concrete entity.
  public let entityName: String
  /// The kind of the difference.
  public let kind: Kind
  /// The attributes that differ. Empty unless the object is in both states.
  public let attributes: [Attribute]
  /// The relationships that differ. Empty unless the object is in both states.
  public let relationships: [Relationship]

  /// The name of the object, such as `Note/7`.
  public var name: String { "\(entityName)/\(id.serial)" }

  /// The names of all properties that differ, sorted.
  public var propertyNames: [String] { (attributes.map(\.name) + relationships.map(\.name)).sorted() }

  /// The same difference in the direction from the second state to the first.
  package var inverted: SnapshotDifference {
    SnapshotDifference(
      id: id, entityName: entityName,
      kind: kind == .inserted ? .deleted : kind == .deleted ? .inserted : .updated,
      attributes: attributes.map { Attribute(name: $0.name, old: $0.new, new: $0.old) },
      relationships: relationships.map {
        Relationship(name: $0.name, added: $0.removed, removed: $0.added, isReordered: $0.isReordered)
      })
  }
}

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
    /// The value in the base; nil if the object did not exist there.
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

extension MergeChange: Codable {
  private enum CodingKeys: String, CodingKey {
    case kind, id, entity, properties
  }

  /// Encodes the change with its id as a decimal text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(kind, forKey: .kind)
    try container.encode(CodedID.text(id), forKey: .id)
    try container.encode(entity, forKey: .entity)
    try container.encode(properties, forKey: .properties)
  }

  /// Decodes a change.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      kind: try container.decode(Kind.self, forKey: .kind), id: try container.id(.id),
      entity: try container.decode(String.self, forKey: .entity),
      properties: try container.decode([Property].self, forKey: .properties))
  }
}

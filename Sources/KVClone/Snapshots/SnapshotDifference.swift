public import KVCloneModel

/// What has become of one object between two states of a store.
public struct SnapshotDifference: Sendable, Hashable {
  /// What has happened to an object.
  public enum Kind: Sendable, Hashable {
    /// It was not there in the first state.
    case inserted
    /// It is there in both, and differs.
    case updated
    /// It is not there in the second state.
    case deleted
  }

  /// An attribute, or a composite's leaf as `composite.leaf`, that differs.
  public struct Attribute: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// What it was; nil for nil. A large value stands as a reference, whose bytes the first state has.
    public let old: AttributeValue?
    /// What it is.
    public let new: AttributeValue?
  }

  /// A relationship that differs.
  public struct Relationship: Sendable, Hashable {
    /// Its name.
    public let name: String
    /// Members that came, ascending.
    public let added: [ObjectID]
    /// Members that went, ascending; some of them may be gone.
    public let removed: [ObjectID]
    /// Whether members that stayed stand in another order.
    public let isReordered: Bool
  }

  /// The object.
  public let id: ObjectID
  /// Its concrete entity.
  public let entityName: String
  /// What has happened to it.
  public let kind: Kind
  /// Attributes that differ, of an object that is in both states.
  public let attributes: [Attribute]
  /// Relationships that differ, of an object that is in both states.
  public let relationships: [Relationship]

  /// The object as `Note/7`.
  public var name: String { "\(entityName)/\(id.serial)" }

  /// The names of all properties that differ, sorted.
  public var propertyNames: [String] { (attributes.map(\.name) + relationships.map(\.name)).sorted() }

  /// The same from the second state to the first.
  var inverted: SnapshotDifference {
    SnapshotDifference(
      id: id, entityName: entityName,
      kind: kind == .inserted ? .deleted : kind == .deleted ? .inserted : .updated,
      attributes: attributes.map { Attribute(name: $0.name, old: $0.new, new: $0.old) },
      relationships: relationships.map {
        Relationship(name: $0.name, added: $0.removed, removed: $0.added, isReordered: $0.isReordered)
      })
  }
}

extension ObjectStore {
  /// Calls `body` with every object that differs between a snapshot and another one, or what the store shows now, until it answers
  /// false: by root entity, and each one's objects in the order of their serials.
  ///
  /// Time and memory follow what was changed between the two, not the store's size.
  ///
  /// - Parameters:
  ///   - from: the first state. It may be the later one: then the differences lead back.
  ///   - to: the second state; nil is what the store shows now.
  ///   - body: takes a difference. It must not write to the store.
  /// - Throws: `snapshotNotFound`, `damaged`; what `body` throws.
  public func diff(
    from: Snapshot, to: Snapshot? = nil, _ body: (SnapshotDifference) throws -> Bool
  ) throws {
    try requireOwn(from)
    if let to { try requireOwn(to) }
    guard let to else {
      return try SnapshotComparison(self, from, nil).forEach(body)
    }
    if from.info.epoch <= to.info.epoch { return try SnapshotComparison(self, from, to).forEach(body) }
    try SnapshotComparison(self, to, from).forEach { try body($0.inverted) }
  }

  /// All objects that differ between a snapshot and another one, or what the store shows now; see ``diff(from:to:_:)``.
  public func diff(from: Snapshot, to: Snapshot? = nil) throws -> [SnapshotDifference] {
    var differences: [SnapshotDifference] = []
    try diff(from: from, to: to) {
      differences.append($0)
      return true
    }
    return differences
  }
}

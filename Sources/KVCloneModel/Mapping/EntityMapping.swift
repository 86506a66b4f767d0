/// What becomes of the objects of a source entity: objects of a destination entity, and how.
///
/// Several mappings of one source entity split it; several mappings to one destination entity merge others into it.
public struct EntityMapping: Hashable, Sendable {
  /// The mapping's name, unique in the mapping model; expressions and policies ask for mappings by it.
  public var name: String
  /// What is done; ``EntityMappingType/undefined`` is what the two entities make likely.
  public var mappingType: EntityMappingType
  /// The entity whose objects are read; nil where destination objects come from nowhere but a policy.
  public var sourceEntityName: String?
  /// The entity whose objects are made; nil where source objects are left behind.
  public var destinationEntityName: String?
  /// Which source objects are read.
  public var sourceObjects: SourceObjects
  /// How the destination objects' attributes get their values.
  public var attributeMappings: [PropertyMapping]
  /// How the destination objects' relationships get theirs, when all objects are made.
  public var relationshipMappings: [PropertyMapping]
  /// Whether destination properties without a mapping get their values from source properties of the same name; if not,
  /// their defaults stay. Xcode's mapping models list every property.
  public var mapsUnlistedProperties: Bool
  /// The name under which the policy is registered that does more than the expressions can; nil is none.
  public var entityMigrationPolicyClassName: String?
  /// The annotations of the mapping's author, which policies can read.
  public var userInfo: [String: String]

  /// Which objects of the source entity a mapping reads. Objects of its sub-entities have mappings of their own.
  public enum SourceObjects: Hashable, Sendable {
    /// All of them.
    case all
    /// Those for which a predicate is true.
    case matching(QueryPredicate)
    /// Something that exists in Core Data and cannot be asked for here, as text. A migration that needs it is refused.
    case unsupported(String)
  }

  /// Describes what becomes of objects.
  ///
  /// - Parameters:
  ///   - source: The entity whose objects are read.
  ///   - destination: The entity whose objects are made.
  ///   - name: The mapping's name; nil is one made of the entities' names, such as `NoteToMemo`.
  ///   - type: What is done, where it is not what the two entities make likely.
  ///   - sourceObjects: Which of the source entity's objects are read.
  ///   - attributes: How the destination objects' attributes get their values.
  ///   - relationships: How their relationships get theirs, when all objects are made.
  ///   - mapsUnlistedProperties: Whether properties that are not listed get their values from those of the same name.
  ///   - policy: The name under which the policy is registered.
  ///   - userInfo: Annotations, which policies can read.
  public init(
    from source: String?, to destination: String?, name: String? = nil, type: EntityMappingType = .undefined,
    where sourceObjects: SourceObjects = .all, attributes: [PropertyMapping] = [],
    relationships: [PropertyMapping] = [], mapsUnlistedProperties: Bool = true, policy: String? = nil,
    userInfo: [String: String] = [:]
  ) {
    self.name = name ?? Self.name(from: source, to: destination)
    mappingType = type
    sourceEntityName = source
    destinationEntityName = destination
    self.sourceObjects = sourceObjects
    attributeMappings = attributes
    relationshipMappings = relationships
    self.mapsUnlistedProperties = mapsUnlistedProperties
    entityMigrationPolicyClassName = policy
    self.userInfo = userInfo
  }

  /// The name that Xcode gives a mapping that has none: `NoteToMemo`, or the only entity's name.
  package static func name(from source: String?, to destination: String?) -> String {
    if let source, let destination { return "\(source)To\(destination)" }
    return destination ?? source ?? ""
  }
}

/// What an entity mapping does, with Core Data's numbers.
public enum EntityMappingType: Int, Hashable, Sendable, CaseIterable {
  /// Not said: see ``MappingModel/resolved(from:to:)``.
  case undefined = 0
  /// A policy decides.
  case custom = 1
  /// The entity is new: objects of it are made only by a policy.
  case add = 2
  /// The entity is gone: its objects are left behind.
  case remove = 3
  /// The entity is the same in both models.
  case copy = 4
  /// The entity differs.
  case transform = 5
}

/// A mapping from the objects of a source entity to objects of a destination entity.
///
/// Several mappings with the same source entity split it. Several mappings with the same destination entity merge their
/// source entities.
public struct EntityMapping: Hashable, Sendable {
  /// The mapping's name, unique in the mapping model. Expressions and policies refer to mappings by name.
  public var name: String
  /// The kind of mapping; ``EntityMappingType/undefined`` infers it from the two entities.
  public var mappingType: EntityMappingType
  /// The source entity; nil if only a policy creates destination objects.
  public var sourceEntityName: String?
  /// The destination entity; nil if source objects are not migrated.
  public var destinationEntityName: String?
  /// The source objects to read.
  public var sourceObjects: SourceObjects
  /// Mappings of the destination objects' attributes.
  public var attributeMappings: [PropertyMapping]
  /// Mappings of the destination objects' relationships, applied after all objects are created.
  public var relationshipMappings: [PropertyMapping]
  /// Whether unlisted destination properties get their values from source properties of the same name. Otherwise, they
  /// keep their defaults. Xcode's mapping models list every property.
  public var mapsUnlistedProperties: Bool
  /// The registered name of the migration policy, or nil. A policy performs work that expressions cannot express.
  public var entityMigrationPolicyClassName: String?
  /// The mapping author's annotations, which policies can read.
  public var userInfo: [String: String]

  /// The objects of the source entity that a mapping reads. Objects of subentities have their own mappings.
  public enum SourceObjects: Hashable, Sendable {
    /// All objects.
    case all
    /// Objects that match a predicate.
    case matching(QueryPredicate)
    /// A Core Data expression that is not supported, as text. A migration that needs it is refused.
    case unsupported(String)
  }

  /// Creates an entity mapping.
  ///
  /// - Parameters:
  ///   - source: The source entity.
  ///   - destination: The destination entity.
  ///   - name: The mapping's name; nil derives it from the entities' names, such as `NoteToMemo`.
  ///   - type: The kind of mapping, if it differs from the inferred one.
  ///   - sourceObjects: The source objects to read.
  ///   - attributes: Mappings of the destination objects' attributes.
  ///   - relationships: Mappings of their relationships, applied after all objects are created.
  ///   - mapsUnlistedProperties: Whether unlisted properties get their values from source properties of the same name.
  ///   - policy: The registered name of the migration policy.
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

  /// The name that Xcode gives an unnamed mapping: `NoteToMemo`, or the only entity's name.
  package static func name(from source: String?, to destination: String?) -> String {
    if let source, let destination { return "\(source)To\(destination)" }
    return destination ?? source ?? ""
  }
}

/// The kind of an entity mapping, with Core Data's numbers.
public enum EntityMappingType: Int, Hashable, Sendable, CaseIterable {
  /// Inferred; see ``MappingModel/resolved(from:to:)``.
  case undefined = 0
  /// A policy performs the mapping.
  case custom = 1
  /// The entity is new; only a policy creates objects of it.
  case add = 2
  /// The entity was removed; its objects are not migrated.
  case remove = 3
  /// The entity is equal in both models.
  case copy = 4
  /// The entity differs.
  case transform = 5
}

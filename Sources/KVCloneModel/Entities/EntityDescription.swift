/// An entity with the properties that it declares; ``ManagedObjectModel`` adds inherited ones.
public struct EntityDescription: Sendable, Hashable {
  /// The entity's name, unique in the model.
  public var name: String
  /// The class of the entity's objects as written in the model (`Note`, `.Note`, `Module.Note`); nil if the model has
  /// none.
  public var managedObjectClassName: String?
  /// The parent entity's name; nil for a root entity.
  public var superentityName: String?
  /// Whether only subentities of the entity have objects.
  public var isAbstract: Bool
  /// The attributes declared here, in declaration order.
  public var attributes: [AttributeDescription]
  /// The relationships declared here, in declaration order.
  public var relationships: [RelationshipDescription]
  /// The fetched properties declared here, in declaration order.
  public var fetchedProperties: [FetchedPropertyDescription]
  /// Groups of attributes and to-one relationships. No two objects may have equal values for all properties of a group.
  public var uniquenessConstraints: [[String]]
  /// The indexes declared here, including the index forms of old models.
  public var indexes: [FetchIndexDescription]
  /// The model author's annotations.
  public var userInfo: [String: String]
  /// The entity's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A text that changes the version hash even if nothing else changes.
  public var versionHashModifier: String?
  /// The source that the model editor generates for the entity (`class`, `category`); nil means none.
  public var codeGenerationType: String?
  /// The expression for an object's display name in Spotlight; kept for exports.
  public var coreSpotlightDisplayNameExpression: String?

  /// Creates an entity description from lists of properties. For models written in Swift, use the initializer with a
  /// builder.
  public init(
    name: String, managedObjectClassName: String? = nil, superentityName: String? = nil, isAbstract: Bool = false,
    attributes: [AttributeDescription] = [], relationships: [RelationshipDescription] = [],
    fetchedProperties: [FetchedPropertyDescription] = [], uniquenessConstraints: [[String]] = [],
    indexes: [FetchIndexDescription] = [], userInfo: [String: String] = [:], renamingIdentifier: String? = nil
  ) {
    self.name = name
    self.managedObjectClassName = managedObjectClassName
    self.superentityName = superentityName
    self.isAbstract = isAbstract
    self.attributes = attributes
    self.relationships = relationships
    self.fetchedProperties = fetchedProperties
    self.uniquenessConstraints = uniquenessConstraints
    self.indexes = indexes
    self.userInfo = userInfo
    self.renamingIdentifier = renamingIdentifier
  }
}

/// One entity with what it declares itself; ``ManagedObjectModel`` adds what it inherits.
public struct EntityDescription: Sendable, Hashable {
  /// The entity's name, unique in the model.
  public var name: String
  /// The class of the entity's objects as the model writes it (`Note`, `.Note`, `Module.Note`); nil where it says none.
  public var managedObjectClassName: String?
  /// The entity that this one inherits from.
  public var superentityName: String?
  /// Whether only its sub-entities have objects.
  public var isAbstract: Bool
  /// The attributes declared here, in declaration order.
  public var attributes: [AttributeDescription]
  /// The relationships declared here, in declaration order.
  public var relationships: [RelationshipDescription]
  /// The fetched properties declared here, in declaration order.
  public var fetchedProperties: [FetchedPropertyDescription]
  /// Groups of attributes and to-one relationships whose values, taken together, no two objects share.
  public var uniquenessConstraints: [[String]]
  /// The indexes declared here, those of old models included.
  public var indexes: [FetchIndexDescription]
  /// The annotations of the model's author.
  public var userInfo: [String: String]
  /// The name that the entity had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else changed.
  public var versionHashModifier: String?
  /// What the model editor generates for the entity (`class`, `category`); nil is nothing.
  public var codeGenerationType: String?
  /// The expression for an object's display name in Spotlight; kept for exports.
  public var coreSpotlightDisplayNameExpression: String?

  /// Describes an entity by lists of properties; see the form with a builder for models written in Swift.
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

/// A component of a model written in Swift: an entity, a composite or a fetch request.
public enum ModelComponent: Sendable {
  /// An entity.
  case entity(EntityDescription)
  /// A named group of elements.
  case composite(CompositeAttributeDescription)
  /// A fetch request.
  case fetchRequest(FetchRequestTemplate)
}

/// The result builder for models.
@resultBuilder
public enum ModelBuilder {
  /// Adds an entity.
  public static func buildExpression(_ entity: EntityDescription) -> [ModelComponent] { [.entity(entity)] }
  /// Adds a composite.
  public static func buildExpression(_ composite: CompositeAttributeDescription) -> [ModelComponent] {
    [.composite(composite)]
  }
  /// Adds a fetch request.
  public static func buildExpression(_ request: FetchRequestTemplate) -> [ModelComponent] { [.fetchRequest(request)] }
  /// Combines the components into one list.
  public static func buildBlock(_ parts: [ModelComponent]...) -> [ModelComponent] { parts.flatMap { $0 } }
  /// Combines the components of all loop iterations into one list.
  public static func buildArray(_ parts: [[ModelComponent]]) -> [ModelComponent] { parts.flatMap { $0 } }
  /// Adds nothing if the condition is false.
  public static func buildOptional(_ part: [ModelComponent]?) -> [ModelComponent] { part ?? [] }
  /// Adds the components of the branch taken.
  public static func buildEither(first part: [ModelComponent]) -> [ModelComponent] { part }
  /// Adds the components of the branch taken.
  public static func buildEither(second part: [ModelComponent]) -> [ModelComponent] { part }
}

/// The result builder for entities and composites.
@resultBuilder
public enum PropertyBuilder {
  /// Adds a property.
  public static func buildExpression(_ property: any PropertyDescription) -> [any PropertyDescription] { [property] }
  /// Combines the properties into one list.
  public static func buildBlock(_ parts: [any PropertyDescription]...) -> [any PropertyDescription] {
    parts.flatMap { $0 }
  }
  /// Combines the properties of all loop iterations into one list.
  public static func buildArray(_ parts: [[any PropertyDescription]]) -> [any PropertyDescription] {
    parts.flatMap { $0 }
  }
  /// Adds nothing if the condition is false.
  public static func buildOptional(_ part: [any PropertyDescription]?) -> [any PropertyDescription] { part ?? [] }
  /// Adds the properties of the branch taken.
  public static func buildEither(first part: [any PropertyDescription]) -> [any PropertyDescription] { part }
  /// Adds the properties of the branch taken.
  public static func buildEither(second part: [any PropertyDescription]) -> [any PropertyDescription] { part }
}

extension ManagedObjectModel {
  /// Creates a model from the components in the braces, in that order.
  public init(
    _ name: String, version: String? = nil, configurations: [String: [String]] = [:],
    @ModelBuilder _ components: () -> [ModelComponent]
  ) {
    var entities: [EntityDescription] = []
    var composites: [CompositeAttributeDescription] = []
    var requests: [FetchRequestTemplate] = []
    for component in components() {
      switch component {
      case .entity(let entity): entities.append(entity)
      case .composite(let composite): composites.append(composite)
      case .fetchRequest(let request): requests.append(request)
      }
    }
    self.init(
      name: name, versionIdentifier: version, entities: entities, composites: composites,
      configurations: configurations, fetchRequestTemplates: requests)
  }
}

extension EntityDescription {
  /// Creates an entity from the properties in the braces, in that order.
  public init(
    _ name: String, parent: String? = nil, abstract: Bool = false, unique: [[String]] = [],
    indexes: [FetchIndexDescription] = [], userInfo: [String: String] = [:], className: String? = nil,
    renamingIdentifier: String? = nil, @PropertyBuilder _ properties: () -> [any PropertyDescription]
  ) {
    let properties = properties()
    self.init(
      name: name, managedObjectClassName: className, superentityName: parent, isAbstract: abstract,
      attributes: properties.compactMap { $0 as? AttributeDescription },
      relationships: properties.compactMap { $0 as? RelationshipDescription },
      fetchedProperties: properties.compactMap { $0 as? FetchedPropertyDescription },
      uniquenessConstraints: unique, indexes: indexes, userInfo: userInfo, renamingIdentifier: renamingIdentifier)
  }
}

extension CompositeAttributeDescription {
  /// Creates a composite from the attributes in the braces, in that order; other properties are ignored.
  public init(
    _ name: String, userInfo: [String: String] = [:], @PropertyBuilder _ elements: () -> [any PropertyDescription]
  ) {
    self.init(name, elements: elements().compactMap { $0 as? AttributeDescription }, userInfo: userInfo)
  }
}

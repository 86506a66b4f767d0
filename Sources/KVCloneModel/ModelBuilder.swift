/// Something that stands in a model written in Swift: an entity, a composite or a fetch request.
public enum ModelComponent: Sendable {
  /// An entity.
  case entity(EntityDescription)
  /// A named group of elements.
  case composite(CompositeAttributeDescription)
  /// A fetch request.
  case fetchRequest(FetchRequestTemplate)
}

/// Collects what stands between the braces of a model.
@resultBuilder
public enum ModelBuilder {
  /// An entity stands alone on its line.
  public static func buildExpression(_ entity: EntityDescription) -> [ModelComponent] { [.entity(entity)] }
  /// A composite stands alone on its line.
  public static func buildExpression(_ composite: CompositeAttributeDescription) -> [ModelComponent] {
    [.composite(composite)]
  }
  /// A fetch request stands alone on its line.
  public static func buildExpression(_ request: FetchRequestTemplate) -> [ModelComponent] { [.fetchRequest(request)] }
  /// Lines become one list.
  public static func buildBlock(_ parts: [ModelComponent]...) -> [ModelComponent] { parts.flatMap { $0 } }
  /// The turns of a loop become one list.
  public static func buildArray(_ parts: [[ModelComponent]]) -> [ModelComponent] { parts.flatMap { $0 } }
  /// A condition that does not hold adds nothing.
  public static func buildOptional(_ part: [ModelComponent]?) -> [ModelComponent] { part ?? [] }
  /// The branch that is taken counts.
  public static func buildEither(first part: [ModelComponent]) -> [ModelComponent] { part }
  /// The branch that is taken counts.
  public static func buildEither(second part: [ModelComponent]) -> [ModelComponent] { part }
}

/// Collects what stands between the braces of an entity or a composite.
@resultBuilder
public enum PropertyBuilder {
  /// A property stands alone on its line.
  public static func buildExpression(_ property: any PropertyDescription) -> [any PropertyDescription] { [property] }
  /// Lines become one list.
  public static func buildBlock(_ parts: [any PropertyDescription]...) -> [any PropertyDescription] {
    parts.flatMap { $0 }
  }
  /// The turns of a loop become one list.
  public static func buildArray(_ parts: [[any PropertyDescription]]) -> [any PropertyDescription] {
    parts.flatMap { $0 }
  }
  /// A condition that does not hold adds nothing.
  public static func buildOptional(_ part: [any PropertyDescription]?) -> [any PropertyDescription] { part ?? [] }
  /// The branch that is taken counts.
  public static func buildEither(first part: [any PropertyDescription]) -> [any PropertyDescription] { part }
  /// The branch that is taken counts.
  public static func buildEither(second part: [any PropertyDescription]) -> [any PropertyDescription] { part }
}

extension ManagedObjectModel {
  /// Makes a model of what stands between the braces, in that order.
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
  /// Makes an entity of the properties between the braces, in that order.
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
  /// Makes a composite of the attributes between the braces, in that order; other properties are left out.
  public init(
    _ name: String, userInfo: [String: String] = [:], @PropertyBuilder _ elements: () -> [any PropertyDescription]
  ) {
    self.init(name, elements: elements().compactMap { $0 as? AttributeDescription }, userInfo: userInfo)
  }
}

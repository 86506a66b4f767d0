/// A version of a model: entities, composites, configurations and fetch request templates.
///
/// A model is immutable. Inherited properties are resolved once, at initialization, and each lookup in this module
/// costs one dictionary access. A model may be invalid until ``validate(userInfoKeys:)`` has accepted it. Even then,
/// lookups terminate and return usable results.
public struct ManagedObjectModel: Sendable {
  /// The model's name: the name of its bundle.
  public let name: String
  /// The version's name, such as `Model 2`; equal to the model's name if there is only one version.
  public let versionIdentifier: String
  /// The entities in declaration order.
  public let entities: [EntityDescription]
  /// The named groups of elements that composite attributes use.
  public let composites: [CompositeAttributeDescription]
  /// Named sets of entities: the entity names of each set.
  public let configurations: [String: [String]]
  /// The fetch request templates in declaration order.
  public let fetchRequestTemplates: [FetchRequestTemplate]
  /// What is inherited, worked out from the rest.
  let index: ModelIndex

  /// Creates a model. For models written in Swift, use the initializer with a builder.
  public init(
    name: String, versionIdentifier: String? = nil, entities: [EntityDescription],
    composites: [CompositeAttributeDescription] = [], configurations: [String: [String]] = [:],
    fetchRequestTemplates: [FetchRequestTemplate] = []
  ) {
    self.name = name
    self.versionIdentifier = versionIdentifier ?? name
    self.entities = entities
    self.composites = composites
    self.configurations = configurations
    self.fetchRequestTemplates = fetchRequestTemplates
    index = ModelIndex(entities: entities, composites: composites)
  }
}

extension ManagedObjectModel: Hashable {
  /// Returns whether both models have the same declarations in the same order. To compare the stored data that models
  /// describe, use ``modelHash``.
  public static func == (left: ManagedObjectModel, right: ManagedObjectModel) -> Bool {
    left.name == right.name && left.versionIdentifier == right.versionIdentifier && left.entities == right.entities
      && left.composites == right.composites && left.configurations == right.configurations
      && left.fetchRequestTemplates == right.fetchRequestTemplates
  }

  /// Hashes the properties that equality compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(versionIdentifier)
    hasher.combine(entities)
    hasher.combine(composites)
    hasher.combine(configurations)
    hasher.combine(fetchRequestTemplates)
  }
}

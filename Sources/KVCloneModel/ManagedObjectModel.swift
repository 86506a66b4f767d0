/// A version of a model: its entities and all that belongs to them.
///
/// A model never changes; everything that is inherited is worked out once, when it is made, so the lookups in this
/// module cost a dictionary access each. A model may hold any nonsense until ``validate(userInfoKeys:)`` has accepted
/// it: lookups answer sensibly even then, and never loop.
public struct ManagedObjectModel: Sendable {
  /// The model's name, as its bundle is called.
  public let name: String
  /// The version's name, such as `Model 2`; the model's own name where there is only one version.
  public let versionIdentifier: String
  /// The entities in declaration order.
  public let entities: [EntityDescription]
  /// The named groups that composite attributes are made of.
  public let composites: [CompositeAttributeDescription]
  /// Named sets of entities: the names of each set's members.
  public let configurations: [String: [String]]
  /// The fetch requests that are part of the model, in declaration order.
  public let fetchRequestTemplates: [FetchRequestTemplate]
  /// What is inherited, worked out from the rest.
  let index: ModelIndex

  /// Makes a model; see the form with a builder for models written in Swift.
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
  /// Whether both say the same in the same order; see ``modelHash`` for whether they mean the same to stored data.
  public static func == (left: ManagedObjectModel, right: ManagedObjectModel) -> Bool {
    left.name == right.name && left.versionIdentifier == right.versionIdentifier && left.entities == right.entities
      && left.composites == right.composites && left.configurations == right.configurations
      && left.fetchRequestTemplates == right.fetchRequestTemplates
  }

  /// Feeds what equality compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(name)
    hasher.combine(versionIdentifier)
    hasher.combine(entities)
    hasher.combine(composites)
    hasher.combine(configurations)
    hasher.combine(fetchRequestTemplates)
  }
}

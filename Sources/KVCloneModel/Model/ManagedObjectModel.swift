#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
  /// The resolved inheritance, derived from the other properties.
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

extension ManagedObjectModel: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, version, entities, composites, configurations, fetchRequests
  }

  /// Decodes the output of ``encode(to:)``. The decoded model may be invalid; see ``validate(userInfoKeys:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try container.decode(String.self, forKey: .name),
      versionIdentifier: try container.decodeIfPresent(String.self, forKey: .version),
      entities: try container.decode(or: [], forKey: .entities),
      composites: try container.decode(or: [], forKey: .composites),
      configurations: try container.decode(or: [:], forKey: .configurations),
      fetchRequestTemplates: try container.decode(or: [], forKey: .fetchRequests))
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(versionIdentifier, unless: name, forKey: .version)
    try container.encode(entities, forKey: .entities)
    try container.encode(composites, unless: [], forKey: .composites)
    try container.encode(configurations, unless: [:], forKey: .configurations)
    try container.encode(fetchRequestTemplates, unless: [], forKey: .fetchRequests)
  }

  /// Encodes the model for a store: JSON with sorted keys, so that equal models have equal bytes.
  package func encodedJSON() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Decodes the output of ``encodedJSON()``; throws for any other bytes.
  package init(encodedJSON bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(ManagedObjectModel.self, from: Data(bytes))
  }
}

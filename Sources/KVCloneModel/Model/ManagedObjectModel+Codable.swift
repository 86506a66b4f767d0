#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

  /// The model as a store keeps it: JSON with sorted keys, so that equal models are equal bytes.
  package func encodedJSON() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Reads what ``encodedJSON()`` writes; any other bytes throw.
  package init(encodedJSON bytes: [UInt8]) throws {
    self = try JSONDecoder().decode(ManagedObjectModel.self, from: Data(bytes))
  }
}

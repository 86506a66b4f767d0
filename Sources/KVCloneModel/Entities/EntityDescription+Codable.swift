extension EntityDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty("className", \.managedObjectClassName),
    CodedProperty("parent", \.superentityName),
    CodedProperty("abstract", \.isAbstract, default: false),
    CodedProperty("attributes", \.attributes, default: []),
    CodedProperty("relationships", \.relationships, default: []),
    CodedProperty("fetchedProperties", \.fetchedProperties, default: []),
    CodedProperty("uniquenessConstraints", \.uniquenessConstraints, default: []),
    CodedProperty("indexes", \.indexes, default: []),
    CodedProperty("userInfo", \.userInfo, default: [:]),
    CodedProperty("renamingIdentifier", \.renamingIdentifier),
    CodedProperty("versionHashModifier", \.versionHashModifier),
    CodedProperty("codeGenerationType", \.codeGenerationType),
    CodedProperty("spotlightDisplayName", \.coreSpotlightDisplayNameExpression),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init(name: "")
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension CompositeAttributeDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty("elements", \.elements, default: []),
    CodedProperty("userInfo", \.userInfo, default: [:]),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", elements: [])
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension FetchRequestTemplate: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty(required: "entity", \.entityName),
    CodedProperty("predicate", \.predicateString),
    CodedProperty("limit", \.fetchLimit, default: 0),
    CodedProperty("batchSize", \.fetchBatchSize, default: 0),
    CodedProperty("resultType", \.resultType, default: 0),
    CodedProperty("includesSubentities", \.includesSubentities, default: true),
    CodedProperty("includesPropertyValues", \.includesPropertyValues, default: true),
    CodedProperty("includesPendingChanges", \.includesPendingChanges, default: true),
    CodedProperty("returnsObjectsAsFaults", \.returnsObjectsAsFaults, default: true),
    CodedProperty("returnsDistinctResults", \.returnsDistinctResults, default: false),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", entity: "")
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension FetchIndexDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty("elements", \.elements, default: []),
    CodedProperty("where", \.partialPredicate),
    CodedProperty("origin", \.origin, default: .fetchIndex),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", [])
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension FetchIndexDescription.Element: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty("property", \.propertyName),
    CodedProperty("expression", \.expression),
    CodedProperty("kind", \.kind, default: .binary),
    CodedProperty("ascending", \.isAscending, default: true),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("")
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

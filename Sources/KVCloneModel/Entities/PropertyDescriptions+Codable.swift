extension AttributeDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty(required: "type", \.type),
    CodedProperty("optional", \.isOptional, default: true),
    CodedProperty("default", \.defaultValue),
    CodedProperty("transient", \.isTransient, default: false),
    CodedProperty("min", \.minValue),
    CodedProperty("max", \.maxValue),
    CodedProperty("regularExpression", \.regularExpression),
    CodedProperty("externalBinary", \.allowsExternalBinaryDataStorage, default: false),
    CodedProperty("scalar", \.usesScalarValueType, default: false),
    CodedProperty("transformer", \.valueTransformerName),
    CodedProperty("valueClass", \.attributeValueClassName),
    CodedProperty("derivation", \.derivationExpression),
    CodedProperty("composite", \.compositeName),
    CodedProperty("elements", \.elements, default: []),
    CodedProperty("userInfo", \.userInfo, default: [:]),
    CodedProperty("renamingIdentifier", \.renamingIdentifier),
    CodedProperty("versionHashModifier", \.versionHashModifier),
    CodedProperty("spotlight", \.isIndexedBySpotlight, default: false),
    CodedProperty("preservedInHistory", \.preservesValueInHistoryOnDeletion, default: false),
    CodedProperty("cloudEncryption", \.allowsCloudEncryption, default: false),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", .undefined)
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension RelationshipDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty(required: "destination", \.destinationEntityName),
    CodedProperty("inverse", \.inverseName),
    CodedProperty("inverseEntity", \.inverseEntityName),
    CodedProperty("toMany", \.isToMany, default: false),
    CodedProperty("ordered", \.isOrdered, default: false),
    CodedProperty("optional", \.isOptional, default: true),
    CodedProperty("min", \.minCount, default: 0),
    CodedProperty("max", \.maxCount) { $0.isToMany ? 0 : 1 },
    CodedProperty("deleteRule", \.deleteRule, default: .nullify),
    CodedProperty("transient", \.isTransient, default: false),
    CodedProperty("userInfo", \.userInfo, default: [:]),
    CodedProperty("renamingIdentifier", \.renamingIdentifier),
    CodedProperty("versionHashModifier", \.versionHashModifier),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", toOne: "")
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

extension FetchedPropertyDescription: Codable {
  private static let codedProperties: [CodedProperty<Self>] = [
    CodedProperty(required: "name", \.name),
    CodedProperty(required: "fetchRequest", \.fetchRequest),
    CodedProperty("optional", \.isOptional, default: true),
    CodedProperty("userInfo", \.userInfo, default: [:]),
    CodedProperty("renamingIdentifier", \.renamingIdentifier),
    CodedProperty("versionHashModifier", \.versionHashModifier),
  ]

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    self.init("", FetchRequestTemplate("", entity: ""))
    try Self.codedProperties.decode(into: &self, from: decoder)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    try Self.codedProperties.encode(self, to: encoder)
  }
}

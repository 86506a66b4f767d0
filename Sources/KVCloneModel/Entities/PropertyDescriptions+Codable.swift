extension AttributeDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case type
    case isOptional = "optional"
    case defaultValue = "default"
    case isTransient = "transient"
    case minValue = "min"
    case maxValue = "max"
    case regularExpression
    case allowsExternalBinaryDataStorage = "externalBinary"
    case usesScalarValueType = "scalar"
    case valueTransformerName = "transformer"
    case attributeValueClassName = "valueClass"
    case derivationExpression = "derivation"
    case compositeName = "composite"
    case elements
    case userInfo
    case renamingIdentifier
    case versionHashModifier
    case isIndexedBySpotlight = "spotlight"
    case preservesValueInHistoryOnDeletion = "preservedInHistory"
    case allowsCloudEncryption = "cloudEncryption"
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .name), try container.decode(AttributeType.self, forKey: .type))
    isOptional = try container.decode(or: true, forKey: .isOptional)
    defaultValue = try container.decodeIfPresent(forKey: .defaultValue)
    isTransient = try container.decode(or: false, forKey: .isTransient)
    minValue = try container.decodeIfPresent(forKey: .minValue)
    maxValue = try container.decodeIfPresent(forKey: .maxValue)
    regularExpression = try container.decodeIfPresent(forKey: .regularExpression)
    allowsExternalBinaryDataStorage = try container.decode(or: false, forKey: .allowsExternalBinaryDataStorage)
    usesScalarValueType = try container.decode(or: false, forKey: .usesScalarValueType)
    valueTransformerName = try container.decodeIfPresent(forKey: .valueTransformerName)
    attributeValueClassName = try container.decodeIfPresent(forKey: .attributeValueClassName)
    derivationExpression = try container.decodeIfPresent(forKey: .derivationExpression)
    compositeName = try container.decodeIfPresent(forKey: .compositeName)
    elements = try container.decode(or: [], forKey: .elements)
    userInfo = try container.decode(or: [:], forKey: .userInfo)
    renamingIdentifier = try container.decodeIfPresent(forKey: .renamingIdentifier)
    versionHashModifier = try container.decodeIfPresent(forKey: .versionHashModifier)
    isIndexedBySpotlight = try container.decode(or: false, forKey: .isIndexedBySpotlight)
    preservesValueInHistoryOnDeletion = try container.decode(or: false, forKey: .preservesValueInHistoryOnDeletion)
    allowsCloudEncryption = try container.decode(or: false, forKey: .allowsCloudEncryption)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(type, forKey: .type)
    try container.encode(isOptional, unless: true, forKey: .isOptional)
    try container.encodeIfPresent(defaultValue, forKey: .defaultValue)
    try container.encode(isTransient, unless: false, forKey: .isTransient)
    try container.encodeIfPresent(minValue, forKey: .minValue)
    try container.encodeIfPresent(maxValue, forKey: .maxValue)
    try container.encodeIfPresent(regularExpression, forKey: .regularExpression)
    try container.encode(allowsExternalBinaryDataStorage, unless: false, forKey: .allowsExternalBinaryDataStorage)
    try container.encode(usesScalarValueType, unless: false, forKey: .usesScalarValueType)
    try container.encodeIfPresent(valueTransformerName, forKey: .valueTransformerName)
    try container.encodeIfPresent(attributeValueClassName, forKey: .attributeValueClassName)
    try container.encodeIfPresent(derivationExpression, forKey: .derivationExpression)
    try container.encodeIfPresent(compositeName, forKey: .compositeName)
    try container.encode(elements, unless: [], forKey: .elements)
    try container.encode(userInfo, unless: [:], forKey: .userInfo)
    try container.encodeIfPresent(renamingIdentifier, forKey: .renamingIdentifier)
    try container.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
    try container.encode(isIndexedBySpotlight, unless: false, forKey: .isIndexedBySpotlight)
    try container.encode(preservesValueInHistoryOnDeletion, unless: false, forKey: .preservesValueInHistoryOnDeletion)
    try container.encode(allowsCloudEncryption, unless: false, forKey: .allowsCloudEncryption)
  }
}

extension RelationshipDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case destinationEntityName = "destination"
    case inverseName = "inverse"
    case inverseEntityName = "inverseEntity"
    case isToMany = "toMany"
    case isOrdered = "ordered"
    case isOptional = "optional"
    case minCount = "min"
    case maxCount = "max"
    case deleteRule
    case isTransient = "transient"
    case userInfo
    case renamingIdentifier
    case versionHashModifier
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .name),
      toOne: try container.decode(String.self, forKey: .destinationEntityName))
    inverseName = try container.decodeIfPresent(forKey: .inverseName)
    inverseEntityName = try container.decodeIfPresent(forKey: .inverseEntityName)
    isToMany = try container.decode(or: false, forKey: .isToMany)
    isOrdered = try container.decode(or: false, forKey: .isOrdered)
    isOptional = try container.decode(or: true, forKey: .isOptional)
    minCount = try container.decode(or: 0, forKey: .minCount)
    maxCount = try container.decode(or: isToMany ? 0 : 1, forKey: .maxCount)
    deleteRule = try container.decode(or: .nullify, forKey: .deleteRule)
    isTransient = try container.decode(or: false, forKey: .isTransient)
    userInfo = try container.decode(or: [:], forKey: .userInfo)
    renamingIdentifier = try container.decodeIfPresent(forKey: .renamingIdentifier)
    versionHashModifier = try container.decodeIfPresent(forKey: .versionHashModifier)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(destinationEntityName, forKey: .destinationEntityName)
    try container.encodeIfPresent(inverseName, forKey: .inverseName)
    try container.encodeIfPresent(inverseEntityName, forKey: .inverseEntityName)
    try container.encode(isToMany, unless: false, forKey: .isToMany)
    try container.encode(isOrdered, unless: false, forKey: .isOrdered)
    try container.encode(isOptional, unless: true, forKey: .isOptional)
    try container.encode(minCount, unless: 0, forKey: .minCount)
    try container.encode(maxCount, unless: isToMany ? 0 : 1, forKey: .maxCount)
    try container.encode(deleteRule, unless: .nullify, forKey: .deleteRule)
    try container.encode(isTransient, unless: false, forKey: .isTransient)
    try container.encode(userInfo, unless: [:], forKey: .userInfo)
    try container.encodeIfPresent(renamingIdentifier, forKey: .renamingIdentifier)
    try container.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
  }
}

extension FetchedPropertyDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case fetchRequest
    case isOptional = "optional"
    case userInfo
    case renamingIdentifier
    case versionHashModifier
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .name),
      try container.decode(FetchRequestTemplate.self, forKey: .fetchRequest))
    isOptional = try container.decode(or: true, forKey: .isOptional)
    userInfo = try container.decode(or: [:], forKey: .userInfo)
    renamingIdentifier = try container.decodeIfPresent(forKey: .renamingIdentifier)
    versionHashModifier = try container.decodeIfPresent(forKey: .versionHashModifier)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(fetchRequest, forKey: .fetchRequest)
    try container.encode(isOptional, unless: true, forKey: .isOptional)
    try container.encode(userInfo, unless: [:], forKey: .userInfo)
    try container.encodeIfPresent(renamingIdentifier, forKey: .renamingIdentifier)
    try container.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
  }
}

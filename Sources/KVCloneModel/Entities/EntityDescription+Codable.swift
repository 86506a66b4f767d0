extension EntityDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case managedObjectClassName = "className"
    case superentityName = "parent"
    case isAbstract = "abstract"
    case attributes
    case relationships
    case fetchedProperties
    case uniquenessConstraints
    case indexes
    case userInfo
    case renamingIdentifier
    case versionHashModifier
    case codeGenerationType
    case coreSpotlightDisplayNameExpression = "spotlightDisplayName"
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(name: try container.decode(String.self, forKey: .name))
    managedObjectClassName = try container.decodeIfPresent(forKey: .managedObjectClassName)
    superentityName = try container.decodeIfPresent(forKey: .superentityName)
    isAbstract = try container.decode(or: false, forKey: .isAbstract)
    attributes = try container.decode(or: [], forKey: .attributes)
    relationships = try container.decode(or: [], forKey: .relationships)
    fetchedProperties = try container.decode(or: [], forKey: .fetchedProperties)
    uniquenessConstraints = try container.decode(or: [], forKey: .uniquenessConstraints)
    indexes = try container.decode(or: [], forKey: .indexes)
    userInfo = try container.decode(or: [:], forKey: .userInfo)
    renamingIdentifier = try container.decodeIfPresent(forKey: .renamingIdentifier)
    versionHashModifier = try container.decodeIfPresent(forKey: .versionHashModifier)
    codeGenerationType = try container.decodeIfPresent(forKey: .codeGenerationType)
    coreSpotlightDisplayNameExpression = try container.decodeIfPresent(forKey: .coreSpotlightDisplayNameExpression)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encodeIfPresent(managedObjectClassName, forKey: .managedObjectClassName)
    try container.encodeIfPresent(superentityName, forKey: .superentityName)
    try container.encode(isAbstract, unless: false, forKey: .isAbstract)
    try container.encode(attributes, unless: [], forKey: .attributes)
    try container.encode(relationships, unless: [], forKey: .relationships)
    try container.encode(fetchedProperties, unless: [], forKey: .fetchedProperties)
    try container.encode(uniquenessConstraints, unless: [], forKey: .uniquenessConstraints)
    try container.encode(indexes, unless: [], forKey: .indexes)
    try container.encode(userInfo, unless: [:], forKey: .userInfo)
    try container.encodeIfPresent(renamingIdentifier, forKey: .renamingIdentifier)
    try container.encodeIfPresent(versionHashModifier, forKey: .versionHashModifier)
    try container.encodeIfPresent(codeGenerationType, forKey: .codeGenerationType)
    try container.encodeIfPresent(coreSpotlightDisplayNameExpression, forKey: .coreSpotlightDisplayNameExpression)
  }
}

extension CompositeAttributeDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case elements
    case userInfo
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try container.decode(String.self, forKey: .name), elements: [])
    elements = try container.decode(or: [], forKey: .elements)
    userInfo = try container.decode(or: [:], forKey: .userInfo)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(elements, unless: [], forKey: .elements)
    try container.encode(userInfo, unless: [:], forKey: .userInfo)
  }
}

extension FetchRequestTemplate: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case entityName = "entity"
    case predicateString = "predicate"
    case fetchLimit = "limit"
    case fetchBatchSize = "batchSize"
    case resultType
    case includesSubentities
    case includesPropertyValues
    case includesPendingChanges
    case returnsObjectsAsFaults
    case returnsDistinctResults
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(String.self, forKey: .name), entity: try container.decode(String.self, forKey: .entityName))
    predicateString = try container.decodeIfPresent(forKey: .predicateString)
    fetchLimit = try container.decode(or: 0, forKey: .fetchLimit)
    fetchBatchSize = try container.decode(or: 0, forKey: .fetchBatchSize)
    resultType = try container.decode(or: 0, forKey: .resultType)
    includesSubentities = try container.decode(or: true, forKey: .includesSubentities)
    includesPropertyValues = try container.decode(or: true, forKey: .includesPropertyValues)
    includesPendingChanges = try container.decode(or: true, forKey: .includesPendingChanges)
    returnsObjectsAsFaults = try container.decode(or: true, forKey: .returnsObjectsAsFaults)
    returnsDistinctResults = try container.decode(or: false, forKey: .returnsDistinctResults)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(entityName, forKey: .entityName)
    try container.encodeIfPresent(predicateString, forKey: .predicateString)
    try container.encode(fetchLimit, unless: 0, forKey: .fetchLimit)
    try container.encode(fetchBatchSize, unless: 0, forKey: .fetchBatchSize)
    try container.encode(resultType, unless: 0, forKey: .resultType)
    try container.encode(includesSubentities, unless: true, forKey: .includesSubentities)
    try container.encode(includesPropertyValues, unless: true, forKey: .includesPropertyValues)
    try container.encode(includesPendingChanges, unless: true, forKey: .includesPendingChanges)
    try container.encode(returnsObjectsAsFaults, unless: true, forKey: .returnsObjectsAsFaults)
    try container.encode(returnsDistinctResults, unless: false, forKey: .returnsDistinctResults)
  }
}

extension FetchIndexDescription: Codable {
  private enum CodingKeys: String, CodingKey {
    case name
    case elements
    case partialPredicate = "where"
    case origin
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(try container.decode(String.self, forKey: .name), [])
    elements = try container.decode(or: [], forKey: .elements)
    partialPredicate = try container.decodeIfPresent(forKey: .partialPredicate)
    origin = try container.decode(or: .fetchIndex, forKey: .origin)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(elements, unless: [], forKey: .elements)
    try container.encodeIfPresent(partialPredicate, forKey: .partialPredicate)
    try container.encode(origin, unless: .fetchIndex, forKey: .origin)
  }
}

extension FetchIndexDescription.Element: Codable {
  private enum CodingKeys: String, CodingKey {
    case propertyName = "property"
    case expression
    case kind
    case isAscending = "ascending"
  }

  /// Decodes the output of ``encode(to:)``.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init("")
    propertyName = try container.decodeIfPresent(forKey: .propertyName)
    expression = try container.decodeIfPresent(forKey: .expression)
    kind = try container.decode(or: .binary, forKey: .kind)
    isAscending = try container.decode(or: true, forKey: .isAscending)
  }

  /// Encodes all properties that differ from their default values.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(propertyName, forKey: .propertyName)
    try container.encodeIfPresent(expression, forKey: .expression)
    try container.encode(kind, unless: .binary, forKey: .kind)
    try container.encode(isAscending, unless: true, forKey: .isAscending)
  }
}

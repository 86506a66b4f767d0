/// One attribute of an entity, or one element of a composite attribute.
public struct AttributeDescription: PropertyDescription, Hashable {
  /// The attribute's name, unique among all properties of its entity.
  public var name: String
  /// The type of every value that is not nil.
  public var type: AttributeType
  /// Whether nil is valid when an object is saved.
  public var isOptional: Bool
  /// What a new object starts with, already of the attribute's type.
  public var defaultValue: AttributeValue?
  /// Whether the attribute lives in memory only.
  public var isTransient: Bool
  /// The least valid value; for strings the least valid length in characters, as an integer.
  public var minValue: AttributeValue?
  /// The greatest valid value; for strings the greatest valid length in characters, as an integer.
  public var maxValue: AttributeValue?
  /// A regular expression in ICU's syntax that a string value matches as a whole.
  ///
  /// With one that ICU cannot read, no value but nil can be saved, as in Core Data; validating the model warns of it.
  public var regularExpression: String?
  /// Core Data's wish to keep large values in files; this store decides by size alone, and keeps the flag for exports.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether the app's code uses a scalar instead of a boxed number; counts for generated source only.
  public var usesScalarValueType: Bool
  /// The name of a transformable's transformer; nil is Core Data's default, a secure keyed archive.
  public var valueTransformerName: String?
  /// The Swift or Objective-C class of a transformable's values.
  public var attributeValueClassName: String?
  /// The expression that a derived attribute is computed by, such as `items.@count`; nil for a stored attribute.
  public var derivationExpression: String?
  /// The name of the ``CompositeAttributeDescription`` that says what a composite is made of.
  public var compositeName: String?
  /// The elements of a composite; filled in by ``ManagedObjectModel/attributes(of:)`` where only the name is given.
  public var elements: [AttributeDescription]
  /// The annotations of the model's author.
  public var userInfo: [String: String]
  /// The name that the attribute had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else changed.
  public var versionHashModifier: String?
  /// Whether the model editor's "Index in Spotlight" is set; kept for exports.
  public var isIndexedBySpotlight: Bool
  /// Whether the value outlives its object in a deletion's history record.
  public var preservesValueInHistoryOnDeletion: Bool
  /// Whether Core Data encrypts the value in CloudKit; kept for exports.
  public var allowsCloudEncryption: Bool

  /// Describes an attribute. A default or bound that the type can take is converted to it (see ``AttributeType``);
  /// one that it cannot take is an error when the model is validated.
  public init(
    _ name: String, _ type: AttributeType, optional: Bool = true, default defaultValue: AttributeValue? = nil,
    transient: Bool = false, min: AttributeValue? = nil, max: AttributeValue? = nil,
    regularExpression: String? = nil, derivation: String? = nil, composite: String? = nil,
    elements: [AttributeDescription] = [], transformer: String? = nil, valueClass: String? = nil,
    userInfo: [String: String] = [:], renamingIdentifier: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isOptional = optional
    self.isTransient = transient
    self.regularExpression = regularExpression
    self.derivationExpression = derivation
    self.compositeName = composite
    self.elements = elements
    self.valueTransformerName = transformer
    self.attributeValueClassName = valueClass
    self.userInfo = userInfo
    self.renamingIdentifier = renamingIdentifier
    allowsExternalBinaryDataStorage = false
    usesScalarValueType = false
    isIndexedBySpotlight = false
    preservesValueInHistoryOnDeletion = false
    allowsCloudEncryption = false
    self.defaultValue = defaultValue
    self.minValue = min
    self.maxValue = max
    self.defaultValue = defaultValue.map { coerce($0) ?? $0 }
    self.minValue = min.map { boundType.coerce($0) ?? $0 }
    self.maxValue = max.map { boundType.coerce($0) ?? $0 }
  }

  /// Whether the value is computed from other values instead of being set.
  public var isDerived: Bool { derivationExpression != nil }

  /// Whether a value of the attribute is part of an object's record.
  public var isStored: Bool { !isTransient }

  /// The type of the bounds: a length for strings, else the attribute's own.
  public var boundType: AttributeType { type == .string || type == .uri ? .integer64 : type }

  /// The given value as a value of this attribute, or nil where it has none without loss; unlike
  /// ``AttributeType/coerce(_:)`` it looks at the elements of a composite, and refuses elements that do not exist.
  public func coerce(_ value: AttributeValue) -> AttributeValue? {
    guard type == .composite, !elements.isEmpty else { return type.coerce(value) }
    guard case .composite(let given) = value else { return nil }
    var result: [String: AttributeValue] = [:]
    for (name, value) in given {
      guard let element = elements.first(where: { $0.name == name }) else { return nil }
      guard let coerced = element.coerce(value) else { return nil }
      result[name] = coerced
    }
    return .composite(result)
  }
}

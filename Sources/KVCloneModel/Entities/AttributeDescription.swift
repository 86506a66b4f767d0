/// An attribute of an entity, or an element of a composite attribute.
public struct AttributeDescription: PropertyDescription, Hashable {
  /// The attribute's name, unique among all properties of its entity.
  public var name: String
  /// The type of all values except nil.
  public var type: AttributeType
  /// Whether nil is a valid value when an object is saved.
  public var isOptional: Bool
  /// The initial value of a new object, converted to the attribute's type.
  public var defaultValue: AttributeValue?
  /// Whether the attribute exists only in memory.
  public var isTransient: Bool
  /// The minimum valid value; for strings, the minimum length in characters, as an integer.
  public var minValue: AttributeValue?
  /// The maximum valid value; for strings, the maximum length in characters, as an integer.
  public var maxValue: AttributeValue?
  /// A regular expression in ICU syntax that must match the whole string value.
  ///
  /// If ICU cannot parse the expression, only nil can be saved, as in Core Data. Validating the model reports a
  /// warning.
  public var regularExpression: String?
  /// Core Data's flag for storing large values in files. This store decides by size alone and keeps the flag for
  /// exports.
  public var allowsExternalBinaryDataStorage: Bool
  /// Whether generated source uses a scalar type instead of a boxed number.
  public var usesScalarValueType: Bool
  /// The name of the transformer of a transformable attribute; nil means Core Data's default, a secure keyed archive.
  public var valueTransformerName: String?
  /// The Swift or Objective-C class of a transformable attribute's values.
  public var attributeValueClassName: String?
  /// The expression that computes a derived attribute, such as `items.@count`; nil for a stored attribute.
  public var derivationExpression: String?
  /// The name of the ``CompositeAttributeDescription`` that defines the elements of a composite attribute.
  public var compositeName: String?
  /// The elements of a composite attribute. If only the composite's name is set, ``ManagedObjectModel/attributes(of:)``
  /// fills them in.
  public var elements: [AttributeDescription]
  /// The model author's annotations.
  public var userInfo: [String: String]
  /// The attribute's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A text that changes the version hash even if nothing else changes.
  public var versionHashModifier: String?
  /// The model editor's "Index in Spotlight" setting; kept for exports.
  public var isIndexedBySpotlight: Bool
  /// Whether the history entry of a deleted object keeps the value.
  public var preservesValueInHistoryOnDeletion: Bool
  /// Whether Core Data encrypts the value in CloudKit; kept for exports.
  public var allowsCloudEncryption: Bool

  /// Creates an attribute description. A default or bound is converted to the type if possible (see ``AttributeType``).
  /// Otherwise, validating the model fails.
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

  /// Whether the value is computed from other values.
  public var isDerived: Bool { derivationExpression != nil }

  /// Whether an object's record contains a value of the attribute.
  public var isStored: Bool { !isTransient }

  /// The type of the bounds: an integer length for strings, otherwise the attribute's own type.
  public var boundType: AttributeType { type == .string || type == .uri ? .integer64 : type }

  /// Returns the given value as a value of this attribute, or nil if the conversion would lose information. Unlike
  /// ``AttributeType/coerce(_:)``, it also converts the elements of a composite and rejects unknown elements.
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

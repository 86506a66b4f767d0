/// Describes why a store cannot use a model: the problem, its location, and how to fix it.
public struct ModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the error. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// Two entities have the same name.
    public static let duplicateEntity = Kind(rawValue: "duplicateEntity")
    /// Two properties of an entity, including inherited ones, have the same name.
    public static let duplicateProperty = Kind(rawValue: "duplicateProperty")
    /// An inherited property is redeclared with an incompatible type.
    public static let conflictingRedeclaration = Kind(rawValue: "conflictingRedeclaration")
    /// A name is empty, longer than 255 bytes, or contains a reserved character.
    public static let invalidName = Kind(rawValue: "invalidName")
    /// The superentity does not exist.
    public static let unknownSuperentity = Kind(rawValue: "unknownSuperentity")
    /// An entity inherits from itself.
    public static let cyclicInheritance = Kind(rawValue: "cyclicInheritance")
    /// The destination entity of a relationship does not exist.
    public static let unknownDestination = Kind(rawValue: "unknownDestination")
    /// A composite attribute names no composite, or one that does not exist.
    public static let unknownComposite = Kind(rawValue: "unknownComposite")
    /// Two composites have the same name.
    public static let duplicateComposite = Kind(rawValue: "duplicateComposite")
    /// A composite contains itself.
    public static let cyclicComposite = Kind(rawValue: "cyclicComposite")
    /// A derived attribute depends on itself, directly or through other derived attributes.
    public static let cyclicDerivation = Kind(rawValue: "cyclicDerivation")
    /// A stored attribute has no type.
    public static let untypedAttribute = Kind(rawValue: "untypedAttribute")
    /// A default value does not fit the type of its attribute.
    public static let defaultTypeMismatch = Kind(rawValue: "defaultTypeMismatch")
    /// A rebuild rule is something other than `uuid` on a UUID or `now` on a Date.
    public static let rebuildTypeMismatch = Kind(rawValue: "rebuildTypeMismatch")
    /// The clone rule of a relationship is not `follow`, `reference` or `skip`.
    public static let unknownCloneRule = Kind(rawValue: "unknownCloneRule")
    /// One userInfo key has two roles in the clone rules.
    public static let duplicateUserInfoKey = Kind(rawValue: "duplicateUserInfoKey")
    /// The model has more entities, levels, properties or elements than a store can describe.
    public static let tooLarge = Kind(rawValue: "tooLarge")
  }

  /// The kind of the error.
  public let kind: Kind
  /// The entity or composite at fault; nil if the error concerns the whole model.
  public let entity: String?
  /// The property at fault; nil if the error concerns no single property.
  public let property: String?
  /// The problem, its location, and how to fix it.
  public let message: String

  /// The ``message``.
  public var description: String { message }

  private init(_ kind: Kind, entity: String?, property: String? = nil, _ message: String) {
    self.kind = kind
    self.entity = entity
    self.property = property
    self.message = message
  }
}

extension ModelError {
  package static func duplicateEntity(_ name: String) -> ModelError {
    ModelError(
      .duplicateEntity, entity: name,
      "entity \(name) is declared twice; rename or remove one of them")
  }

  package static func duplicateProperty(entity: String, property: String) -> ModelError {
    ModelError(
      .duplicateProperty, entity: entity, property: property,
      "\(entity).\(property) is declared twice, in the entity or in a superentity; rename one of them")
  }

  package static func conflictingRedeclaration(entity: String, property: String) -> ModelError {
    ModelError(
      .conflictingRedeclaration, entity: entity, property: property,
      "\(entity).\(property) is inherited with another type or kind; use the inherited type, or rename the property")
  }

  package static func invalidName(entity: String, property: String?) -> ModelError {
    ModelError(
      .invalidName, entity: entity, property: property,
      "the name of \(property.map { "\(entity).\($0)" } ?? "entity '\(entity)'") is invalid; use 1 to 255 bytes without"
        + " spaces, control characters, '.', '/', '@' and '='")
  }

  package static func unknownSuperentity(entity: String, superentity: String) -> ModelError {
    ModelError(
      .unknownSuperentity, entity: entity,
      "entity \(entity) inherits from \(superentity), which the model does not have; add it, or remove the superentity")
  }

  package static func cyclicInheritance(entity: String) -> ModelError {
    ModelError(
      .cyclicInheritance, entity: entity,
      "entity \(entity) inherits from itself; break the inheritance cycle")
  }

  package static func unknownDestination(entity: String, property: String, destination: String) -> ModelError {
    ModelError(
      .unknownDestination, entity: entity, property: property,
      "the destination of \(entity).\(property) is entity '\(destination)', which the model does not have; correct the"
        + " destination")
  }

  package static func unknownComposite(entity: String, property: String, composite: String) -> ModelError {
    ModelError(
      .unknownComposite, entity: entity, property: property,
      "\(entity).\(property) has the composite '\(composite)', which the model does not have; add it to the model")
  }

  package static func duplicateComposite(_ name: String) -> ModelError {
    ModelError(
      .duplicateComposite, entity: name,
      "composite \(name) is declared twice; rename or remove one of them")
  }

  package static func cyclicComposite(_ name: String) -> ModelError {
    ModelError(
      .cyclicComposite, entity: name,
      "composite \(name) contains itself; break the cycle")
  }

  package static func cyclicDerivation(entity: String, property: String) -> ModelError {
    ModelError(
      .cyclicDerivation, entity: entity, property: property,
      "\(entity).\(property) is derived from itself, directly or indirectly; break the cycle of expressions")
  }

  package static func untypedAttribute(entity: String, property: String) -> ModelError {
    ModelError(
      .untypedAttribute, entity: entity, property: property,
      "\(entity).\(property) has no type; set a type, or make it transient")
  }

  package static func defaultTypeMismatch(entity: String, property: String) -> ModelError {
    ModelError(
      .defaultTypeMismatch, entity: entity, property: property,
      "the default value of \(entity).\(property) does not fit its type; correct one of them")
  }

  package static func rebuildTypeMismatch(entity: String, property: String) -> ModelError {
    ModelError(
      .rebuildTypeMismatch, entity: entity, property: property,
      "the rebuild rule of \(entity).\(property) does not fit its type; use 'uuid' on a UUID or 'now' on a Date")
  }

  package static func unknownCloneRule(entity: String, property: String) -> ModelError {
    ModelError(
      .unknownCloneRule, entity: entity, property: property,
      "the clone rule of \(entity).\(property) is unknown; write 'follow', 'reference' or 'skip'")
  }

  package static func duplicateUserInfoKey(_ key: String) -> ModelError {
    ModelError(
      .duplicateUserInfoKey, entity: nil,
      "the userInfo key '\(key)' has two clone roles; rename one of them")
  }

  package static func tooLarge(entity: String?) -> ModelError {
    ModelError(
      .tooLarge, entity: entity,
      "\(entity.map { "entity \($0)" } ?? "the model") exceeds \(ModelLimits.summary); split the model")
  }
}

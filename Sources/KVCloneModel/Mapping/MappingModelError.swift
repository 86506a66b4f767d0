/// Describes why a mapping model does not fit its two models: the problem, its location, and how to fix it.
public struct MappingModelError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of the error. The text of a kind is stable.
  public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the kind, as in JSON.
    public let rawValue: String

    /// Creates a kind from its text. Later versions may add kinds, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the kind.
    public var description: String { rawValue }

    /// Two entity mappings have the same name.
    public static let duplicateMapping = Kind(rawValue: "duplicateMapping")
    /// An entity mapping names neither a source nor a destination entity.
    public static let noEntity = Kind(rawValue: "noEntity")
    /// A model does not have the entity that a mapping names.
    public static let unknownEntity = Kind(rawValue: "unknownEntity")
    /// The type of a mapping does not fit its source and destination entities.
    public static let typeMismatch = Kind(rawValue: "typeMismatch")
    /// The destination entity has no attribute, or no relationship, of that name.
    public static let unknownProperty = Kind(rawValue: "unknownProperty")
    /// A property has two mappings.
    public static let duplicateProperty = Kind(rawValue: "duplicateProperty")
    /// An expression names an entity mapping that does not exist.
    public static let unknownMapping = Kind(rawValue: "unknownMapping")
    /// An expression calls a migration policy, but the mapping names none.
    public static let noPolicy = Kind(rawValue: "noPolicy")
  }

  /// The two models of a migration.
  package enum Side: String, Hashable, Sendable {
    case source
    case destination
  }

  /// The kind of the error.
  public let kind: Kind
  /// The name of the entity mapping at fault.
  public let mapping: String
  /// The missing entity; nil for other kinds.
  public let entity: String?
  /// The property at fault; nil if the error concerns no single property.
  public let property: String?
  /// The problem, its location, and how to fix it.
  public let message: String

  /// The ``message``.
  public var description: String { message }

  private init(_ kind: Kind, _ mapping: String, entity: String? = nil, property: String? = nil, _ message: String) {
    self.kind = kind
    self.mapping = mapping
    self.entity = entity
    self.property = property
    self.message = message
  }
}

extension MappingModelError {
  package static func duplicateMapping(_ mapping: String) -> MappingModelError {
    MappingModelError(
      .duplicateMapping, mapping,
      "two entity mappings have the name \(mapping); rename one of them")
  }

  package static func noEntity(mapping: String) -> MappingModelError {
    MappingModelError(
      .noEntity, mapping,
      "entity mapping '\(mapping)' names no entity; name a source or a destination")
  }

  package static func unknownEntity(mapping: String, entity: String, _ side: Side) -> MappingModelError {
    MappingModelError(
      .unknownEntity, mapping, entity: entity,
      "entity mapping \(mapping): the \(side.rawValue) model has no entity \(entity); correct the name, or use the"
        + " model that the mapping was created for")
  }

  package static func typeMismatch(mapping: String, _ type: EntityMappingType) -> MappingModelError {
    MappingModelError(
      .typeMismatch, mapping,
      "entity mapping \(mapping) has the type \(type), which does not fit its source and destination; omit the type")
  }

  package static func unknownProperty(mapping: String, property: String) -> MappingModelError {
    MappingModelError(
      .unknownProperty, mapping, property: property,
      "entity mapping \(mapping): the destination entity has no \(property) of this kind; correct or remove it")
  }

  package static func duplicateProperty(mapping: String, property: String) -> MappingModelError {
    MappingModelError(
      .duplicateProperty, mapping, property: property,
      "entity mapping \(mapping) maps \(property) twice; remove one of them")
  }

  package static func unknownMapping(mapping: String, property: String, named name: String) -> MappingModelError {
    MappingModelError(
      .unknownMapping, mapping, property: property,
      "\(mapping).\(property) uses the objects of entity mapping '\(name)', which does not exist; correct the name")
  }

  package static func noPolicy(mapping: String, property: String) -> MappingModelError {
    MappingModelError(
      .noPolicy, mapping, property: property,
      "\(mapping).\(property) calls the migration policy, but the entity mapping names none; name one")
  }
}

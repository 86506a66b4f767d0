/// Why a mapping model does not fit two models; its description says what to do.
public enum MappingModelError: Error, Hashable, Sendable {
  /// Which of the two models is meant.
  public enum Side: String, Hashable, Sendable {
    /// The model that is migrated from.
    case source
    /// The model that is migrated to.
    case destination
  }

  /// Two entity mappings have the same name.
  case duplicateMapping(String)
  /// An entity mapping names neither a source nor a destination entity.
  case noEntity(mapping: String)
  /// A model does not have the entity that a mapping names.
  case unknownEntity(mapping: String, entity: String, Side)
  /// A mapping's type needs a source or destination entity that it does not name, or cannot have the one that it names.
  case typeMismatch(mapping: String, EntityMappingType)
  /// The destination entity has no attribute, or no relationship, of the name.
  case unknownProperty(mapping: String, property: String)
  /// A property has two mappings.
  case duplicateProperty(mapping: String, property: String)
  /// An expression asks for what an entity mapping made that does not exist.
  case unknownMapping(mapping: String, property: String, named: String)
  /// An expression calls a policy, and the mapping names none.
  case noPolicy(mapping: String, property: String)

  /// The entity mapping that is wrong.
  public var mapping: String {
    switch self {
    case .duplicateMapping(let mapping), .noEntity(let mapping), .unknownEntity(let mapping, _, _),
      .typeMismatch(let mapping, _), .unknownProperty(let mapping, _), .duplicateProperty(let mapping, _),
      .unknownMapping(let mapping, _, _), .noPolicy(let mapping, _):
      mapping
    }
  }

  /// The entity that is not there; nil for other mistakes.
  public var entity: String? { if case .unknownEntity(_, let entity, _) = self { entity } else { nil } }

  /// The property that is wrong, where one is.
  public var property: String? {
    switch self {
    case .unknownProperty(_, let property), .duplicateProperty(_, let property), .unknownMapping(_, let property, _),
      .noPolicy(_, let property):
      property
    case .duplicateMapping, .noEntity, .unknownEntity, .typeMismatch: nil
    }
  }

  /// The case's name, for scripts.
  public var kind: String {
    switch self {
    case .duplicateMapping: "duplicateMapping"
    case .noEntity: "noEntity"
    case .unknownEntity: "unknownEntity"
    case .typeMismatch: "typeMismatch"
    case .unknownProperty: "unknownProperty"
    case .duplicateProperty: "duplicateProperty"
    case .unknownMapping: "unknownMapping"
    case .noPolicy: "noPolicy"
    }
  }
}

extension MappingModelError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  public var description: String {
    switch self {
    case .duplicateMapping(let name): "two entity mappings are called \(name); rename one of them"
    case .noEntity(let mapping): "entity mapping '\(mapping)' names no entity; name a source or a destination"
    case .unknownEntity(let mapping, let entity, let side):
      "entity mapping \(mapping): the \(side.rawValue) model has no entity \(entity); correct the name, or give the"
        + " model that the mapping was made for"
    case .typeMismatch(let mapping, let type):
      "entity mapping \(mapping) is of type \(type), which its source and destination do not fit; leave the type out"
    case .unknownProperty(let mapping, let property):
      "entity mapping \(mapping): the destination entity has no \(property) of this kind; correct or remove it"
    case .duplicateProperty(let mapping, let property):
      "entity mapping \(mapping) maps \(property) twice; remove one of them"
    case .unknownMapping(let mapping, let property, let name):
      "\(mapping).\(property) needs what entity mapping '\(name)' made, and there is none of this name; correct it"
    case .noPolicy(let mapping, let property):
      "\(mapping).\(property) calls the policy, and the entity mapping names none; give it one"
    }
  }
}

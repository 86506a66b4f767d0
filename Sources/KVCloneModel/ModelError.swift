/// Why a model cannot be used; each case names where, and its description says what to do.
public enum ModelError: Error, Hashable, Sendable {
  /// Two entities have one name.
  case duplicateEntity(String)
  /// Two properties of an entity, inherited ones included, have one name.
  case duplicateProperty(entity: String, property: String)
  /// An inherited property is declared again as something that its values would not fit.
  case conflictingRedeclaration(entity: String, property: String)
  /// A name is empty, longer than 255 bytes, or holds a character that ids and paths give a meaning of their own.
  case invalidName(entity: String, property: String?)
  /// The entity to inherit from does not exist.
  case unknownSuperentity(entity: String, superentity: String)
  /// The entity inherits from itself.
  case cyclicInheritance(entity: String)
  /// The relationship leads to an entity that does not exist.
  case unknownDestination(entity: String, property: String, destination: String)
  /// The composite attribute names no composite, or one that does not exist.
  case unknownComposite(entity: String, property: String, composite: String)
  /// Two composites have one name.
  case duplicateComposite(String)
  /// The composite contains itself.
  case cyclicComposite(String)
  /// A derived attribute is made of itself, perhaps by way of others.
  case cyclicDerivation(entity: String, property: String)
  /// A stored attribute has no type.
  case untypedAttribute(entity: String, property: String)
  /// The default value does not fit the attribute's type.
  case defaultTypeMismatch(entity: String, property: String)
  /// A rebuild rule is something other than `uuid` on a UUID or `now` on a Date (R16).
  case rebuildTypeMismatch(entity: String, property: String)
  /// A relationship's clone rule is none of `follow`, `reference`, `skip` (R7).
  case unknownCloneRule(entity: String, property: String)
  /// One userInfo key has two roles in the rules of a deep clone (R28).
  case duplicateUserInfoKey(String)
  /// The model has more entities, levels, properties or elements than a store can describe.
  case tooLarge(entity: String?)

  /// The entity or composite that is wrong.
  public var entity: String? {
    switch self {
    case .duplicateEntity(let name), .duplicateComposite(let name), .cyclicComposite(let name): name
    case .duplicateProperty(let entity, _), .conflictingRedeclaration(let entity, _), .invalidName(let entity, _),
      .unknownSuperentity(let entity, _), .cyclicInheritance(let entity), .unknownDestination(let entity, _, _),
      .unknownComposite(let entity, _, _), .untypedAttribute(let entity, _), .defaultTypeMismatch(let entity, _),
      .rebuildTypeMismatch(let entity, _), .unknownCloneRule(let entity, _), .cyclicDerivation(let entity, _):
      entity
    case .tooLarge(let entity): entity
    case .duplicateUserInfoKey: nil
    }
  }

  /// The property that is wrong.
  public var property: String? {
    switch self {
    case .duplicateProperty(_, let property), .conflictingRedeclaration(_, let property),
      .unknownDestination(_, let property, _), .unknownComposite(_, let property, _),
      .untypedAttribute(_, let property), .cyclicDerivation(_, let property),
      .defaultTypeMismatch(_, let property), .rebuildTypeMismatch(_, let property), .unknownCloneRule(_, let property):
      property
    case .invalidName(_, let property): property
    default: nil
    }
  }

  /// The case's name, for scripts.
  public var kind: String {
    switch self {
    case .duplicateEntity: "duplicateEntity"
    case .duplicateProperty: "duplicateProperty"
    case .conflictingRedeclaration: "conflictingRedeclaration"
    case .invalidName: "invalidName"
    case .unknownSuperentity: "unknownSuperentity"
    case .cyclicInheritance: "cyclicInheritance"
    case .unknownDestination: "unknownDestination"
    case .unknownComposite: "unknownComposite"
    case .duplicateComposite: "duplicateComposite"
    case .cyclicComposite: "cyclicComposite"
    case .cyclicDerivation: "cyclicDerivation"
    case .untypedAttribute: "untypedAttribute"
    case .defaultTypeMismatch: "defaultTypeMismatch"
    case .rebuildTypeMismatch: "rebuildTypeMismatch"
    case .unknownCloneRule: "unknownCloneRule"
    case .duplicateUserInfoKey: "duplicateUserInfoKey"
    case .tooLarge: "tooLarge"
    }
  }
}

extension ModelError: CustomStringConvertible {
  /// What is wrong, where, and what to do.
  public var description: String {
    switch self {
    case .duplicateEntity(let name): "entity \(name) is declared twice; rename or remove one of them"
    case .duplicateProperty(let entity, let property):
      "\(entity).\(property) is declared twice, here or in an entity above; rename one of them"
    case .conflictingRedeclaration(let entity, let property):
      "\(entity).\(property) is inherited with another type or kind; give it the inherited one, or another name"
    case .invalidName(let entity, let property):
      "the name of \(property.map { "\(entity).\($0)" } ?? "entity '\(entity)'") cannot be used; give it 1 to 255 bytes"
        + " without spaces, control characters, '.', '/', '@' and '='"
    case .unknownSuperentity(let entity, let superentity):
      "entity \(entity) inherits from \(superentity), which the model does not have; add it, or remove the parent"
    case .cyclicInheritance(let entity): "entity \(entity) inherits from itself; break the circle of parents"
    case .unknownDestination(let entity, let property, let destination):
      "\(entity).\(property) leads to entity '\(destination)', which the model does not have; correct the destination"
    case .unknownComposite(let entity, let property, let composite):
      "\(entity).\(property) is made of composite '\(composite)', which the model does not have; add it to the model"
    case .duplicateComposite(let name): "composite \(name) is declared twice; rename or remove one of them"
    case .cyclicComposite(let name): "composite \(name) contains itself; break the circle"
    case .cyclicDerivation(let entity, let property):
      "\(entity).\(property) is derived from itself, perhaps by way of others; break the circle of expressions"
    case .untypedAttribute(let entity, let property):
      "\(entity).\(property) has no type; give it one, or make it transient"
    case .defaultTypeMismatch(let entity, let property):
      "the default value of \(entity).\(property) does not fit its type; correct one of them"
    case .rebuildTypeMismatch(let entity, let property):
      "\(entity).\(property) cannot be rebuilt so; only 'uuid' on a UUID and 'now' on a Date exist"
    case .unknownCloneRule(let entity, let property):
      "the clone rule of \(entity).\(property) does not exist; write 'follow', 'reference' or 'skip'"
    case .duplicateUserInfoKey(let key): "the userInfo key '\(key)' has two clone roles; rename one of them"
    case .tooLarge(let entity):
      "\(entity.map { "entity \($0)" } ?? "the model") exceeds \(ModelLimits.summary); split the model"
    }
  }
}

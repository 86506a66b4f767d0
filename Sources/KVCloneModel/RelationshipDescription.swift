/// What happens to the objects at the other end of a relationship when an object is deleted.
public enum DeleteRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// Nothing, not even to their inverse: the app's code takes care.
  case noAction = "No Action"
  /// Their inverse is emptied.
  case nullify = "Nullify"
  /// They are deleted too.
  case cascade = "Cascade"
  /// As long as there are any, the object cannot be deleted.
  case deny = "Deny"
}

/// One relationship of an entity.
public struct RelationshipDescription: PropertyDescription, Hashable {
  /// The relationship's name, unique among all properties of its entity.
  public var name: String
  /// The entity whose objects, or whose sub-entities' objects, it leads to.
  public var destinationEntityName: String
  /// The name of the relationship that leads back; it counts only if that one names this one in turn, see
  /// ``ManagedObjectModel/inverse(of:in:)``.
  public var inverseName: String?
  /// The entity that declares the inverse: the destination, or an entity above or below it. Nil is the destination.
  public var inverseEntityName: String?
  /// Whether it leads to any number of objects instead of at most one.
  public var isToMany: Bool
  /// Whether a to-many relationship keeps the order of its members.
  public var isOrdered: Bool
  /// Whether it may lead nowhere when an object is saved, whatever ``minCount`` says (R14).
  public var isOptional: Bool
  /// The least number of members, unless it is empty and optional.
  public var minCount: Int
  /// The greatest number of members; 0 is no limit, and a to-one relationship has 1.
  public var maxCount: Int
  /// What deleting an object does to the objects that it leads to.
  public var deleteRule: DeleteRule
  /// Whether the relationship lives in memory only.
  public var isTransient: Bool
  /// The annotations of the model's author.
  public var userInfo: [String: String]
  /// The name that the relationship had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else changed.
  public var versionHashModifier: String?

  private init(
    name: String, destination: String, inverse: String?, inverseEntity: String?, toMany: Bool, ordered: Bool,
    optional: Bool, min: Int, max: Int, deleteRule: DeleteRule, transient: Bool, userInfo: [String: String],
    renamingIdentifier: String?
  ) {
    self.name = name
    destinationEntityName = destination
    inverseName = inverse
    inverseEntityName = inverseEntity
    isToMany = toMany
    isOrdered = ordered
    isOptional = optional
    minCount = min
    maxCount = max
    self.deleteRule = deleteRule
    isTransient = transient
    self.userInfo = userInfo
    self.renamingIdentifier = renamingIdentifier
  }

  /// Describes a relationship to at most one object.
  public init(
    _ name: String, toOne destination: String, inverse: String? = nil, inverseEntity: String? = nil,
    optional: Bool = true, deleteRule: DeleteRule = .nullify, transient: Bool = false,
    userInfo: [String: String] = [:], renamingIdentifier: String? = nil
  ) {
    self.init(
      name: name, destination: destination, inverse: inverse, inverseEntity: inverseEntity, toMany: false,
      ordered: false, optional: optional, min: optional ? 0 : 1, max: 1, deleteRule: deleteRule, transient: transient,
      userInfo: userInfo, renamingIdentifier: renamingIdentifier)
  }

  /// Describes a relationship to any number of objects, `max` 0 being no limit.
  public init(
    _ name: String, toMany destination: String, inverse: String? = nil, inverseEntity: String? = nil,
    ordered: Bool = false, optional: Bool = true, min: Int = 0, max: Int = 0, deleteRule: DeleteRule = .nullify,
    transient: Bool = false, userInfo: [String: String] = [:], renamingIdentifier: String? = nil
  ) {
    self.init(
      name: name, destination: destination, inverse: inverse, inverseEntity: inverseEntity, toMany: true,
      ordered: ordered, optional: optional, min: min, max: max, deleteRule: deleteRule, transient: transient,
      userInfo: userInfo, renamingIdentifier: renamingIdentifier)
  }
}

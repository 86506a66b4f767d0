/// The effect of deleting an object on its related objects.
public enum DeleteRule: String, Sendable, Hashable, Codable, CaseIterable {
  /// No effect in Core Data. This store removes the link, like ``DeleteRule/nullify``, but does not validate the
  /// related objects.
  case noAction = "No Action"
  /// Related objects lose their link to the deleted object.
  case nullify = "Nullify"
  /// Related objects are deleted, too.
  case cascade = "Cascade"
  /// The object cannot be deleted while it has related objects.
  case deny = "Deny"
}

/// A relationship of an entity.
public struct RelationshipDescription: PropertyDescription, Hashable {
  /// The relationship's name, unique among all properties of its entity.
  public var name: String
  /// The destination entity; targets may also belong to its subentities.
  public var destinationEntityName: String
  /// The name of the inverse relationship. It counts only if the inverse names this relationship; see
  /// ``ManagedObjectModel/inverse(of:in:)``.
  public var inverseName: String?
  /// The entity that declares the inverse: the destination, or one of its ancestors or descendants; nil means the
  /// destination.
  public var inverseEntityName: String?
  /// Whether the relationship is to-many instead of to-one.
  public var isToMany: Bool
  /// Whether a to-many relationship preserves the order of its members.
  public var isOrdered: Bool
  /// Whether the relationship may be empty when an object is saved, regardless of ``minCount`` (R14).
  public var isOptional: Bool
  /// The minimum number of members, unless the relationship is empty and optional.
  public var minCount: Int
  /// The maximum number of members; 0 means no limit. A to-one relationship has 1.
  public var maxCount: Int
  /// The effect of deleting an object on the relationship's targets.
  public var deleteRule: DeleteRule
  /// Whether the relationship exists only in memory.
  public var isTransient: Bool
  /// The model author's annotations.
  public var userInfo: [String: String]
  /// The relationship's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A text that changes the version hash even if nothing else changes.
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

  /// Creates a to-one relationship description.
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

  /// Creates a to-many relationship description; a `max` of 0 means no limit.
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

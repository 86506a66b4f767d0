/// A fetch request that is part of the model.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name, unique in the model.
  public var name: String
  /// The entity that is asked for.
  public var entityName: String
  /// The predicate in NSPredicate's format language, with `$NAME` for what the caller fills in; nil is all objects.
  public var predicateString: String?
  /// The greatest number of results; 0 is no limit.
  public var fetchLimit: Int
  /// How many objects Core Data reads at a time; kept for exports.
  public var fetchBatchSize: Int
  /// What a result is, as Core Data numbers it: 0 objects, 1 ids, 2 dictionaries, 4 the count.
  public var resultType: Int
  /// Whether objects of sub-entities are results too.
  public var includesSubentities: Bool
  /// Whether Core Data reads property values along; kept for exports.
  public var includesPropertyValues: Bool
  /// Whether changes of an open transaction count.
  public var includesPendingChanges: Bool
  /// Whether Core Data hands out faults; kept for exports.
  public var returnsObjectsAsFaults: Bool
  /// Whether equal dictionaries are one result.
  public var returnsDistinctResults: Bool

  /// Describes a fetch request, with Core Data's defaults for what is not given.
  public init(
    _ name: String, entity: String, predicate: String? = nil, limit: Int = 0, batchSize: Int = 0, resultType: Int = 0,
    includesSubentities: Bool = true, includesPropertyValues: Bool = true, includesPendingChanges: Bool = true,
    returnsObjectsAsFaults: Bool = true, returnsDistinctResults: Bool = false
  ) {
    self.name = name
    entityName = entity
    predicateString = predicate
    fetchLimit = limit
    fetchBatchSize = batchSize
    self.resultType = resultType
    self.includesSubentities = includesSubentities
    self.includesPropertyValues = includesPropertyValues
    self.includesPendingChanges = includesPendingChanges
    self.returnsObjectsAsFaults = returnsObjectsAsFaults
    self.returnsDistinctResults = returnsDistinctResults
  }
}

/// A weak one-way link: the results of a fetch request. Deep clones ignore it (R23), and nothing of it is stored.
public struct FetchedPropertyDescription: PropertyDescription, Hashable {
  /// The property's name, unique among all properties of its entity.
  public var name: String
  /// The request, with `$FETCH_SOURCE` for the object that has the property.
  public var fetchRequest: FetchRequestTemplate
  /// Kept for exports.
  public var isOptional: Bool
  /// The annotations of the model's author.
  public var userInfo: [String: String]
  /// The name that the property had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else changed.
  public var versionHashModifier: String?

  /// True: a fetched property has no stored value.
  public var isTransient: Bool { true }

  /// Describes a fetched property.
  public init(
    _ name: String, _ fetchRequest: FetchRequestTemplate, optional: Bool = true, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.fetchRequest = fetchRequest
    isOptional = optional
    self.userInfo = userInfo
  }
}

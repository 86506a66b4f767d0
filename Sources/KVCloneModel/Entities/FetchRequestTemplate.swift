/// A fetch request defined in the model.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The template's name, unique in the model.
  public var name: String
  /// The name of the entity to fetch.
  public var entityName: String
  /// The predicate in the NSPredicate format language, with `$NAME` for substitution variables; nil matches all
  /// objects.
  public var predicateString: String?
  /// The maximum number of results; 0 means no limit.
  public var fetchLimit: Int
  /// The number of objects that Core Data reads at a time; kept for exports.
  public var fetchBatchSize: Int
  /// The result type as numbered by Core Data: 0 objects, 1 ids, 2 dictionaries, 4 count.
  public var resultType: Int
  /// Whether the results include objects of subentities.
  public var includesSubentities: Bool
  /// Whether Core Data also reads property values; kept for exports.
  public var includesPropertyValues: Bool
  /// Whether the results include uncommitted changes of the transaction.
  public var includesPendingChanges: Bool
  /// Whether Core Data returns faults; kept for exports.
  public var returnsObjectsAsFaults: Bool
  /// Whether equal dictionaries are returned only once.
  public var returnsDistinctResults: Bool

  /// Creates a fetch request template, with Core Data's defaults for omitted values.
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

/// A weak one-way relationship: the results of a fetch request. It is not stored, and deep clones ignore it (R23).
public struct FetchedPropertyDescription: PropertyDescription, Hashable {
  /// The property's name, unique among all properties of its entity.
  public var name: String
  /// The fetch request, with `$FETCH_SOURCE` for the object that has the property.
  public var fetchRequest: FetchRequestTemplate
  /// Whether the property is optional; kept for exports.
  public var isOptional: Bool
  /// The model author's annotations.
  public var userInfo: [String: String]
  /// The property's name in an earlier version of the model.
  public var renamingIdentifier: String?
  /// A text that changes the version hash even if nothing else changes.
  public var versionHashModifier: String?

  /// Always true: a fetched property has no stored value.
  public var isTransient: Bool { true }

  /// Creates a fetched property description.
  public init(
    _ name: String, _ fetchRequest: FetchRequestTemplate, optional: Bool = true, userInfo: [String: String] = [:]
  ) {
    self.name = name
    self.fetchRequest = fetchRequest
    isOptional = optional
    self.userInfo = userInfo
  }
}

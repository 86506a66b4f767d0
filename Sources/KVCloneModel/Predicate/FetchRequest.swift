/// A query for objects of an entity: predicate, sort order and limits.
///
/// Names are those of Core Data. A request is a value; the methods `fetch`, `count` and `forEachObject` of a
/// transaction execute it.
public struct FetchRequest: Sendable, Hashable {
  /// The entity to fetch.
  public var entityName: String
  /// The predicate; nil matches every object.
  public var predicate: QueryPredicate?
  /// The sort keys, most significant first. Objects that compare equal, and results without sort keys, are in ascending
  /// order of their ids.
  public var sortDescriptors: [QuerySortDescriptor]
  /// The maximum number of results; 0 means no limit.
  public var fetchLimit: Int
  /// The number of results to skip.
  public var fetchOffset: Int
  /// Whether the results include objects of subentities.
  public var includesSubentities: Bool
  /// The type of the results of `execute(_:)`.
  public var resultType = FetchRequestResultType.managedObject
  /// The number of objects per batch of `forEachBatch(matching:)`; 0 uses the store's default.
  public var fetchBatchSize = 0
  /// Key paths of relationships for which `fetchPrefetching(_:)` also reads the related objects.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// The values of result dictionaries; if empty, all stored attributes and to-one relationships.
  public var propertiesToFetch: [ExpressionDescription] = []
  /// The expressions by which dictionary results are grouped. With groups, every other value must be a function of the
  /// group, such as `count:(SELF)` or `sum:(price)`.
  public var propertiesToGroupBy: [ExpressionDescription] = []
  /// The predicate on groups. It can use functions of the group, grouping expressions, and result values by name as
  /// variables: `$total > 100`.
  public var havingPredicate: QueryPredicate?
  /// Whether equal dictionaries are returned only once.
  public var returnsDistinctResults = false

  /// Creates a request for objects of an entity, with Core Data's defaults for omitted values.
  public init(
    _ entityName: String, predicate: QueryPredicate? = nil, sortDescriptors: [QuerySortDescriptor] = [],
    fetchLimit: Int = 0, fetchOffset: Int = 0, includesSubentities: Bool = true
  ) {
    self.entityName = entityName
    self.predicate = predicate
    self.sortDescriptors = sortDescriptors
    self.fetchLimit = fetchLimit
    self.fetchOffset = fetchOffset
    self.includesSubentities = includesSubentities
  }
}

/// A sort key and its direction.
public struct QuerySortDescriptor: Sendable, Hashable {
  /// The expression to sort by: a key path such as `album.title`, or `tags.@count`.
  public var key: QueryExpression
  /// Whether the order is ascending. nil sorts before all other values, as in SQLite and Core Data.
  public var ascending: Bool
  /// Whether the comparison of texts ignores case and diacritics, and whether it compares runs of digits as numbers.
  public var options: QueryComparison.Options

  /// Creates a sort key from an expression.
  public init(_ key: QueryExpression, ascending: Bool = true, options: QueryComparison.Options = []) {
    self.key = key
    self.ascending = ascending
    self.options = options
  }

  /// Creates a sort key from a key path, such as `album.title` or `tags.@count`.
  public init(key: String, ascending: Bool = true, options: QueryComparison.Options = []) {
    // A name may be a keyword; a key path that contains an operator needs the parser.
    let path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let names = QueryExpression.keyPath(.`self`, path)
    let expression = key.contains("@") ? (try? QueryExpression(format: key)) ?? names : names
    self.init(expression, ascending: ascending, options: options)
  }
}

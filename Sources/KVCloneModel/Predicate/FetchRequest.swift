/// What is looked for: an entity, a condition, an order, and how many of the results.
///
/// Names are Core Data's. A request is a value; `fetch`, `count` and `forEachObject` of a transaction answer it.
public struct FetchRequest: Sendable, Hashable {
  /// The entity whose objects are looked for.
  public var entityName: String
  /// The condition; nil is every object.
  public var predicate: QueryPredicate?
  /// The order: the first that tells two objects apart counts. Objects that none tells apart come by ascending id, which is
  /// also the order without any.
  public var sortDescriptors: [QuerySortDescriptor]
  /// The greatest number of results; 0 is no limit.
  public var fetchLimit: Int
  /// How many results are left out at the beginning.
  public var fetchOffset: Int
  /// Whether objects of sub-entities are results too.
  public var includesSubentities: Bool
  /// What `execute(_:)` answers with.
  public var resultType = FetchRequestResultType.managedObject
  /// How many objects `forEachBatch(matching:)` hands over at a time; 0 leaves it to the store.
  public var fetchBatchSize = 0
  /// Key paths of relationships whose objects `fetchPrefetching(_:)` reads along.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// The values of dictionaries; none is every stored attribute and to-one relationship.
  public var propertiesToFetch: [ExpressionDescription] = []
  /// What the objects of one dictionary have in common. Every other value has to be a function of the group then, such as
  /// `count:(SELF)` or `sum:(price)`.
  public var propertiesToGroupBy: [ExpressionDescription] = []
  /// Which groups are left, by functions of the group, by what groups have in common, or by the names of values as
  /// variables: `$total > 100`.
  public var havingPredicate: QueryPredicate?
  /// Whether equal dictionaries are one result.
  public var returnsDistinctResults = false

  /// Asks for objects of an entity, with Core Data's defaults for what is not given.
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

/// One step of an order: by what, and in which direction.
public struct QuerySortDescriptor: Sendable, Hashable {
  /// The value that is compared: a key path such as `album.title`, or `tags.@count`.
  public var key: QueryExpression
  /// Whether smaller values come first. nil is smaller than every value, as in SQLite and Core Data.
  public var ascending: Bool
  /// Whether letter case and diacritics tell texts apart, and whether digits in them count as numbers.
  public var options: QueryComparison.Options

  /// Orders by an expression.
  public init(_ key: QueryExpression, ascending: Bool = true, options: QueryComparison.Options = []) {
    self.key = key
    self.ascending = ascending
    self.options = options
  }

  /// Orders by a key path, such as `album.title` or `tags.@count`.
  public init(key: String, ascending: Bool = true, options: QueryComparison.Options = []) {
    // A name may be a word of the language; a key path with an operator in it is never only names.
    let path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let names = QueryExpression.keyPath(.`self`, path)
    let expression = key.contains("@") ? (try? QueryExpression(format: key)) ?? names : names
    self.init(expression, ascending: ascending, options: options)
  }
}

public import KVCloneCore
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Runs a request and returns the results that its `resultType` selects.
  ///
  /// - Throws: the errors of ``fetch(_:)`` and ``fetchDictionaries(_:)``.
  public borrowing func execute(_ request: FetchRequest) throws(StoreError) -> FetchResult {
    switch request.resultType {
    case .managedObject: .objects(try fetch(request))
    case .managedObjectID: .ids(try fetchIDs(request))
    case .dictionary: .dictionaries(try fetchDictionaries(request))
    case .count: .count(try count(request))
    }
  }

  /// Returns the values of `propertiesToFetch` for each object, or for each group of objects.
  ///
  /// Results are groups if the request has `propertiesToGroupBy`, or a value is an aggregate such as `sum:(price)`.
  /// `count:` counts non-nil values, and `count:(SELF)` counts all objects. Without values, `sum:` is 0 and the other
  /// aggregates are nil. A request without `propertiesToGroupBy` has exactly one group.
  ///
  /// Groups with equal sort keys come in the order of their first objects. Sort keys and `havingPredicate` may use the
  /// names of values (`total`, `$total`). Offset and limit count dictionaries.
  ///
  /// - Throws: the errors of ``fetch(_:)``; `invalidPredicate` also for a property that differs among the objects of a
  ///   group.
  public borrowing func fetchDictionaries(_ request: FetchRequest) throws(StoreError) -> [FetchedDictionary] {
    var dictionaries: [FetchedDictionary] = []
    try _withSession { (session) throws(StoreError) in
      try DictionaryFetch.forEach(try DictionaryFetch.compile(request, in: session), in: session) {
        (dictionary) throws(StoreError) in
        dictionaries.append(dictionary)
        return true
      }
    }
    return dictionaries
  }

  /// Calls `body` with each dictionary of a request until it returns false.
  ///
  /// Dictionaries of objects are streamed; the values of groups are kept in memory.
  ///
  /// - Throws: the errors of ``fetchDictionaries(_:)``, and the error of `body`.
  public borrowing func forEachDictionary(
    matching request: FetchRequest, _ body: (FetchedDictionary) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      try DictionaryFetch.forEach(try DictionaryFetch.compile(request, in: session), in: session) {
        (dictionary) throws(StoreError) in
        do { return try body(dictionary) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }

  /// Calls `body` with the results of a request in batches, in its order, until `body` returns false.
  ///
  /// Each batch has `fetchBatchSize` objects, or 256 if that is 0. One batch at a time is in memory.
  ///
  /// - Throws: the errors of ``fetch(_:)``, and the error of `body`.
  public borrowing func forEachBatch(
    matching request: FetchRequest, _ body: ([ManagedObject]) throws -> Bool
  ) throws {
    let size = request.fetchBatchSize > 0 ? request.fetchBatchSize : 256
    var batch: [ManagedObject] = []
    var goesOn = true
    try forEachObject(matching: request) { object in
      batch.append(object)
      if batch.count == size {
        goesOn = try body(batch)
        batch.removeAll(keepingCapacity: true)
      }
      return goesOn
    }
    if goesOn, !batch.isEmpty { _ = try body(batch) }
  }

  /// Returns the results of a request with the objects that its `relationshipKeyPathsForPrefetching` lead to. Each
  /// object is read once.
  ///
  /// - Throws: the errors of ``fetch(_:)``; `unknownProperty` for a key path that the model does not define.
  public borrowing func fetchPrefetching(_ request: FetchRequest) throws(StoreError) -> PrefetchedObjects {
    try _withSession { (session) throws(StoreError) in
      for path in request.relationshipKeyPathsForPrefetching {
        try RelationshipPrefetching.check(path, of: try session.schema.entity(request.entityName), in: session)
      }
      let objects = try FetchExecutor.objects(try FetchExecutor.compile(request, in: session), in: session)
      var reader = PrefetchReader(objects)
      for path in request.relationshipKeyPathsForPrefetching { try reader.follow(path, session) }
      return PrefetchedObjects(objects, related: reader.related, members: reader.members)
    }
  }

  /// Returns the objects of a fetched property, in ascending order of ids: the results of its request for this object
  /// (`$FETCH_SOURCE`).
  ///
  /// - Throws: `unknownProperty` if the entity has no fetched property with the name; `invalidPredicate` if its
  ///   predicate cannot be parsed; the errors of ``fetch(_:)``.
  public borrowing func fetchedProperty(_ id: ObjectID, _ name: String) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      let (request, source) = try RelationshipPrefetching.request(ofFetchedProperty: name, id, in: session)
      let compiled = try FetchExecutor.compile(request, objects: ["FETCH_SOURCE": (id, source)], in: session)
      return try FetchExecutor.objects(compiled, in: session)
    }
  }
}

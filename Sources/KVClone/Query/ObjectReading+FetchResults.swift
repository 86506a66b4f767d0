public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Answers a request with what its `resultType` says.
  ///
  /// - Throws: see ``fetch(_:)`` and ``fetchDictionaries(_:)``.
  public borrowing func execute(_ request: FetchRequest) throws(StoreError) -> FetchResult {
    switch request.resultType {
    case .managedObject: .objects(try fetch(request))
    case .managedObjectID: .ids(try fetchIDs(request))
    case .dictionary: .dictionaries(try fetchDictionaries(request))
    case .count: .count(try count(request))
    }
  }

  /// Values by name: `propertiesToFetch` of each object, or of each group of objects.
  ///
  /// With `propertiesToGroupBy`, or where a value is a function of many objects, such as `sum:(price)`, a dictionary stands for a
  /// group: `count:` counts what is not nil (`count:(SELF)` all objects), `sum:` of nothing is 0, the others of nothing are nil, and a
  /// request without `propertiesToGroupBy` has exactly one group. Groups come in the order of their first objects where
  /// no sort key tells them apart; sort keys and `havingPredicate` may name values (`total`, `$total`). Offset and limit count dictionaries.
  ///
  /// - Throws: see ``fetch(_:)``; `invalidPredicate` also for a property that differs among the objects of a group.
  public borrowing func fetchDictionaries(_ request: FetchRequest) throws(StoreError) -> [FetchedDictionary] {
    var dictionaries: [FetchedDictionary] = []
    try _withSession { (session) throws(StoreError) in
      try session.forEachDictionary(try session.compileDictionaries(request)) { (dictionary) throws(StoreError) in
        dictionaries.append(dictionary)
        return true
      }
    }
    return dictionaries
  }

  /// The same one by one, until `body` answers false. Dictionaries of objects stream; the values of groups are in memory.
  ///
  /// - Throws: see ``fetchDictionaries(_:)``, and what `body` throws.
  public borrowing func forEachDictionary(
    matching request: FetchRequest, _ body: (FetchedDictionary) throws -> Bool
  ) throws {
    var failure: (any Error)?
    try _withSession { (session) throws(StoreError) in
      try session.forEachDictionary(try session.compileDictionaries(request)) { (dictionary) throws(StoreError) in
        do { return try body(dictionary) } catch { failure = error }
        return false
      }
    }
    if let failure { throw failure }
  }

  /// The objects that a request asks for, `fetchBatchSize` at a time (256 where it is 0), in its order, until `body` answers
  /// false. One batch is in memory.
  ///
  /// - Throws: see ``fetch(_:)``, and what `body` throws.
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

  /// The objects that a request asks for, and those that its `relationshipKeyPathsForPrefetching` lead to, each read once.
  ///
  /// - Throws: see ``fetch(_:)``; `unknownProperty` for a key path that the model does not have.
  public borrowing func fetchPrefetching(_ request: FetchRequest) throws(StoreError) -> PrefetchedObjects {
    try _withSession { (session) throws(StoreError) in
      for path in request.relationshipKeyPathsForPrefetching {
        try session.checkPrefetching(path, of: try session.schema.entity(request.entityName))
      }
      var objects: [ManagedObject] = []
      try session.forEachResult(try session.compile(request)) { (id, view) throws(StoreError) in
        objects.append(try session.managedObject(view, id: id))
        return true
      }
      var reader = PrefetchReader(objects)
      for path in request.relationshipKeyPathsForPrefetching { try reader.follow(path, session) }
      return PrefetchedObjects(objects, related: reader.related, members: reader.members)
    }
  }

  /// The objects of a fetched property: what its request finds for this object (`$FETCH_SOURCE`), in the order of ids.
  ///
  /// - Throws: `unknownProperty` where the entity has no such fetched property; `invalidPredicate` where its predicate cannot be
  ///   read; see ``fetch(_:)``.
  public borrowing func fetchedProperty(_ id: ObjectID, _ name: String) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      let (request, source) = try session.request(ofFetchedProperty: name, id)
      var objects: [ManagedObject] = []
      let compiled = try session.compile(request, objects: ["FETCH_SOURCE": (id, source)])
      try session.forEachResult(compiled) { (id, view) throws(StoreError) in
        objects.append(try session.managedObject(view, id: id))
        return true
      }
      return objects
    }
  }
}

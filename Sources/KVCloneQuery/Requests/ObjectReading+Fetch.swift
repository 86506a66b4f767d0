public import KVCloneCore
public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// Returns the results of a request, in its order.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType` and `invalidPredicate`, before anything is read;
  ///   `corrupted`.
  public borrowing func fetch(_ request: FetchRequest) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      let found = try session.resolve(request)
      var objects: [ManagedObject] = []
      objects.reserveCapacity(found.found?.count ?? 0)
      try session.forEachResult(found) { (id, view) throws(StoreError) in
        objects.append(try session.managedObject(view, id: id))
        return true
      }
      return objects
    }
  }

  /// Returns the ids of a request's results, in its order.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func fetchIDs(_ request: FetchRequest) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      let found = try session.resolve(request)
      var ids: [ObjectID] = []
      ids.reserveCapacity(found.found?.count ?? 0)
      try session.forEachResult(found) { (id, _) throws(StoreError) in
        ids.append(id)
        return true
      }
      return ids
    }
  }

  /// Returns the number of a request's results, after its offset and limit are applied. Reads only the values that the
  /// predicate needs.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func count(_ request: FetchRequest) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in try session.count(try session.resolve(request, isCount: true)) }
  }

  /// Calls `body` with each result of a request, in its order, until `body` returns false.
  ///
  /// Without a sort key, one object at a time is in memory. With one, the keys of all results are in memory, or those
  /// of as many results as the limit allows.
  ///
  /// - Throws: the errors of ``fetch(_:)``, and the error of `body`.
  public borrowing func forEachObject(matching request: FetchRequest, _ body: (ManagedObject) throws -> Bool) throws {
    try forEachView(matching: request) { try body($0.managedObject()) }
  }

  /// Returns the query plan of a request as text, one line per step, without running it.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  public borrowing func explain(_ request: FetchRequest) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in try session.explain(request) }
  }
}

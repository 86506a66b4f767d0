public import KVCloneModel

extension ObjectReading where Self: ~Copyable {
  /// The objects that a request asks for, in its order.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate` before anything is read; `damaged`.
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

  /// The ids of the objects that a request asks for, in its order.
  ///
  /// - Throws: see ``fetch(_:)``.
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

  /// How many objects a request asks for, its offset and limit included. Reads no more of an object than the predicate asks
  /// about.
  ///
  /// - Throws: see ``fetch(_:)``.
  public borrowing func count(_ request: FetchRequest) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in try session.count(try session.resolve(request, isCount: true)) }
  }

  /// The objects that a request asks for, one by one in its order, until `body` answers false. Without a sort key, one at a
  /// time is in memory; with one, the keys of all results, or of as many as the limit says.
  ///
  /// - Throws: see ``fetch(_:)``, and what `body` throws.
  public borrowing func forEachObject(matching request: FetchRequest, _ body: (ManagedObject) throws -> Bool) throws {
    try forEachView(matching: request) { try body($0.managedObject()) }
  }

  /// What would be done for a request, in words, a line for each step; nothing of it is done.
  ///
  /// - Throws: see ``fetch(_:)``.
  public borrowing func explain(_ request: FetchRequest) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in try session.explain(request) }
  }
}

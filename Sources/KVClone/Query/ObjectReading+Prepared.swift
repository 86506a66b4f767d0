public import KVCloneModel

extension ObjectStore {
  /// Compiles a request whose predicate may have variables, `code == $code`, for being asked often.
  ///
  /// - Throws: `unknownEntity`, `unknownProperty`, `wrongType`, `invalidPredicate`, as far as no values are needed to tell.
  public func prepare(_ request: FetchRequest) throws(StoreError) -> PreparedRequest {
    try PreparedRequest(request, schema, storeUUID: uuid)
  }

  /// Compiles a fetch request template of the model, whose variables get their values later; nil where the model has no
  /// template of this name. See Core Data's `fetchRequestFromTemplate(withName:substitutionVariables:)`.
  ///
  /// - Throws: `invalidPredicate` where the template's predicate cannot be read; see ``prepare(_:)``.
  public func prepareTemplate(withName name: String) throws(StoreError) -> PreparedRequest? {
    let request: FetchRequest?
    do {
      request = try model.fetchRequestFromTemplate(withName: name)
    } catch {
      throw StoreError(.invalidPredicate, "the predicate of the template \(name) cannot be read: \(error)")
    }
    guard let request else { return nil }
    return try prepare(request)
  }
}

/// Each takes the values of the variables by name, without the `$`; names that the request does not have are ignored, as they
/// are in Core Data.
extension ObjectReading where Self: ~Copyable {
  /// The objects that a prepared request asks for, in its order.
  ///
  /// - Throws: `invalidPredicate` for a variable without a value, and for a request of another store; `wrongType` for a
  ///   value that cannot be compared with its property, before anything is read; see ``fetch(_:)``.
  public borrowing func fetch(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      let found = try session.resolve(request, variables)
      var objects: [ManagedObject] = []
      objects.reserveCapacity(found.found?.count ?? 0)
      try session.forEachResult(found) { (id, view) throws(StoreError) in
        objects.append(try session.managedObject(view, id: id))
        return true
      }
      return objects
    }
  }

  /// The ids of the objects that a prepared request asks for, in its order.
  ///
  /// - Throws: see ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func fetchIDs(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      let found = try session.resolve(request, variables)
      var ids: [ObjectID] = []
      ids.reserveCapacity(found.found?.count ?? 0)
      try session.forEachResult(found) { (id, _) throws(StoreError) in
        ids.append(id)
        return true
      }
      return ids
    }
  }

  /// How many objects a prepared request asks for, its offset and limit included.
  ///
  /// - Throws: see ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func count(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try session.count(try session.resolve(request, variables, isCount: true))
    }
  }

  /// The objects that a prepared request asks for, one by one in its order, until `body` answers false.
  ///
  /// - Throws: see ``fetch(_:_:)->[ManagedObject]``, and what `body` throws.
  public borrowing func forEachObject(
    matching request: PreparedRequest, _ variables: QueryVariables = [:],
    _ body: (ManagedObject) throws -> Bool
  ) throws {
    try forEachView(matching: request, variables) { try body($0.managedObject()) }
  }

  /// Looks at the objects that a prepared request asks for, one by one in its order, without copying them, until `body`
  /// answers false.
  ///
  /// - Throws: see ``fetch(_:_:)->[ManagedObject]``, and what `body` throws.
  public borrowing func forEachView(
    matching request: PreparedRequest, _ variables: QueryVariables = [:], _ body: (ObjectView) throws -> Bool
  ) throws {
    try _withSession { session in
      try session.forEachView(try session.resolve(request, variables), body)
    }
  }

  /// What would be done for a prepared request and these values, in words, a line for each step.
  ///
  /// - Throws: see ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func explain(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in try session.explain(request, variables) }
  }
}

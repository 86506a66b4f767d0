public import KVCloneCore
public import KVCloneModel

/// Each takes the values of the variables by name, without the `$`; unknown names are ignored, as in Core Data.
extension ObjectReading where Self: ~Copyable {
  /// Returns the results of a prepared request, in its order.
  ///
  /// - Parameters:
  ///   - request: the prepared request.
  ///   - variables: the values of its variables, by name without the `$`. Unknown names are ignored, as in Core Data.
  /// - Throws: `invalidPredicate` for a variable without a value and for a request of another store; `wrongType` for a
  ///   value that cannot be compared with its property; both before anything is read. Also the errors of ``fetch(_:)``.
  public borrowing func fetch(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [ManagedObject] {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.objects(try RequestResolver.resolve(request, variables, in: session), in: session)
    }
  }

  /// Returns the ids of a prepared request's results, in its order.
  ///
  /// - Throws: the errors of ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func fetchIDs(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [ObjectID] {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.ids(try RequestResolver.resolve(request, variables, in: session), in: session)
    }
  }

  /// Returns the number of a prepared request's results, including its offset and limit.
  ///
  /// - Throws: the errors of ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func count(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> Int {
    try _withSession { (session) throws(StoreError) in
      try FetchExecutor.count(try RequestResolver.resolve(request, variables, isCount: true, in: session), in: session)
    }
  }

  /// Calls `body` with each result of a prepared request, in its order, until `body` returns false.
  ///
  /// - Throws: the errors of ``fetch(_:_:)->[ManagedObject]``, and the error of `body`.
  public borrowing func forEachObject(
    matching request: PreparedRequest, _ variables: QueryVariables = [:],
    _ body: (ManagedObject) throws -> Bool
  ) throws {
    try forEachView(matching: request, variables) { try body($0.managedObject()) }
  }

  /// Calls `body` with a view of each result of a prepared request, in its order, until `body` returns false. Objects
  /// are not copied.
  ///
  /// - Throws: the errors of ``fetch(_:_:)->[ManagedObject]``, and the error of `body`.
  public borrowing func forEachView(
    matching request: PreparedRequest, _ variables: QueryVariables = [:], _ body: (ObjectView) throws -> Bool
  ) throws {
    try _withSession { session in
      try FetchExecutor.forEachView(try RequestResolver.resolve(request, variables, in: session), in: session, body)
    }
  }

  /// Returns the query plan of a prepared request for given values as text, one line per step.
  ///
  /// - Throws: the errors of ``fetch(_:_:)->[ManagedObject]``.
  public borrowing func explain(
    _ request: PreparedRequest, _ variables: QueryVariables = [:]
  ) throws(StoreError) -> [String] {
    try _withSession { (session) throws(StoreError) in try RequestExplanation.explain(request, variables, in: session) }
  }
}
